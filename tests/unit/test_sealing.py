"""The master key: sealing, opening, files, and stores whose key is elsewhere."""

import pytest

from opsapp.lib.problems import Unavailable
from opsapp.runtime.secrets import seals

ONE, TWO = "1" * 64, "2" * 64


def test_what_is_sealed_opens_again_and_is_never_the_same():
    seal = seals.Seal([ONE])
    sealed = seal.seal("päss", "totp")
    assert "päss" not in sealed
    assert seal.open(sealed, "totp") == "päss"
    assert seal.seal("päss", "totp") != sealed


def test_a_sealed_value_cannot_be_used_for_something_else_or_changed():
    seal = seals.Seal([ONE])
    sealed = seal.seal("x", "totp")
    with pytest.raises(Unavailable, match="damaged or moved"):
        seal.open(sealed, "channel")
    name, _, text = sealed.partition(".")
    broken = ("A" if text[20] != "A" else "B").join((text[:20], text[21:]))
    with pytest.raises(Unavailable):
        seal.open(f"{name}.{broken}", "totp")


def test_old_keys_open_and_new_ones_seal():
    old = seals.Seal([ONE]).seal("x", "totp")
    both = seals.Seal([TWO, ONE])
    assert both.open(old, "totp") == "x"
    assert seals.Seal([TWO]).open(both.seal("x", "totp"), "totp") == "x"
    with pytest.raises(Unavailable, match="master key"):
        seals.Seal([TWO]).open(old, "totp")


def test_without_a_key_nothing_is_sealed():
    with pytest.raises(Unavailable, match="OPSAPP_SECRET_FILE"):
        seals.Seal([]).seal("x", "totp")


@pytest.mark.parametrize(
    ("settings", "environment", "place"),
    [
        ({"opsapp.data": "/data"}, "/run/key", "/run/key"),
        ({"opsapp.data": "/data", "zodbconn.uri": "zeo://a:1"}, None, "/data/secret.key"),
        ({"zodbconn.uri": "file:///store/main.fs?x=1"}, None, "/store/secret.key"),
        ({"zodbconn.uri": "zeo://a:1"}, None, "None"),
    ],
)
def test_where_the_key_is(settings, environment, place, monkeypatch):
    monkeypatch.delenv(seals.ENVIRONMENT, raising=False)
    if environment:
        monkeypatch.setenv(seals.ENVIRONMENT, environment)
    assert str(seals.key_file(settings)) == place


def test_the_first_process_makes_the_key_and_others_take_it(tmp_path):
    path = tmp_path / "secret.key"
    seals.write(path, [ONE], fresh=True)
    seals.write(path, [TWO], fresh=True)
    assert seals.read(path) == [ONE]
    seals.write(path, [TWO, ONE])
    assert seals.read(path) == [TWO, ONE]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret.key"]
    assert seals.read(tmp_path / "nothing") == seals.read(None) == []


def test_a_key_that_others_can_read_is_told_of(tmp_path, caplog):
    path = tmp_path / "secret.key"
    path.write_text(ONE)
    path.chmod(0o644)
    assert seals.read(path) == [ONE]
    assert "chmod 600" in caplog.text
