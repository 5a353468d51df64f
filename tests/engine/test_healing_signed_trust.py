"""The trust of a rule is part of the signed record: what somebody edits in the store lets no rule act, and is told."""

import pytest

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import trusted
from opsapp.healing.engine.trace import trace
from opsapp.healing.logic.lift import Arm, WaveSums
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.signedtrust import SignedTrust, plain
from opsapp.healing.stages.trust import Trust
from opsapp.notify.resources import inbox
from opsapp.runtime.secrets import chainkey
from opsapp.runtime.secrets.chainkey import chain_key
from tests.engine.healing import NGINX

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
EDITS = {
    "the level": {"current_level": "execute"},
    "the ceiling": {"ceiling": "execute"},
    "how many were verified": {"verified": 40, "executions": 40},
    "the lift": {"treated": Arm(40, 40)},
    "waves": {"waves": WaveSums(40, 40.0, 0.0)},
    "triggers": {"triggers": (1.0, 2.0)},
    "a level that there is not": {"current_level": "root"},
}


@pytest.fixture
def here(ward):
    ward = ward({**NGINX, "trust_ceiling": "approve"}).at("notify")
    ward.turn()
    return ward


@pytest.fixture
def forge(monkeypatch):
    """Write into the store without the key, as somebody does who has the file: the old signature stays."""

    def write(here, of="nginx", signature=None, **values):
        def edit(root):
            state = healing_of(root)["trust"][of]
            state.trust = state.trust._replace(**values)
            state.signature = signature or state.signature

        with monkeypatch.context() as patched:
            patched.delattr(SignedTrust, "__getstate__")
            here.node.transact(edit)

    return write


def told(here, kind):
    return [message for message in here.node.transact(inbox.take, 10_000) if message.kind == kind]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_trust_is_refused_at_the_next_decision(here, forge, edit):
    forge(here, **EDITS[edit])
    here.report(**FAILED).turn().turn(6)
    assert here.hosts.sent == []
    trust = here.trust()
    assert (trust.current_level, trust.ceiling, trust.executions, trust.treated) == ("notify", "approve", 0, Arm())
    assert here.node.transact(trusted.held).edited == ()


DEEDS = {
    "the action": {"action": {"type": "run", "params": {"command": "id"}}},
    "the chain": {"action": None, "escalation_chain": [{"action": "host_reboot"}]},
    "the condition": {"condition": "cpu_percent >= 0"},
    "the targets": {"targets": ["box-2"]},
}


def edit_rule(here, **values):
    def edit(root):
        rule = healing_of(root)["rules"]["nginx"]
        rule.fields = {**rule.fields, **values}

    here.node.transact(edit)


@pytest.mark.parametrize("edit", DEEDS)
def test_an_edited_rule_is_refused_at_the_next_decision(here, edit):
    """What a rule does is signed with its trust, so what it has earned counts for nothing else."""
    here.at("execute")
    edit_rule(here, **DEEDS[edit])
    assert here.node.transact(trusted.held).trust["nginx"].current_level == "notify"
    assert here.service.vera.get("/api/healing/ledger/verify").json["valid"] is False
    here.report(**FAILED).turn().turn(6)
    assert here.hosts.sent == []
    here.engine.govern()
    assert here.trust().current_level == "notify"
    (message,) = told(here, "heal.trust_edited")
    assert "what the rule does" in message.text
    assert here.node.transact(trusted.held).edited == ()


def test_an_edit_by_its_own_way_and_words_about_a_rule_are_no_edit_of_the_store(here):
    here.at("execute")
    edit_rule(here, description="other words", cooldown_s=7)
    assert here.node.transact(trusted.held).edited == ()
    here.service.ada.put_json("/api/healing/rules/nginx", {"condition": "cpu_percent > 99"})
    assert here.node.transact(trusted.held).edited == ()


def test_the_end_of_an_automation_is_an_edit_of_the_rule_that_runs_it(here):
    body = {"name": "tidy", "type": "script", "params": {"script": "true"}}
    made = here.service.ada.post_json("/api/automations", body, status=201).json["id"]
    action = {"type": "automation", "params": {"automation_id": made}}
    here.service.ada.put_json("/api/healing/rules/nginx", {"action": action, "trust_ceiling": "execute"})
    here.at("execute")
    here.service.ada.delete(f"/api/automations/{made}")
    assert here.node.transact(trusted.held).edited == ()
    assert here.trust().current_level == "notify"


