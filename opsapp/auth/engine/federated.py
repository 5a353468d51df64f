"""Finds the user whom another system has signed in, by the subject, or makes one, with the role that the system gives.
Must not: ask that system (`provider`, `ldapclient`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from opsapp.audit.engine import SHELL, Actor, note
from opsapp.auth import resources
from opsapp.auth.logic.claims import username_for
from opsapp.auth.records import LoggedIn, SecondStepDue, Source
from opsapp.auth.resources import federation, teams
from opsapp.lib.problems import Conflict, Forbidden, Problem
from opsapp.runtime.node import now_of
from opsapp.tree.acl import ROLES
from opsapp.tree.root import Root

from . import provisionedaccounts
from .signin import Client, open_session


class Arrival(NamedTuple):
    """`claims` tell what a new user is called; `entry_id`: in a directory; `groups`: the keys of those that the person
    is in (`logic.groups`)."""

    source: Source
    subject: str
    role: str | None
    claims: Mapping[str, object]
    entry_id: str | None = None
    groups: frozenset[str] = frozenset()


def enter(root: Root, arrival: Arrival, client: Client, life: float) -> LoggedIn | SecondStepDue | Problem:
    """A session, or the second step; or why there is none: answered where what it changed has to be committed."""
    user = _found(root, arrival, client)
    role = arrival.role if user is None else provisionedaccounts.role_at_sign_in(root, user.__name__, arrival.role)
    if role is None:
        if user is not None:
            lower(root, user, resources.AccountChange(disabled=True), Actor(user.__name__, client.ip))
        return Forbidden("Your account at the identity provider has no role here.", code="no_role")
    user = user or _make(root, arrival, role, client)
    actor = Actor(user.__name__, client.ip)
    if user.lost_role:
        _change(root, user, resources.AccountChange(disabled=False), actor)
    _remember(root, user, arrival)
    if user.disabled:
        raise Forbidden("This user is disabled.", code="user_disabled")
    if ROLES.index(role) < ROLES.index(user.role):
        kept = lower(root, user, resources.AccountChange(role), actor)
        if kept is not None:
            return kept
    elif user.role != role:
        _change(root, user, resources.AccountChange(role), actor)
    if user.totp is not None:
        return SecondStepDue(resources.make_partial(root, user.__name__, now_of(root)))
    return open_session(root, user.__name__, client, life)


def _found(root: Root, arrival: Arrival, client: Client) -> resources.User | None:
    """By the subject. Who was made by a provider and signs in for the first time is bound to it from now on."""
    user = federation.find_subject(root, arrival.subject)
    name, claim = arrival.claims.get("preferred_username"), _claim(root, arrival)
    expected = provisionedaccounts.expected_user(root, arrival.source, name, claim)
    if user is not None:
        provisionedaccounts.joined(root, user, expected, Actor(user.__name__, client.ip))
        return user
    if expected is not None:
        federation.bind_subject(root, expected, arrival.subject)
        expected.source, expected.entry_id = arrival.source, arrival.entry_id
        actor = Actor(expected.__name__, client.ip)
        note(
            root,
            actor,
            "user.update",
            actor.username or "",
            before={"source": "scim"},
            after={"source": arrival.source},
        )
    return expected


def _claim(root: Root, arrival: Arrival) -> object:
    return arrival.claims.get(provisionedaccounts.settings_of(root).oidc_claim)


def _remember(root: Root, user: resources.User, arrival: Arrival) -> None:
    """What a provider's word about this person is compared with later, and the teams by groups."""
    if arrival.source == "oidc":
        federation.bind_claim(root, user, provisionedaccounts.claim_of(root, _claim(root, arrival)))
    teams.tell_groups(root, user.__name__, arrival.groups)


def lower(root: Root, user: resources.User, wanted: resources.AccountChange, actor: Actor = SHELL) -> Conflict | None:
    """Sessions and keys end. The record of the last admin stays, and the answer says so."""
    if user.disabled:
        return None
    resources.end_sessions(root, user)
    resources.drop_keys_of(root, user.__name__)
    try:
        _change(root, user, wanted, actor)
    except Conflict as kept:
        return kept
    user.lost_role = bool(wanted.disabled)
    return None


def _change(root: Root, user: resources.User, wanted: resources.AccountChange, actor: Actor) -> None:
    values = {name: value for name, value in wanted._asdict().items() if value is not None}
    before = {field: getattr(user, field) for field in values}
    resources.change(root, user, wanted)
    note(root, actor, "user.update", user.__name__, before=before, after=values)


def _make(root: Root, arrival: Arrival, role: str, client: Client) -> resources.User:
    """A name that exists is never adopted."""
    name = username_for(dict(arrival.claims), lambda username: username in resources.users_of(root))
    user = resources.create(root, name, role, "", now_of(root), source=arrival.source)
    federation.bind_subject(root, user, arrival.subject)
    user.entry_id = arrival.entry_id
    note(root, Actor(name, client.ip), "user.create", name, after=resources.describe(user))
    return user
