"""docs/guide/as-code.md followed word by word on a bare store: its files, its commands in their order, what it says."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from opsapp.cli.remote import TOKEN
from tests.support.app import Service
from tests.support.waitress import listening

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "as-code.md").read_text()
FILES = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.S | re.M)
COMMANDS = re.findall(r"^    (opsapp .*?)(?:  +#.*)?$", GUIDE, re.M)
SERVED = [text for text in COMMANDS if "--url" in text]


@pytest.fixture
def followed(opsapp, tmp_path, monkeypatch):
    """Runs a command of the guide; its code and what it says."""
    service = Service(tmp_path / "data", **{"opsapp.data": str(tmp_path / "data")})
    service.client("ada")
    for name, value in (("DEPLOY_TOKEN", "hush-1"), ("ALERT_TOKEN", "hush-2" * 8), (TOKEN, service.tokens["ada"])):
        monkeypatch.setenv(name, value)
    for name, text in (
        ("ops.yaml", FILES[0]),
        ("team.yaml", FILES[1]),
        ("chat-address", "json://chat.example.org/hush-3\n"),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    with listening(service.app) as url:

        def run(text):
            words = shlex.split(text.replace("https://ops.example.org", url).replace("/srv/", f"{tmp_path}/"))
            into = words.index(">") if ">" in words else len(words)
            code, out, err = opsapp(*words[1:into])
            assert err == ""
            for name in words[into + 1 :]:
                Path(name).write_text(out)
            return code, out

        yield run
    service.close()


def test_the_commands_of_the_guide_do_what_it_says(followed, opsapp, tmp_path):
    dry, apply, team, export = SERVED
    assert followed(dry)[0] == 2
    assert followed(apply)[0] == 0
    assert followed(dry)[0] == 0
    code, out = followed(team)
    assert (code, "hush" in out) == (0, False)
    assert "url, shown this once: http" in out
    assert "created 7, changed 0, deleted 0, 0 as they were" in out
    assert followed(team)[1] == "created 0, changed 0, deleted 0, 7 as they were\n"
    assert followed(export)[0] == 0
    written = (tmp_path / "ops.yaml").read_text()
    document, wanted = yaml.safe_load(written), yaml.safe_load(FILES[1])
    assert "hush" not in written
    assert document["channels"][0]["url"] == wanted["channels"][0]["url"]
    assert document["secrets"] == wanted["secrets"]
    assert followed(dry) == (0, f"would create 0, change 0, delete 0, {things(document)} as they were\n")


def things(document):
    return sum(len(entries) for entries in document.values())


def test_another_store_takes_it_where_the_references_are_known(followed, tmp_path):
    for text in SERVED:
        followed(text)
    Service(tmp_path / "other", **{"opsapp.data": str(tmp_path / "other")}).close()
    (command,) = [text for text in COMMANDS if text.startswith("opsapp import")]
    code, out = followed(command)
    assert (code, out.count("\n+ "), "hush" in out) == (0, 9, False)
    assert followed(command)[1].startswith("created 0, changed 0, deleted 0, ")


def test_the_table_names_every_kind_and_what_it_is_found_by(service):
    rows = dict(re.findall(r"^\| `(\w+)` \| (`\w+`(?: and `\w+`)*) \|", GUIDE, re.M))
    kinds = service.app.registry.opsapp_kinds
    keys = {kind.name: (kind.key,) if isinstance(kind.key, str) else kind.key for kind in kinds}
    assert rows == {name: " and ".join(f"`{field}`" for field in key) for name, key in keys.items()}
