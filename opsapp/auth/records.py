"""What is answered about users, sessions, keys and invitations. The link of an invitation is only in the answer that
makes it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text, Whole
from opsapp.wire.records import AT_TIMES, Between, FormField, Most, Since, Told

from .logic.claims import HIGHEST_FIRST

NAME = Text(
    1, 64, "[a-z0-9][a-z0-9._@-]{0,63}", must="have only a-z, 0-9, '.', '_', '@', '-', and begin with a letter or digit"
)
EMAIL = Text(3, 254, r"[!-?A-~]+@[!-?A-~]+", "grace@example.org")


Role = Annotated[str, Choice(*reversed(HIGHEST_FIRST))]
Token = Annotated[str, Text(64, 64)]
Password = Annotated[str, Text(10, 256)]
NameChosen = Annotated[str, NAME, FormField("Name", hint="Small letters, digits, and . _ @ -")]
RoleChosen = Annotated[Role, FormField("Role", "choice")]


@frozen
class LoggedIn:
    token: Token
    role: Role
    username: str


@frozen
class SecondStepDue:
    partial_token: Token
    totp_required: bool = True


@frozen
class TotpBegun:
    secret: str
    otpauth_uri: str
    qr_svg: Annotated[str, Text(0, 100_000)]


@frozen
class RecoveryCodes:
    recovery_codes: Annotated[tuple[str, ...], Most(10)]


@frozen
class TicketMade:
    ticket: Token


@frozen
class Me:
    username: str
    role: Role


Source = Literal["local", "oidc", "ldap", "scim"]  # scim: made by a provider, and not signed in yet


@frozen
class Person:
    username: str
    role: Role


@frozen
class UserShown:
    username: str
    role: Role
    disabled: bool
    totp_enabled: bool
    source: Source
    created_at: int
    last_login: int | None
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class OwnWishes:
    timezone: Annotated[
        str | None,
        Text(1, 60),
        CheckedBy(zone_problem),
        FormField("Time zone", hint="Like Europe/Berlin. Empty: that of your browser", clears=True),
    ] = None
    theme: Annotated[Literal["system", "light", "dark"], FormField("Colours", "choice")] = "system"
    first_steps: Literal["open", "later"] = "open"


@frozen
class OwnSettings(OwnWishes):
    source: Told[Source] = "local"
    totp_enabled: Told[bool] = False
    own_password: Told[bool] = False
    service_timezone: Told[str] = ""


@frozen
class FilterRecord:
    sample: ClassVar[dict[str, str]] = {"name": "Down", "path": "/monitors", "query": "status=down"}

    name: Annotated[str, name_kind(60)]
    path: Annotated[str, Text(1, 200, r"/[a-z][a-z/-]*", must="be the address of a list, like /monitors")]
    query: Annotated[str, Text(1, 1000, r"[!-~]+", must="be what follows the ? of the list's address")]
    id: Told[str] = ""


@frozen
class SessionShown:
    id: str
    created_at: int
    expires_at: int
    ip: str
    user_agent: str
    current: bool


@frozen
class NewKey:
    component: ClassVar[str] = "Key"

    name: Annotated[str, name_kind(100), FormField("Name", hint="What uses it")]
    role: RoleChosen
    expires_at: Annotated[int | None, Between(0, 10**11)] = None
    assistant: Annotated[bool, FormField("For an assistant: it reads and proposes (role viewer)", "flag")] = False


@frozen
class KeyShown:
    id: str
    name: Annotated[str, name_kind(100)]
    role: Role
    expires_at: Annotated[int | None, Between(0, 10**11)]
    assistant: bool
    username: str
    created_at: int


@frozen(kw_only=True)
class NewUser:
    component: ClassVar[str] = "User"
    sample: ClassVar[dict[str, str]] = {"username": "grace", "role": "operator", "password": "correct horse battery"}

    username: NameChosen
    role: RoleChosen = "viewer"
    password: Annotated[
        Password,
        FormField("Password", "password", "At least 10 characters. The page of first steps asks for another one"),
    ]
    disabled: bool = False


@frozen(kw_only=True)
class UserSettings:
    """What a change of a user may say."""

    component: ClassVar[str] = "User"
    sample: ClassVar[dict[str, str]] = {"password": "correct horse battery"}

    role: RoleChosen = "viewer"
    password: Annotated[Password, FormField("New password", "password")]
    disabled: bool = False


@frozen
class InvitationRecord:
    sample: ClassVar[dict[str, str]] = {"username": "grace", "role": "operator"}

    username: NameChosen
    role: RoleChosen = "viewer"
    email: Annotated[str | None, EMAIL, FormField("E-mail", hint="Only to know for whom it is")] = None
    id: Told[str] = ""
    invited_by: Told[str] = ""
    created_at: Told[Since] = 0
    expires_at: Told[Since] = 0


@frozen
class InvitationMade(InvitationRecord):
    """`url`: the page where the password is chosen, below the address of this service."""

    url: Told[str] = ""


@frozen
class ScimTokenRecord:
    """`expires_at` null: it has no end."""

    sample: ClassVar[dict[str, str]] = {"name": "Entra ID"}

    name: Annotated[str, name_kind(60), FormField("Name", hint="Which provider it is for. The audit record names it")]
    expires_at: Annotated[int | None, Between(0, 10**11)] = None
    id: Told[str] = ""
    created_by: Told[str] = ""
    created_at: Told[Since] = 0


@frozen
class ScimTokenMade(ScimTokenRecord):
    """`token`: for the provider, with `url`. It is shown this once."""

    url: Told[str] = ""
    token: Told[str] = ""


TeamTags = Annotated[tuple[Annotated[str, Text(1, 64)], ...], Most(200, unique=True)]


TeamGroups = Annotated[tuple[Annotated[str, name_kind(1000)], ...], Most(200, unique=True)]


@frozen
class TeamSettings:
    """Members, and the tags that each right reaches. Who may do more with a tag sees it, too."""

    component: ClassVar[str] = "Team"
    sample: ClassVar[dict[str, object]] = {"name": "Shop", "members": ["otto"], "see": ["shop"], "act": ["shop"]}

    name: Annotated[str, name_kind(100), FormField("Name", clears=True)]
    members: Annotated[
        tuple[Annotated[str, NAME], ...],
        Most(1000, unique=True),
        FormField(
            "Members",
            "names",
            "Who is in a team sees what its tags reach, and nothing else.",
            of="user",
            by="username",
            clears=True,
        ),
    ] = ()
    groups: Annotated[
        TeamGroups,
        FormField(
            "Groups", "lines", "Of a directory or provider, one a line: who is in one is in the team", clears=True
        ),
    ] = ()
    see: Annotated[
        TeamTags, FormField("May see", "names", "Monitors and hosts with these tags", of="tag", by="name", clears=True)
    ] = ()
    act: Annotated[
        TeamTags, FormField("May act", "names", "Check, acknowledge, command", of="tag", by="name", clears=True)
    ] = ()
    change: Annotated[
        TeamTags, FormField("May change", "names", "Settings and tags", of="tag", by="name", clears=True)
    ] = ()
    approve: Annotated[
        TeamTags, FormField("May approve", "names", "Decide requests for approval", of="tag", by="name", clears=True)
    ] = ()


@frozen
class TeamRecord(TeamSettings):
    """`by_groups`: how many are in it by its groups."""

    by_groups: Told[int] = 0
    id: Told[str] = ""
    created_at: Told[Since] = 0
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class UserAsCode:
    username: Annotated[str, NAME]
    role: Annotated[str, Choice(*reversed(HIGHEST_FIRST))] = "viewer"
    disabled: bool = False
    source: Source = "local"


@frozen
class KeyAsCode:
    """An API key of a document, without the key."""

    user: Annotated[str, NAME]
    name: Annotated[str, name_kind(100)]
    role: Annotated[str, Choice(*reversed(HIGHEST_FIRST))]
    expires_at: Annotated[int | None, Whole(0, 10**11)] = None
