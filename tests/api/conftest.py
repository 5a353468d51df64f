"""The `opsapp` command in this process, for the tests of its commands."""

import io
import os
import shutil
import sys

import pytest

from opsapp.cli import main
from tests.support.app import Service


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def first_store(tmp_path_factory):
    """A directory as the first start leaves it, made once. Tests have copies."""
    data = tmp_path_factory.mktemp("first") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        Service(data, **{"opsapp.data": str(data)}).close()
    return data


@pytest.fixture
def place(first_store, tmp_path, monkeypatch):
    """The options for a store with its first admin."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    shutil.copytree(first_store, tmp_path / "data")
    return ("--data", str(tmp_path / "data"))


@pytest.fixture
def opsapp(capsys, monkeypatch, umask):
    """Runs a command; (exit code, standard output, standard error)."""

    def run(*arguments, typed=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return code, told.out, told.err

    return run
