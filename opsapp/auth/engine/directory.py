"""Signing in with a directory: the attempt is counted, the directory is asked in a lane outside of any transaction,
then a transaction opens the session. The answer never says whether name, password or role was missing; the audit
record does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import NamedTuple, TypeVar

from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.interfaces import ISecretText
from opsapp.auth.ldapconfig import LdapSettings
from opsapp.auth.logic.directory import asked_name, role_of
from opsapp.auth.logic.groups import dn_key
from opsapp.auth.records import LoggedIn, SecondStepDue
from opsapp.auth.resources import federation
from opsapp.lib.placeholders import places
from opsapp.lib.problems import Forbidden, Problem
from opsapp.runtime.node import Node
from opsapp.runtime.threads.fair import Whose
from opsapp.tree.root import Root

from . import federated, signin
from .directorystate import DirectoryBusy, DirectoryUnreachable, state_of
from .federated import Arrival
from .ldapclient import DirectoryPerson, DirectorySilent, PersonUnclear, Visit
from .limits import count_attempt, login_counters, turn_of
from .passwords import ClientLeft
from .signin import Client, login_refused, wrong_credentials

AT_ONCE = 4
ISSUER = "ldap"
Answer = TypeVar("Answer")
HasLeft = Callable[[], bool]


class NotLetIn(Exception):
    """By the directory. Says why, for the audit record."""


class DirectoryStanding(NamedTuple):
    """What a person's groups give: the role here, and the keys that teams name."""

    role: str | None
    groups: frozenset[str]


class DirectoryAnswer(NamedTuple):
    person: DirectoryPerson | None
    standing: DirectoryStanding | None = None
    reason: str = ""


def sign_in(
    node: Node, username: str, password: str, client: Client, has_left: HasLeft = lambda: False
) -> LoggedIn | SecondStepDue:
    """A local user's name is never asked for in the directory."""
    name = asked_name(username) if node.config[LdapSettings].enabled else None
    if name is None or node.transact(_is_local, name):
        return signin.sign_in(node, username, password, client, has_left)
    try:
        return _sign_in(node, name, password, client, has_left)
    except (NotLetIn, Forbidden) as refusal:
        reason = refusal.code if isinstance(refusal, Forbidden) else str(refusal)
        login_refused(node, name, client, reason)
        raise wrong_credentials() from None
    except (ClientLeft, DirectoryBusy):
        raise
    except Problem as problem:
        login_refused(node, name, client, problem.code)
        raise


def _is_local(root: Root, username: str) -> bool:
    user = resources.users_of(root).get(username)
    return user is not None and user.source == "local"


def _sign_in(node: Node, name: str, password: str, client: Client, has_left: HasLeft) -> LoggedIn | SecondStepDue:
    counters = login_counters(node, client.ip, name, client.held)
    _must_answer(node)
    with state_of(node).admitted(turn_of(counters)):
        count_attempt(node, counters)
        judged: DirectoryAnswer = _asked(node, turn_of(counters), has_left, lambda visit: _judge(visit, name, password))
    return _entered(node, judged, client)


def _must_answer(node: Node) -> None:
    """While it is known to be silent nobody waits, and no attempt is counted."""
    if state_of(node).is_known_silent(node.clock.monotonic()):
        raise DirectoryUnreachable


def _judge(visit: Visit, name: str, password: str) -> DirectoryAnswer:
    try:
        return _judged(visit, name, password)
    except PersonUnclear as unclear:
        return DirectoryAnswer(None, reason=str(unclear))


def _judged(visit: Visit, name: str, password: str) -> DirectoryAnswer:
    people = visit.people(name)
    if len(people) != 1:
        visit.no_password(password)
        return DirectoryAnswer(None, reason="ambiguous_user" if people else "unknown_user")
    (person,) = people
    if not visit.is_password(person.dn, password):
        return DirectoryAnswer(None, reason="bad_credentials")
    visit.sign_in()
    return DirectoryAnswer(person, standing_in(visit, person))


def standing_in(visit: Visit, person: DirectoryPerson) -> DirectoryStanding:
    groups = visit.groups_of(person)
    role = role_of(groups, asdict(visit.settings.role_map))
    return DirectoryStanding(role, frozenset(dn_key(group) for group in groups))


def _entered(node: Node, judged: DirectoryAnswer, client: Client) -> LoggedIn | SecondStepDue:
    if judged.person is None or judged.standing is None:
        raise NotLetIn(judged.reason)
    person, settings = judged.person, node.config[LdapSettings]
    claims = {"preferred_username": person.name, "sub": "user"}
    entry_id = person.id.hex()
    role, groups = judged.standing
    arrival = Arrival("ldap", subject_in(settings, entry_id), role, claims, entry_id, groups)
    entered = node.transact(federated.enter, arrival, client, node.config[LoginSettings].session_s)
    if isinstance(entered, Problem):
        raise entered
    return entered


def subject_in(settings: LdapSettings, entry_id: str) -> str:
    """Not by the directory's address: that changes while the people stay."""
    return federation.subject_of(f"{ISSUER} {settings.id_attribute.lower()}", entry_id)


def knows_password(node: Node, whose: Whose, entry_id: str | None, password: str) -> bool:
    wanted = bytes.fromhex(entry_id or "")
    _must_answer(node)
    with state_of(node).admitted(whose):
        return bool(_asked(node, whose, lambda: False, lambda visit: _is_theirs(visit, wanted, password)))


def _is_theirs(visit: Visit, entry_id: bytes, password: str) -> bool:
    people = visit.people_of([entry_id]) if entry_id else []
    if len(people) != 1:
        visit.no_password(password)
        return False
    return visit.is_password(people[0].dn, password)


def _asked(node: Node, whose: Whose, has_left: HasLeft, question: Callable[[Visit], Answer]) -> Answer:
    """DirectoryUnreachable where it does not answer, which is noted; ClientLeft where nobody waits any more."""
    settings = node.config[LdapSettings]

    def ask() -> Answer:
        if has_left():
            raise ClientLeft("Nobody waits for this answer any more.")
        _must_answer(node)  # whoever waited in line takes what those before were told
        return visited(node, settings, bind_password, question)

    try:
        bind_password = bind_password_of(node, settings)
        return node.lane("ldap", AT_ONCE).run_for(whose, ask)
    except DirectorySilent as silent:
        raise DirectoryUnreachable from silent


def visited(
    node: Node,
    settings: LdapSettings,
    bind_password: str | None,
    question: Callable[[Visit], Answer],
    seconds: float | None = None,
) -> Answer:
    """In a lane: one visit with one question; whether it has answered is noted."""
    try:
        with Visit(settings, bind_password, seconds) as visit:
            answer = question(visit)
    except DirectorySilent as silent:
        state_of(node).is_silent(str(silent), node.clock.monotonic())
        raise
    state_of(node).answers()
    return answer


def bind_password_of(node: Node, settings: LdapSettings) -> str | None:
    """The password as it stands in the file, or the secret that is named there."""
    said = settings.bind_password
    if said is None or not places(said):
        return said
    reveal = node.registry.queryUtility(ISecretText)
    known = None if reveal is None else reveal(node, said)
    if not known:
        problem = "auth.ldap.bind_password names a secret that cannot be read"
        state_of(node).is_silent(problem, node.clock.monotonic())
        raise DirectorySilent(problem)
    return str(known)
