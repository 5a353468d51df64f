"""What is installed is what was locked: every package in one version, every file by its hash."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("opsapp_venv", ROOT / "requirements/venv.py")
venv = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(venv)


def names(blocks):
    return {re.match(r"[A-Za-z0-9._-]+", block)[0].lower().replace("_", "-") for block in blocks}


@pytest.mark.parametrize("level", ["run", "test"])
def test_everything_that_setup_py_asks_for_is_locked(level):
    asked = {re.match(r"[A-Za-z0-9._-]+", text)[0].lower().replace("_", "-").replace(".", "-")
             for text in venv.requirements(level)}  # fmt: skip
    assert asked <= {name.replace(".", "-") for name in names(venv.locked(level))}


def test_every_package_has_one_version_and_hashes():
    blocks = venv.locked("test")
    assert len(blocks) > 100
    for block in blocks:
        assert re.match(r"[A-Za-z0-9._-]+==[^ ]+ ", block), block[:80]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block[:80]
        assert not re.search(r"--hash=(?!sha256:)", block), block[:80]


def test_this_python_has_what_is_locked():
    texts = [block.partition("\\")[0].strip() for block in venv.locked("test")]
    command = [sys.executable, "-c", venv.SEEK]
    found = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60)
    assert [texts[number] for number in json.loads(found.stdout)] == []


@pytest.mark.attack
def test_a_file_with_another_hash_is_not_installed(tmp_path):
    """pip itself, on a package of our own, without any network."""
    package = tmp_path / "sound-1.0-py3-none-any.whl"
    _wheel(package)
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("sound==1.0 --hash=sha256:" + "0" * 64 + "\n")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(tmp_path), "--no-deps",
               "--target", str(tmp_path / "out"), "--require-hashes", "-r", str(wanted)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stdout + done.stderr
    assert "--require-hashes" in (ROOT / "requirements/venv.py").read_text()


def _wheel(path):
    import zipfile

    with zipfile.ZipFile(path, "w") as file:
        file.writestr("sound.py", "")
        file.writestr("sound-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sound\nVersion: 1.0\n")
        file.writestr("sound-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("sound-1.0.dist-info/RECORD", "")
