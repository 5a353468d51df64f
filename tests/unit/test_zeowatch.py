"""How long a ZEO server may stand still before it is away."""

import pytest

from opsapp.runtime.store import zeowatch
from opsapp.runtime.threads import silence

PROMISED_S = 2.0  # docs/guide/cluster.md


def test_a_server_that_stands_still_is_found_silent_in_the_time_that_is_promised(monkeypatch):
    """In the worst case it stands still just after it answered, and is asked again only in a moment."""
    now, waits = [100.0], []
    monkeypatch.setattr(silence.time, "monotonic", lambda: now[0])
    watch = object.__new__(zeowatch.ServerWatch)  # without its threads

    class NoAnswer:
        def wait(self, seconds):
            waits.append(seconds)
            now[0] += seconds
            return False

    watch._answered = NoAnswer()
    assert watch._is_silent()
    assert zeowatch.EVERY_S + sum(waits) <= PROMISED_S
    assert sum(waits) == pytest.approx(zeowatch.SILENT_S + zeowatch.GRACE_S)
