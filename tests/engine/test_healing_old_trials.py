"""A store of 0.2.0, which counted cases that no coin had drawn: what is left of them, and what goes on."""

import pickle
from base64 import b64decode

import pytest

from opsapp.healing.logic.changes import NOTHING
from opsapp.healing.logic.lift import Arm, Trials
from opsapp.healing.logic.survival import Duration
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.trials import only_by_coin
from tests.engine.healing import NGINX

# As 0.2.0 wrote them: a rule at `execute` with (8, 7) treated cases and (10, 3) others, a trial that is over as a
# control, and one that was acted on.
TRUST = (
    "gANjb3BzYXBwLmhlYWxpbmcuc3RhZ2VzLnRydXN0ClRydXN0CnEAKFgFAAAAbmdpbnhxAVgHAAAAZXhlY3V0ZXECaAJYAQAAAGRxA0dAFAAA"
    "AAAAAE5OSwBLAEcAAAAAAAAAAEc/8AAAAAAAAIVxBEsISwdLASlHAAAAAAAAAAApY29wc2FwcC5oZWFsaW5nLmxvZ2ljLmxpZnQKQXJtCnEF"
    "SwhLB4ZxBoFxB2gFSwpLA4ZxCIFxCVgBAAAAcnEKhXELdHEMgXENLg=="
)
CONTROL = (
    "gANjb3BzYXBwLmhlYWxpbmcuc3RhZ2VzLnRyaWFscwpUcmlhbApxAChYAgAAAGMxcQFYBQAAAG5naW54cQJYCwAAAGJveC0xL25naW54cQNH"
    "QdrSdIAAAABHQE4AAAAAAABYBwAAAGNvbnRyb2xxBE50cQWBcQYu"
)
TREATED = (
    "gANjb3BzYXBwLmhlYWxpbmcuc3RhZ2VzLnRyaWFscwpUcmlhbApxAChYAgAAAGMycQFYBQAAAG5naW54cQJYCQAAAGJveC0xL3BocHEDR0Ha"
    "0nSAAAAAR0BOAAAAAAAAWAcAAAB0cmVhdGVkcQRHQdrSdIJAAAB0cQWBcQYu"
)

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}


def read(kept):
    return pickle.loads(b64decode(kept))


@pytest.fixture
def old(ward):
    """The same in a store."""
    here = ward({**NGINX, "settle_s": 5, "verify_timeout_s": 55}, trial={"share": 0.5}, holdout={"share": 0.5})

    def leave(root):
        healing = healing_of(root)
        state = healing["trust"]["nginx"]
        state.trust = read(TRUST)._replace(definition=state.trust.definition)
        healing["trust"].marks = None  # 0.2.0 had none
        for trial in (read(CONTROL), read(TREATED)):
            healing.trials.begin(trial)
        healing.trials.durations_of("nginx", state.trust.definition).lasted(30.0, True)

    here.node.transact(leave)
    return here


def test_what_no_coin_has_drawn_counts_no_longer_and_the_rest_stays(old):
    assert (old.trust().treated, old.trust().control) == (Arm(8, 7), Arm(10, 3))
    old.node.transact(only_by_coin)
    trust = old.trust()
    assert trust.trials == Trials()
    assert trust.bad == NOTHING, "0.2.0 had a sum in its place"
    assert (trust.current_level, trust.verified, trust.failed, trust.roots) == ("execute", 7, 1, ("r",))
    assert old.node.transact(lambda root: len(healing_of(root).trials.open)) == 0
    durations = old.node.transact(lambda root: healing_of(root).trials.alone("nginx", old.clock.now()))
    assert durations == [Duration(30.0, True)]


def test_the_rule_goes_on_and_learns_anew(old, monkeypatch):
    from opsapp.healing.engine import world

    monkeypatch.setattr(world, "_coin", lambda root, case_id: 0.9)
    old.node.transact(only_by_coin)
    old.report(**FAILED).turn().turn(5).heal(**ACTIVE)
    assert old.trust().treated == Arm(1, 1)


def test_the_step_is_fit_for_a_new_store_and_bars_older_versions(old):
    evolved, by = old.node.transact(lambda root: (list(root.system["evolved"]), dict(root.system["evolved-by"])))
    assert "healing-coin" in evolved
    assert by["healing-coin"][1] is False
