"""What a run on the service's own machine tries against its executor, the service and the runs beside it.

By default, and with a user of its own for the executor: each run's processes end with it, and reach no one else.
"""

import contextlib
import os
import signal
import tempfile
from pathlib import Path

import pytest
import yaml

from opsapp.agent import domains
from opsapp.agents.engine.executor_standing import ENDS, READS
from tests.support.automations import ended, make, run, script
from tests.support.process import Serve
from tests.support.proctexts import texts
from tests.support.waiting import until

from .test_executor import SYSTEM_PYTHON, alive, executor_pid

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("own_program"), pytest.mark.attack]
SECRET = "open sesame 4711"
UNABLE = domains.missing()
keeps_apart = pytest.mark.skipif(UNABLE is not None, reason=f"this kernel keeps no runs apart: {UNABLE}")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user for the executor needs root")
OWN = pytest.param({"executor": {"user": "nobody", "python": SYSTEM_PYTHON}}, marks=needs_root, id="its own user")


@pytest.fixture(scope="module", params=[pytest.param({}, id="the service's user"), OWN])
def serve(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("attacks")
    config = {"automations": {"kill_grace_s": 0.5, "retry_delay_s": 0.1}, **request.param}
    with Serve(place, config=config) as serve:
        until(lambda: executor_pid(serve), what="the executor")
        serve.admin.post("/api/secrets", {"name": "door", "value": SECRET})
        yield serve


@pytest.fixture
def place():
    """Where the executor's user may write, whoever that is. Not below pytest's own directory: each session that begins
    on this machine closes that to others."""
    with tempfile.TemporaryDirectory(prefix="opsapp-attacks.") as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


LEAVES = {
    "in its group": "sleep 600 & echo $! > {0}",
    "in a session of its own": "setsid sleep 600 & echo $! > {0}",
    "without its environment, two sessions away": (
        "env -i setsid sh -c 'setsid sh -c \"echo \\$\\$ > {0}; exec sleep 600\" &' & "
        "while [ ! -s {0} ]; do sleep 0.02; done"
    ),
    "deaf to TERM, holding the output open": (
        "setsid sh -c 'trap \"\" TERM; echo $$ > {0}; while :; do sleep 1; done' & "
        "while [ ! -s {0} ]; do sleep 0.02; done"
    ),
}


@pytest.mark.parametrize("left", LEAVES)
def test_what_a_run_leaves_is_gone_when_it_has_ended(serve, place, left):
    found = ended(serve, run(serve, script(serve, LEAVES[left].format(place / "pid") + "; echo over")))
    assert (found["status"], found["output"]) == ("done", "over\n")
    assert not alive(int((place / "pid").read_text()))


def test_what_fled_twice_without_its_environment_is_gone_after_a_time_out(serve, place):
    text = LEAVES["without its environment, two sessions away"].format(place / "pid") + "; sleep 600"
    assert ended(serve, run(serve, script(serve, text, timeout=4)))["status"] == "timeout"
    assert not alive(int((place / "pid").read_text()))


def test_what_fled_is_gone_when_the_executor_is_killed(serve, place):
    """At once, by whoever kept it: nobody has to look for it."""
    text = LEAVES["without its environment, two sessions away"].format(place / "pid") + f"; > {place}/up; sleep 600"
    run_id = run(serve, script(serve, text))
    until((place / "up").exists, what="the script being there")
    os.kill(executor_pid(serve), signal.SIGKILL)
    until(lambda: not alive(int((place / "pid").read_text())), what="the end of what fled")
    assert ended(serve, run_id)["status"] == "lost"
    until(lambda: executor_pid(serve), what="the next executor")


BY_DESCRIPTOR = {"DOOR_FD": "{{secret:door}}"}
HELD = (
    'cat /dev/fd/$DOOR_FD; echo; rev < /dev/fd/$DOOR_FD; echo; sh -c "exec wc -c < /dev/fd/$DOOR_FD"; '
    "tr '\\0' '\\n' < /proc/$$/environ | grep -c 'ses[a]me'; "
    "for how in '>' '1<>'; do sh -c \"echo x $how /dev/fd/$DOOR_FD\" 2>/dev/null && echo written; done; "
    "exec rev < /dev/fd/$DOOR_FD"
)


def test_a_secret_by_a_sealed_descriptor_is_in_no_environment_and_nobody_changes_it(serve):
    found = ended(serve, run(serve, make(serve, "script", {"script": HELD, "descriptors": BY_DESCRIPTOR})))
    backwards = SECRET[::-1]
    assert found["output"].splitlines() == ["[secret]", backwards, str(len(SECRET)), "0", backwards]
    assert found["status"] == "done"


def test_python_reads_it_by_its_number(serve):
    text = "import os; print(open(int(os.environ['DOOR_FD'])).read()[::-1])"
    params = {"script": text, "interpreter": "python3", "descriptors": BY_DESCRIPTOR}
    assert ended(serve, run(serve, make(serve, "script", params)))["output"] == SECRET[::-1] + "\n"


@keeps_apart
def test_a_run_reads_no_secret_of_the_run_beside_it(serve, place):
    read_no_secret(serve, place)


def read_no_secret(serve, place):
    gate = place / "gate"
    held = f"x={{{{secret:door}}}}; > {place}/up; while [ ! -e {gate} ]; do sleep 0.1; done"
    victim = run(serve, make(serve, "script", {"script": held, "descriptors": BY_DESCRIPTOR}))
    until((place / "up").exists, what="the victim being there")
    look = (
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep '^OPSAPP_'; "
        "find /proc/[0-9]*/fd -lname '/memfd:*' -exec cat {} + 2>/dev/null; "
        "grep -rhs 'ses[a]me' /proc/[0-9]*/cmdline /tmp/opsapp-run.*; echo looked"
    )
    seen = ended(serve, run(serve, script(serve, look)))["output"]
    gate.touch()
    assert ended(serve, victim)["status"] == "done"
    assert "OPSAPP_RUN_ID" in seen, "its own"
    assert "OPSAPP_SECRET" not in seen
    assert "***" not in seen
    assert "sesame" not in seen
    assert len(set(line for line in seen.splitlines() if line.startswith("OPSAPP_RUN_ID="))) == 1


@keeps_apart
@pytest.mark.parametrize("number", ["KILL", "STOP", "TERM", "INT"])
def test_a_run_neither_ends_nor_stops_the_executor_the_service_or_another_run(serve, place, number):
    gate, executor = place / "gate", executor_pid(serve)
    beside = run(serve, script(serve, f"echo $$ > {place}/pid; while [ ! -e {gate} ]; do sleep 0.1; done; echo well"))
    other = int(until(lambda: (place / "pid").exists() and (place / "pid").read_text(), what="the run beside it"))
    parents = [pid for pid in family(executor) if pid != other]
    text = "".join(f"kill -{number} {pid} && echo hit {pid};" for pid in [serve.child.pid, *parents, other])
    text += f" kill -{number} -- -{other} && echo hit group; kill -{number} $PPID && echo hit parent; echo tried"
    seen = ended(serve, run(serve, script(serve, text)))
    assert (seen["status"], [line for line in seen["output"].splitlines() if "hit" in line]) == ("done", [])
    assert seen["output"].endswith("tried\n")
    gate.touch()
    assert ended(serve, beside)["output"] == "well\n"
    assert executor_pid(serve) == executor


def family(pid):
    """A process and all that come from it."""
    children = texts(Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(member for text in children for child in text.split() for member in family(int(child)))]


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """As on a kernel that keeps nobody apart."""
    config = {"automations": {"kill_grace_s": 0.5, "retry_delay_s": 0.1}, "executor": {"isolation": "off"}}
    with Serve(tmp_path_factory.mktemp("without"), config=config) as serve:
        until(lambda: executor_pid(serve), what="the executor")
        yield serve


@pytest.mark.parametrize("left", LEAVES)
def test_what_a_run_leaves_is_gone_without_domains_too(without, place, left):
    found = ended(without, run(without, script(without, LEAVES[left].format(place / "pid") + "; echo over")))
    assert (found["status"], found["output"]) == ("done", "over\n")
    assert not alive(int((place / "pid").read_text()))


def test_a_run_that_kills_its_keeper_fails_and_leaves_nothing_that_carries_its_mark(without, place):
    text = (
        f"setsid sh -c 'echo $$ > {place}/pid; while :; do sleep 1; done' & echo $$ > {place}/own; "
        f"while [ ! -s {place}/pid ]; do sleep 0.02; done; kill -9 $PPID; sleep 600"
    )
    found = ended(without, run(without, script(without, text)))
    assert (found["status"], found["reason"]) == ("failed", "ended by signal 9")
    for name in ("pid", "own"):
        until(lambda name=name: not alive(int((place / name).read_text())), what=f"the end of {name}")


def nurseries(executor):
    """Its own children that have its command line. What a run has left may be a child of it for a moment, too."""
    [command] = texts([Path(f"/proc/{executor}/cmdline")])
    children = [int(pid) for text in texts(Path(f"/proc/{executor}/task").glob("*/children")) for pid in text.split()]
    return [pid for pid in children if texts([Path(f"/proc/{pid}/cmdline")]) == [command]]


def test_without_its_nursery_the_executor_is_started_again(without):
    assert ended(without, run(without, script(without, "echo on")))["output"] == "on\n", "it has tried the kernel"
    executor = executor_pid(without)
    [nursery] = until(lambda: nurseries(executor), what="the nursery")
    os.kill(nursery, signal.SIGKILL)
    until(lambda: not alive(nursery), what="its end")
    failed = ended(without, run(without, script(without, "echo on")))
    assert (failed["status"], failed["reason"]) == ("failed", "cannot start /bin/sh: the nursery of keepers is gone")
    until(lambda: executor_pid(without) not in (None, executor), what="the next executor")
    assert ended(without, run(without, script(without, "echo on")))["output"] == "on\n"


def test_a_template_that_looks_at_the_machine_sees_all_of_it(serve):
    made = serve.admin.post("/api/automations/templates/top-memory/apply", {"name": "top"})["id"]
    found = ended(serve, run(serve, made, {"count": 100_000}))
    assert str(serve.child.pid) in found["output"].split()


@keeps_apart
@needs_root
def test_a_script_sees_the_machine_only_if_the_configuration_names_its_automation(tmp_path):
    with Serve(tmp_path, config={}) as serve:
        until(lambda: executor_pid(serve), what="the executor")
        looking = script(serve, "[ -e /proc/1/stat ] && echo sees; kill -0 1 && echo reaches; echo over")
        assert "sees" not in ended(serve, run(serve, looking))["output"]
        assert serve.stop() == 0
        serve.config.write_text(yaml.safe_dump({"executor": {"host_processes": [looking]}}))
        serve.start()
        assert ended(serve, run(serve, looking))["output"] == "sees\nreaches\nover\n"


OLDER = """#!/bin/sh
shift 3; older="import sys; sys.path.insert(0, sys.argv[1]); from opsapp.agent import domains; {older}; $1"
shift; exec {python} -I -S -c "$older" "$@"
"""


@contextlib.contextmanager
def on_an_older_kernel(place, older):
    """A service whose executor finds a kernel that has less: it decides by these numbers what it asks for."""
    python = place / "python"
    python.write_text(OLDER.format(python=SYSTEM_PYTHON, older=older))
    python.chmod(0o755)
    with Serve(place / "serve", config={"executor": {"user": "nobody", "python": str(python)}}) as serve:
        serve.admin.post("/api/secrets", {"name": "door", "value": SECRET})
        until(lambda: kept_apart(serve) is not None, what="the executor saying what it holds")
        yield serve


@keeps_apart
@needs_root
def test_before_linux_6_12_a_run_reads_nothing_of_another_one_and_health_says_that_it_can_end_it(place):
    with on_an_older_kernel(place, "domains.SIGNALS_SINCE = 99") as serve:
        read_no_secret(serve, place)
        text = LEAVES["without its environment, two sessions away"].format(place / "pid")
        text += f"; kill -0 {executor_pid(serve)} && echo reaches; mkdir a b; > a/f; ln a/f b/f && echo moves"
        found = ended(serve, run(serve, script(serve, text)))
        assert (found["status"], found["output"]) == ("done", "reaches\nmoves\n")
        assert not alive(int((place / "pid").read_text()))
        health = serve.admin.get("/api/healing/health")
        assert (health["runs_kept_apart"], health["runs_not_held"]) == (False, [ENDS])


@pytest.mark.nightly("the core list has the kernel between")
@needs_root
def test_without_domains_a_run_ends_with_what_it_started_and_health_says_what_is_open(place):
    with on_an_older_kernel(place, "domains.SIGNALS_SINCE = domains.LOOKS_SINCE = 99") as serve:
        text = LEAVES["without its environment, two sessions away"].format(place / "pid")
        assert ended(serve, run(serve, script(serve, text)))["status"] == "done"
        assert not alive(int((place / "pid").read_text()))
        health = serve.admin.get("/api/healing/health")
        assert (health["runs_kept_apart"], health["runs_not_held"]) == (False, [READS, ENDS])


def kept_apart(serve):
    return serve.admin.get("/api/healing/health")["runs_kept_apart"]


def test_health_says_whether_runs_are_kept_apart(serve, without):
    known = until(lambda: [said] if (said := kept_apart(serve)) is not None else None, what="the executor saying it")
    assert known == [UNABLE is None]
    assert kept_apart(without) is False
    assert without.admin.get("/api/healing/health")["runs_not_held"] == [READS, ENDS]
    said = {entry["what"]: entry for entry in without.admin.get("/api/doctor")["findings"]}["isolation of runs"]
    assert said["level"] == "warn"
    assert said["said"].startswith("executor.isolation is off")


@keeps_apart
def test_a_run_that_may_gain_nothing_is_told_so_by_the_kernel(tmp_path):
    with Serve(tmp_path, config={"executor": {"no_new_privs": True}}) as serve:
        found = ended(serve, run(serve, script(serve, "grep NoNewPrivs /proc/self/status")))
    assert found["output"] == "NoNewPrivs:\t1\n"
