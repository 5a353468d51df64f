"""Which tests measure that all decisions are covered (tests/coverage-logic.ini). Measuring makes a test nearly twice as
slow, and most tests of the application only run what these have run before."""

import sys
from fnmatch import fnmatch

import pytest
from coverage import Coverage

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


def clear_caches(files):
    """Of the functions in these files: a cached answer may have been computed by a test that is not measured."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if any(fnmatch(path, f"*/{pattern}") for pattern in files):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


class Decisions:
    """A pytest plugin (`--measure decisions`): pauses the measuring for all other tests."""

    def __init__(self):
        self.measuring, self.paused = None, False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.measuring = self.measuring or Coverage.current()
        name = item.module.__name__
        paused = not (name.startswith(UNIT) or name in ALSO)
        if self.measuring is not None and paused != self.paused:
            self.paused = paused
            if paused:
                self.measuring.stop()
            else:
                clear_caches(self.measuring.get_option("run:include"))
                self.measuring.start()
