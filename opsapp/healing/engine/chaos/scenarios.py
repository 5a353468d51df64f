"""The twelve scenarios: each lets something break, and says what a sound pipeline makes of it.

Expectations are compared with the ledger, the trust and what the simulated hosts were told, never with the scenario
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from opsapp.approvals.engine import expire
from opsapp.healing.logic import brake
from opsapp.healing.logic.graph import Dependency
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.resources import healing_of

from .rehearsal import Rehearsal, SimulatedHost, Values

WEB, UNIT, DOWN, FLAPS, POWER = (  # what hosts report
    "container.chaos-web.state", "service.chaos.state", "chaos_down", "chaos_flaps", "chaos_power"
)  # fmt: skip
WEB_DOWN = f'{WEB} == "exited"'
UNIT_DOWN = f'{UNIT} == "failed"'
IS_DOWN = f"{DOWN} == 1"
HOUR = 3600.0
PROVED_S = 10  # an action of the simulated hosts shows its effect at once, or never
SKIPPED_AFTER = 7  # further cases: more than the five outcomes after which a step that never helps is skipped
MOST_FAILURES = 10  # in a row: with more the breaker is not waited for
MOST_HEALS = 20  # an hour: with more the brake's limit is not waited for
STORM = 12  # hosts that fail at once
Play = Callable[[Rehearsal], None]


class Scenario(NamedTuple):
    """`inject` says what breaks; `real`: the fault on agents tagged `chaos`."""

    name: str
    description: str
    inject: str
    real: str
    play: Play


SCENARIOS: dict[str, Scenario] = {}


def scenario(description: str, inject: str, real: str) -> Callable[[Play], Play]:
    def named(play: Play) -> Play:
        SCENARIOS[play.__name__] = Scenario(play.__name__, description, inject, real, play)
        return play

    return named


@scenario(
    "A crashed container is restarted once, whatever rules see it, verified and written down.",
    "A container exits.",
    "container",
)
def container_crash_recovery(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.mends("restart_container", WEB, "running")
    host.values[WEB] = "running"
    on.rule("chaos-container", WEB_DOWN, "restart_container", severity="critical")
    on.rule("chaos-container-too", WEB_DOWN, "container_recreate", severity="info")
    on.run(3)
    host.values[WEB] = "exited"
    on.finish()
    on.expect("the heal is verified", ["verified"], on.outcomes("chaos-container"))
    on.expect("another rule about the same container is absorbed", ["absorbed"], on.outcomes("chaos-container-too"))
    on.expect("the container was restarted once, and nothing else was done", ["restart_container"], host.did)
    on.expect("the container runs", "running", host.values[WEB])


@scenario(
    "Only the root cause is healed, whatever was heard of first.",
    "A database and two services above it fail, the dependants first.",
    "unit",
)
def dependency_cascade_suppression(on: Rehearsal) -> None:
    app, cache, database = hosts = [on.host(name) for name in ("chaos-app", "chaos-cache", "chaos-db")]
    on.depend(
        Dependency("chaos-db"),
        Dependency("chaos-app", depends_on=("chaos-cache",)),
        Dependency("chaos-cache", depends_on=("chaos-db",)),
    )
    on.rule("chaos-down", IS_DOWN, "clear_cache")

    def mend_all(_: Values) -> None:
        for host in hosts:
            host.values[DOWN] = 0

    database.effects["clear_cache"] = mend_all
    on.run(2)
    for host in hosts:
        host.silent, host.values[DOWN] = True, 1
    for host in hosts:  # the dependants are heard of first
        host.silent = False
        on.run(1)
    on.finish()
    entries = on.entries
    outcomes = {entry.target: entry.outcome for entry in entries}
    on.expect(
        "only the root cause is healed",
        {"chaos-db": "verified", "chaos-app": "suppressed", "chaos-cache": "suppressed"},
        outcomes,
    )
    on.expect("nothing is done on dependants", [], app.did + cache.did)
    named = [entry.reason.startswith("root cause chaos-db") for entry in entries if entry.outcome == "suppressed"]
    on.expect("their entries name the root cause", [True, True], named)


@scenario(
    "A step that does not resolve it leads to the next, and one that never does is skipped.",
    "A service fails, again and again, that only the third step brings back.",
    "cpu",
)
def escalation_chain_walk(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.mends("service_dependency_restart", UNIT, "active")
    chain = ("service_reset_failed", "restart_service", "service_dependency_restart")
    on.rule("chaos-chain", UNIT_DOWN, *chain, verify_timeout_s=PROVED_S)
    _break_unit(on, host)
    on.expect("each step is tried in its turn", list(chain), host.did)
    on.expect("the last one resolves it", ["failed", "failed", "verified"], on.outcomes())
    on.expect("the steps are numbered", [0, 1, 2], [entry.escalation_step for entry in on.entries])
    for _ in range(SKIPPED_AFTER):
        on.run(HOUR, step=HOUR / 4)
        host.did.clear()
        _break_unit(on, host)
    on.expect("steps that never help are skipped in the end", [chain[-1]], host.did)


def _break_unit(on: Rehearsal, host: SimulatedHost) -> None:
    host.values[UNIT] = "failed"
    on.finish()


@scenario(
    "A failed external target suppresses its whole site and no other.",
    "An uplink fails, and with it a host at its site; a host at another site fails too.",
    "unit",
)
def site_connectivity_isolation(on: Rehearsal) -> None:
    isp, till, far = on.host("chaos-isp"), on.host("chaos-till"), on.host("chaos-far")
    on.depend(
        Dependency("chaos-isp", "external", "chaos-site"),
        Dependency("chaos-till", site="chaos-site"),
        Dependency("chaos-far", site="chaos-elsewhere"),
    )
    far.mends("clear_cache", DOWN, 0)
    on.rule("chaos-down", IS_DOWN, "clear_cache")
    for host in (till, far, isp):
        host.values[DOWN] = 1
    on.finish()
    outcomes = {entry.target: entry.outcome for entry in on.entries}
    on.expect(
        "the external target only notifies, its site is left alone, another site is healed",
        {"chaos-isp": "notified", "chaos-till": "suppressed", "chaos-far": "verified"},
        outcomes,
    )
    on.expect("nothing is done at the site", [], isp.did + till.did)


@scenario(
    "Failed heals in a row put the rule back to notify; many heals and a storm put the brake on.",
    "A service fails again and again and no restart helps; another host flaps; then a dozen hosts fail.",
    "unit",
)
def heal_storm_circuit_breaker(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    failures = min(int(on.settings.breaker.failures), MOST_FAILURES)
    between = max(60.0, on.settings.absorption_window_s) + 10.0
    on.rule("chaos-storm", UNIT_DOWN, "restart_service", cooldown_s=60, verify_timeout_s=PROVED_S)
    for _ in range(failures + 1):
        _break_unit(on, host)  # and no restart helps
        host.values[UNIT] = "active"
        on.run(between, step=between / 5)
    on.expect("failures in a row, then it only notifies", ["failed"] * failures + ["notified"], on.outcomes())
    on.expect("nothing is done after the last of them", ["restart_service"] * failures, host.did)
    level = on.node.transact(lambda root: healing_of(root).trust["chaos-storm"].trust.current_level)
    on.expect("the rule is back at notify", "notify", level)
    told = on.node.transact(_suggestions, "chaos-storm")
    on.expect("a suggestion asks for a review", True, "circuit_breaker" in told)
    _flapping(on)
    _storm_everywhere(on)


def _flapping(on: Rehearsal) -> None:
    """What helps each time may be done so often an hour, then people are told."""
    rates = on.settings.brake.max_heals_per_hour
    most = min(brake.of_target(rates), rates.rule, rates.site, rates.fleet)
    if most > MOST_HEALS:
        return
    host = on.host("chaos-flap")
    host.mends("clear_cache", FLAPS, 0)
    on.rule("chaos-flap", f"{FLAPS} == 1", "clear_cache", cooldown_s=1)
    on.run(HOUR, step=HOUR / 4)  # what was done before counts no more
    for _ in range(most):
        host.values[FLAPS] = 1
        on.finish()
        on.run(on.settings.absorption_window_s + 10.0, step=30.0)
    host.values[FLAPS] = 1
    on.run(on.settings.hold_s + 5.0)
    host.values[FLAPS] = 0
    on.finish()
    expected = ["verified"] * most + ["notified"]
    on.expect("past its heals an hour the brake is on", expected, on.outcomes("chaos-flap")[: most + 1])
    on.expect("and no more is done than that", most, len(host.did))


def _storm_everywhere(on: Rehearsal) -> None:
    """All hosts at once are no fault of theirs: the brake holds."""
    hosts = [on.host(f"chaos-storm-{at}") for at in range(STORM)]
    for host in hosts:
        host.mends("clear_cache", DOWN, 0)
        host.values[DOWN] = 0
    on.rule("chaos-brake", IS_DOWN, "clear_cache")
    on.run(2)
    for host in hosts:
        host.values[DOWN] = 1
    on.finish()
    on.expect("with everything sick the brake is on", ["notified"] * STORM, on.outcomes("chaos-brake"))
    on.expect("and nothing is done", [], [deed for host in hosts for deed in host.did])


@scenario(
    "What nobody has measured is neither verified nor an alert.", "A host falls silent right after the action.", "unit"
)
def stale_metrics_guard(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.values[UNIT] = "failed"
    host.effects["restart_service"] = lambda _: setattr(host, "silent", True)
    on.rule("chaos-stale", UNIT_DOWN, "restart_service", verify_timeout_s=30)
    on.finish()
    entries = on.entries
    on.expect("what nobody measured is not verified", ["inconclusive"], on.outcomes())
    on.expect("it does not count as verified", [0], [entry.verified for entry in entries])
    before = len(entries)
    on.run(600, step=30)
    on.expect("what is stale raises no alert", before, len(on.entries))


@scenario(
    "A host without the tools is left alone, and the tools are named.",
    "A service fails on a host without a service manager.",
    "unit",
)
def capability_mismatch(on: Rehearsal) -> None:
    host = on.host("chaos-1", usable=frozenset({"sh"}))
    host.values[UNIT] = "failed"
    on.rule("chaos-tools", UNIT_DOWN, "restart_service")
    on.finish()
    on.expect("the heal fails", ["failed"], on.outcomes())
    reasons = [entry.reason for entry in on.entries]
    named = [reason.startswith("no_capable_handler") and "systemctl" in reason for reason in reasons]
    on.expect("the reason names the tools that were looked for", [True], named)
    on.expect("nothing is tried", [], host.did)


@scenario(
    "A window holds healing back, and what still holds afterwards is healed.",
    "A service fails within a maintenance window.",
    "unit",
)
def maintenance_window_suppression(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.mends("restart_service", UNIT, "active")
    host.values[UNIT] = "failed"
    ends = on.clock.now() + 120
    on.windows.append(ActiveWindow("chaos-window", frozenset({"chaos-1"}), "suppress", ends, "chaos"))
    on.rule("chaos-window", UNIT_DOWN, "restart_service", cooldown_s=30)
    on.run(110, step=5)
    during = on.outcomes()
    on.expect("in the window every event is suppressed", {"suppressed"}, set(during))
    on.expect("in the window nothing is done", [], host.did)
    on.wait(lambda: bool(host.did))
    on.finish()
    on.expect("after it what still holds is healed", ["verified"], on.outcomes()[len(during) :])


@scenario(
    "An approval that nobody decides expires, and nothing is done.", "A service fails whose rule has to ask.", "unit"
)
def approval_timeout(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.values[UNIT] = "failed"
    on.rule("chaos-approval", UNIT_DOWN, "restart_service", level="approve", cooldown_s=86400)
    on.wait(lambda: on.outcomes() == ["awaiting_approval"])
    on.expect("it waits for a person", ["awaiting_approval"], on.outcomes())
    on.clock.advance(on.approval_expiry_s + 1)
    on.node.leases.renewed_at = on.clock.monotonic()
    on.node.transact(expire, on.clock.now())
    on.finish()
    on.expect("nobody decides: it expires", ["expired"], on.outcomes())
    on.expect("nothing is done", [], host.did)


@scenario(
    "What does not help is rolled back at once.", "A container misbehaves, and pausing it changes nothing.", "container"
)
def rollback_on_failure(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.values[WEB] = "wild"
    host.mends("container_pause", "container.chaos-web.paused", 1)
    on.rule("chaos-rollback", f'{WEB} == "wild"', "container_pause", cooldown_s=86400)
    on.finish()
    on.expect("what does not help is rolled back", ["rolled_back"], on.outcomes())
    on.expect("once", ["container_pause"], host.undone)
    on.expect("the host is as it was", {WEB: "wild"}, host.values)


@scenario("What does not last is no alert.", "A reading flickers ten times, then stays bad.", "cpu")
def power_flicker_debounce(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.values[POWER] = 1
    on.rule("chaos-flicker", f"{POWER} == 0", "clear_cache", holds=10)
    for _ in range(10):
        host.values[POWER] = 0
        on.run(3)
        host.values[POWER] = 1
        on.run(1)
    on.expect("what does not last is no event", [], on.outcomes())
    host.mends("clear_cache", POWER, 1)
    host.values[POWER] = 0
    on.run(12)
    on.finish()
    on.expect("what lasts is one event, and healed", ["verified"], on.outcomes())
    on.expect("one heal", ["clear_cache"], host.did)


@scenario(
    "What a person has mended meanwhile is not touched.",
    "A service fails and is mended by hand within the hold.",
    "unit",
)
def manual_fix_race(on: Rehearsal) -> None:
    host = on.host("chaos-1")
    host.values[UNIT] = "failed"
    on.rule("chaos-manual", UNIT_DOWN, "restart_service")
    on.run(1)
    host.values[UNIT] = "active"  # somebody was faster
    on.finish()
    on.expect("the case is withdrawn", ["withdrawn"], on.outcomes())
    on.expect("nothing is done to what works", [], host.did)


def _suggestions(root: Any, rule_id: str) -> list[str]:
    active = healing_of(root).suggestions.active()
    return [suggestion.category for suggestion in active if suggestion.rule_id == rule_id]
