"""opsapp on a host of the lab, installed as docs/guide/running.md says: a wheel, two users, three units."""

import importlib.util
import itertools
import shutil
import sys
import textwrap
from pathlib import Path

from tests.fleet.lab import machine
from tests.fleet.lab.machine import run
from tests.support import wheel
from tests.support.client import Client
from tests.support.process import ROOT
from tests.support.waiting import until

GUIDE = ROOT / "docs/guide"
UNITS = GUIDE / "units"
PORT = 6080
MARK = "https://only-in-the-yaml.example"


def said(after):
    """The indented lines of the guide that follow a line with these words."""
    lines = (GUIDE / "running.md").read_text().partition(after)[2].splitlines()[2:]
    block = itertools.takewhile(lambda line: line.startswith("    ") or not line, lines)
    return textwrap.dedent("\n".join(block)).strip() + "\n"


def with_bytecode(distributions):
    """The files of these, by the directory that they are in, and what Python has made of them: it need not again."""
    files = {}
    for distribution in distributions:
        base = Path(distribution.locate_file(""))
        names = [file for file in distribution.files if ".." not in file.parts and file.suffix != ".pyc"]
        made = [importlib.util.cache_from_source(name) for name in names if name.suffix == ".py"]
        files.setdefault(base, []).extend([*names, *(name for name in made if (base / name).exists())])
    return files


BUILD = "import sys, pathlib; from distribution import wheel; work = pathlib.Path(sys.argv[1]); wheel.build(work, work)"


def built(host, work):
    """The wheel, made by programs with the host's share of the processors, as all that is done for it here."""
    run(*machine.joining(host.groups), sys.executable, "-c", BUILD, work, env={"PYTHONPATH": str(ROOT)}, timeout=120)
    (made,) = work.glob("opsapp-*.whl")
    return made


def copy(host, base, names, place):
    """With their times, by which Python knows its bytecode."""
    listed = host.dir / "names"
    listed.write_text("".join(f"{name}\n" for name in names))
    place.mkdir(parents=True, exist_ok=True)
    script = 'tar -C "$1" --verbatim-files-from -T "$2" -c | tar -C "$3" -x'
    words = ["bash", "-o", "pipefail", "-ec", script, "copy", base, listed, place]
    run(*machine.joining(host.groups), *words, timeout=120)


class Installed:
    """`admin` is a client that is signed in with the password that the first start has made."""

    def __init__(self, host, work):
        self.host, self.url = host, f"http://{host.address}:{PORT}"
        self._admin = None
        self._install(built(host, work))
        host.write("/etc/opsapp/opsapp.ini", said("`/etc/opsapp/opsapp.ini`:").replace("127.0.0.1", "0.0.0.0"))
        self.configure(f"web: {{base_url: '{MARK}'}}")
        for unit in UNITS.iterdir():
            host.write(f"/etc/systemd/system/{unit.name}", unit.read_text())
        (service_user,) = [
            line
            for line in said("a virtual environment, an ini file, a unit.").splitlines()
            if line.startswith("useradd")
        ]
        host.exec("sh", "-ec", service_user)
        host.exec("sh", "-ec", said("and then:"), timeout=60)
        self.until_ready()

    def _install(self, package):
        """The host has no way out: what the wheel needs is copied, the wheel itself is installed by pip."""
        host = self.host
        host.exec("python3", "-m", "venv", "--without-pip", "/opt/opsapp")
        (inside,) = (host.root / "opt/opsapp/lib").glob("python3*")
        if inside.name != f"python3.{sys.version_info.minor}":
            raise AssertionError(f"the hosts have {inside.name}: what this Python has installed is not for it")
        for base, names in with_bytecode(wheel.dependencies(package)).items():
            copy(host, base, names, inside / "site-packages")
        site = Path(sys.modules["pip"].__file__).parents[1]
        copy(host, site, ["pip"], host.root / "root/pip")
        shutil.copyfile(package, host.root / "root" / package.name)
        host.exec(
            "env",
            "PYTHONPATH=/root/pip",
            "/opt/opsapp/bin/python",
            "-m",
            "pip",
            "-q",
            "install",
            "--no-index",
            "--no-deps",
            f"/root/{package.name}",
            timeout=240,
        )

    def configure(self, more):
        text = said("`/etc/opsapp/opsapp.yaml`:") + more + "\n"
        (self.host.root / "etc/opsapp/opsapp.yaml").write_text(text)  # it keeps its owner and its mode

    def until_ready(self):
        def ready():
            try:
                return Client(self.url, timeout=5).request("GET", "/api/status/public").status == 200
            except OSError:
                return False

        try:
            until(ready, 60, what="an answer of the service")
        except AssertionError as missed:
            raise AssertionError(f"{missed}\n{self.log()}") from None
        return self

    @property
    def admin(self):
        if self._admin is None:
            self._admin = Client(self.url).login("admin", self.host.read("/var/lib/opsapp/admin-password").strip())
        return self._admin

    def show(self, unit, name):
        return self.host.exec("systemctl", "show", "--value", "-p", name, unit).stdout.strip()

    def log(self):
        shown = self.host.exec("journalctl", "-u", "opsapp*", "--no-pager", "-n", "80", check=False).stdout
        return shown + self.host.exec("systemctl", "status", "--no-pager", "opsapp*", check=False).stdout
