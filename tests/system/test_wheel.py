"""The wheel in an empty environment elsewhere: it carries templates and static files, and serves from there."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from distribution.wheel import build
from tests.support.process import ROOT, Serve

pytestmark = [pytest.mark.system, pytest.mark.nightly("makes an environment and installs into it")]
ELSEWHERE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("wheel"))


def test_it_carries_every_file_of_the_package(wheel):
    listed = subprocess.run(["git", "ls-files", "-z", "opsapp"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    assert names - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_it_serves_from_an_environment_of_its_own(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin/python"
    install = [sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-deps", wheel]
    subprocess.run(install, check=True, env=ELSEWHERE, cwd=tmp_path)
    site = next((place / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")  # no network here: borrow them
    with Installed(tmp_path / "run", place) as serve:
        where = [python, "-c", "import opsapp; print(opsapp.__file__)"]
        told = subprocess.run(where, cwd=tmp_path, env=ELSEWHERE, capture_output=True, text=True, check=True).stdout
        assert told.startswith(str(place))
        assert serve.admin.get("/api/me")["role"] == "admin"
        page = serve.client().request("GET", "/api/docs")
        assert page.status == 200
        assert b"<html" in page.body
        assert serve.stop() == 0


class Installed(Serve):
    def __init__(self, directory, place):
        super().__init__(directory)
        self.place = place

    def command(self):
        return [str(self.place / "bin/opsapp"), *super().command()[3:]]

    def environment(self):
        return {name: value for name, value in super().environment().items() if name != "PYTHONPATH"}
