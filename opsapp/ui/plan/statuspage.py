"""How the public status page looks, by what visitors may be told, and who is."""

from __future__ import annotations

from opsapp.statuspages.records import PageLooks, PageRecord
from opsapp.ui.shapes import statussettings

from .shape import Act, Column, Field, Page, Part, inputs

SETTINGS = "/api/status/settings"
CHANGE = f"PUT {SETTINGS}"
TELLING = inputs(PageRecord, "public_url", "subscribe_by", "mail_from", "mail_server")
NAME, DESCRIPTION, *LOOKS = inputs(PageLooks)
LOOK = (NAME, DESCRIPTION, *inputs(PageRecord, "groups"), *LOOKS)
LOGO = (Field("image", "Picture", "area", required=True, hint="A PNG or JPEG of at most 200 kB, in base64"),)

STATUS_PAGE = (
    Page(
        "/statuspage",
        "Status page",
        (
            Part(
                "How it looks",
                SETTINGS,
                (),
                acts=(
                    Act("look", "Save", CHANGE, LOOK, here=True, done="Visitors see it at once."),
                    Act("telling", "Save", CHANGE, TELLING, here=True, done="Saved."),
                    Act("logo", "Set the logo", "PUT /api/status/logo", LOGO, done="Visitors see it at once."),
                    Act(
                        "no-logo",
                        "Remove the logo",
                        "DELETE /api/status/logo",
                        grave=True,
                        warns="Visitors see the name alone. The picture is deleted.",
                    ),
                ),
                facts=True,
                name="settings",
            ),
            Part("Subscribers by channel", "/api/status/subscriptions/counts", (), facts=True, name="counts"),
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
                        "Remove the subscriber",
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
