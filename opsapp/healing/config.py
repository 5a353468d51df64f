"""The section `healing` of the YAML file. Pure: the stages read it too."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from opsapp.agents.config import NamedMetrics, ProtectedSettings
from opsapp.lib.durations import DurationKind
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import made

from .logic.chain import LEAST_DAYS
from .logic.graph import MOST_TARGETS, Dependency, mistakes
from .logic.waves import WAVES, WaveSizes
from .records import LONGEST_S, DeclaredRule

DAY = 86400
MOST_HOSTS = 10  # the tally of an action for the whole fleet remembers so many hosts
Name = Annotated[str, Length(1, 255)]
HourlyCount = Annotated[int, Between(0, 10**6)]
UpToADay = Annotated[float, Between(1, DAY)]
UpToAYear = Annotated[float, Between(1, 366 * DAY)]
UpToTenYears = Annotated[float, Between(1, 3660 * DAY)]


@frozen
class HealsPerHour:
    """Heals that may begin within an hour. `target` None: a part of what a rule may do."""

    fleet: HourlyCount = 60
    site: HourlyCount = 30
    rule: HourlyCount = 10
    target: Annotated[int | None, Between(0, 10**6)] = None


@frozen
class BrakeSettings:
    """Past these limits nothing acts, and a person is called."""

    max_heals_per_hour: HealsPerHour = HealsPerHour()
    max_unhealthy_percent: Annotated[float, Between(0, 100)] = 40


@frozen
class BreakerSettings:
    """`failures` failed cases in a row within `window_s` put a rule from `execute` back to `notify`."""

    failures: Annotated[int, Between(1, 100)] = 3
    window_s: UpToADay = 3600


@frozen
class PromotionSettings:
    """`notify` leads to `approve` by `triggers` within `window_s`; `approve` to `execute` by the rest."""

    triggers: Annotated[int, Between(1, 1000)] = 10
    window_s: UpToAYear = 7 * DAY
    executions: Annotated[int, Between(1, 10**6)] = 10
    success_rate: Annotated[float, Between(0, 1)] = 0.85
    bound: Annotated[float, Between(0, 1)] = 0.75  # the sequential lower bound must be above it


@frozen
class CusumSettings:
    """`healing.cusum` of 0.2.0: it is taken, and the log names `healing.change`."""

    good: Annotated[float, Between(0.01, 0.99)] = 0.92
    bad: Annotated[float, Between(0.01, 0.99)] = 0.60
    threshold: Annotated[float, Between(0.1, 1000)] = 4.5


@frozen
class ChangeSettings:
    """The wealth at which a bet against a rule is believed. Less is noticed earlier, and more often falsely."""

    threshold: Annotated[float, Between(2, 10**9)] = 500.0


@frozen
class SkipSettings:
    """Below `rate`, from `outcomes` outcomes on, a step is tried only every `retry_s`."""

    rate: Annotated[float, Between(0, 1)] = 0.30
    outcomes: Annotated[int, Between(1, 1000)] = 5
    hosts: Annotated[int, Between(1, MOST_HOSTS)] = 3  # so many must have contributed before the fleet's outcomes count
    half_life_s: UpToTenYears = 30 * DAY
    retry_s: UpToTenYears = 7 * DAY


@frozen
class RecurrenceSettings:
    """`heals` heals of one target by one rule within `window_s` say that the cause is elsewhere."""

    heals: Annotated[int, Between(1, 1000)] = 10
    window_s: UpToAYear = 7 * DAY


@frozen
class ProblemSettings:
    """`heals` verified heals of one target by one rule within `window_s` open a problem. It closes after `quiet_s`
    without a find. `due_s`: its date where nobody sets one."""

    heals: Annotated[int, Between(2, 100)] = 5
    window_s: UpToAYear = 7 * DAY
    quiet_s: UpToAYear = 14 * DAY
    due_s: Annotated[float | None, Between(1, 366 * DAY)] = None


@frozen
class EdgeSettings:
    """A child that comes back within `window_s` of its parent's heal speaks for the dependency. Below `least` a learned
    one falls out; evidence has half its weight after `half_life_s`."""

    window_s: Annotated[float, Between(1, 3600)] = 120
    half_life_s: UpToTenYears = 90 * DAY
    least: Annotated[float, Between(0, 0.49)] = 0.2


@frozen
class TrialSettings:
    """While nobody knows a rule to help, `share` of its cases, up to this `risk`, are left alone first."""

    share: Annotated[float, Between(0, 0.5)] = 0.25
    risk: Literal["low", "medium"] = "low"


@frozen
class HoldoutSettings(TrialSettings):
    """The same of rules at `execute`."""

    share: Annotated[float, Between(0, 0.5)] = 0.1


@frozen
class AnchorSettings:
    """Where the ends of the ledger and of the audit record are noted."""

    file: Annotated[str | None, Length(1, 1000)] = None
    url: Annotated[str | None, Length(1, 2000, pattern="https?://.+")] = None
    every: Annotated[float | str, DurationKind(LONGEST_S)] = "1h"

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        given = [name for name in ("file", "url") if sound.get(name)]
        return {} if len(given) < 2 else dict.fromkeys(("file", "url"), "give either a file or a url")


@frozen
class LedgerSettings:
    anchor: AnchorSettings = AnchorSettings()


@frozen
class ChaosSettings:
    revert_after_s: Annotated[float, Between(5, 3600)] = 120
    watch_s: Annotated[float, Between(1, 3600)] = 90


@frozen
class UsualThresholds:
    """The thresholds of metrics that no rule is about."""

    cpu_percent: Annotated[float, Between(0, 1000)] = 90
    mem_percent: Annotated[float, Between(0, 1000)] = 90
    swap_percent: Annotated[float, Between(0, 1000)] = 90
    disk_percent: Annotated[float, Between(0, 1000)] = 90


@frozen
class PredictionSettings(NamedMetrics):
    every_s: UpToADay = 900
    warn_h: Annotated[float, Between(0, 8760)] = 24
    suggest_h: Annotated[float, Between(0, 8760)] = 72
    false_anomalies_a_week: Annotated[float, Between(0, 10_000)] = 2
    thresholds: UsualThresholds = UsualThresholds()


@frozen
class DiscoverySettings:
    every_s: UpToADay = 3600
    together_s: Annotated[float, Between(0.1, 3600)] = 120


@frozen
class OfflineSettings:
    enabled: bool = True
    offline_after_s: Annotated[float | None, Between(0.1, DAY)] = None
    expires_s: Annotated[float, Between(60, 30 * DAY)] = DAY


def _graph_problem(read: list[JsonObject]) -> str | None:
    entries = (made(Dependency, entry) for entry in read)
    return "; ".join(f"{mistake.target}: {mistake.error}" for mistake in mistakes(entries)) or None


@frozen
class HealingSettings:
    """`healing`"""

    rules: Annotated[tuple[DeclaredRule, ...], Most(1000)] = ()
    dependencies: Annotated[tuple[Dependency, ...], Most(MOST_TARGETS), CheckedBy(_graph_problem)] = ()
    default_rules: bool = True
    protected: ProtectedSettings = field(default_factory=ProtectedSettings)
    brake: BrakeSettings = BrakeSettings()
    breaker: BreakerSettings = BreakerSettings()
    promotion: PromotionSettings = PromotionSettings()
    change: ChangeSettings = ChangeSettings()
    cusum: CusumSettings | None = None
    skip: SkipSettings = SkipSettings()
    recurrence: RecurrenceSettings = RecurrenceSettings()
    problems: ProblemSettings = ProblemSettings()
    edges: EdgeSettings = EdgeSettings()
    waves: Annotated[WaveSizes | str | None, WAVES] = field(default_factory=WaveSizes)  # a text or None: off
    trial: TrialSettings = TrialSettings()
    holdout: HoldoutSettings = HoldoutSettings()
    absorption_window_s: Annotated[float, Between(0, 3600)] = 60
    hold_s: Annotated[float, Between(0, 600)] = 5
    cause_wait_s: Annotated[float, Between(0, 600)] = 15
    queue_spread_s: Annotated[float, Between(0, 3600)] = 60
    command_expiry_s: Annotated[float, Between(1, 3600)] = 60
    answer_wait_s: UpToADay = 900
    confirm_s: Annotated[float, Between(1, 3600)] = 45
    ledger: LedgerSettings = LedgerSettings()
    chaos: ChaosSettings = ChaosSettings()
    prediction: PredictionSettings = PredictionSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    offline_policies: OfflineSettings = OfflineSettings()


@frozen
class CasesRetention:
    """`retention.cases`, of closed ones."""

    days: Annotated[int, Between(30, 36_500)] = 730


@frozen
class DeploymentsRetention:
    """`retention.deployments`"""

    days: Annotated[int, Between(1, 36_500)] = 730


@frozen
class LedgerRetention:
    """`retention.ledger`: after it, a mark stands for a final entry."""

    days: Annotated[int, Between(LEAST_DAYS, 36_500)] = 1825
