"""The clock: counted on the monotonic one, whatever the wall says, until it is moved."""

from opsapp.runtime.clocks.clock import Clock


class SetClock(Clock):
    """Of a machine whose clocks a test sets."""

    def __init__(self):
        self.shown, self.counted = 1_800_000_000.0, 5.0

    def wall(self):
        return self.shown

    def monotonic(self):
        return self.counted


def test_the_wall_is_asked_until_somebody_looks_after_the_clock():
    clock = SetClock()
    clock.shown += 3600
    assert clock.now() == 1_800_003_600


def test_a_clock_that_is_held_goes_on_evenly_and_says_by_how_much_the_wall_is_off():
    clock = SetClock()
    clock.hold()
    clock.shown, clock.counted = clock.shown - 3590, clock.counted + 10
    assert (clock.now(), clock.off()) == (1_800_000_010, -3600)
    clock.move(clock.off())
    assert (clock.now(), clock.off()) == (1_799_996_410, 0)
