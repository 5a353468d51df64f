"""What people install, built twice: the same bytes. tests/fleet/test_packages.py installs the Debian packages."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from importlib import metadata

import pytest
import yaml

from distribution import debs, sbom, source, wheel
from opsapp.wire.version import VERSION

pytestmark = pytest.mark.nightly("packages are built twice")

PROMETHEUS = ("opsapp-dashboard.json", "opsapp-rules.yml")
CONTAINER = source.ROOT / "distribution/container"
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb on this machine")


@pytest.fixture
def built_twice(tmp_path):
    """A function that builds in two fresh directories and answers both files."""

    def build(make):
        made = []
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            made.append(make(tmp_path / name))
        return made

    return build


def test_two_wheels_are_the_same_bytes_and_have_what_runs(built_twice):
    first, second = built_twice(lambda place: wheel.build(place, place))
    assert first.name == f"opsapp-{VERSION}-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {"opsapp/app.py", "opsapp/ui/templates/base.jinja2", "opsapp/agents/views/install.py"} <= set(names)
    assert {f"opsapp/web/prometheus/{name}" for name in PROMETHEUS} <= set(names)
    assert [name for name in names if name.startswith(("tests/", "distribution/", "requirements/"))] == []


@needs_dpkg
def test_two_agent_packages_are_the_same_bytes_and_keep_their_configuration(built_twice):
    first, second = built_twice(lambda place: debs.agent(place, place))
    assert first.name == f"opsapp-agent_{VERSION}_all.deb"
    assert first.read_bytes() == second.read_bytes()
    read = subprocess.run(["dpkg-deb", "-I", first, "conffiles"], capture_output=True, text=True, check=True)
    assert read.stdout == "/etc/opsapp-agent/agent.json\n"
    listed = subprocess.run(["dpkg-deb", "-c", first], capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in listed.splitlines()} == {"root/root"}


@needs_dpkg
def test_two_service_packages_are_the_same_bytes_whoever_builds_them(tmp_path, monkeypatch):
    """From the same parts, as two people have them: another place, umask, date, and order of the files. Whole builds,
    with what pip makes of the parts, take half a minute each: two were compared by hand."""
    made = []
    for name, mask, date in (("first", 0o022, 1_000_000_000), ("second/by another", 0o077, 1_600_000_000)):
        work = tmp_path / name
        work.mkdir(parents=True)
        monkeypatch.chdir(work)
        parts = ["colander", "pyramid"] if made else ["pyramid", "colander"]
        before = os.umask(mask)
        try:
            site = some_parts(work / "site", parts, ("METADATA", "LICENSE.txt", "entry_points.txt", "__init__.py"))
            for path in site.rglob("*"):
                os.utime(path, (date, date))
            made.append(debs.service(site, work, work))
        finally:
            os.umask(before)
    assert made[0].read_bytes() == made[1].read_bytes()
    listed = subprocess.run(["dpkg-deb", "-c", made[0]], capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in listed.splitlines()} == {"root/root"}
    assert "./usr/lib/opsapp/lib/" in listed
    assert all(f"./usr/share/doc/opsapp/prometheus/{name}" in listed for name in PROMETHEUS)
    read = subprocess.run(["dpkg-deb", "-I", made[0], "conffiles"], capture_output=True, text=True, check=True)
    assert read.stdout == "/etc/opsapp/opsapp.ini\n/etc/opsapp/opsapp.yaml\n"


def some_parts(site, parts, kept=("METADATA",)):
    """What pip would install of them, as far as files with these names go."""
    for part in parts:
        for file in metadata.distribution(part).files:
            if file.name in kept:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).write_bytes(file.locate().read_bytes())
    return site


@needs_dpkg
def test_the_scripts_of_the_packages_are_sound():
    for script in sorted((source.ROOT / "distribution/debian").glob("*/p*")):
        assert subprocess.run(["sh", "-n", script]).returncode == 0, script
        assert "\nset -e\n" in script.read_text()


def test_the_list_of_parts_names_each_with_its_version(tmp_path):
    site = some_parts(tmp_path / "site", ("colander", "gevent"))
    document = json.loads(sbom.text([site]))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    assert document["metadata"]["component"]["version"] == VERSION
    parts = {part["purl"] for part in document["components"]}
    assert parts == {f"pkg:pypi/{name}@{metadata.version(name)}" for name in ("colander", "gevent")}
    assert document["dependencies"][0]["dependsOn"] == sorted(parts)
    assert sbom.text([site]) == sbom.text([site])


def test_what_postgresql_needs_is_locked_and_packed():
    """The Debian package has the extra of setup.py; the names of its parts are in the lock of the tests."""
    lock = (source.ROOT / "requirements/lock-test.txt").read_text()
    run = (source.ROOT / "requirements/lock.txt").read_text()
    needed, waiting = set(), ["RelStorage", "psycopg2-binary"]
    while waiting:
        name = sbom.normal(waiting.pop())
        if name not in needed and not re.search(rf"^{re.escape(name)}==", run, re.M):
            needed.add(name)
            required = metadata.requires(name) or []
            waiting += [re.match(r"[\w.-]+", line)[0] for line in required if "extra ==" not in line]
    assert needed == set(debs.EXTRA)
    assert all(re.search(rf"^{re.escape(name)}==", lock, re.M) for name in needed)


# No base image can be fetched where this runs, so the two files are read instead of built.


def test_the_container_does_not_run_as_root_and_copies_what_there_is():
    lines = (CONTAINER / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    told = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    stages = [rest for word, rest in told if word == "FROM"]
    assert len(stages) == 2
    assert all(re.match(r"docker\.io/library/python:3\.\d+-slim-\w+", stage) for stage in stages)
    last = told[max(number for number, (word, _) in enumerate(told) if word == "FROM") :]
    assert [rest for word, rest in last if word == "USER"] == ["opsapp"]
    assert {word for word, _ in last} >= {"HEALTHCHECK", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert not [word for word, _ in told if word in ("ADD", "ARG", "ENV")]
    for _, rest in (line for line in told if line[0] == "COPY" and "--from" not in line[1]):
        for name in rest.split()[:-1]:
            assert (source.ROOT / name).exists(), name


def test_the_compose_file_gives_the_service_little():
    service = yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]["opsapp"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (CONTAINER / service["build"]["context"] / service["build"]["dockerfile"]).exists()
