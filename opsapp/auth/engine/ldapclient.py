"""Asks a directory for a user, for the user's groups, and whether a password is right. Blocks: runs in a lane of its
own. It adds to `ldap3` one time-out for a whole visit, and the standard library's check of certificate names. It
follows no referral."""

from __future__ import annotations

import contextlib
import logging
import math
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from opsapp.auth.ldapconfig import LdapSettings
from opsapp.auth.logic.directory import (
    DN,
    USERNAME,
    DirectoryPlace,
    NormalDn,
    filled,
    normal_dns,
    of_anybody,
    of_ids,
    place_of,
)
from opsapp.lib.ids import new_id

if TYPE_CHECKING:
    from ldap3 import Connection

# `ldap3` is imported where it is used: 0.1 s and 14 MB of a start, and few have a directory.
log = logging.getLogger(__name__)

FOUND, MORE, ABSENT = 0, 4, 32  # success, sizeLimitExceeded, noSuchObject
# constraintViolation, inappropriateAuthentication, invalidCredentials, insufficientAccessRights, unwillingToPerform
REFUSED = frozenset({19, 48, 49, 50, 53})
MOST_GROUPS, DEEPEST = 2000, 10


class DirectorySilent(Exception):
    """It has not answered, or not with what a directory says. Nothing is known then."""


class PersonUnclear(Exception):
    """What it says of this one person cannot be used: why, for the audit record."""


class DirectoryEntry(NamedTuple):
    """Its attributes by their names in small letters: a directory writes them as it likes."""

    dn: str
    values: dict[str, list[bytes]]


class DirectoryPerson(NamedTuple):
    dn: str
    id: bytes
    name: str
    member_of: tuple[str, ...]


class Visit:
    def __init__(self, settings: LdapSettings, password: str | None, seconds: float | None = None):
        self.settings = settings
        self._password = password
        self._seconds = seconds or settings.timeout_s
        self._link: Any = None
        self._guard = threading.Timer(self._seconds, self._cut)
        self._guard.daemon = True

    def __enter__(self) -> Visit:
        try:
            with plainly_said():
                self._link = connection_to(self.settings, self._password, self._seconds)
                self._guard.start()
                self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _open(self) -> None:
        self._link.open(read_server_info=False)
        if self.settings.start_tls and not self._link.start_tls(read_server_info=False):
            raise DirectorySilent("it does not begin TLS")
        self.sign_in()

    def _cut(self) -> None:
        """In the guard's thread: whatever the connection waits for has come to its end."""
        with contextlib.suppress(OSError, AttributeError):
            socket.socket.shutdown(self._link.socket, socket.SHUT_RDWR)

    def _close(self) -> None:
        self._guard.cancel()
        held = None if self._link is None else self._link.socket
        if held is not None:
            with contextlib.suppress(OSError):
                held.close()  # ldap3 leaves what it could not open to the collector

    def sign_in(self) -> None:
        """As the service itself."""
        name, password = self.settings.bind_dn, self._password
        with plainly_said():
            self._must_be_open()
            if not name and not self._link.rebind(authentication="ANONYMOUS", read_server_info=False):
                raise DirectorySilent(f"it lets nobody search without a name ({self._said()})")
            if name and (not password or not self._bind(name, password)):
                raise DirectorySilent(f"it does not let the service itself in as {name} ({self._said()})")

    def is_password(self, dn: str, password: str) -> bool:
        """A directory takes an empty one for no attempt, and says yes (RFC 4513, 5.1.2)."""
        if not dn or not password:
            return False
        with plainly_said():
            if self._bind(dn, password):
                return True
            if self._code() in REFUSED:
                return False
            raise DirectorySilent(f"it answers {self._said()} to a password")

    def no_password(self, password: str) -> None:
        """What takes as long as a wrong password, for somebody who is not there."""
        if password:
            with plainly_said():
                self._bind(f"cn={new_id()},{self.settings.base}", password)

    def _bind(self, dn: str, password: str) -> bool:
        self._must_be_open()
        return bool(self._link.rebind(dn, password, authentication="SIMPLE", read_server_info=False))

    def _must_be_open(self) -> None:
        """ldap3 would connect anew by itself, and not begin TLS again."""
        if self._link.closed:
            raise DirectorySilent("it has ended the connection")

    def _code(self) -> int | None:
        return (self._link.result or {}).get("result")

    def _said(self) -> str:
        return str((self._link.result or {}).get("description", "nothing"))

    def look(self) -> None:
        self._search(self.settings.base, "(objectClass=*)", (), scope="BASE")

    def people(self, username: str) -> list[DirectoryPerson]:
        return self._people(filled(self.settings.user_filter, {USERNAME: username}), 2)

    def people_of(self, ids: Iterable[bytes]) -> list[DirectoryPerson]:
        wanted = list(ids)
        return self._people(of_ids(self.settings.user_filter, self.settings.id_attribute, wanted), 2 * len(wanted))

    def shows_anybody(self) -> bool:
        """Whether the service may see people at all."""
        return bool(self._people(of_anybody(self.settings.user_filter), 1))

    def _people(self, condition: str, most: int) -> list[DirectoryPerson]:
        own = self.settings
        names = [name for name in (own.name_attribute, own.id_attribute, own.member_of) if name]
        return [self._person(entry) for entry in self._search(own.base, condition, names, most=most)]

    def _person(self, entry: DirectoryEntry) -> DirectoryPerson:
        own, values = self.settings, entry.values
        ids, names = values.get(own.id_attribute.lower(), []), values.get(own.name_attribute.lower(), [])
        if len(ids) != 1 or not ids[0]:
            log.warning("the directory shows no %s of %s", own.id_attribute, entry.dn)
            raise PersonUnclear("no_id")
        name = names[0].decode("utf-8", "replace") if names else ""
        groups = values.get((own.member_of or "").lower(), [])
        return DirectoryPerson(entry.dn, ids[0], name, tuple(group.decode("utf-8", "replace") for group in groups))

    def groups_of(self, person: DirectoryPerson) -> frozenset[NormalDn]:
        """All groups that the person is in; nested ones too where the settings say so."""
        known: set[str] = set()
        fresh = {*person.member_of, *self._searched(person.dn, person.name)}
        for _ in range(DEEPEST):
            known |= fresh
            if len(known) > MOST_GROUPS:
                raise PersonUnclear("too_many_groups")
            if not fresh or not self.settings.nested_groups:
                break
            fresh = {outer for dn in fresh for outer in self._around(dn, person.name)} - known
        return normal_dns(known)

    def _around(self, dn: str, name: str) -> Iterator[str]:
        yield from self._searched(dn, name)
        named = self.settings.member_of
        if named:
            for entry in self._search(dn, "(objectClass=*)", (named,), scope="BASE", may_be_absent=True):
                yield from (group.decode("utf-8", "replace") for group in entry.values.get(named.lower(), []))

    def _searched(self, dn: str, name: str) -> list[str]:
        if not self.settings.group_base:
            return []
        condition = filled(self.settings.group_filter, {DN: dn, USERNAME: name})
        return [entry.dn for entry in self._search(self.settings.group_base, condition, ())]

    def _search(
        self,
        base: str | None,
        condition: str,
        names: Iterable[str],
        *,
        most: int = 0,
        scope: str = "SUBTREE",
        may_be_absent: bool = False,
    ) -> list[DirectoryEntry]:
        with plainly_said():
            self._must_be_open()
            self._link.search(
                base or "",
                condition,
                scope,
                dereference_aliases="NEVER",
                attributes=list(names) or ["1.1"],
                size_limit=most,
                time_limit=math.ceil(self._seconds),
            )
            code = self._code()
            if code == ABSENT and may_be_absent:
                return []
            if code != FOUND and not (code == MORE and most):
                raise DirectorySilent(f"it answers {self._said()} to a search below {base}")
            return [_entry(told) for told in self._link.response or [] if told.get("type") == "searchResEntry"]


