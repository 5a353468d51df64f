"""Processes whose wall clock a test sets, as somebody sets the clock of a machine (tests/cluster/clock)."""

from tests.support.process import ROOT, Serve


class SteppedServe(Serve):
    """The monotonic clock is that of the machine, as with a real step."""

    @property
    def clock(self):
        return self.directory / "clock"

    def environment(self):
        path = f"{ROOT / 'tests' / 'cluster' / 'clock'}:{ROOT}"
        return {**super().environment(), "PYTHONPATH": path, "OPSAPP_TEST_CLOCK": str(self.clock)}

    def step_clock(self, seconds):
        """By so many seconds off the machine's."""
        self.clock.write_text(str(seconds))
