"""What agents may heal alone, on its way to them by polling. The session's way is in tests/system."""

import pytest

from opsapp.agents.engine import give_policies, policies_of
from opsapp.healing.engine import offline
from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.lib.problems import Invalid
from opsapp.wire.policies import check_bundle, secret_of
from tests.api.test_agents import Polling

RULE = {"rule_id": "nginx", "condition": 'service.nginx.state == "failed"', "steps": [{"action": "restart_service"}]}


@pytest.fixture
def box(service):
    return Polling(service)


def give(service, box, *policies):
    def given(root):
        expires = service.clock.now() + 3600
        return give_policies(root, box.id, policies=policies, offline_after_s=45, budget=3, expires_at=expires)

    return service.transact(given)


def test_an_agent_gets_what_is_newer_than_what_it_holds(service, box):
    assert give(service, box, RULE) == 1
    assert "policies" not in box.report()  # it does not say that it holds any: an agent of before
    answer = box.report(policy_version=0)
    bundle = check_bundle(**answer["policies"], secret=secret_of(box.key), agent_id=box.id)
    assert (answer["policy_version"], bundle["version"], bundle["budget"]) == (1, 1, 3)
    assert [policy["rule_id"] for policy in bundle["policies"]] == ["nginx"]
    assert "policies" not in box.report(policy_version=1)


def test_other_policies_are_a_newer_version_and_none_is_an_answer_too(service, box):
    give(service, box, RULE)
    assert give(service, box) == 2
    assert box.report(policy_version=1)["policies"]["bundle"]["policies"] == []
    assert service.read(lambda root: policies_of(root, box.id))["version"] == 2


def test_a_rotated_key_signs_what_was_given_before(service, box):
    give(service, box, RULE)
    box.key = service.ada.post_json(f"{box.path}/key", {}).json["key"]
    check_bundle(**box.report(policy_version=0)["policies"], secret=secret_of(box.key), agent_id=box.id)


def test_what_the_agent_would_refuse_is_not_given(service, box):
    with pytest.raises(Invalid):
        give(service, box, {**RULE, "steps": [{"action": "host_reboot"}]})
    assert service.read(lambda root: policies_of(root, box.id)) is None


def test_what_an_agent_is_known_to_hold_is_not_read_again_while_the_lease_is_ours(service, box, monkeypatch):
    box.report()
    node, asked, read = service.node, [], offline._read
    monkeypatch.setattr(offline, "_read", lambda root, agent_id: asked.append(agent_id) or read(root, agent_id))
    engine = node.registry.getUtility(IHealingEngine)
    node.leases.want("healing")
    node.leases.step()
    engine.give_policies()
    engine.give_policies()
    assert asked == [box.id]
    node.leases.held["healing"] += 1  # it was another node's for a while
    engine.give_policies()
    assert asked == [box.id, box.id]