def _entry(told: Any) -> DirectoryEntry:
    values = {name.lower(): values for name, values in told.get("raw_attributes", {}).items()}
    return DirectoryEntry(str(told.get("dn")), values)


@contextlib.contextmanager
def plainly_said() -> Iterator[None]:
    """DirectorySilent for whatever ldap3 makes of an answer, or of none."""
    try:
        yield
    except (DirectorySilent, PersonUnclear):
        raise
    except Exception as problem:
        log.warning("directory not reached: %s: %s", type(problem).__name__, problem)
        raise DirectorySilent(f"{type(problem).__name__}: {problem}"[:300]) from problem


def connection_to(settings: LdapSettings, password: str | None, seconds: float) -> Connection:
    from ldap3 import IP_V4_PREFERRED, NONE, Connection, Server

    place = place_of(settings.uri or "")
    tls = _tls(settings, place) if place.tls or settings.start_tls else None
    if tls is None and not settings.allow_plain:
        raise DirectorySilent("auth.ldap does not allow a connection that is not encrypted")
    server = Server(
        place.host, place.port, use_ssl=place.tls, tls=tls, get_info=NONE, mode=IP_V4_PREFERRED, connect_timeout=seconds
    )
    return Connection(
        server,
        auto_referrals=False,
        check_names=False,
        auto_escape=False,
        return_empty_attributes=False,
        receive_timeout=math.ceil(seconds),
    )


def _tls(settings: LdapSettings, place: DirectoryPlace) -> Any:
    from ldap3 import Tls

    class Verified(Tls):
        """ldap3 compares names with a copy of what Python 3.7 did; this is the standard library."""

        def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
            context = ssl.create_default_context(cafile=settings.ca_file or None)
            connection.socket = context.wrap_socket(connection.socket, server_hostname=place.host)

    return Verified(validate=ssl.CERT_REQUIRED)
