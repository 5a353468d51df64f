"""Managing users: /api/users."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth import engine, resources, schemas
from opsapp.auth.engine import accounts, secondfactor
from opsapp.auth.logic.names import password_problem
from opsapp.auth.records import NewUser, Person, UserSettings, UserShown
from opsapp.auth.resources import User, Users
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.acl import ROLES
from opsapp.tree.damage import Damage
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.answers import Deferred, later, ok_after
from opsapp.web.listpages import in_order, page_of


class UserTotp(Facet):
    """Somebody's second factor."""


class People(Facet):
    """Who may be given something to look after."""


add_facet(User, "totp", UserTotp)
add_facet(Api, "people", People)


def wrong_password(username: str, sound: JsonObject) -> dict[str, str]:
    message = password_problem(sound["password"], username) if "password" in sound else None
    return {"password": message} if message else {}


def has_letters(username: str, letters: str | None) -> bool:
    return (letters or "").casefold() in username


@api.get(Users, role="admin", query=schemas.UserList, returns=[UserShown])
def users(context: Users, request: Request) -> list[UserShown]:
    """All users, or those with these letters in their name; by name, unless `sort` names another field."""
    query = request.valid_query
    names = [name for name in list(context.keys()) if has_letters(name, query["q"])]
    if query["role"] is None and query["sort"] is None:  # then only those of the page are read
        return context.page_rows(page_of(request, names), resources.shown, _unread)
    rows = context.page_rows(names, resources.shown, _unread)
    matching = [row for row in rows if query["role"] in (None, row.role)]
    return page_of(request, in_order(matching, query["sort"], {"role": ROLES}))


@api.get(People, role="operator", query=schemas.NameList, returns=[Person])
def people(context: People, request: Request) -> list[Person]:
    """The names of all users who can sign in: an incident or a problem may be given to them."""
    letters = request.valid_query["q"]
    users = resources.users_of(request.root).items()
    can_sign_in = [(name, user.role) for name, user in users if not user.disabled and has_letters(name, letters)]
    return page_of(request, [Person(name, role) for name, role in can_sign_in])


def _unread(damage: Damage) -> UserShown:
    return UserShown(damage.id, "viewer", True, False, "local", 0, None, damage.reason)


@api.create(
    Users,
    role="admin",
    confirmed=True,
    body=NewUser,
    also=lambda users, request, sound: wrong_password(sound.get("username", ""), sound),
    returns=UserShown,
    audit="user.create",
)
def create_user(context: Users, request: Request) -> Deferred:
    """A new local user."""
    node, actor, body = request.node, request.actor, request.valid_body
    request.audited = True
    return Deferred(lambda: (201, {}, engine.add_user(node, **body, actor=actor)))


@api.get(User, role="admin", returns=UserShown)
def user(context: User, request: Request) -> UserShown:
    """One user."""
    return resources.shown(context)


@api.update(
    User,
    role="admin",
    confirmed=True,
    body=UserSettings,
    also=lambda user, request, sound: wrong_password(user.__name__, sound),
    read_only=UserShown,
    returns=UserShown,
    audit="user.update",
)
def update_user(context: User, request: Request) -> Deferred:
    """Change role, password or whether the user is disabled; any of it ends the user's sessions, and a new password the
    user's API keys too."""
    node, actor, values, name = request.node, request.actor, request.valid_body, context.__name__
    request.audited = True
    return later(lambda: accounts.change_user(node, name, actor, **values))


@api.delete(User, role="admin", confirmed=True, returns=schemas.StatusOk, audit="user.delete")
def delete_user(context: User, request: Request) -> Deferred:
    """Remove a user, with sessions and keys."""
    request.audited = True
    return ok_after(engine.remove_user, request.node, context.__name__, request.actor)


@api.act(User, "unlock", role="admin", confirmed=True, returns=schemas.StatusOk, audit="user.unlock")
def unlock_user(context: User, request: Request) -> Deferred:
    """Let somebody sign in again after too many failed attempts."""
    request.audited = True
    return ok_after(accounts.unlock_user, request.node, context.__name__, request.actor)


@api.delete(UserTotp, role="admin", confirmed=True, returns=schemas.StatusOk, audit="totp.disable")
def reset_totp(context: UserTotp, request: Request) -> schemas.StatusOk:
    """Turn the second factor off for somebody who has lost it."""
    secondfactor.reset(request.root, context.__parent__.__name__, request.actor)
    request.audited = True
    return schemas.StatusOk()
