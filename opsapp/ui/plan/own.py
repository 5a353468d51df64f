"""Pages of one's own settings, of the service as a whole, and of the first steps."""

from __future__ import annotations

from opsapp.auth.records import NewKey, OwnWishes
from opsapp.ui import parts
from opsapp.ui.shapes import own as shapes

from .shape import Act, Field, Page, inputs, save, told

OWN = told(parts.OWN, "/api/me/settings")
PASSWORD = Act(
    "password",
    "Change your password",
    "PUT /api/me/password",
    (
        Field("current", "Current password", "password", required=True),
        Field("new", "New password", "password", required=True, hint="At least 10 characters"),
        Field("end_keys", "Revoke your API keys too", "flag", unsaid="no"),
    ),
    done="Your password is changed. Your other sessions have ended.",
)
TOTP = (
    Act("totp", "Set up a second factor", "POST /api/me/totp", shows=True, result="totp.jinja2"),
    Act(
        "totp-on",
        "Turn the second factor on",
        "POST /api/me/totp/confirm",
        (Field("code", "Code of the app", required=True),),
        shows=True,
        goes="/",
        done="The second factor is on.",
        result="recovery_codes.jinja2",
    ),
)
DOCUMENT = (
    Field("document", "Document (YAML or JSON)", "yaml", required=True),
    Field("prune", "Delete what is not in it", "flag", unsaid="no"),
)
LATER = Act("later", "Not now", "PUT /api/me/settings", body={"first_steps": "later"}, goes="/")

SETTINGS = (
    Page(
        "/settings",
        "Your settings",
        (
            OWN,
            told(
                parts.SESSIONS,
                "/api/me/sessions",
                paged=True,
                acts=(Act("end", "End", "DELETE /api/me/sessions/{id}", when={"current": (False,)},
                          done="That session has ended."),),
            ),
            told(
                parts.KEYS,
                "/api/keys",
                paged=True,
                begins="offset-keys",
                acts=(Act("drop", "End", "DELETE /api/keys/{id}", grave=True,
                          warns="Programs that use this key are refused at once. A key cannot be brought back.",
                          done="The key is refused from now on."),),
            ),
        ),
        forms=(
            PASSWORD,
            *TOTP,
            Act(
                "totp-off",
                "Turn the second factor off",
                "DELETE /api/me/totp",
                (Field("password", "Your password", "password", required=True),),
                grave=True,
            ),
            Act(
                "key",
                "Create an API key",
                "POST /api/keys",
                inputs(NewKey),
                shows=True,
                done="The API key is created.",
                then="The key is shown this once. A program sends it as a bearer token.",
            ),
            save("PUT /api/me/settings", inputs(OwnWishes), "pages"),
        ),
        menu="Settings",
        template="settings.jinja2",
        shape=shapes.settings,
    ),
    Page("/second-factor", "Second factor", (OWN,), forms=TOTP, template="second_factor.jinja2", shape=shapes.factor),
    Page(
        "/settings/service",
        "The service",
        (
            told(parts.DOCTOR, "/api/doctor"),
            told(parts.CONFIGURED, "/api/settings"),
            told(parts.STORE, "/api/store"),
            told(parts.HEALTH, "/api/healing/health"),
            told(parts.SERVICE, "/api/status/public"),
        ),
        forms=(
            Act("pack", "Pack the store", "POST /api/store/pack",
                (Field("days", "Keep history of (days)", "number", preset="1"),), done="The store is packed."),
        ),
        template="service.jinja2",
        shape=shapes.service,
    ),
    Page(
        "/settings/as-code",
        "As code",
        (told("export", "/api/export"),),
        forms=(
            Act("apply", "Apply", "POST /api/apply",
                (*DOCUMENT, Field("seen", "The changes that were shown", "shown", clears=True)),
                body={"dry_run": False, "seen": []}, here=True, shows=True, result="applied.jinja2"),
            Act("look", "Show the changes", "POST /api/apply",
                DOCUMENT,
                body={"dry_run": True}, here=True, tries=True),
        ),
        template="ascode.jinja2",
        shape=shapes.as_code,
    ),
    Page(
        "/first-steps",
        "First steps",
        (
            OWN,
            told(parts.CHANNELS, "/api/notifications/channels", optional=True),
            told(parts.MONITORS, "/api/monitoring/endpoints?limit=20"),
            told(parts.AGENTS, "/api/agents?limit=20"),
            told(parts.PUBLISHED, "/api/monitoring/endpoints?tag=public&limit=1"),
        ),
        forms=(PASSWORD, LATER,
               Act("again", "Show them again", "PUT /api/me/settings", body={"first_steps": "open"})),
        menu="First steps",
        template="first_steps.jinja2",
        shape=shapes.first_steps,
    ),
)  # fmt: skip
