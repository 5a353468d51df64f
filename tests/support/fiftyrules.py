"""Fifty rules that differ in all that decides when a rule fires, and hosts whose readings make each of them fire.

Conditions of every kind of comparison and of `and`, `or`, `not`, of two readings, of each mount; with no hold and long
ones, short and long cooldowns; on hosts that fall silent, whose readings come and go, and that windows cover.
"""

from itertools import product
from random import Random

from opsapp.maintenance.resources import HealingWindow, windows_of
from opsapp.wire.conditions import parse

COUNT, MONITORS, HOUR = 50, 10, 3600
HOSTS = COUNT - MONITORS
METRICS = ("cpu_percent", "load1", "memory_percent", "disk./.percent", "disk./var.percent")
CONDITIONS = (
    "cpu_percent > 90",
    "cpu_percent >= 97",
    "memory_percent < 30",
    "memory_percent <= 20",
    "cpu_percent == 97",
    "memory_percent != 50",
    "90 < cpu_percent",
    "cpu_percent > 90 and load1 > 8",
    "cpu_percent > 90 or load1 > 8",
    "not cpu_percent <= 90",
    "not (load1 > 8 or memory_percent > 40)",
    "load1 >= 8 and not cpu_percent > 90",
    "load1 > 8",
    "cpu_percent > memory_percent",
    "memory_percent < load1",
    "disk.*.percent > 90",
    "disk./.percent >= 95",
    "disk./var.percent > disk./.percent",
    "disk.*.percent > 90 and cpu_percent > 90",
    "(cpu_percent > 90 or load1 > 8) and disk./.percent < 95",
)
OF_MONITORS = (
    'monitor.status == "down"',
    "response_time_ms > 500",
    'monitor.status == "down" or response_time_ms > 500',
    'monitor.status != "up"',
    'not monitor.status == "up" or response_time_ms >= 900',
)
HOLDS, COOLDOWNS = (0, 60, 300, 1200), (300, 600, 3600)
SHARED_HOSTS, SHARED_MONITORS = 3, 1  # where all of them are about the same few


def rules():
    """Each on a host or monitor of its own."""
    return [
        _rule(n, {"agents": [f"box-{n}"] if n < HOSTS else [], "monitors": [f"site-{n}"] if n >= HOSTS else []})
        for n in range(COUNT)
    ]


def shared_rules():
    """All on the same hosts and monitors: the case of one takes in what others find there."""
    boxes, sites = ([f"box-{n}" for n in range(SHARED_HOSTS)],
                    [f"site-{n + SHARED_HOSTS}" for n in range(SHARED_MONITORS)])  # fmt: skip
    return [
        _rule(n, {"agents": boxes if n < HOSTS else [], "monitors": sites if n >= HOSTS else []}) for n in range(COUNT)
    ]


def _rule(n, targets):
    return {"id": f"r{n}", "condition": _condition(n), "for": HOLDS[(n // len(CONDITIONS) + n) % 4],
            "cooldown_s": COOLDOWNS[n % 3], "initial_level": "notify", "trust_ceiling": "notify",
            "action": {"type": "restart_service", "params": {"service": "nginx"}}, "targets": targets}  # fmt: skip


def _condition(n):
    return CONDITIONS[n % len(CONDITIONS)] if n < HOSTS else OF_MONITORS[n % len(OF_MONITORS)]


class Readings:
    """Of each host: each reading has spells of its own in which it is high, and some in which it is missing."""

    def __init__(self, seed, begin, seconds, hosts=HOSTS, shared=False):
        self.begin, self.hosts = begin, hosts
        self.read = [METRICS if shared else _read_by(rule["condition"]) for rule in rules()]
        keys = list(product(range(COUNT), METRICS))
        self.high = {key: self._spells(f"{seed} {key} high", seconds, 0.7 * HOUR) for key in keys}
        self.gone = {key: self._spells(f"{seed} {key} gone", seconds, 9 * HOUR) for key in keys}
        self.silent = {n: self._spells(f"{seed} {n} silent", seconds, 11 * HOUR) for n in range(COUNT)}

    def _spells(self, seed, seconds, apart):
        dice, at, spells = Random(seed), 0.0, []
        while at < seconds:
            at += dice.uniform(0.1, 1.9) * apart
            spells.append((at, at + dice.choice((60, 180, 420, 1500, 5400))))
            at = spells[-1][1]
        return spells

    def __call__(self, n, now):
        at = now - self.begin
        if _within(self.silent[n], at):
            return None
        if n >= self.hosts:
            down = _within(self.high[n, "cpu_percent"], at)
            slow = 950.0 if _within(self.high[n, "load1"], at) else 80.0
            return {"status": "down"} if down else {"status": "up", "response_time_ms": slow}
        return {metric: self._value(metric, n, at) for metric in self.read[n] if not _within(self.gone[n, metric], at)}

    def _value(self, metric, n, at):
        high = _within(self.high[n, metric], at)
        if metric == "load1":
            return 12.0 if high else 2.0
        if metric == "memory_percent":
            return 10.0 if high else 50.0
        if metric == "cpu_percent":
            return (97.0 if at % 1800 < 900 else 93.5) if high else 20.0 + at % 7
        return 96.0 if high else 60.0


def _read_by(condition):
    names = parse(condition).names
    return [
        metric for metric in METRICS if metric in names or (metric.startswith("disk.") and "disk.*.percent" in names)
    ]


def _within(spells, at):
    return any(since <= at < until for since, until in spells)


def add_windows(root, begin, seconds):
    """Of each kind, on three hosts."""
    for n, action in enumerate(("suppress", "notify_only", "release") * 3):
        for number, at in enumerate(range(HOUR, int(seconds), 12 * HOUR)):
            windows_of(root)[f"w{n}-{number}"] = HealingWindow(
                {"target": f"box-{n}", "duration": "1h", "reason": "patch", "action": action, "created_by": "otto",
                 "created_at": begin + at, "expires_at": begin + at + HOUR}
            )  # fmt: skip
