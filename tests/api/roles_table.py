"""Who may do what: one row for every method of every path, written by hand from the contract, never generated.

`tests/api/test_roles.py` fails when a view has no row here, when a row has no view, and when the service disagrees.

A row is `"METHOD /path/{name}": needs` with needs one of public, viewer, operator, admin, agent. Where the path has
names, say in SAMPLES how to make such a thing, so that the roles below are seen to get 403 and not only 404:
`"/path/{name}": fn`, where `fn(root)` makes one in the store and answers the real path.
"""

from opsapp.agents import resources as agents
from opsapp.auth import resources as auth
from opsapp.auth.resources import invitations
from opsapp.automations import resources as automations
from opsapp.automations.engine import edits
from opsapp.automations.logic.settings import AutomationSettings
from opsapp.healing.engine import inlets
from opsapp.wire.records import made

PUBLIC, VIEWER, OPERATOR, ADMIN, AGENT = "public", "viewer", "operator", "admin", "agent"

ROWS = {
    # the service itself
    "POST /api/apply": ADMIN,
    "GET /api/docs": PUBLIC,
    "GET /api/doctor": ADMIN,
    "GET /api/settings": ADMIN,
    "GET /api/export": ADMIN,
    "GET /api/openapi.json": PUBLIC,
    "GET /api/moment": VIEWER,
    "GET /api/overview": VIEWER,
    "GET /api/status/public": PUBLIC,
    "GET /api/audit/file": ADMIN,
    "GET /api/healing/ledger/file": VIEWER,
    "GET /api/monitoring/incidents/file": VIEWER,
    "GET /api/deleted": OPERATOR,
    "POST /api/deleted/{deletion_id}/undo": OPERATOR,
    # the public page
    "GET /api/status/page": PUBLIC,
    "GET /api/status/settings": ADMIN,
    "PUT /api/status/settings": ADMIN,
    "PUT /api/status/logo": ADMIN,
    "DELETE /api/status/logo": ADMIN,
    "GET /api/status/pages": ADMIN,
    "POST /api/status/pages": ADMIN,
    "GET /api/status/pages/{slug}": ADMIN,
    "PUT /api/status/pages/{slug}": ADMIN,
    "DELETE /api/status/pages/{slug}": ADMIN,
    "PUT /api/status/pages/{slug}/password": ADMIN,
    "GET /api/status/subscriptions": ADMIN,
    "POST /api/status/subscriptions": PUBLIC,
    "GET /api/status/subscriptions/counts": ADMIN,
    "DELETE /api/status/subscriptions/{subscription_id}": ADMIN,
    "GET /api/store": ADMIN,
    "GET /api/stream": VIEWER,
    "GET /metrics": VIEWER,
    "POST /api/store/pack": ADMIN,
    # signing in, and oneself
    "GET /api/auth/oidc/authorize": PUBLIC,
    "GET /api/auth/oidc/callback": PUBLIC,
    "POST /api/login": PUBLIC,
    "POST /api/mcp": VIEWER,
    "POST /api/login/totp": PUBLIC,
    "POST /api/logout": VIEWER,
    "GET /api/me": VIEWER,
    "PUT /api/me/password": VIEWER,
    "GET /api/me/settings": VIEWER,
    "PUT /api/me/settings": VIEWER,
    "GET /api/me/filters": VIEWER,
    "POST /api/me/filters": VIEWER,
    "DELETE /api/me/filters/{filter_id}": VIEWER,
    "GET /api/me/sessions": VIEWER,
    "DELETE /api/me/sessions/{session_id}": VIEWER,
    "POST /api/me/confirm": VIEWER,
    "POST /api/me/totp": VIEWER,
    "POST /api/me/totp/confirm": VIEWER,
    "DELETE /api/me/totp": VIEWER,
    "GET /api/keys": VIEWER,
    "POST /api/keys": VIEWER,
    "DELETE /api/keys/{key_id}": VIEWER,
    "POST /api/stream-ticket": VIEWER,
    # users and audit
    "GET /api/users": ADMIN,
    "POST /api/users": ADMIN,
    "GET /api/users/{username}": ADMIN,
    "PUT /api/users/{username}": ADMIN,
    "DELETE /api/users/{username}": ADMIN,
    "DELETE /api/users/{username}/totp": ADMIN,
    "POST /api/users/{username}/unlock": ADMIN,
    "GET /api/invitations": ADMIN,
    "POST /api/invitations": ADMIN,
    "DELETE /api/invitations/{invitation_id}": ADMIN,
    "GET /api/teams": ADMIN,
    "POST /api/teams": ADMIN,
    "GET /api/teams/{team_id}": ADMIN,
    "PUT /api/teams/{team_id}": ADMIN,
    "DELETE /api/teams/{team_id}": ADMIN,
    "GET /api/scim-tokens": ADMIN,
    "POST /api/scim-tokens": ADMIN,
    "DELETE /api/scim-tokens/{token_id}": ADMIN,
    "GET /api/audit": ADMIN,
    "GET /api/audit/verify": ADMIN,
    # agents
    "GET /api/agents": VIEWER,
    "GET /api/agents/figures": VIEWER,
    "GET /api/agents/tags": VIEWER,
    "POST /api/agents": ADMIN,
    "DELETE /api/agents/{agent_id}": ADMIN,
    "GET /api/agents/{agent_id}": VIEWER,
    "PUT /api/agents/{agent_id}": OPERATOR,
    "GET /api/agents/{agent_id}/commands": VIEWER,
    "POST /api/agents/{agent_id}/commands": OPERATOR,
    "DELETE /api/agents/{agent_id}/commands/{command_id}": OPERATOR,
    "GET /api/agents/{agent_id}/commands/{command_id}": VIEWER,
    "GET /api/agents/{agent_id}/commands/{command_id}/stream": OPERATOR,
    "GET /api/agents/agent.pyz": PUBLIC,
    "GET /api/agents/install-script": VIEWER,
    "GET /api/agents/{agent_id}/files": VIEWER,
    "GET /api/agents/{agent_id}/stream/logs": VIEWER,
    "GET /api/agents/{agent_id}/stream/metrics": VIEWER,
    "POST /api/agents/deploy": ADMIN,
    "POST /api/agents/{agent_id}/files": OPERATOR,
    "DELETE /api/agents/{agent_id}/hands-off": OPERATOR,
    "POST /api/agents/{agent_id}/hands-off": OPERATOR,
    "DELETE /api/agents/{agent_id}/key": ADMIN,
    "POST /api/agents/{agent_id}/key": ADMIN,
    "GET /api/agents/{agent_id}/metrics": VIEWER,
    "POST /api/agents/{agent_id}/report": AGENT,
    "GET /api/agents/{agent_id}/session": AGENT,
    # approvals
    "GET /api/approvals": VIEWER,
    "GET /api/approvals/{request_id}": VIEWER,
    "POST /api/approvals/{request_id}/approve": OPERATOR,
    "POST /api/approvals/{request_id}/reject": OPERATOR,
    # maintenance
    "GET /api/maintenance": VIEWER,
    "POST /api/maintenance": OPERATOR,
    "GET /api/maintenance/calendar": VIEWER,
    "GET /api/maintenance/coverage": VIEWER,
    "POST /api/maintenance/preview": OPERATOR,
    "DELETE /api/maintenance/{window_id}": OPERATOR,
    "GET /api/maintenance/{window_id}": VIEWER,
    "PUT /api/maintenance/{window_id}": OPERATOR,
    "POST /api/maintenance/{window_id}/activate": OPERATOR,
    "POST /api/maintenance/{window_id}/deactivate": OPERATOR,
    # on call
    "GET /api/oncall/escalations": VIEWER,
    "GET /api/oncall/escalations/{escalation_id}": VIEWER,
    "GET /api/oncall/now": VIEWER,
    "GET /api/oncall/policies": VIEWER,
    "POST /api/oncall/policies": ADMIN,
    "DELETE /api/oncall/policies/{policy_id}": ADMIN,
    "GET /api/oncall/policies/{policy_id}": VIEWER,
    "PUT /api/oncall/policies/{policy_id}": ADMIN,
    "GET /api/oncall/schedules": VIEWER,
    "POST /api/oncall/schedules": ADMIN,
    "DELETE /api/oncall/schedules/{schedule_id}": ADMIN,
    "GET /api/oncall/schedules/{schedule_id}": VIEWER,
    "PUT /api/oncall/schedules/{schedule_id}": ADMIN,
    "DELETE /api/oncall/schedules/{schedule_id}/calendar": OPERATOR,
    "POST /api/oncall/schedules/{schedule_id}/calendar": OPERATOR,
    "GET /api/oncall/calendars/{token}": PUBLIC,
    "POST /api/oncall/schedules/{schedule_id}/overrides": OPERATOR,
    "DELETE /api/oncall/schedules/{schedule_id}/overrides/{override_id}": OPERATOR,
    "GET /api/oncall/schedules/{schedule_id}/shifts": VIEWER,
    # notifications
    "GET /api/notifications/types": ADMIN,
    "GET /api/notifications/channels": ADMIN,
    "POST /api/notifications/channels": ADMIN,
    "DELETE /api/notifications/channels/{channel_id}": ADMIN,
    "GET /api/notifications/channels/{channel_id}": ADMIN,
    "PUT /api/notifications/channels/{channel_id}": ADMIN,
    "POST /api/notifications/channels/{channel_id}/test": ADMIN,
    "GET /api/notifications/deliveries": ADMIN,
    "GET /api/notifications/deliveries/{delivery_id}": ADMIN,
    # automations
    "GET /api/automations": VIEWER,
    "POST /api/automations": OPERATOR,
    "GET /api/automations/{automation_id}": VIEWER,
    "PUT /api/automations/{automation_id}": OPERATOR,
    "DELETE /api/automations/{automation_id}": OPERATOR,
    "POST /api/automations/{automation_id}/run": OPERATOR,
    "GET /api/automations/{automation_id}/runs": VIEWER,
    "POST /api/automations/{automation_id}/webhook-token": OPERATOR,
    "GET /api/automations/runs": VIEWER,
    "GET /api/automations/runs/{run_id}": VIEWER,
    "POST /api/automations/runs/{run_id}/cancel": OPERATOR,
    "GET /api/automations/runs/{run_id}/stream": VIEWER,
    "GET /api/automations/templates": VIEWER,
    "GET /api/automations/templates/{template_id}": VIEWER,
    "POST /api/automations/templates/{template_id}/apply": OPERATOR,
    "GET /api/automations/export": VIEWER,
    "POST /api/automations/import": OPERATOR,
    "POST /api/automations/webhook/{token}": PUBLIC,
    "GET /api/secrets": ADMIN,
    "POST /api/secrets": ADMIN,
    "GET /api/secrets/{secret_id}": ADMIN,
    "PUT /api/secrets/{secret_id}": ADMIN,
    "DELETE /api/secrets/{secret_id}": ADMIN,
    "POST /api/secrets/{secret_id}/allow": ADMIN,
    "DELETE /api/secrets/{secret_id}/allow": ADMIN,
    "GET /api/people": OPERATOR,
    # healing
    "GET /api/healing/actions": VIEWER,
    "GET /api/healing/capabilities/{hostname}": VIEWER,
    "POST /api/healing/capabilities/{hostname}/refresh": OPERATOR,
    "GET /api/healing/cases/{case_id}": VIEWER,
    "POST /api/healing/cases/{case_id}/act-now": OPERATOR,
    "POST /api/healing/chaos/run": ADMIN,
    "GET /api/deployments": VIEWER,
    "POST /api/deployments": OPERATOR,
    "GET /api/deployments/{deployment_id}": VIEWER,
    "DELETE /api/deployments/{deployment_id}": OPERATOR,
    "GET /api/healing/chaos/scenarios": VIEWER,
    "GET /api/healing/dependencies": VIEWER,
    "PUT /api/healing/dependencies": ADMIN,
    "POST /api/healing/dependencies/edges": ADMIN,
    "DELETE /api/healing/dependencies/edges": ADMIN,
    "POST /api/healing/dependencies/validate": VIEWER,
    "POST /api/healing/dry-run": OPERATOR,
    "GET /api/healing/effectiveness": VIEWER,
    "GET /api/healing/lift": VIEWER,
    "GET /api/healing/wait": VIEWER,
    "POST /api/healing/evaluate": OPERATOR,
    "POST /api/healing/events/{token}": PUBLIC,
    "GET /api/healing/forecasts": VIEWER,
    "GET /api/healing/health": VIEWER,
    "GET /api/healing/inlets": ADMIN,
    "POST /api/healing/inlets": ADMIN,
    "PUT /api/healing/inlets/{inlet_id}": ADMIN,
    "DELETE /api/healing/inlets/{inlet_id}": ADMIN,
    "GET /api/healing/inlets/{inlet_id}/events": ADMIN,
    "GET /api/healing/letter": VIEWER,
    "GET /api/healing/letter/settings": ADMIN,
    "PUT /api/healing/letter/settings": ADMIN,
    "GET /api/healing/ledger": VIEWER,
    "GET /api/healing/ledger/archive": ADMIN,
    "POST /api/healing/ledger/archived": ADMIN,
    "GET /api/healing/ledger/verify": VIEWER,
    "GET /api/healing/cases/archive": ADMIN,
    "GET /api/healing/ledger/last-check": VIEWER,
    "GET /api/healing/maintenance": VIEWER,
    "POST /api/healing/maintenance": OPERATOR,
    "DELETE /api/healing/maintenance/{window_id}": OPERATOR,
    "GET /api/healing/maintenance/{window_id}": VIEWER,
    "DELETE /api/healing/here": OPERATOR,
    "POST /api/healing/here": OPERATOR,
    "POST /api/healing/pause": ADMIN,
    "GET /api/healing/problems": VIEWER,
    "GET /api/healing/problems/{problem_id}": VIEWER,
    "PUT /api/healing/problems/{problem_id}": OPERATOR,
    "GET /api/healing/readings": VIEWER,
    "POST /api/healing/replay": OPERATOR,
    "POST /api/healing/whatif": OPERATOR,
    "POST /api/healing/resume": ADMIN,
    "POST /api/healing/rollback/{ledger_id}": ADMIN,
    "GET /api/healing/rules": VIEWER,
    "POST /api/healing/rules": ADMIN,
    "DELETE /api/healing/rules/{rule_id}": ADMIN,
    "GET /api/healing/rules/{rule_id}": VIEWER,
    "PUT /api/healing/rules/{rule_id}": ADMIN,
    "GET /api/healing/suggestions": VIEWER,
    "POST /api/healing/suggestions/{suggestion_id}/confirm": OPERATOR,
    "POST /api/healing/suggestions/{suggestion_id}/dismiss": OPERATOR,
    "GET /api/healing/trust": VIEWER,
    "POST /api/healing/trust/{rule_id}/demote": ADMIN,
    "POST /api/healing/trust/{rule_id}/promote": ADMIN,
    # monitoring
    "GET /api/monitoring/endpoints": VIEWER,
    "GET /api/monitoring/endpoints/tags": VIEWER,
    "POST /api/monitoring/endpoints": OPERATOR,
    "DELETE /api/monitoring/endpoints/{monitor_id}": ADMIN,
    "GET /api/monitoring/endpoints/{monitor_id}": VIEWER,
    "PUT /api/monitoring/endpoints/{monitor_id}": OPERATOR,
    "POST /api/monitoring/endpoints/check": OPERATOR,
    "POST /api/monitoring/endpoints/{monitor_id}/check": OPERATOR,
    "GET /api/monitoring/endpoints/{monitor_id}/uptime": VIEWER,
    "GET /api/monitoring/endpoints/{monitor_id}/health-score": VIEWER,
    "GET /api/monitoring/endpoints/{monitor_id}/history": VIEWER,
    "GET /api/monitoring/endpoints/{monitor_id}/metrics": VIEWER,
    "GET /api/monitoring/health-score": VIEWER,
    "GET /api/monitoring/sla": VIEWER,
    "GET /api/monitoring/report": VIEWER,
    "GET /api/monitoring/report-total": VIEWER,
    "GET /api/monitoring/report.csv": VIEWER,
    "GET /api/monitoring/status-page": PUBLIC,
    "GET /api/monitoring/incidents": VIEWER,
    "GET /api/monitoring/incidents/archive": ADMIN,
    "POST /api/monitoring/incidents": OPERATOR,
    "GET /api/monitoring/incidents/{incident_id}": VIEWER,
    "POST /api/monitoring/incidents/{incident_id}/acknowledge": OPERATOR,
    "POST /api/monitoring/incidents/{incident_id}/assign": OPERATOR,
    "POST /api/monitoring/incidents/{incident_id}/resolve": OPERATOR,
    "GET /api/monitoring/incidents/{incident_id}/post-mortem": VIEWER,
    "GET /api/monitoring/incidents/{incident_id}/updates": VIEWER,
    "POST /api/monitoring/incidents/{incident_id}/updates": OPERATOR,
    "GET /api/monitoring/incidents/{incident_id}/war-room": VIEWER,
    "POST /api/monitoring/incidents/{incident_id}/runs": OPERATOR,
    "GET /api/monitoring/notices": VIEWER,
    "POST /api/monitoring/notices": OPERATOR,
    "GET /api/monitoring/notices/{notice_id}": VIEWER,
    "PUT /api/monitoring/notices/{notice_id}": OPERATOR,
    "POST /api/monitoring/notices/{notice_id}/end": OPERATOR,
    "DELETE /api/monitoring/notices/{notice_id}": OPERATOR,
    "GET /api/monitoring/push/{token}": PUBLIC,
    "POST /api/monitoring/push/{token}": PUBLIC,
    "GET /api/monitoring/push/{token}/{signal}": PUBLIC,
    "POST /api/monitoring/push/{token}/{signal}": PUBLIC,
}


