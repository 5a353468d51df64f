"""The sections `healing` of the YAML file, with the document's defaults."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.web.fields import Body, Flag, ListOf, Nullable, Number, Text, Whole

from .logic.effectiveness import MOST_HOSTS
from .logic.graph import mistakes
from .schemas import DeclaredRule, DependencyEntry, Duration

PROTECTED = (
    "init", "systemd", "sshd", "ssh", "postgresql", "postgres", "mysql", "mysqld", "mariadb", "zeo", "opsapp",
    "opsapp-agent")  # fmt: skip


def _sound_graph(node: colander.SchemaNode, entries: Any) -> None:
    wrong = mistakes(entries)
    if wrong:
        raise colander.Invalid(node, "; ".join(f"{one['target']}: {one['error']}" for one in wrong))


class Protected(Body):
    targets = colander.SchemaNode(ListOf(Text(1, 255), 1000), missing=())
    processes = colander.SchemaNode(ListOf(Text(1, 255), 1000), missing=PROTECTED)


class HealsPerHour(Body):
    fleet = colander.SchemaNode(Whole(0, 10**6), missing=60)
    site = colander.SchemaNode(Whole(0, 10**6), missing=30)
    rule = colander.SchemaNode(Whole(0, 10**6), missing=10)
    target = colander.SchemaNode(Nullable(Whole(0, 10**6)), missing=None)


class Brake(Body):
    max_heals_per_hour = HealsPerHour()
    max_unhealthy_percent = colander.SchemaNode(Number(0, 100), missing=40)


class BreakerSection(Body):
    failures = colander.SchemaNode(Whole(1, 100), missing=3)
    window_s = colander.SchemaNode(Number(1, 86400), missing=3600)


class PromotionSection(Body):
    triggers = colander.SchemaNode(Whole(1, 1000), missing=10)
    window_s = colander.SchemaNode(Number(1, 366 * 86400), missing=7 * 86400)
    executions = colander.SchemaNode(Whole(1, 10**6), missing=10)
    success_rate = colander.SchemaNode(Number(0, 1), missing=0.85)
    bound = colander.SchemaNode(Number(0, 1), missing=0.75)


class CusumSection(Body):
    good = colander.SchemaNode(Number(0.01, 0.99), missing=0.92)
    bad = colander.SchemaNode(Number(0.01, 0.99), missing=0.60)
    threshold = colander.SchemaNode(Number(0.1, 1000), missing=4.5)

    def validator(self, node: colander.SchemaNode, given: Any) -> None:
        if given["bad"] >= given["good"]:
            raise colander.Invalid(node, "bad must be below good")


class SkipSection(Body):
    rate = colander.SchemaNode(Number(0, 1), missing=0.30)
    outcomes = colander.SchemaNode(Whole(1, 1000), missing=5)
    hosts = colander.SchemaNode(Whole(1, MOST_HOSTS), missing=3)
    half_life_s = colander.SchemaNode(Number(1, 3660 * 86400), missing=30 * 86400)
    retry_s = colander.SchemaNode(Number(1, 3660 * 86400), missing=7 * 86400)


class RecurrenceSection(Body):
    heals = colander.SchemaNode(Whole(1, 1000), missing=10)
    window_s = colander.SchemaNode(Number(1, 366 * 86400), missing=7 * 86400)


def _one_place(sound: dict[str, Any]) -> dict[str, str]:
    given = [name for name in ("file", "url") if sound.get(name)]
    return {} if len(given) < 2 else dict.fromkeys(("file", "url"), "give either a file or a url")


class Anchor(Body):
    across = staticmethod(_one_place)

    file = colander.SchemaNode(Nullable(Text(1, 1000)), missing=None)
    url = colander.SchemaNode(Nullable(Text(1, 2000, pattern="https?://.+")), missing=None)
    every = colander.SchemaNode(Duration(), missing="1h")


class LedgerSection(Body):
    anchor = Anchor()


class ChaosSection(Body):
    revert_after_s = colander.SchemaNode(Number(5, 3600), missing=120)
    watch_s = colander.SchemaNode(Number(1, 3600), missing=90)


class OfflineSection(Body):
    enabled = colander.SchemaNode(Flag(), missing=True)
    offline_after_s = colander.SchemaNode(Nullable(Number(0.1, 86400)), missing=None)
    expires_s = colander.SchemaNode(Number(60, 30 * 86400), missing=86400)


class DiscoverySection(Body):
    every_s = colander.SchemaNode(Number(1, 86400), missing=3600)
    together_s = colander.SchemaNode(Number(0.1, 3600), missing=120)


class Thresholds(Body):
    cpu_percent = colander.SchemaNode(Number(0, 1000), missing=90)
    mem_percent = colander.SchemaNode(Number(0, 1000), missing=90)
    swap_percent = colander.SchemaNode(Number(0, 1000), missing=90)
    disk_percent = colander.SchemaNode(Number(0, 1000), missing=90)


class PredictionSection(Body):
    every_s = colander.SchemaNode(Number(1, 86400), missing=900)
    warn_h = colander.SchemaNode(Number(0, 8760), missing=24)
    suggest_h = colander.SchemaNode(Number(0, 8760), missing=72)
    thresholds = Thresholds()


class HealingSection(Body):
    rules = colander.SchemaNode(ListOf(DeclaredRule(), 1000), missing=())
    dependencies = colander.SchemaNode(ListOf(DependencyEntry(), 5000), missing=(), validator=_sound_graph)
    default_rules = colander.SchemaNode(Flag(), missing=True)
    protected = Protected()
    brake = Brake()
    breaker = BreakerSection()
    promotion = PromotionSection()
    cusum = CusumSection()
    skip = SkipSection()
    recurrence = RecurrenceSection()
    absorption_window_s = colander.SchemaNode(Number(0, 3600), missing=60)
    hold_s = colander.SchemaNode(Number(0, 600), missing=5)
    cause_wait_s = colander.SchemaNode(Number(0, 600), missing=15)
    queue_spread_s = colander.SchemaNode(Number(0, 3600), missing=60)
    command_expiry_s = colander.SchemaNode(Number(1, 3600), missing=60)
    answer_wait_s = colander.SchemaNode(Number(1, 86400), missing=900)
    confirm_s = colander.SchemaNode(Number(1, 3600), missing=45)
    ledger = LedgerSection()
    chaos = ChaosSection()
    prediction = PredictionSection()
    discovery = DiscoverySection()
    offline_policies = OfflineSection()
