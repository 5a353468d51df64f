"""/api/settings and /api/doctor: what is configured and what is wrong, for admins."""

import pytest
import yaml

from opsapp.agent import domains
from opsapp.agents.engine.executor_standing import ENDS, READS, isolation, standing
from opsapp.runtime import findings
from opsapp.runtime.findings import FAIL, WARN, Finding
from tests.support.app import Service

CONFIG = {
    "timezone": "Europe/Berlin",
    "web": {"scrape_token": "a-scrape-token-nobody-sees", "base_url": "https://ops.example.org"},
    "notifications": {"channels": [{"name": "on-call", "url": "json://user:hidden-pass@127.0.0.1:9/x"}]},
    "monitoring": {"deny_networks": ["10.0.0.0/8"]},
}


@pytest.fixture
def configured(tmp_path):
    path = tmp_path / "opsapp.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    service = Service(tmp_path / "data", **{"opsapp.config": str(path), "opsapp.data": str(tmp_path / "data")})
    yield service
    service.close()


def test_every_key_is_shown_with_its_usual_value_and_without_secrets(configured):
    answer = configured.ada.get("/api/settings")
    rows = {row["name"]: row for row in answer.json["settings"]}
    assert answer.json["from_file"] is True
    assert rows["timezone"] == {"name": "timezone", "value": "Europe/Berlin", "usual": "UTC", "changed": True}
    assert rows["web.scrape_token"]["value"] == "***"
    assert rows["web.scrape_token"]["usual"] == ""
    assert rows["notifications.channels"]["value"] == "1 entry"
    assert rows["monitoring.deny_networks"]["value"] == "10.0.0.0/8"
    assert rows["notifications.group_s"] == {
        "name": "notifications.group_s", "value": "60", "usual": "60", "changed": False}  # fmt: skip
    assert rows["notifications.retry.first_s"]["value"] == "5"
    for secret in ("a-scrape-token", "hidden-pass"):
        assert secret not in answer.text
    configured.otto.get("/api/settings", status=403)


def test_the_doctor_looks_at_the_files_of_a_running_service(configured, tmp_path):
    (tmp_path / "data" / "admin-password").write_text("x")
    (tmp_path / "data" / "admin-password").chmod(0o644)
    said = configured.ada.get("/api/doctor").json["findings"]
    whats = {finding["what"] for finding in said}
    assert {"open files", "data", "master key", "executor"} <= whats
    assert {"level": "fail", "what": "data"}.items() <= next(
        finding for finding in said if "others may read" in finding["said"] and "admin-password" in finding["said"]
    ).items()
    configured.vera.get("/api/doctor", status=403)


def test_what_cannot_be_looked_at_is_a_finding(service, monkeypatch):
    def refuse(settings):
        raise OSError("no such disk")

    monkeypatch.setattr(findings, "data", refuse)
    said = service.ada.get("/api/doctor").json["findings"]
    assert {"level": FAIL.lower(), "what": "data", "said": "no such disk"} in said


@pytest.mark.parametrize(("looks", "user", "open_to"), [
    (domains.LOOKS_SINCE, "nobody", ENDS),
    (domains.LOOKS_SINCE, "root", f"{READS}; {ENDS}"),
    (99, "nobody", f"{READS}; {ENDS}"),
])  # fmt: skip
def test_the_doctor_says_what_an_older_kernel_does_not_hold(tmp_path, monkeypatch, looks, user, open_to):
    monkeypatch.setattr(domains, "SIGNALS_SINCE", 99)
    monkeypatch.setattr(domains, "LOOKS_SINCE", looks)
    path = tmp_path / "opsapp.yaml"
    path.write_text(yaml.safe_dump({"executor": {"user": user}}))
    service = Service(tmp_path / "data", **{"opsapp.config": str(path)})
    try:
        said = isolation(service.node.config)
    finally:
        service.close()
    assert said == Finding(WARN, "isolation of runs", f"it needs Linux 6.12 or newer: {open_to}")


def test_the_executor_says_whose_it_is(service):
    finding = standing(service.node.config)
    assert (finding.level, finding.what) == (WARN, "executor")
    assert "executor.user" in finding.said
