"""What goes on while a service is upgraded, and what has to be there afterwards."""

from .waiting import until

ENOUGH = 15
MONITOR = {"name": "shop", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
RULE = {
    "id": "shop-down", "condition": 'monitor.status == "down"', "severity": "critical",
    "targets": {"monitors": ["shop"]}, "initial_level": "notify",
    "escalation_chain": [{"action": "restart_service", "params": {"service": "nginx"}}],
}  # fmt: skip


def furnish(client):
    """Something that an upgrade must keep; how it looks to whoever asks."""
    client.post("/api/monitoring/endpoints", MONITOR)
    client.post("/api/healing/rules", RULE)
    return made(client)


def made(client):
    """What does not change by itself."""
    rules = {rule["id"]: (rule["condition"], rule["escalation_chain"]) for rule in client.get("/api/healing/rules")}
    monitors = {shown["id"]: (shown["name"], shown["url"]) for shown in client.get("/api/monitoring/endpoints")}
    return rules, monitors, sorted(user["username"] for user in client.get("/api/users"))


def kept_of(client, kept):
    """What is left of what there was. A version may bring rules of its own, and nothing else may be new."""
    rules, monitors, users = made(client)
    brought = {rule_id for rule_id in rules if rule_id not in kept[0]}
    assert all(rule_id.startswith("default-") for rule_id in brought), brought
    return {rule_id: rules[rule_id] for rule_id in rules if rule_id not in brought}, monitors, users


def go_on(writers):
    """Each has some answers more."""
    had = {writer: len(writer.answered) for writer in writers}
    until(lambda: all(len(writer.answered) >= had[writer] + ENOUGH for writer in writers), 30, what="answered writes")


def answered(writers):
    """The label of each write that was answered until now, by its id."""
    return {key: label for writer in writers for key, label in list(writer.answered.items())}
