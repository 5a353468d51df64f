"""What a check means for its monitor: the state machine, as one pure function `judge`.

    pending → up | degraded | down          the first check (after its retries, if it failed)
    up | degraded → down                    a failed check and `retries` failed re-checks
    down → up | degraded                    one good check
    any → unknown                           the probe could not look (own network gone, agent gone)
    any → maintenance                       what is shown while a window covers the monitor
    any → paused                            not enabled: never checked, so never judged here

`down` opens an incident and good news resolves it; neither unknown nor maintenance does either.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from opsapp.wire.dataclass import frozen

SLACK_S = 0.05  # a timer and the clock need not agree
STATUSES = ("pending", "up", "down", "degraded", "maintenance", "paused", "unknown")


@frozen(slots=True)
class Thresholds:
    """What of a monitor's settings decides, and what of the configuration."""

    interval: float = 60.0
    timeout: float = 10.0
    retries: int = 2
    degraded_ms: float | None = None
    certificate_warn_days: float = 14.0
    retry_spacing_s: float = 10.0
    flapping_changes: int = 6
    flapping_window_s: float = 600.0


@frozen(slots=True)
class Standing:
    """`alarmed`: its incident is open. `flips`: when it last went down or came up. `failed_at`: when the last failed
    check that counts was judged."""

    status: str = "pending"
    since: float = 0.0
    cause: str = ""
    failures: int = 0
    alarmed: bool = False
    flips: tuple[float, ...] = ()
    flapping: bool = False
    failed_at: float = 0.0
    down: bool = False  # that is what was measured, also while a window covers it

    @property
    def committed(self) -> tuple[str, bool, bool, bool]:
        """A change of these is worth a commit."""
        return self.status, self.alarmed, self.flapping, self.down

    def moved(self, by: float) -> Standing:
        """The clock was set by so many seconds: what is measured from is as long ago as before."""
        if not self.flips and not self.failed_at:
            return self
        flips = tuple(at + by for at in self.flips)
        return replace(self, flips=flips, failed_at=self.failed_at + by if self.failed_at else 0.0)


@frozen(slots=True)
class Seen:
    """What one check saw; `ok` None: it could not look."""

    ok: bool | None
    response_time_ms: float | None = None
    detail: str = ""
    certificate_days: float | None = None
    degraded: bool = False  # it is up, and the probe itself warns


@frozen(slots=True)
class CheckVerdict:
    """`retry_in`: seconds. `incident`: open, resolve or nothing. `changed`: worth a commit."""

    standing: Standing
    retry_in: float | None = None
    incident: str | None = None
    changed: bool = False


def spacing(rules: Thresholds) -> float:
    """Seconds between the re-checks that come before `down`."""
    return min(rules.interval / 4, rules.retry_spacing_s)


def hold(rules: Thresholds) -> int:
    """Whole seconds for which a check speaks for its monitor."""
    return ceil(rules.interval + rules.timeout + 1)


def judge(
    standing: Standing,
    seen: Seen,
    rules: Thresholds,
    now: float,
    *,
    in_window: bool = False,
    began: float | None = None,
) -> CheckVerdict:
    """The standing after a check, and what follows. `began`: the check, where that is not now."""
    early = seen.ok is False and _is_early(standing, rules, now, now if began is None else began)
    measured, failures, cause = _measure(standing, seen, rules, early)
    status = "maintenance" if in_window and measured != "pending" else measured
    opens = measured == "down" and not in_window and not standing.alarmed
    resolves = seen.ok is True and standing.alarmed
    alarmed = (standing.alarmed or opens) and not resolves
    flips = _recent(standing.flips, rules, now) + ((now,) if opens or resolves else ())
    after = replace(
        standing,
        status=status,
        since=standing.since if status == standing.status else now,
        cause=cause,
        failures=failures,
        alarmed=alarmed,
        flips=flips,
        flapping=len(flips) >= rules.flapping_changes,
        failed_at=now if seen.ok is False and not early else standing.failed_at,
        down=measured == "down",
    )
    waiting = seen.ok is False and measured != "down"
    return CheckVerdict(
        after,
        retry_in=max(0.0, after.failed_at + spacing(rules) - now) if waiting else None,
        incident="open" if opens else "resolve" if resolves else None,
        changed=after.committed != standing.committed,
    )


def steady(
    standing: Standing, ok: bool | None, response_ms: float | None, days: float | None, rules: Thresholds
) -> bool:
    """`judge` would change nothing outside a window: up as before, as nearly every check finds."""
    return (
        ok is True
        and standing.status == "up"
        and not standing.failures
        and not standing.alarmed
        and not standing.flips
        and not standing.flapping
        and not standing.cause
        and (rules.degraded_ms is None or (response_ms or 0) <= rules.degraded_ms)
        and (days is None or days >= rules.certificate_warn_days)
    )


def _is_early(standing: Standing, rules: Thresholds, now: float, began: float) -> bool:
    """A failed check that is no re-check: a regular or asked-for check comes when it comes, and re-checks have their
    spacing. A clock that was set back decides nothing."""
    return standing.failures > 0 and standing.failed_at <= now and began < standing.failed_at + spacing(rules) - SLACK_S


def _measure(standing: Standing, seen: Seen, rules: Thresholds, early: bool) -> tuple[str, int, str]:
    """(status without regard to windows, failed checks in a row, cause)."""
    if seen.ok is None:
        return "unknown", standing.failures, seen.detail
    if seen.ok:
        problem = _degraded(seen, rules)
        return ("degraded", 0, problem) if problem else ("up", 0, "")
    failures = standing.failures + (not early)
    if standing.alarmed or standing.down or failures > rules.retries:
        return "down", failures, seen.detail
    # A single failure is no state yet: what was known stays, and a window that has just ended says nothing.
    return ("unknown" if standing.status == "maintenance" else standing.status), failures, seen.detail


def _degraded(seen: Seen, rules: Thresholds) -> str:
    if seen.degraded:
        return seen.detail
    if rules.degraded_ms is not None and (seen.response_time_ms or 0) > rules.degraded_ms:
        return f"slow: {seen.response_time_ms:.0f} ms, more than {rules.degraded_ms:g}"
    if seen.certificate_days is not None and seen.certificate_days < rules.certificate_warn_days:
        return f"the certificate ends in {seen.certificate_days:.1f} days"
    return ""


def _recent(flips: tuple[float, ...], rules: Thresholds, now: float) -> tuple[float, ...]:
    window = max(rules.flapping_window_s, 20 * rules.interval)
    return tuple(at for at in flips if now - window < at <= now)