def make_user(root):
    if "sample" not in auth.users_of(root):
        auth.create(root, "sample", "viewer", "", 0)
    return "/api/users/sample"


def sample_agent(root):
    """One agent for all rows, so that its key fits its path."""
    for agent in agents.agents_of(root).values():
        return agent
    agent_id, _ = agents.add_agent(root, "sample", [], 0)
    return agents.find_agent(root, agent_id)


def automation_path(rest=""):
    def path(root):
        for automation in automations.automations_of(root).values():
            return f"/api/automations/{automation.id}{rest}"
        values = {"name": "sample", "type": "notification", "params": {"title": "x"}}
        new = edits.create(root, edits.complete(made(AutomationSettings, values)), "ada", 0)
        return f"/api/automations/{new.id}{rest}"

    return path


def inlet_path(root):
    return f"/api/healing/inlets/{inlets.create(root, 'sample', {}, 'ada', 0).inlet.__name__}"


def agent_path(rest=""):
    return lambda root: f"/api/agents/{sample_agent(root).id}{rest}"


def make_invitation(root):
    invitations.invite(root, invitations.Invitation("sample", "viewer", None, "admin", 0, 10**10))
    return "/api/invitations/" + list(invitations.invitations_of(root))[-1]


SAMPLES = {
    "/api/invitations/{invitation_id}": make_invitation,
    "/api/users/{username}": make_user,
    "/api/healing/inlets/{inlet_id}": inlet_path,
    "/api/users/{username}/unlock": lambda root: make_user(root) + "/unlock",
    "/api/users/{username}/totp": lambda root: make_user(root) + "/totp",
    "/api/agents/{agent_id}": agent_path(),
    "/api/agents/{agent_id}/commands": agent_path("/commands"),
    "/api/agents/{agent_id}/files": agent_path("/files"),
    "/api/agents/{agent_id}/stream/logs": agent_path("/stream/logs"),
    "/api/agents/{agent_id}/stream/metrics": agent_path("/stream/metrics"),
    "/api/agents/{agent_id}/hands-off": agent_path("/hands-off"),
    "/api/agents/{agent_id}/key": agent_path("/key"),
    "/api/agents/{agent_id}/metrics": agent_path("/metrics"),
    "/api/agents/{agent_id}/report": agent_path("/report"),
    "/api/agents/{agent_id}/session": agent_path("/session"),
    "/api/automations/{automation_id}": automation_path(),
    "/api/automations/{automation_id}/run": automation_path("/run"),
    "/api/automations/{automation_id}/runs": automation_path("/runs"),
    "/api/automations/{automation_id}/webhook-token": automation_path("/webhook-token"),
    "/api/automations/templates/{template_id}": lambda root: "/api/automations/templates/memory",
    "/api/automations/templates/{template_id}/apply": lambda root: "/api/automations/templates/memory/apply",
    "/api/healing/capabilities/{hostname}": lambda root: f"/api/healing/capabilities/{sample_agent(root).id}",
    "/api/healing/capabilities/{hostname}/refresh": lambda root: (
        f"/api/healing/capabilities/{sample_agent(root).id}/refresh"
    ),
    "/api/healing/rules/{rule_id}": lambda root: "/api/healing/rules/default-cpu",
    "/api/healing/trust/{rule_id}/demote": lambda root: "/api/healing/trust/default-cpu/demote",
    "/api/healing/trust/{rule_id}/promote": lambda root: "/api/healing/trust/default-cpu/promote",
}


# An agent may have these beside what is its own.
ALSO_AGENTS = {"GET /api/agents/install-script"}


def agent_headers(service):
    """The headers of the sample agent."""
    return {"X-Agent-Key": service.transact(lambda root: agents.replace_key(root, sample_agent(root)))}
