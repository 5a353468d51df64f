"""`opsapp apply|export|import|agent-file|doctor` in this process; `tests/system/test_cli.py` has processes."""

import json
import stat
import subprocess
import sys

import pytest
import yaml
from ZODB.FileStorage import FileStorage

from opsapp.app import configure
from opsapp.cli.remote import TOKEN
from opsapp.healing.resources import healing_of
from tests.support.app import Service
from tests.support.damage import overwrite
from tests.support.waitress import listening

FILE = """\
monitors:
  - name: web
    type: http
    url: https://example.test/
rules:
  - id: disk
    condition: disk.*.percent > 95
    action: {type: temp_cleanup}
"""


def test_a_command_without_the_servers_file_leaves_what_it_declares(opsapp, tmp_path, file):
    declared = tmp_path / "opsapp.yaml"
    declared.write_text(
        "healing: {default_rules: false, rules: [{id: kept, condition: cpu_percent > 99,"
        " severity: info, action: {type: flush_dns}}]}"
    )
    settings = {"opsapp.data": str(tmp_path / "other"), "opsapp.config": str(declared)}
    Service(tmp_path / "other", **settings).close()
    for command in (("user", "list"), ("export",), ("apply", file), ("status-export", tmp_path / "www")):
        assert opsapp(*command, "--data", tmp_path / "other")[0] == 0
    node = configure({"opsapp.data": settings["opsapp.data"]}).registry["opsapp.node"]
    try:
        assert "kept" in node.transact(lambda root: list(healing_of(root)["rules"].keys()))
    finally:
        node.stop()


@pytest.mark.parametrize(
    "command",
    [("pack",), ("backup", "copy"), ("user", "list"), ("user", "disable", "ada"), ("user", "passwd", "ada"), ("rekey",),
     ("status-export", "www"), ("export",), ("export", "--archive", "out"), ("verify-archive", "out")],
)  # fmt: skip
def test_a_mistyped_place_is_told_and_not_made_a_new_store(opsapp, tmp_path, monkeypatch, command):
    """An empty backup of it would look as good as any."""
    monkeypatch.chdir(tmp_path)
    code, out, err = opsapp(*command, "--data", tmp_path / "nowhere")
    assert (code, out) == (1, "")
    assert f"there is no store at {tmp_path / 'nowhere' / 'main.fs'}" in err
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_opened_or_written_is_told_in_a_sentence(opsapp, place, tmp_path):
    wall = tmp_path / "wall"
    wall.write_text("no directory, and no store")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("main.fs", "history.fs"):
        (damaged / name).write_bytes(wall.read_bytes() * 100)
    for command, said in (
        (("backup", wall, *place), f"it cannot be copied: {wall}: File exists"),
        (("restore", damaged, *place), "is not a store"),
        (("status-export", wall, *place), f"the files cannot be written: {wall}"),
        (("init", "--data", wall / "within"), f"the store cannot be opened: {wall / 'within'}: Not a directory"),
        (("init", "--store", "bogus://x"), "bogus: is not a known kind of store"),
        (("check-config", "--config", damaged), f"{damaged}: file: cannot be read: Is a directory"),
        (("apply", wall / "within", *place), "cannot be read: Not a directory"),
        (("pack", "--url", "http://127.0.0.1:1", "--token", "x"), "the server cannot be asked: Connection refused"),
    ):
        code, _out, err = opsapp(*command)
        assert (code, said in err) == (1, True), (command, err)


def test_a_store_in_the_place_of_a_restored_one_is_set_aside(opsapp, place, tmp_path):
    data, copy = tmp_path / "data", tmp_path / "copy"
    assert opsapp("backup", copy, *place)[0] == 0
    (data / "main.fs").write_bytes((data / "main.fs").read_bytes() + b"newer than the copy")
    before = {name: (data / name).read_bytes() for name in ("main.fs", "history.fs")}
    for again in (1, 2):  # a second one within the same second keeps both
        code, out, err = opsapp("restore", copy, *place)
        assert (code, out.count("what was there is now "), err) == (0, 2, "")
        for name in before:
            assert (data / name).read_bytes() == (copy / name).read_bytes()
            assert len(list(data.glob(f"{name}.before-*"))) == again
    for name, content in before.items():
        assert content in [path.read_bytes() for path in data.glob(f"{name}.before-*")]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("port = many", "[server:main]: a port is a number from 0 to 65535"),
        ("max_connections = few", "[server:main]: max_connections must be a number"),
    ],
)
def test_a_wrong_ini_file_is_told(opsapp, tmp_path, lines, said):
    ini = tmp_path / "a.ini"
    ini.write_text(f"[app:main]\nuse = egg:opsapp\nopsapp.data = {tmp_path}/data\n[server:main]\n{lines}\n")
    code, _out, err = opsapp("serve", ini)
    assert (code, said in err) == (1, True), err


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text(FILE)
    return path


