"""When a true condition is an alert: after `for`, once per onset, again after the cooldown.

Pure: times are numbers of one clock. Must not: read a condition.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


class AlertState(NamedTuple):
    true_since: Optional[float] = None  # known true without a break since then
    fired_at: Optional[float] = None  # the last alert
    announced: bool = False  # this onset has fired
    tried_at: Optional[float] = None  # when the last alert came again, because another case had taken it in

    def moved(self, by: float) -> AlertState:
        """The state after the clock was set by so many seconds."""
        times = (self.true_since, self.fired_at, self.tried_at)
        since, fired, tried = (None if at is None else at + by for at in times)
        return self._replace(true_since=since, fired_at=fired, tried_at=tried)


def look(
    watch: AlertState, verdict: Optional[bool], now: float, *, hold: float, cooldown: float, open_case: bool
) -> Tuple[AlertState, bool]:
    """The new watch, and whether an alert fires now.

    Unknown neither begins an onset nor ends one that has fired, but `for` starts anew: nobody can say that it held all
    the time. A new onset fires at once (correlation absorbs a rapid one); the same onset again only after the cooldown,
    and when its case is closed.
    """
    if verdict is False:
        return watch._replace(true_since=None, announced=False), False
    if verdict is None:
        return (watch if watch.announced else watch._replace(true_since=None)), False
    since = now if watch.true_since is None else watch.true_since
    watch = watch._replace(true_since=since)
    if watch.announced:
        due = not open_case and watch.fired_at is not None and now - watch.fired_at >= cooldown
    else:
        due = now - since >= hold
    return (watch._replace(fired_at=now, announced=True, tried_at=None), True) if due else (watch, False)


def comes_again(watch: AlertState, verdict: Optional[bool], now: float, after_s: float) -> bool:
    """Whether an alert that another case has taken in comes again: it is still the same one, whose cooldown goes on."""
    return bool(watch.announced and verdict) and now >= tried_at(watch, now) + after_s


def tried_at(watch: AlertState, now: float) -> float:
    """When the last alert was tried last; `now` if there was none."""
    tried = watch.fired_at if watch.tried_at is None else watch.tried_at
    return now if tried is None else tried
