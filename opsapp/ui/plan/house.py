"""Pages of users, teams, provisioning, secrets and the audit record."""

from __future__ import annotations

from opsapp.auth.records import InvitationRecord, NewUser, ScimTokenRecord, TeamSettings, UserSettings
from opsapp.automations.records import NewSecret, SecretUse, SecretValue
from opsapp.tree.acl import ROLES
from opsapp.ui import parts
from opsapp.ui.questions import Call
from opsapp.ui.shapes import house as shapes

from .shape import Act, Column, Field, Page, Part, delete, inputs, told

USER = "PUT /api/users/{username}"

HOUSE = (
    Page(
        "/deleted",
        "Deleted just now",
        (
            Part(
                "Deleted, can be restored",
                "/api/deleted",
                (Column("Kind", "kind"), Column("Name", "name"), Column("Until", "until", "time")),
                name="deleted",
                paged=True,
                empty="Nothing was deleted within the last minute.",
                acts=(Act("undo", "Undo", "POST /api/deleted/{id}/undo", leads=True, done="It is restored."),),
            ),
        ),
        lead="What is deleted can be put back for a minute, with its history. Users, keys and secrets cannot.",
    ),
    Page(
        "/users",
        "Users",
        (
            Part(
                "All users",
                "/api/users",
                name=parts.USERS,
                key="username",
                paged=True,
                rows=20,
                filters=(Field("q", "Name"), Field("role", "Role", "choice", ROLES), Field("sort", "Sort by")),
                acts=(
                    Act("role", "Change the role", USER, inputs(UserSettings, "role")),
                    Act(
                        "password",
                        "Set a password",
                        USER,
                        inputs(UserSettings, "password"),
                        when={"source": ("local",)},
                        done="The password is set. Sessions and API keys of this user have ended.",
                    ),
                    Act("enable", "Enable", USER, when={"disabled": (True,)}, body={"disabled": False},
                        many=True),
                    Act("disable", "Disable", USER, when={"disabled": (False,)}, body={"disabled": True},
                        grave=True, many=True,
                        warns="All sessions and API keys of this user end at once. The account stays, and can "
                        "be enabled again.",
                        done="This user cannot sign in any more. Sessions and API keys have ended."),
                    Act("unlock", "Unlock", "POST /api/users/{username}/unlock",
                        done="Failed attempts are forgotten: this user may try again now."),
                    Act("totp-off", "Turn the second factor off", "DELETE /api/users/{username}/totp",
                        when={"totp_enabled": (True,)}, grave=True,
                        warns="The password alone is enough to sign in, until the user sets up a second factor again."),
                    delete("/api/users/{username}", many=True,
                        warns="The account, its sessions, its API keys and its saved filters are deleted. What this "
                        "user did stays in the record; open incidents and problems of theirs are nobody's again. "
                        "Automations keep the name among their approvers: whoever gets it next may approve. "
                        "This cannot be undone.", done="The user is deleted, with all sessions and API keys."),
                ),
            ),
            told(
                parts.INVITED,
                "/api/invitations",
                paged=True,
                begins="offset-invited",
                acts=(Act("revoke", "Revoke", "DELETE /api/invitations/{id}",
                          done="The invitation is revoked."),),
            ),
        ),
        forms=(
            Act("invite", "Invite", "POST /api/invitations", inputs(InvitationRecord), shows=True,
                result="invited.jinja2", done="The link is created."),
            Act(
                "create",
                "Add a user",
                "POST /api/users",
                inputs(NewUser),
            ),
        ),
        menu="Users",
        template="users.jinja2",
        shape=shapes.users,
    ),
    Page(
        "/teams",
        "Teams",
        (
            Part(
                "Teams",
                "/api/teams",
                (
                    Column("Name", "name"),
                    Column("Members", "members"),
                    Column("By groups", "by_groups"),
                    Column("May see", "see"),
                    Column("May act", "act"),
                    Column("May change", "change"),
                    Column("May approve", "approve"),
                ),
                name="teams",
                paged=True,
                rows=25,
                empty="No team: everybody may do what their role allows, everywhere.",
                acts=(
                    Act("change", "Change", "PUT /api/teams/{id}",
                        inputs(TeamSettings),
                        done="The team is changed. It holds at once."),
                    delete("/api/teams/{id}",
                        warns="Take its members out first: who is in no team may do everything of their role. "
                        "This cannot be undone.", done="The team is deleted."),
                ),
            ),
        ),
        forms=(
            Act("create", "Add a team", "POST /api/teams", inputs(TeamSettings),
                done="The team is added. Its members see what its tags reach from now on."),
        ),
        lead="Who is in a team sees what carries the team's tags, and nothing else. Admins are never limited. Who is "
        "in no team may do what their role allows, everywhere.",
        menu="Teams",
    ),
    Page(
        "/provisioning",
        "Provisioning",
        (
            Part(
                "Tokens for SCIM",
                "/api/scim-tokens",
                (
                    Column("Name", "name"),
                    Column("Made by", "created_by"),
                    Column("Made", "created_at", "time"),
                    Column("Ends", "expires_at", "time"),
                ),
                name="scim-tokens",
                empty="No token: no identity provider makes users here.",
                acts=(
                    Act("delete", "End", "DELETE /api/scim-tokens/{id}", grave=True,
                        warns="The provider is refused at once. Its users stay as they are, until you change them.",
                        done="The token is refused from now on."),
                ),
            ),
        ),
        forms=(
            Act("create", "Make a token", "POST /api/scim-tokens", inputs(ScimTokenRecord), shows=True,
                done="The token is made.",
                then="Give the provider the url and the token. The token is shown this once."),
        ),
        lead="With such a token an identity provider (Entra ID, Okta) makes users here, disables them, and says who is "
        "in which group (SCIM). It opens nothing else.",
        menu="Provisioning",
    ),
    Page(
        "/secrets",
        "Secrets",
        (
            told(
                parts.SECRETS,
                "/api/secrets",
                paged=True,
                rows=25,
                acts=(
                    Act("value", "Replace the value", "PUT /api/secrets/{id}",
                        inputs(SecretValue), done="The new value is saved."),
                    Act("allow", "Allow an automation", "POST /api/secrets/{id}/allow", inputs(SecretUse)),
                    Act("confirm", "Allow it again", "POST /api/secrets/{id}/allow",
                        body={"automation_id": "{automation_id}"}),
                    Act("take-back", "Revoke", "DELETE /api/secrets/{id}/allow",
                        body={"automation_id": "{automation_id}"}),
                    delete("/api/secrets/{id}",
                        warns="Runs of the automations that use it fail from now on. The value cannot be restored."),
                ),
            ),
            told(parts.AUTOMATIONS, "/api/automations"),
        ),
        forms=(
            Act(
                "create",
                "Add a secret",
                "POST /api/secrets",
                inputs(NewSecret),
                here=True,
                done="The secret is saved.",
            ),
        ),
        menu="Secrets",
        template="secrets.jinja2",
        shape=shapes.secrets,
    ),
    Page(
        "/audit",
        "Audit",
        (
            Part(
                "Who did what, newest first",
                "/api/audit",
                name=parts.ENTRIES,
                paged=True,
                filters=(
                    Field("user", "Who"),
                    Field("action", "Action", hint="Like monitor, or user.update"),
                    Field("target", "On"),
                ),
                asks=shapes.since_asked,
            ),
            told(parts.MONITORS, "/api/monitoring/endpoints", asks=shapes.named_in_entries),
            told(parts.AGENTS, "/api/agents", asks=shapes.named_in_entries),
            told(parts.AUTOMATIONS, "/api/automations"),
        ),
        forms=(
            Act("verify", "Check that it is whole", "GET /api/audit/verify", shows=True,
                then="Nothing was changed, added or taken out where valid is yes."),
        ),
        menu="Audit",
        template="audit.jinja2",
        calls=(Call("CSV", "GET /api/audit/file"),),
        shape=shapes.audit,
    ),
)  # fmt: skip