def test_apply_tells_and_does_it_once(opsapp, place, file):
    code, out, _ = opsapp("apply", file, "--dry-run", *place)
    assert (code, out.splitlines()[-1]) == (2, "would create 2, change 0, delete 0, 0 as they were")
    code, out, _ = opsapp("apply", file, *place)
    assert code == 0
    assert out.startswith("+ monitors web\n")
    assert '    url: "https://example.test/"\n' in out
    assert ": null\n" not in out, "what holds nothing is not listed"
    assert out.splitlines()[-1] == "created 2, changed 0, deleted 0, 0 as they were"
    assert opsapp("apply", file, *place)[1] == "created 0, changed 0, deleted 0, 2 as they were\n"
    file.write_text(FILE.replace("95", "97"))
    out = opsapp("apply", file, *place)[1]
    assert '~ rules disk\n    condition: "disk.*.percent > 95" -> "disk.*.percent > 97"\n' in out
    file.write_text("rules: []\n")
    out = opsapp("apply", file, "--prune", *place)[1]
    assert out.startswith("will be deleted: rules disk\n- rules disk\n"), "it is named before it is done"
    assert opsapp("apply", file, "--prune", "--dry-run", *place)[0] == 0


def test_mistakes_have_lines_and_nothing_is_done(opsapp, place, file):
    file.write_text(FILE.replace("type: http", "type: gopher").replace("temp_cleanup", "no_such_thing"))
    code, out, err = opsapp("apply", file, *place)
    assert (code, out) == (1, "")
    assert f"{file}: line 3: monitors.0.type (web): must be one of" in err
    assert f"{file}: line 8: rules.0.action.type (disk): must be one of" in err
    file.write_text("monitors: [")
    assert opsapp("apply", file, *place)[0] == 1
    assert opsapp("apply", "/nowhere.yaml", *place)[0] == 1
    assert yaml.safe_load(opsapp("export", *place)[1])["monitors"] == []


def test_export_and_import_move_a_store(opsapp, place, file, tmp_path, monkeypatch):
    opsapp("apply", file, *place)
    exported = opsapp("export", *place)[1]
    assert [rule["id"] for rule in yaml.safe_load(exported)["rules"]] == ["disk"]
    Service(tmp_path / "other", **{"opsapp.data": str(tmp_path / "other")}).close()
    other = ("--data", tmp_path / "other")
    assert opsapp("import", *other, typed=exported)[1].endswith("created 2, changed 0, deleted 0, 1 as they were\n")
    assert opsapp("export", *other)[1] == exported


def test_import_from_another_program_reports_and_takes_the_rest(opsapp, place, tmp_path):
    shop = {"name": "Shop", "type": "http", "url": "https://shop.example.org/", "interval": 60}
    kuma = tmp_path / "kuma.json"
    kuma.write_text(json.dumps({"monitorList": [shop, {"name": "Box", "type": "docker"}]}))
    command = ("import", "--from", "kuma", kuma, *place)
    code, out, _ = opsapp(*command, "--dry-run")
    assert (code, out.splitlines()[0]) == (2, "NOT TAKEN: monitor 'Box': watch the host of it with an agent instead")
    assert out.endswith("would create 1, change 0, delete 0, 0 as they were\n")
    assert opsapp(*command)[1].endswith("created 1, changed 0, deleted 0, 0 as they were\n")
    assert opsapp(*command)[1].endswith("created 0, changed 0, deleted 0, 1 as they were\n")
    kuma.write_text(json.dumps({"monitorList": [shop | {"name": "Odd", "url": "gopher://x"}, shop | {"name": "Blog"}]}))
    code, out, _ = opsapp(*command)
    assert (code, out.splitlines()[0]) == (0, "NOT TAKEN: monitor 'Odd': url must begin with http:// or https://")
    assert out.endswith("created 1, changed 0, deleted 0, 0 as they were\n")
    code, _, err = opsapp("import", "--from", "gatus", kuma, *place)
    assert (code, err) == (1, f"opsapp: {kuma} is not a file of gatus: it has no list of endpoints\n")
    assert opsapp("import", "--from", "kuma", "/nowhere", *place)[0] == 1
    assert opsapp("import", "--from", "kuma", *place, typed="")[0] == 1
    assert "--modules" in opsapp(*command, "--modules", kuma)[2]
    none = tmp_path / "none.json"
    none.write_text('{"monitorList": []}')
    assert opsapp("import", "--from", "kuma", none, *place)[1] == "0 taken, 0 of them with a difference; 0 not taken\n"


def test_where_there_is_no_store_none_is_made(opsapp, tmp_path):
    code, out, err = opsapp("export", "--data", tmp_path / "nowhere")
    assert (code, out) == (1, "")
    assert "opsapp init" in err
    assert not (tmp_path / "nowhere").exists()