def test_what_older_stores_say_of_a_rule_is_taken_as_it_is_once(here):
    def older(root):
        del healing_of(root)["trust"].defined
        healing_of(root)["rules"]["nginx"].fields = {**NGINX, "trust_ceiling": "approve", "escalation_chain": []}
        state = healing_of(root)["trust"]["nginx"]
        state.trust = state.trust._replace(definition="of another version")

    here.node.transact(older)
    assert here.node.transact(trusted.held).edited == ()
    trusted.prepare(here.node)
    assert here.node.transact(trusted.held).edited == ()
    edit_rule(here, condition="cpu_percent >= 0")
    assert here.node.transact(trusted.held).edited == ("nginx",)


def test_people_are_told_and_the_record_has_it(here, forge):
    forge(here, current_level="execute")
    here.report(**FAILED).turn().turn(6)
    (entry,) = here.service.ada.get("/api/audit?action=healing.trust.edited").json
    assert (entry["target"], entry["before"], entry["after"]) == ("nginx", "execute", "notify")
    (message,) = told(here, "heal.trust_edited")
    assert "was changed in the store" in message.text


def test_it_falls_within_a_minute_where_nothing_is_decided(here, forge):
    forge(here, current_level="execute")
    here.engine.govern()
    assert here.trust().current_level == "notify"


def test_what_follows_from_an_edited_trust_is_not_signed(here, forge):
    forge(here, current_level="approve")
    answer = here.service.ada.post_json("/api/healing/trust/nginx/demote", {"level": "observation"}, status=409)
    assert answer.json["code"] == "trust_edited"
    here.node.transact(
        lambda root: healing_of(root)["trust"]["nginx"].become(
            root, Trust("nginx", "execute", "execute", "d", 0.0), cause="test", now=0.0
        )
    )
    assert here.node.transact(trusted.held).edited == ("nginx",)


def become(here, **values):
    def change(root):
        state = healing_of(root)["trust"]["nginx"]
        state.become(root, state.trust._replace(**values), cause="test", now=here.clock.now())

    here.node.transact(change)


def kept(here):
    """The state and its signature, as somebody copies them out of the store."""

    def read(root):
        state = healing_of(root)["trust"]["nginx"]
        return state.trust, state.signature

    return here.node.transact(read)


def put_back(here, forge, copy):
    trust, signature = copy
    forge(here, signature=signature, **trust._asdict())


def test_an_older_state_that_was_signed_is_refused_at_the_next_decision(here, forge):
    here.service.ada.post_json("/api/healing/trust/nginx/promote", {"level": "approve"})
    copy = kept(here)
    here.clock.advance(60)
    here.service.tokens.clear()
    here.service.ada.post_json("/api/healing/trust/nginx/demote", {"level": "observation"})
    put_back(here, forge, copy)
    assert here.node.transact(trusted.held).edited == ("nginx",)
    here.report(**FAILED).turn().turn(6)
    assert (here.hosts.sent, here.trust().current_level) == ([], "notify")
    assert len(told(here, "heal.trust_edited")) == 1
    assert here.node.transact(trusted.held).edited == ()


def test_evidence_from_before_a_case_that_failed_is_refused(here, forge):
    become(here, executions=5, verified=5)
    copy = kept(here)
    become(here, executions=6, verified=5, failed=1)
    put_back(here, forge, copy)
    assert here.node.transact(trusted.held).edited == ("nginx",)


@pytest.mark.parametrize("mark", [(0.0, 0, "made up"), (0.0, 0, "")])
def test_a_mark_that_was_edited_is_refused_too(here, mark):
    become(here, executions=5, verified=5)
    here.node.transact(lambda root: healing_of(root)["trust"].marks.update({"nginx": mark}))
    assert here.node.transact(trusted.held).edited == ("nginx",)


def test_a_minute_that_changes_no_evidence_writes_no_mark(here):
    marks = lambda root: dict(healing_of(root)["trust"].marks)  # noqa: E731
    before = here.node.transact(marks)
    here.clock.advance(60)
    here.engine.govern()
    assert here.node.transact(marks) == before != {}


