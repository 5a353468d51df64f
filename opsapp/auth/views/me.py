"""What somebody signed in may do about himself: /api/me and below."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyramid.request import Request

from opsapp.auth import records, resources, schemas
from opsapp.auth.engine import accounts, confirmation, secondfactor
from opsapp.auth.records import OwnSettings, OwnWishes, SessionShown
from opsapp.lib.problems import NotFound
from opsapp.tree.folder import Facet, NamedFacets, add_facet
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.answers import Deferred, later, ok_after
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of


class Me(Facet):
    """The caller himself."""


class MySettings(Facet):
    """How the caller's account stands, and how the caller wants pages to be."""


class MyTotp(Facet):
    """The caller's second factor."""


class MySession(Facet):
    """One session of the caller, by its id."""

    url = "/api/me/sessions/{session_id}"


class MySessions(NamedFacets):
    """The caller's sessions; any id leads on, since only the caller's own can be ended below it."""

    of = MySession


add_facet(Api, "me", Me)
add_facet(Me, "settings", MySettings)
add_facet(Me, "sessions", MySessions)
add_facet(Me, "totp", MyTotp)


def own_user(request: Request) -> resources.User:
    return accounts.user_of(request.root, request.caller.name)


@api.get(Me, returns=records.Me, teams="own")
def me(context: Me, request: Request) -> records.Me:
    """Who asks."""
    return records.Me(request.caller.name, request.caller.role)


@api.get(MySettings, returns=OwnSettings, teams="own")
def own_settings(context: MySettings, request: Request) -> OwnSettings:
    """How pages are for the caller (`timezone` null: the service's), and how the account stands: `own_password` is
    false while somebody else may know the password, because he or the service chose it."""
    return _settings_of(request, own_user(request))


@api.update(
    MySettings,
    role="viewer",
    own_session=True,
    body=OwnWishes,
    read_only=OwnSettings,
    returns=OwnSettings,
    audit="settings.own",
    teams="own",
)
def change_settings(context: MySettings, request: Request) -> OwnSettings:
    """Changes what is given, and leaves the rest."""
    user = own_user(request)
    before = resources.wishes_of(user)
    user.wishes = before._replace(**request.valid_body)
    request.audit("settings.own", request.caller.name, before=before._asdict(), after=user.wishes._asdict())
    return _settings_of(request, user)


def _settings_of(request: Request, user: resources.User) -> OwnSettings:
    wishes, has_factor = resources.wishes_of(user), user.totp is not None
    return OwnSettings(*wishes, user.source, has_factor, user.own_password, request.node.config.timezone)


@api.replace(
    Me,
    "password",
    role="viewer",
    own_session=True,
    body=schemas.OwnPassword,
    returns=schemas.StatusOk,
    errors=(429,),
    audit=False,
    teams="own",
)
def change_password(context: Me, request: Request) -> Deferred:
    """A new password; the other sessions end, and with `end_keys` the caller's API keys too."""
    node, actor, caller, values = request.node, request.actor, request.caller, request.valid_body
    return ok_after(partial(accounts.change_own_password, **values), node, caller.name, caller.session_id, actor)


@api.act(
    Me,
    "confirm",
    role="viewer",
    own_session=True,
    body=schemas.Confirmation,
    returns=schemas.Confirmed,
    errors=(429,),
    audit=False,
    teams="own",
)
def confirm(context: Me, request: Request) -> Deferred:
    """Prove with the password, or with a code of the second factor, that it is really you. For 15 minutes the session
    may then make API keys and secrets, change users and second factors; so it may after signing in."""
    node, actor, caller, body = request.node, request.actor, request.caller, request.valid_body

    def fn() -> Any:
        until = confirmation.confirm(node, caller.name, caller.session_id, body["password"], body["code"], actor)
        return {"status": "ok", "confirmed_until": until}

    return later(fn)


@api.get(MySessions, query=Paging, returns=[SessionShown], teams="own")
def sessions(context: MySessions, request: Request) -> list[SessionShown]:
    """The caller's live sessions: the one that asks, then the newest."""
    user = own_user(request)
    live = resources.sessions_of(request.root, user, request.now)
    rows = [session.shown(request.caller.session_id) for session in reversed(live)]
    return page_of(request, sorted(rows, key=lambda row: not row.current))


@api.delete(MySession, role="viewer", own_session=True, returns=schemas.StatusOk, audit="session.end", teams="own")
def end_session(context: MySession, request: Request) -> schemas.StatusOk:
    """End one of the caller's sessions."""
    if not resources.end_session(request.root, request.caller.name, context.__name__):
        raise NotFound("There is no such session.")
    request.audit("session.end", context.__name__)
    return schemas.StatusOk()


@api.act(MyTotp, role="viewer", confirmed=True, returns=records.TotpBegun, audit="totp.begin", teams="own")
def begin_totp(context: MyTotp, request: Request) -> Deferred:
    """Begin to set up the second factor: the secret, also as a picture to scan."""
    node, username = request.node, request.caller.name
    return later(lambda: secondfactor.begin(node, username))


@api.act(
    MyTotp,
    "confirm",
    role="viewer",
    confirmed=True,
    body=schemas.Code,
    returns=records.RecoveryCodes,
    errors=(429,),
    audit="totp.enable",
    teams="own",
)
def confirm_totp(context: MyTotp, request: Request) -> Deferred:
    """Turn the second factor on with a code of it; the recovery codes are shown this once."""
    node, username, actor, code = request.node, request.caller.name, request.actor, request.valid_body["code"]
    request.audited = True
    return later(lambda: secondfactor.confirm(node, username, code, actor))


@api.delete(
    MyTotp,
    role="viewer",
    confirmed=True,
    body=schemas.Proof,
    returns=schemas.StatusOk,
    errors=(429,),
    audit="totp.disable",
    teams="own",
)
def disable_totp(context: MyTotp, request: Request) -> Deferred:
    """Turn the second factor off; the password proves who asks."""
    node, username, actor, password = request.node, request.caller.name, request.actor, request.valid_body["password"]
    request.audited = True
    return ok_after(secondfactor.disable, node, username, password, actor)
