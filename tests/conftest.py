"""Fixtures that every layer uses."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support import engines, idorder
from tests.support.app import Service, make_ready
from tests.support.covered import Decisions
from tests.support.mailbox import Mailbox
from tests.support.receiver import Receiver

# A slow machine, or the first run in a fresh clone, is no fault of what is tested.
# The same examples in every run: what is new is looked for on purpose, not by whoever changes something else.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("searching", settings.get_profile("anywhere"), derandomize=False, max_examples=1000)
settings.load_profile("anywhere")


def pytest_addoption(parser):
    parser.addoption("--measure", choices=["all", "decisions"], default="all", help="which tests run")
    parser.addoption("--engine", choices=engines.ENGINES, default="file", help="on what servers keep their stores")
    parser.addoption("--ids", choices=idorder.ORDERS, default=idorder.RANDOM, help="in which order ids of tests come")


def pytest_configure(config):
    if config.getoption("--measure") == "decisions":
        config.pluginmanager.register(Decisions())
    idorder.draw(config.getoption("--ids"))
    os.environ[engines.CHOSEN] = config.getoption("--engine")  # workers have the same option


APPLICATIONS = ("tests.api.", "tests.engine.", "tests.race.")  # where nearly every test makes one


def pytest_collection_finish(session):
    """A test's application is some 100,000 objects that live for one test: as usual, the collector takes
    a third of the time."""
    if any(item.module.__name__.startswith(APPLICATIONS) or "service" in item.fixturenames for item in session.items):
        make_ready()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(config, items):
    unreasoned = [item.nodeid for item in items for mark in item.iter_markers("nightly") if not mark.args]
    if unreasoned:
        raise pytest.UsageError(f"marked nightly without a reason: {', '.join(unreasoned)}")
    engine = config.getoption("--engine")
    if engine == "file":
        return
    bound = [item for item in items if engines.is_used_by(item.module) and not item.get_closest_marker("own_store")]
    config.hook.pytest_deselected(items=[item for item in items if item not in bound])
    items[:] = bound
    for item in items:
        marker = item.get_closest_marker("files")
        if marker is not None:
            item.add_marker(pytest.mark.skip(reason=f"not on {engine}: {marker.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    result = yield
    if nextitem is None or nextitem.module is not item.module:
        engines.end_of_module()
    return result


FIRST_PASSWORD = ("OPSAPP_ADMIN_PASSWORD", "first admin password")


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*FIRST_PASSWORD)
        service = Service(tmp_path_factory.mktemp("shared"))
    yield service
    service.close()


@pytest.fixture
def service(request, monkeypatch):
    """The real application over a fresh store, without a hub. Tests marked `shared` have one for their module."""
    if request.node.get_closest_marker("shared"):
        yield request.getfixturevalue("shared_service")
        return
    monkeypatch.setenv(*FIRST_PASSWORD)
    service = Service(request.getfixturevalue("tmp_path"))
    yield service
    service.close()  # before what the test patched is as it was


@pytest.fixture
def mailbox():
    mailbox = Mailbox()
    yield mailbox
    mailbox.close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()
