"""How the public status page looks, by what visitors may be told, and who is."""

from __future__ import annotations

from opsapp.statuspages.engine import dates
from opsapp.ui.shapes import statussettings

from .shape import Act, Column, Field, Page, Part

SETTINGS = "/api/status/settings"
CHANGE = f"PUT {SETTINGS}"
LOOKS = (
    Field("name", "Name", hint="What visitors see at the top"),
    Field("description", "Description", "area", clears=False),
    Field("site_url", "Your own site", hint="Where the name leads, like https://example.org", clears=True),
    Field("footer", "Text at the foot", "area"),
    Field("language", "Language of dates", "choice", dates.LANGUAGES),
    Field("accent_light", "Colour of the button, light page", hint="Like #1a5fb4. It must be readable", clears=True),
    Field("accent_dark", "The same, dark page", hint="Like #99c1f1", clears=True),
)
TELLING = (
    Field("public_url", "Where visitors see the page", hint="Links in messages begin so: https://status.example.org"),
    Field("subscribe_by", "Visitors may subscribe by", "picks", ("mail", "webhook")),
    Field("mail_from", "Mail comes from", hint="Like status@example.org"),
    Field(
        "mail_server", "Mail leaves by", "password", hint="smtps://user:password@mail.example.org. Never shown again"
    ),
)
GROUPS = (
    Field(
        "groups",
        "Groups",
        "rows",
        fields=(
            Field("id", "", "kept"),
            Field("name", "Name", required=True),
            Field("collapsed", "Closed until a visitor opens it", "flag", unsaid="no"),
            Field("monitors", "Monitors", "names", of="monitor", hint="Names with commas, of those tagged public"),
        ),
    ),
)
LOGO = (Field("image", "Picture", "area", required=True, hint="A PNG or JPEG of at most 200 kB, in base64"),)

STATUS_PAGE = (
    Page(
        "/statuspage",
        "Status page",
        (
            Part(
                "How it looks",
                SETTINGS,
                (
                    Column("Name", "name", link="/status"),
                    Column("Description", "description"),
                    Column("Own site", "site_url"),
                    Column("At the foot", "footer"),
                    Column("Language of dates", "language"),
                    Column("Colour, light", "accent_light"),
                    Column("Colour, dark", "accent_dark"),
                    Column("Logo", "logo.kind"),
                    Column("Seen at", "public_url"),
                    Column("Visitors may subscribe by", "subscribe_by"),
                    Column("Works now", "offered"),
                    Column("Still lacking", "lacking"),
                    Column("Mail comes from", "mail_from"),
                    Column("Groups", "groups"),
                ),
                acts=(
                    Act("look", "Save", CHANGE, LOOKS, here=True, done="Visitors see it at once."),
                    Act("telling", "Save", CHANGE, TELLING, here=True, done="Saved."),
                    Act("groups", "Save the groups", CHANGE, GROUPS, here=True, done="Visitors see them at once."),
                    Act("logo", "Set the logo", "PUT /api/status/logo", LOGO, done="Visitors see it at once."),
                    Act(
                        "no-logo",
                        "Take the logo away",
                        "DELETE /api/status/logo",
                        grave=True,
                        warns="Visitors see the name alone. The picture is deleted.",
                    ),
                ),
                facts=True,
                name="settings",
            ),
            Part(
                "How many are told",
                "/api/status/subscriptions/counts",
                (
                    Column("By mail", "confirmed.mail"),
                    Column("By webhook", "confirmed.webhook"),
                    Column("Have not confirmed yet", "pending"),
                    Column("Messages that wait", "waiting"),
                ),
                facts=True,
                name="counts",
            ),
            Part(
                "Subscribers",
                "/api/status/subscriptions",
                (
                    Column("Address", "address"),
                    Column("By", "kind"),
                    Column("State", "state", "state"),
                    Column("Asked", "asked_at", "time"),
                    Column("Messages given up", "failures"),
                ),
                name="subscribers",
                empty="Nobody has subscribed yet.",
                acts=(
                    Act(
                        "drop",
                        "Take off the list",
                        "DELETE /api/status/subscriptions/{id}",
                        grave=True,
                        warns="This subscriber is told nothing any more, and is not told of this either.",
                    ),
                ),
                paged=True,
            ),
        ),
        menu="Status page",
        template="statussettings.jinja2",
        shape=statussettings.shape,
        lead="What visitors see at /status: every monitor with the tag public, and nothing else.",
    ),
)
