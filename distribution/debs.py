"""The Debian packages of the service and of the agent, written by dpkg-deb. Must not: run what it packs.

The service brings everything that it needs, in the versions that requirements/ locks by hash, as an environment below
/usr/lib/opsapp over the system's Python: of the minor version that builds the package, because compiled modules are.
"""

import hashlib
import os
import pathlib
import runpy
import shutil
import subprocess
import sys

from opsapp.agents import zipapp
from opsapp.wire.version import VERSION

from . import sbom, source

HERE = pathlib.Path(__file__).resolve().parent
DOCS = source.ROOT / "docs/guide"
PYTHON = f"python3.{sys.version_info.minor}"
HOME = "usr/lib/opsapp"
LAUNCH = f"""#!/{HOME}/bin/python -I
import sys

from opsapp.cli import main

sys.exit(main())
"""
# What is in requirements/lock-test.txt only, because `make run` goes without it: PostgreSQL.
EXTRA = ("relstorage", "psycopg2-binary", "perfmetrics", "packaging", "zope-dottedname")


def service(installed, work, out):
    """`installed`: a directory that `install` has filled; it becomes the package's."""
    root = work / "opsapp"
    environment = root / HOME
    site = environment / "lib" / PYTHON / "site-packages"
    site.parent.mkdir(parents=True)
    installed.rename(site)
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(f"/usr/bin/{PYTHON}")
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    executable(environment / "bin/opsapp", LAUNCH)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/opsapp").symlink_to(f"/{HOME}/bin/opsapp")
    for unit in sorted((DOCS / "units").iterdir()):
        put(root / "usr/lib/systemd/system" / unit.name, unit.read_text().replace("/opt/opsapp/", f"/{HOME}/"))
    put(root / "usr/share/doc/opsapp/opsapp.example.yaml", (source.ROOT / "opsapp.example.yaml").read_text())
    for file in sorted((source.ROOT / "opsapp/web/prometheus").iterdir()):
        put(root / "usr/share/doc/opsapp/prometheus" / file.name, file.read_text())
    put(root / "usr/share/doc/opsapp/sbom.cdx.json", sbom.text([site]))
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout
    return pack("opsapp", root, architecture.strip(), out)


def agent(work, out):
    root = work / "opsapp-agent"
    place = root / "usr/lib/opsapp-agent/opsapp-agent.pyz"
    place.parent.mkdir(parents=True)
    place.write_bytes(zipapp.agent_file().data)
    put(place.with_name("packaged"), "This agent is kept up to date by the system's packages.\n")
    return pack("opsapp-agent", root, "all", out)


def install(wheel, site, work):
    """Into `site`: what is locked for this Python, each file compared with its hash, and the wheel."""
    locks = runpy.run_path(str(source.ROOT / "requirements/venv.py"))
    run, test = (locks["blocks_of"](locks["LOCKS"][level].read_text()) for level in ("run", "test"))
    wanted = work / "wanted.txt"
    wanted.write_text("".join([*run, *(block for block in test if block.partition("==")[0] in EXTRA)]))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--no-deps", "--disable-pip-version-check"]
    quiet = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "SOURCE_DATE_EPOCH": str(source.epoch())}
    into = ["--target", str(site)]
    subprocess.run([*pip, *into, "--require-hashes", "-r", str(wanted)], check=True, env=quiet, umask=0o022)
    drop_programs(site)
    subprocess.run([*pip, *into, "--no-index", str(wheel)], check=True, env=quiet, umask=0o022)
    drop_programs(site)
    for record in site.glob("*.dist-info/RECORD"):  # lists programs that are not packed, and where pip built
        record.unlink()
    for told in site.glob("*.dist-info/direct_url.json"):
        told.unlink()
    for path in site.rglob("__pycache__"):
        shutil.rmtree(path)


def drop_programs(site):
    """What pip puts beside the modules: their programs name the Python that built this."""
    for name in ("bin", "include", "share", "man"):
        shutil.rmtree(site / name, ignore_errors=True)


def pack(name, root, architecture, out):
    """`root` with the control files of debian/NAME, as NAME_VERSION_ARCHITECTURE.deb."""
    kept = HERE / "debian" / name
    shutil.copytree(kept / "root", root, dirs_exist_ok=True)
    put(root / f"usr/share/doc/{name}/copyright", (HERE / "debian/copyright").read_text())
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()) // 1024
    minor = sys.version_info.minor
    values = {
        "VERSION": VERSION,
        "ARCHITECTURE": architecture,
        "SIZE": size,
        "PYTHON": f"python3 (>= 3.{minor}), python3 (<< 3.{minor + 1})",
    }
    control = (kept / "control").read_text()
    for key, value in values.items():
        control = control.replace(f"@{key}@", str(value))
    put(root / "DEBIAN/md5sums", sums(root))
    put(root / "DEBIAN/control", control)
    configured = sorted(path for path in (root / "etc").rglob("*") if path.is_file())
    put(root / "DEBIAN/conffiles", "".join(f"/{path.relative_to(root)}\n" for path in configured))
    for script in ("postinst", "prerm", "postrm"):
        executable(root / "DEBIAN" / script, (kept / script).read_text())
    source.settle(root, source.epoch())
    made = out / f"{name}_{VERSION}_{architecture}.deb"
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch())}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", str(root), str(made)]
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL)
    return made


def sums(root):
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def executable(path, text):
    put(path, text)
    path.chmod(0o755)