def test_a_running_server_does_it_too(opsapp, service, file, monkeypatch):
    service.client("ada")
    with listening(service.app) as url:
        asked = ("--url", url)
        assert opsapp("apply", file, *asked, "--token", service.tokens["ada"])[0] == 0
        monkeypatch.setenv(TOKEN, service.tokens["ada"])
        assert opsapp("apply", "-", *asked, typed=FILE)[1] == "created 0, changed 0, deleted 0, 2 as they were\n"
        assert [each["name"] for each in yaml.safe_load(opsapp("export", *asked)[1])["monitors"]] == ["web"]
        file.write_text(FILE.replace("type: http", "type: 7"))
        assert "line 3: monitors.0.type (web): must be one of" in opsapp("apply", file, *asked)[2]
        monkeypatch.delenv(TOKEN)
        code, _, err = opsapp("export", *asked, typed="0" * 64 + "\n")
        assert (code, "answered 401" in err) == (1, True)
        assert opsapp("export", *asked, typed="\n")[0] == 1
        assert opsapp("apply", "-", *asked, typed=FILE)[0] == 1
    assert opsapp("export", "--url", "http://127.0.0.1:1", "--token", "x")[0] == 1
    assert opsapp("export", "--url", "no url", "--token", "x")[0] == 1


def test_the_agents_file_runs(opsapp, tmp_path):
    code, out, _ = opsapp("agent-file", tmp_path)
    path = tmp_path / "opsapp-agent.pyz"
    assert (code, out.startswith(f"{path}\t")) == (0, True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True)
    assert (done.returncode, "--key-file" in done.stdout) == (0, True)
    assert opsapp("agent-file", tmp_path / "no" / "such")[0] == 1


def test_the_doctor_finds_nothing_wrong_with_a_sound_place(opsapp, place):
    code, out, _ = opsapp("doctor", *place)
    assert code == 0, out
    assert "FAIL" not in out
    assert "store: is of this version" in out


def test_the_doctor_says_what_is_wrong(opsapp, place, tmp_path):
    data = tmp_path / "data"
    (data / "main.fs").chmod(0o644)
    (data / "secret.key").chmod(0o640)
    (data / "admin-password").write_text("still here\n")
    with (data / "history.fs").open("ab") as history:
        history.write(b"half a change")
    (tmp_path / "bad.yaml").write_text("wbe: {}\n")
    code, out, _ = opsapp("doctor", *place, "--config", tmp_path / "bad.yaml", "--url", "http://127.0.0.1:1")
    assert code == 1
    for said in ("others may read", "still has the first admin's password", "did you mean 'web'?", "cannot be asked"):
        assert said in out, said
    assert "history.fs ends in 13 bytes" in out
    assert opsapp("doctor", "--data", tmp_path / "none")[0] == 1
    (data / "main.fs").write_bytes(b"something else")
    assert "main.fs is not a store" in opsapp("doctor", *place)[1]


@pytest.mark.parametrize(("key", "said"), [("0" * 64, "has 1 key"), ("short", "has no key"), (None, "is not there")])
def test_the_doctor_sees_that_the_master_key_is_not_the_stores(opsapp, place, tmp_path, key, said):
    file = tmp_path / "data/secret.key"
    written = tmp_path / "sealed.yaml"
    written.write_text("monitors: [{name: web, type: http, url: 'https://u:p@example.test/?k=v'}]\n")
    assert opsapp("apply", written, *place)[0] == 0
    assert "sealed with" not in opsapp("doctor", *place)[1]
    if key is None:
        file.unlink()
    else:
        file.write_text(key + "\n")
    code, out, _ = opsapp("doctor", *place)
    assert code == 1
    assert said in out
    assert "FAIL  store: its secrets are sealed with a master key that is not here" in out
    assert "FAIL  store: main.fs: sealed with a master key that is not here: Monitor " in out


def test_the_doctor_looks_at_a_store_in_use(opsapp, tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path, **{"opsapp.data": str(tmp_path)})
    with listening(service.app) as url:
        out = opsapp("doctor", "--data", tmp_path, "--url", url)[1]
    service.close()
    assert "is open in another process" in out
    assert f"{url} answers: ok" in out


def test_the_doctor_names_a_damaged_object_and_backup_keeps_no_copy_of_it(opsapp, place, file, tmp_path):
    assert opsapp("apply", file, *place)[0] == 0
    storage = FileStorage(str(tmp_path / "data" / "main.fs"), read_only=True)
    oid = next(oid for oid in storage._index if b"resources\nMonitor\n" in storage.load(oid)[0][:60])
    storage.close()
    overwrite(tmp_path / "data" / "main.fs", oid, 0.5)
    code, out, _ = opsapp("doctor", *place)
    assert code == 1
    assert "FAIL  store: main.fs: damaged: Monitor " in out
    code, _, err = opsapp("backup", *place, tmp_path / "copies")
    assert code == 1
    assert "main.fs has damaged objects, so no copy was made: Monitor " in err
    assert not list((tmp_path / "copies").glob("main.fs*"))
    code, out, _ = opsapp("backup", "--damaged", *place, tmp_path / "other")
    assert code == 0
    assert "this backup lacks objects that cannot be read: main.fs: Monitor " in out
