"""The `opsapp` command in this process, for the tests of its commands."""

import io
import os
import sys

import pytest

from opsapp.cli import main
from tests.support.app import Service


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The options for a store with its first admin."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    Service(tmp_path / "data", **{"opsapp.data": str(tmp_path / "data")}).close()
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
