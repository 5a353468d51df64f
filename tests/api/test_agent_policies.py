"""What agents may heal alone, on its way to them by polling. The session's way is in tests/system."""

from dataclasses import replace

import pytest

from opsapp.agents.engine import give_policies, policies_of
from opsapp.agents.resources import Policies, find_agent
from opsapp.healing.engine import offline_policies
from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.lib.problems import Invalid
from opsapp.wire.fields import WireError
from opsapp.wire.policies import BY_KEY, Policy, PolicyStep, PolicyTerms, check_bundle, secret_of
from tests.api.test_agents import Polling

RULE = Policy("nginx", 'service.nginx.state == "failed"', (PolicyStep("restart_service"),))


@pytest.fixture
def box(service):
    return Polling(service)


def give(service, box, *policies):
    def given(root):
        expires = service.clock.now() + 3600
        return give_policies(root, box.id, PolicyTerms(policies, offline_after_s=45, budget=3), expires_at=expires)

    return service.transact(given)


@pytest.mark.shared
def test_an_agent_gets_what_is_newer_than_what_it_holds(service, box):
    assert give(service, box, RULE) == 1
    assert "policies" not in box.report()  # it does not say that it holds any: an agent of before
    answer = box.report(policy_version=0, features=[BY_KEY])
    bundle = check_bundle(**answer["policies"], secret=secret_of(box.key), agent_id=box.id)
    assert (answer["policy_version"], bundle.version, bundle.budget) == (1, 1, 3)
    assert [policy.rule_id for policy in bundle.policies] == ["nginx"]
    assert "policies" not in box.report(policy_version=1)


@pytest.mark.shared
def test_other_policies_are_a_newer_version_and_none_is_an_answer_too(service, box):
    give(service, box, RULE)
    assert give(service, box) == 2
    assert box.report(policy_version=1)["policies"]["bundle"]["policies"] == []
    assert service.read(lambda root: policies_of(root, box.id)).version == 2


@pytest.mark.shared
def test_a_rotated_key_signs_what_was_given_before(service, box):
    give(service, box, RULE)
    box.key = service.ada.post_json(f"{box.path}/key", {}).json["key"]
    signed = box.report(policy_version=0, features=[BY_KEY])["policies"]
    check_bundle(**signed, secret=secret_of(box.key), agent_id=box.id)


@pytest.mark.shared
def test_what_an_older_version_has_stored_is_sent_as_it_is_and_read_with_defaults(service, box):
    bundle = {"agent_id": box.id, "version": 3, "issued_at": 1.0, "expires_at": 9.0, "offline_after_s": 45, "budget": 2,
              "policies": [{"rule_id": "r", "condition": "cpu_percent > 90",
                            "steps": [{"action": "flush_dns", "params": {}}]}]}  # fmt: skip

    def stored(root):
        find_agent(root, box.id).policies = Policies(dict(bundle))

    service.transact(stored)
    sent = box.report(policy_version=0, features=[BY_KEY])["policies"]
    assert sent["bundle"] == bundle
    assert service.read(lambda root: policies_of(root, box.id)) == check_bundle(
        **sent, secret=secret_of(box.key), agent_id=box.id
    )


@pytest.mark.attack
@pytest.mark.shared
def test_what_the_store_holds_signs_for_agents_of_before_only(service, box):
    give(service, box, RULE)
    held = service.read(lambda root: find_agent(root, box.id).key_digest)
    old, new = box.report(policy_version=0), box.report(policy_version=0, features=["probe", BY_KEY])
    assert check_bundle(**old["policies"], secret=held, agent_id=box.id).version == 1
    with pytest.raises(WireError, match="not signed"):
        check_bundle(**new["policies"], secret=held, agent_id=box.id)
    assert "features" not in box.seen()["metrics"]


@pytest.mark.shared
def test_what_the_agent_would_refuse_is_not_given(service, box):
    with pytest.raises(Invalid):
        give(service, box, replace(RULE, steps=(PolicyStep("host_reboot"),)))
    assert service.read(lambda root: policies_of(root, box.id)) is None


def test_what_an_agent_is_known_to_hold_is_not_read_again_while_the_lease_is_ours(service, box, monkeypatch):
    box.report()
    node, asked, read = service.node, [], offline_policies._read
    monkeypatch.setattr(
        offline_policies, "_read", lambda root, agent_id: asked.append(agent_id) or read(root, agent_id)
    )
    engine = node.registry.getUtility(IHealingEngine)
    node.leases.want("healing")
    node.leases.step()
    engine.give_policies()
    engine.give_policies()
    assert asked == [box.id]
    node.leases.held["healing"] += 1  # it was another node's for a while
    engine.give_policies()
    assert asked == [box.id, box.id]
