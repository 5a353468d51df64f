"""What the API answers about lift and waiting."""

from __future__ import annotations

from opsapp.web.fields import Body, choice, field, list_of, number, text, whole

from .logic.lift import VERDICTS


class LiftArm(Body):
    n = whole(0)
    recovered = whole(0)


class LiftWaves(Body):
    """Waves of outages that were trials: the sums of the shares of those that went, and of those that waited, that were
    well at the moment of their wave, which need be no whole numbers. `open`: trials of which nobody knows yet."""

    n = whole(0)
    treated = number(0)
    alone = number(0)
    open = whole(0)


class UsualRange(Body):
    low = number()
    high = number()


class LiftAnswer(Body):
    """Differences of shares: 0.5 is "half of all cases more", of coins (`treated`, `control`) and of waves. `low` and
    `high` hold however often one looks; `usual` is a plain range of the last 100 trials: of ten such ranges eight hold
    the truth."""

    treated = LiftArm()
    control = LiftArm()
    waves = LiftWaves()
    usual = field(UsualRange, null=True)
    share = number(0, 0.5)
    lift = number(null=True)
    low = number()
    high = number()
    saved_minutes = number(null=True)
    verdict = choice(*VERDICTS)


class StillBroken(Body):
    seconds = number()
    share = number()


class ExpectedDowntime(Body):
    wait_s = number()
    downtime_s = number()


class WaitAnswer(Body):
    """`wait_s` is None while too little is known. `cases` are the rule's own; while they are fewer than 20, `borrowed`
    ones of other rules count too: those whose conditions read the same, else all others. `weight`: of its own curve."""

    rule_id = text()
    cases = whole(0)
    recovered = whole(0)
    borrowed = whole(0)
    borrowed_from = choice("same_readings", "all_rules", null=True)
    weight = number(0, 1)
    heals = whole(0)
    heal_s = number(null=True)
    wait_s = number(null=True)
    downtime_s = number(null=True)
    saves_s = number(null=True)
    curve = list_of(StillBroken)
    expected = list_of(ExpectedDowntime)
