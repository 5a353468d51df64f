"""Fixtures of the fleet suite: one lab for the session, a fresh host for each test that asks for one."""

import pytest

from tests.support.agent_server import AgentServer

from .acting import Box
from .lab import Lab, Unavailable, machine, rootfs

QUICK = {
    "agents": {"report_interval_s": 1},
    "healing": {
        "hold_s": 0.5,
        "absorption_window_s": 1,
        "brake": {"max_heals_per_hour": {"fleet": 10000, "site": 10000, "rule": 10000}, "max_unhealthy_percent": 100},
    },
}

# The longest first, so that the workers end beside each other: of the nightly list, then of the core list.
LONG = (
    *("test_packages", "test_kinds", "test_heal_crash", "test_across_hosts", "test_restored", "test_chaos_all"),
    *("test_defaults", "test_first_heal", "test_one_cause", "test_default_chains", "test_agent_host"),
    *("test_deploy", "test_units", "test_plugins"),
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    ours = [item for item in items if "/tests/fleet/" in str(item.path)]
    for item in ours:
        item.add_marker(pytest.mark.fleet)
    if len(ours) == len(items):
        items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


def pytest_collection_finish(session):
    """Build the root file system here, where no test's time-out counts the minutes that the first time takes."""
    if any("/tests/fleet/" in str(item.path) for item in session.items) and not session.config.option.collectonly:
        try:
            machine.demand()
            rootfs.layers()
        except Unavailable as reason:
            print(f"no lab on this machine: {reason}")


@pytest.fixture(scope="session")
def lab():
    try:
        lab = Lab()
    except Unavailable as reason:
        pytest.skip(f"no lab on this machine: {reason}")
    yield lab
    lab.close()


@pytest.fixture
def host(lab):
    host = lab.host()
    yield host
    lab.remove(host)


@pytest.fixture(scope="session")
def box(lab):
    """One host with an agent for all tests of single actions."""
    server = AgentServer(interval=1.0, host=lab.address)
    host = lab.host()
    try:
        yield Box(host, server).prepare()
    finally:
        server.stop()
        lab.remove(host)


@pytest.fixture
def server(lab, tmp_path):
    """A function: `server(config)` starts a real `opsapp serve` on the bridge, with every wait shortened."""
    started = []

    def start(config=None):
        serve = lab.serve(tmp_path / f"server-{len(started)}", {**QUICK, **(config or {})})
        started.append(serve)
        serve.start()
        return serve

    yield start
    for serve in started:
        serve.kill()