def test_a_store_of_an_older_version_gets_its_marks_at_the_first_start(here, forge):
    def unmarked(root):
        del healing_of(root)["trust"].marks

    here.node.transact(unmarked)
    assert here.node.transact(trusted.held).edited == ()
    trusted.prepare(here.node)
    become(here, executions=5, verified=5)
    copy = kept(here)
    become(here, executions=6, verified=6)
    put_back(here, forge, copy)
    assert here.node.transact(trusted.held).edited == ("nginx",)


def test_the_state_of_another_rule_is_no_state_of_this_one(here, forge):
    signature = here.node.transact(lambda root: healing_of(root)["trust"]["nginx"].signature)
    other = here.service.ada.post_json(
        "/api/healing/rules", {"id": "other", **{k: v for k, v in NGINX.items() if k != "id"}}
    ).json["id"]
    trust = here.trust()
    forge(here, of=other, signature=signature, **trust._asdict())
    assert here.node.transact(trusted.held).edited == (other,)


def test_the_check_of_the_ledger_and_the_trace_name_it(here, forge):
    ask = lambda root: trace(root, chain_key(root), here.node.config[HealingSettings])  # noqa: E731
    assert here.node.transact(ask) == []
    assert here.service.vera.get("/api/healing/ledger/verify").json["valid"] is True
    forge(here, current_level="execute")
    assert [broken.what for broken in here.node.transact(ask)] == ["the trust of rules was edited: nginx"]
    verdict = here.service.vera.get("/api/healing/ledger/verify").json
    assert (verdict["valid"], verdict["reason"]) == (False, "the trust of rules was edited: nginx")


def test_a_store_of_an_older_version_is_signed_once(here, forge):
    def unsigned(root):
        book = healing_of(root)["trust"]
        del book.signed
        for state in book.values():
            state.signature = None

    forge(here)
    here.node.transact(unsigned)
    trusted.prepare(here.node)
    assert here.node.transact(trusted.held).edited == ()
    forge(here, current_level="execute")
    trusted.prepare(here.node)
    assert here.node.transact(trusted.held).edited == ("nginx",)


def test_without_the_key_no_rule_acts_and_nothing_is_lost(here, monkeypatch):
    here.at("approve")
    with monkeypatch.context() as patched:
        patched.setattr(chainkey, "chain_key", lambda root: b"")
        trust = here.node.transact(lambda root: trusted.held(root).trust["nginx"])
        assert trust.current_level == "notify"
        here.engine.govern()
    assert here.trust().current_level == "approve"
    assert here.node.transact(trusted.held).edited == ()


def test_a_rule_that_came_while_the_key_was_away_is_signed_later_and_has_nothing_to_hide(here, forge, monkeypatch):
    fields = {**{name: value for name, value in NGINX.items() if name != "id"}, "id": "late"}
    with monkeypatch.context() as patched:
        patched.setattr(chainkey, "is_shut", lambda root: True)
        here.service.ada.post_json("/api/healing/rules", fields)
    assert here.node.transact(trusted.held).edited == ()
    here.clock.advance(60)
    here.engine.govern()
    assert here.node.transact(lambda root: healing_of(root)["trust"]["late"].signature)


@pytest.mark.parametrize("edit", EDITS)
def test_a_signature_that_was_taken_away_hides_nothing(here, forge, monkeypatch, edit):
    with monkeypatch.context() as patched:
        patched.delattr(SignedTrust, "__getstate__")
        here.node.transact(lambda root: setattr(healing_of(root)["trust"]["nginx"], "signature", None))
    forge(here, **EDITS[edit])
    assert here.node.transact(trusted.held).edited == ("nginx",)


def test_a_field_with_its_default_value_is_not_signed():
    """So a later version, which has more fields, signs the same."""
    trust = Trust("nginx", "notify", "execute", "d", 0.0)
    assert set(plain(trust)) == {"rule_id", "current_level", "ceiling", "definition", "since"}
    assert plain(trust._replace(treated=Arm(2, 1)))["treated"] == {"n": 2, "recovered": 1}
