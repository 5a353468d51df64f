"""Which tests measure that all decisions are covered (tests/coverage-logic.ini). Measuring makes a test nearly twice as
slow, and most tests of the application only run what these have run before."""

import pytest

UNIT = "tests.unit."
ALSO = {
    "tests.api.test_agents",
    "tests.api.test_automations",
    "tests.api.test_incidents",
    "tests.api.test_maintenance",
    "tests.api.test_monitors",
    "tests.api.test_plugins",
    "tests.api.test_status_settings",
    "tests.api.test_upgrading",
    "tests.engine.test_automations_schedule",
    "tests.engine.test_checking",
    "tests.engine.test_healing_lift",
    "tests.engine.test_healing_pipeline",
    "tests.engine.test_healing_problems",
    "tests.engine.test_notify_told",
    "tests.engine.test_series_erasing",
    "tests.engine.test_series_folding",
    "tests.engine.test_series_journal",
}


def is_measured(item):
    name = item.module.__name__
    return (name.startswith(UNIT) or name in ALSO) and not item.get_closest_marker("no_cover")


class Decisions:
    """A pytest plugin (`--measure decisions`): leaves out all other tests. Whether they pass, other runs say."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if not is_measured(item)])
        items[:] = [item for item in items if is_measured(item)]
