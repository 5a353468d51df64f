"""Pages about the public status page: its look, the ways to subscribe, and the subscribers."""

from __future__ import annotations

from opsapp.statuspages.records import OwnPageRecord, PageLooks, PageRecord
from opsapp.ui import parts
from opsapp.ui.shapes import statussettings

from .shape import Act, Column, Field, Page, Part, delete, inputs, save, told

SETTINGS = "/api/status/settings"
CHANGE = f"PUT {SETTINGS}"
TELLING = inputs(PageRecord, "public_url", "subscribe_by", "mail_from", "mail_server")
LOOKS = inputs(PageLooks)
LOOK = (*LOOKS[:2], *inputs(PageRecord, "groups"), *LOOKS[2:])  # the name and what it says come first
LOGO = (Field("image", "Picture", "area", required=True, hint="A PNG or JPEG of at most 200 kB, in base64"),)
FIRST_FIELDS = inputs(OwnPageRecord, "slug", "name", "public_url", "groups", "protected")
PASSWORD = (Field("password", "New password", "password", required=True, hint="10 characters and more"),)
OWN_TELLING = inputs(OwnPageRecord, "subscribe_by")
OWN_PLACE, OWN_GROUPS = inputs(OwnPageRecord, "slug", "public_url"), inputs(OwnPageRecord, "groups")
CHANGE_OWN = "PUT /api/status/pages/{slug}"
DELETES = "Its address answers nothing any more. Its monitors stay."

STATUS_PAGE = (
    Page(
        "/statuspage",
        "Status page",
        (
            told(
                parts.STATUS_PAGE,
                SETTINGS,
                acts=(
                    save(CHANGE, LOOK, "look", done="Visitors see it at once."),
                    save(CHANGE, TELLING, "telling"),
                    Act("logo", "Set the logo", "PUT /api/status/logo", LOGO, done="Visitors see it at once."),
                    Act(
                        "no-logo",
                        "Remove the logo",
                        "DELETE /api/status/logo",
                        grave=True,
                        warns="Visitors see the name alone. The picture is deleted.",
                    ),
                ),
            ),
            told(parts.COUNTS, "/api/status/subscriptions/counts"),
            Part(
                "Subscribers",
                "/api/status/subscriptions",
                (
                    Column("Address", "address"),
                    Column("By", "kind"),
                    Column("Page", "page"),
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
    Page(
        "/statuspage/own",
        "Separate status pages",
        (
            Part(
                "Pages",
                "/api/status/pages",
                (
                    Column("Name", "name", link="/statuspage/own/{slug}"),
                    Column("Path", "slug", "code", link="/status/{slug}"),
                    Column("Domain", "public_url"),
                ),
                name="pages",
                paged=True,
                empty="No page of its own yet.",
                acts=(delete("/api/status/pages/{slug}", warns=DELETES),),
            ),
        ),
        forms=(
            Act(
                "new",
                "New page",
                "POST /api/status/pages",
                FIRST_FIELDS,
                goes="/statuspage/own/{slug}",
                done="Visitors see it at its address.",
            ),
        ),
        lead="Each shows the monitors that its groups name, whatever their tags are, and nothing else.",
    ),
    Page(
        "/statuspage/own/{slug}",
        "Separate status page",
        (
            told(
                parts.OWN_PAGE,
                "/api/status/pages/{slug}",
                acts=(
                    save(CHANGE_OWN, LOOKS, "look", done="Visitors see it at once."),
                    save(CHANGE_OWN, OWN_GROUPS, "groups", done="Visitors see them at once."),
                    Act("place", "Save", CHANGE_OWN, OWN_PLACE, here=True, goes="/statuspage/own/{slug}"),
                    save(CHANGE_OWN, OWN_TELLING, "telling"),
                    Act(
                        "password",
                        "Set the password",
                        f"{CHANGE_OWN}/password",
                        PASSWORD,
                        done="Visitors have to say it from now on, those too who have said an older one.",
                    ),
                    Act(
                        "open",
                        "Open it for everybody",
                        CHANGE_OWN,
                        when={"protected": (True,)},
                        body={"protected": False},
                        grave=True,
                        warns="Who knows its address sees it without a password. The password is forgotten.",
                        done="Everybody who knows its address sees it now.",
                    ),
                    delete("/api/status/pages/{slug}", warns=DELETES, goes="/statuspage/own"),
                ),
            ),
        ),
        template="statuspage_own.jinja2",
        shape=statussettings.own_shape,
        lead="It shows the monitors of its groups, and the notices and incidents that name it.",
    ),
)
