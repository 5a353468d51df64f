"""The `opsapp` command in processes of its own: exit codes, messages for people, never a traceback."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from opsapp.cli import main
from tests.support.process import opsapp

pytestmark = pytest.mark.system
INI = str(Path(__file__).resolve().parents[2] / "development.ini")


def test_init_makes_a_store_that_only_the_owner_reads(tmp_path):
    done = opsapp("init", "--data", tmp_path / "data")
    assert done.returncode == 0, done.stderr
    password = (tmp_path / "data" / "admin-password").read_text().strip()
    assert str(tmp_path / "data" / "admin-password") in done.stderr
    assert password not in done.stdout + done.stderr, "neither is a terminal here"
    for path in (tmp_path / "data").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    again = opsapp("init", "--data", tmp_path / "data")
    assert again.returncode == 0
    assert "password" not in again.stdout + again.stderr


def test_the_first_password_comes_from_the_environment(tmp_path):
    done = opsapp("init", "--data", tmp_path, OPSAPP_ADMIN_PASSWORD="a password from outside")
    assert "a password from outside" not in done.stdout
    assert not (tmp_path / "admin-password").exists()


def made_store(place):
    """Made in this process: that `init` makes one is told above."""
    assert main(["init", "--data", str(place)]) == 0


def test_backup_and_restore_give_the_same_store(tmp_path):
    made_store(tmp_path / "one")
    saved = opsapp("backup", tmp_path / "copy", "--data", tmp_path / "one")
    assert saved.returncode == 0
    assert f"the master key {tmp_path / 'one' / 'secret.key'} is not in it" in saved.stdout
    restored = opsapp("restore", tmp_path / "copy", "--data", tmp_path / "two")
    assert restored.returncode == 0
    assert f"belongs at {tmp_path / 'two' / 'secret.key'}" in restored.stdout
    for name in ("main.fs", "history.fs"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert opsapp("pack", "--data", tmp_path / "two").returncode == 0


@pytest.mark.nightly("starts many processes for one rule")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be refused for being root")
def test_root_leaves_nothing_in_a_store_of_another_user(tmp_path):
    data, ini = tmp_path / "data", tmp_path / "opsapp.ini"
    ini.write_text(f"[app:main]\nuse = egg:opsapp#main\nopsapp.data = {data}\n[server:main]\nuse = egg:opsapp#gevent\n")
    assert opsapp("init", "--data", data).returncode == 0
    assert opsapp("backup", tmp_path / "copy", "--data", data).returncode == 0
    for path in (data, *data.iterdir()):
        os.chown(path, 12345, 12345)
    before = sorted(path.name for path in data.iterdir())
    for command in (
        ["init", "--data", data],
        ["pack", "--data", data],
        ["restore", tmp_path / "copy", "--data", data],
        ["user", "list", "--data", data],
        ["serve", ini, "--port", "0"],
    ):
        done = opsapp(*command)
        assert done.returncode == 1, command
        assert "belongs to the user #12345" in done.stderr, command
    assert sorted(path.name for path in data.iterdir()) == before
    assert opsapp("backup", tmp_path / "again", "--data", data).returncode == 0  # it only reads
    for path in data.iterdir():
        path.unlink()
    done = opsapp("restore", tmp_path / "copy", "--data", data)  # a new machine: only the directory is there
    assert (done.returncode, "runuser -u" in done.stderr) == (1, True)
    assert list(data.iterdir()) == []


@pytest.mark.nightly("starts many processes for one rule")
def test_a_damaged_backup_touches_nothing(tmp_path):
    opsapp("init", "--data", tmp_path / "one")
    opsapp("backup", tmp_path / "copy", "--data", tmp_path / "one")
    before = (tmp_path / "one" / "main.fs").read_bytes()
    (tmp_path / "copy" / "main.fs").write_bytes(before[:-20])
    done = opsapp("restore", tmp_path / "copy", "--data", tmp_path / "one")
    assert (done.returncode, "middle of a transaction" in done.stderr) == (1, True)
    assert (tmp_path / "one" / "main.fs").read_bytes() == before


def test_a_damaged_store_is_told(tmp_path):
    for name in ("main.fs", "history.fs"):
        (tmp_path / name).write_bytes(b"no store" * 100)
    done = opsapp("user", "list", "--data", tmp_path)
    assert (done.returncode, "main.fs is damaged, or is no store" in done.stderr) == (1, True)


def test_a_server_does_not_start_on_what_is_left_of_a_store(tmp_path):
    made_store(tmp_path)
    (tmp_path / "main.fs").unlink()
    done = opsapp("serve", INI, "--data", tmp_path, "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"opsapp: {tmp_path / 'main.fs'} is missing" in done.stderr
    assert not (tmp_path / "main.fs").exists()


@pytest.mark.nightly("each mistake has a test in tests/api/test_configfile.py")
def test_check_config_names_each_mistake(tmp_path):
    (tmp_path / "good.yaml").write_text("timezone: Europe/Berlin\n")
    (tmp_path / "bad.yaml").write_text("timezone: Europe/Berlin\nwbe: {}\n")
    assert opsapp("check-config", "--config", tmp_path / "good.yaml").returncode == 0
    done = opsapp("check-config", "--config", tmp_path / "bad.yaml")
    assert done.returncode == 1
    assert "line 2: wbe: is not known here; did you mean 'web'?" in done.stderr


def test_openapi_is_printed_and_leaves_nothing_behind(tmp_path):
    assert json.loads(opsapp("openapi", TMPDIR=str(tmp_path)).stdout)["openapi"] == "3.1.0"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        (("serve", "/nowhere.ini"), 1),
        (("serve", INI, "--data", "/proc/nowhere"), 1),
        (("serve", INI, "--node", "Not A Name"), 1),
        (("serve", INI, "--roles", "web,king"), 1),
        (("serve", "--help"), 0),
    ],
)
def test_exit_codes(arguments, code):
    assert opsapp(*arguments).returncode == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nonsense",), 2),
        (("serve",), 2),
        (("serve", INI, "--port", "70000"), 2),
        (("pack",), 1),
        (("check-config",), 1),
        (("check-config", "--config", "/nowhere.yaml"), 1),
        (("backup", "/tmp/x", "--store", "zeo://localhost:1"), 1),
        (("--help",), 0),
        (("backup", "--help"), 0),
    ],
)
def test_exit_codes_without_a_process_of_its_own(arguments, code):
    """That a process ends with the code of its command is told above."""
    try:
        ended_with = main([*arguments])
    except SystemExit as end:  # of the parser
        ended_with = end.code
    assert ended_with == code


@pytest.mark.nightly("commands of users have tests in tests/api/test_cli.py")
def test_users_are_added_listed_and_disabled(tmp_path):
    place = ("--data", tmp_path)
    assert opsapp("user", "add", "otto", "--role", "operator", *place, typed="a long password\n").returncode == 0
    again = opsapp("user", "add", "otto", *place, typed="a long password\n")
    assert (again.returncode, "this name already" in again.stderr) == (1, True), again.stderr
    short = opsapp("user", "add", "vera", *place, typed="short\n")
    assert (short.returncode, "10" in short.stderr) == (1, True)
    assert opsapp("user", "passwd", "otto", *place, typed="another password\n").returncode == 0
    assert opsapp("user", "disable", "otto", *place).returncode == 0
    assert "otto\toperator\tdisabled\tlocal" in opsapp("user", "list", *place).stdout
    assert opsapp("user", "disable", "nobody", *place).returncode == 1


@pytest.mark.nightly("starts many processes for one rule")
def test_rekey_makes_a_new_key_and_needs_the_old_one(tmp_path):
    opsapp("init", "--data", tmp_path)
    key = tmp_path / "secret.key"
    before = key.read_text()
    done = opsapp("rekey", "--data", tmp_path)
    assert (done.returncode, key.read_text() == before) == (0, False), done.stderr
    key.unlink()
    assert opsapp("rekey", "--data", tmp_path).returncode == 1


@pytest.mark.nightly("commands of users have tests in tests/api/test_cli.py")
def test_users_at_the_shell(tmp_path):
    add = ("user", "add", "grace", "--role", "operator", "--data", tmp_path)
    assert opsapp(*add, typed="a sound password\n").returncode == 0
    assert opsapp(*add, typed="a sound password\n").returncode == 1
    assert opsapp("user", "add", "bob", "--data", tmp_path, typed="short\n").returncode == 1
    assert opsapp("user", "passwd", "grace", "--data", tmp_path, typed="another sound one\n").returncode == 0
    assert opsapp("user", "disable", "grace", "--data", tmp_path).returncode == 0
    assert "grace\toperator\tdisabled\tlocal" in opsapp("user", "list", "--data", tmp_path).stdout
    assert opsapp("user", "disable", "nobody", "--data", tmp_path).returncode == 1


def test_a_reader_that_has_seen_enough_is_no_mistake():
    command = [sys.executable, "-m", "opsapp.cli", "openapi"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "{\n"
        child.stdout.close()  # the document is larger than a pipe
        assert child.stderr.read() == ""
    assert child.returncode == 1
