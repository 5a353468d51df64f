"""Users, the audit record, settings."""

from __future__ import annotations

from .shape import Act, Column, Field, Page, Part

ROLES = ("viewer", "operator", "admin")

HOUSE = (
    Page(
        "/users",
        "Users",
        (
            Part(
                "All users",
                "/api/users",
                (
                    Column("Name", "username"),
                    Column("Role", "role"),
                    Column("Disabled", "disabled"),
                    Column("Second factor", "totp_enabled"),
                    Column("From", "source"),
                    Column("Last sign-in", "last_login", "time"),
                ),
                acts=(
                    Act(
                        "role",
                        "Change the role",
                        "PUT /api/users/{username}",
                        (Field("role", "Role", "choice", ROLES, True),),
                    ),
                    Act(
                        "enable",
                        "Enable",
                        "PUT /api/users/{username}",
                        when=(("disabled", (True,)),),
                        body=(("disabled", False),),
                    ),
                    Act(
                        "disable",
                        "Disable",
                        "PUT /api/users/{username}",
                        when=(("disabled", (False,)),),
                        body=(("disabled", True),),
                        grave=True,
                    ),
                    Act("unlock", "Let sign in again", "POST /api/users/{username}/unlock"),
                    Act(
                        "totp-off",
                        "Turn the second factor off",
                        "DELETE /api/users/{username}/totp",
                        when=(("totp_enabled", (True,)),),
                        grave=True,
                    ),
                ),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a user",
                "POST /api/users",
                (
                    Field("username", "Name", required=True),
                    Field("role", "Role", "choice", ROLES, True),
                    Field("password", "Password", "password", required=True),
                ),
            ),
        ),
        menu="Users",
    ),
    Page(
        "/audit",
        "Audit",
        (
            Part(
                "Who did what, newest first",
                "/api/audit",
                (
                    Column("Time", "time", "time"),
                    Column("Who", "username"),
                    Column("From", "ip", "code"),
                    Column("Action", "action"),
                    Column("On", "target"),
                    Column("Result", "result", "state"),
                    Column("Reason", "reason"),
                    Column("Before", "before"),
                    Column("After", "after"),
                ),
                paged=True,
                filters=(Field("user", "Who"), Field("action", "Action"), Field("target", "On")),
            ),
        ),
        menu="Audit",
    ),
    Page(
        "/settings",
        "Settings",
        (
            Part("You", "/api/me", (Column("Name", "username"), Column("Role", "role")), facts=True),
            Part(
                "Your sessions",
                "/api/me/sessions",
                (
                    Column("From", "ip", "code"),
                    Column("With", "user_agent"),
                    Column("Since", "created_at", "time"),
                    Column("Until", "expires_at", "time"),
                    Column("This one", "current"),
                ),
                acts=(Act("end", "End", "DELETE /api/me/sessions/{id}", when=(("current", (False,)),), grave=True),),
            ),
            Part(
                "API keys",
                "/api/keys",
                (
                    Column("Name", "name"),
                    Column("Of", "username"),
                    Column("Role", "role"),
                    Column("Made", "created_at", "time"),
                    Column("Ends", "expires_at", "time"),
                ),
                empty="There are none.",
                acts=(Act("drop", "End", "DELETE /api/keys/{id}", grave=True),),
            ),
            Part(
                "The store",
                "/api/store",
                (Column("Main (bytes)", "sizes.main"), Column("History (bytes)", "sizes.history")),
                facts=True,
                optional=True,
            ),
        ),
        forms=(
            Act(
                "password",
                "Change your password",
                "PUT /api/me/password",
                (
                    Field("current", "The present one", "password", required=True),
                    Field("new", "The new one", "password", required=True),
                    Field("end_keys", "End your API keys too", "flag"),
                ),
            ),
            Act(
                "totp",
                "Set up a second factor",
                "POST /api/me/totp",
                shows=True,
                then="Scan the picture with an authenticator app, go back, and turn it on with a code of the app.",
            ),
            Act(
                "totp-on",
                "Turn the second factor on",
                "POST /api/me/totp/confirm",
                (Field("code", "Code of the app", required=True),),
                shows=True,
                then="Each of these works once in place of a code. They are shown this once: keep them safe.",
            ),
            Act(
                "totp-off",
                "Turn the second factor off",
                "DELETE /api/me/totp",
                (Field("password", "Your password", "password", required=True),),
                grave=True,
            ),
            Act(
                "key",
                "Make an API key",
                "POST /api/keys",
                (Field("name", "Name", required=True), Field("role", "Role", "choice", ROLES, True)),
                shows=True,
            ),
        ),
        menu="Settings",
    ),
)
