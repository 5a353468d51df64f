"""Checks every few seconds whether the directory answers, and every hour whether its users still exist and have their
role and teams. An error takes nothing from anybody; nor does a directory that shows no users, or no user with a role:
it was changed or hides them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, TypeVar

from opsapp.auth import resources
from opsapp.auth.ldapconfig import LdapSettings
from opsapp.auth.resources import teams
from opsapp.auth.resources.invitations import LEASE
from opsapp.runtime.findings import OK, WARN, Finding
from opsapp.runtime.node import Node, node_of
from opsapp.tree.acl import ROLES
from opsapp.tree.root import Root

from . import directory, federated, provisionedaccounts
from .directorystate import LONG_S, state_of
from .ldapclient import DirectoryPerson, DirectorySilent, PersonUnclear, Visit

EVERY_S, LOOK_S = 8.0, 5.0  # so it is known within 15 s that it hangs
AGAIN_S = 300.0  # after a check that the directory did not answer
PAGE, PAGE_S = 100, 60.0
TOGETHER = 20  # that one transaction judges
Row = TypeVar("Row")


class KnownUser(NamedTuple):
    """A user as it was when the check began. Another `generation` or sign-in: it is not the same any more."""

    username: str
    entry_id: str
    generation: str
    last_login: int | None


class RoleVerdict(NamedTuple):
    known: KnownUser
    role: str | None
    groups: frozenset[str] = frozenset()
    is_gone: bool = False


def start(node: Node) -> None:
    """On the node that does the housekeeping."""
    node.supervisor.add("directory-check", lambda: check(node), every=lambda: _pace(node), lease=LEASE)


def _pace(node: Node) -> float:
    usual = node.config[LdapSettings].check_s
    return min(usual, AGAIN_S) if state_of(node).check_failed else usual


def start_looking(node: Node) -> None:
    """On each node: what one reaches another may not."""
    node.supervisor.add("directory-look", lambda: look(node), every=EVERY_S)


def look(node: Node) -> bool:
    settings, state, now = node.config[LdapSettings], state_of(node), node.clock.monotonic()
    if not settings.enabled:
        state.forget()
        return False
    seconds = min(settings.timeout_s, LOOK_S)
    with suppress(DirectorySilent), state.looking(now):  # which is noted
        password = directory.bind_password_of(node, settings)
        node.lane("ldap-look", 1).run(directory.visited, node, settings, password, Visit.look, seconds)
    return False


def check(node: Node) -> bool:
    """Only what lowers somebody is done: a higher role comes with a sign-in."""
    settings, state = node.config[LdapSettings], state_of(node)
    state.check_failed = True
    known = node.transact(_known) if settings.enabled else []
    try:
        verdicts = [verdict for page in _chunks(known, PAGE) for verdict in _survey(node, settings, page)]
        problem = _doubt(node, settings, verdicts)
    except DirectorySilent:
        return False
    state.check_failed, state.unbelieved = False, problem
    if not problem:
        for together in _chunks(verdicts, TOGETHER):
            node.transact(_judge, together)
    return False


def _known(root: Root) -> list[KnownUser]:
    users = resources.users_of(root).values()
    return [
        KnownUser(user.__name__, user.entry_id, user.generation, user.last_login)
        for user in users
        if user.source == "ldap" and user.entry_id and not user.disabled
    ]


def _chunks(rows: list[Row], size: int) -> Iterator[list[Row]]:
    rest = iter(rows)
    while chunk := list(islice(rest, size)):
        yield chunk


def _survey(node: Node, settings: LdapSettings, page: list[KnownUser]) -> list[RoleVerdict]:
    def ask(visit: Visit) -> list[RoleVerdict]:
        people = {person.id: person for person in visit.people_of(bytes.fromhex(known.entry_id) for known in page)}
        verdicts = []
        for known in page:
            person = people.get(bytes.fromhex(known.entry_id))
            with suppress(PersonUnclear):  # unknown is unknown
                verdicts.append(_verdict(visit, known, person))
        return verdicts

    password = directory.bind_password_of(node, settings)
    return node.lane("ldap-check", 1).run(directory.visited, node, settings, password, ask, PAGE_S)


def _verdict(visit: Visit, known: KnownUser, person: DirectoryPerson | None) -> RoleVerdict:
    if person is None:
        return RoleVerdict(known, None, is_gone=True)
    return RoleVerdict(known, *directory.standing_in(visit, person))


def _doubt(node: Node, settings: LdapSettings, verdicts: list[RoleVerdict]) -> str:
    """Why none of it is believed, or nothing."""
    if not verdicts or any(verdict.role is not None for verdict in verdicts):
        return ""
    if len(verdicts) > 1:
        return f"none of its {len(verdicts)} users here is there and has a role"
    password = directory.bind_password_of(node, settings)
    lane = node.lane("ldap-check", 1)
    shown = lane.run(directory.visited, node, settings, password, Visit.shows_anybody, PAGE_S)
    return "" if shown else "it shows nobody at all"


def _judge(root: Root, verdicts: list[RoleVerdict]) -> None:
    for verdict in verdicts:
        user = resources.find_enabled(root, verdict.known.username)
        if user is None or user.source != "ldap":
            continue
        if (user.generation, user.last_login) != (verdict.known.generation, verdict.known.last_login):
            continue  # changed, or signed in, since the directory was asked
        teams.tell_groups(root, user.__name__, verdict.groups)
        role = None if verdict.is_gone else provisionedaccounts.role_at_sign_in(root, user.__name__, verdict.role)
        if role is None:
            federated.lower(root, user, resources.AccountChange(disabled=True))
        elif ROLES.index(role) < ROLES.index(user.role):
            federated.lower(root, user, resources.AccountChange(role))


def directory_trouble(node: Node) -> str | None:
    settings, state = node.config[LdapSettings], state_of(node)
    if not settings.enabled:
        return None
    why = state.trouble
    if not why and state.looks_for(node.clock.monotonic()) > LONG_S:
        why = "it takes its time"
    if why:
        return f"the directory {settings.uri} does not answer ({why}): its users cannot sign in"
    if state.unbelieved:
        return f"the directory {settings.uri} was not believed ({state.unbelieved}): nobody has lost a session or key"
    return None


def standing(root: Root, now: float, config: object) -> Finding:
    """`IStoreFinder`."""
    node = node_of(root)
    settings, trouble = node.config[LdapSettings], directory_trouble(node)
    if trouble:
        return Finding(WARN, "directory", trouble)
    if not settings.enabled:
        return Finding(OK, "directory", "auth.ldap names none")
    said = "answers" if state_of(node).was_asked else "has not been asked yet"
    return Finding(OK, "directory", f"{settings.uri} {said}")
