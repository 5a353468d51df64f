"""Secrets for automations: sealed, written and never read back by anybody but a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from BTrees.OOBTree import OOBTree

from opsapp.automations.records import SecretRecord, SecretUses
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Conflict, Unavailable
from opsapp.runtime.secrets.seals import Reseal, opener_of, seal_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root
from opsapp.wire.records import extended

from .places import secrets_of


class Secret(Record):
    """/api/secrets/{secret_id}. `allowed_for`: ids of automations that may use it; those in `lapsed` were edited by
    somebody who is no admin, and wait for one."""

    url = "/api/secrets/{secret_id}"
    allowed_for: tuple[str, ...] = ()
    lapsed: tuple[str, ...] = ()

    def __init__(self, name: str, by: str, now: float):
        self.name = name
        self.sealed = ""
        self.created_at = self.updated_at = now
        self.updated_by = by

    def put(self, root: Root, value: str, by: str, now: float) -> None:
        self.sealed = seal_of(root).seal(value, f"secret:{self.name}")
        self.updated_at, self.updated_by = now, by

    def allow(self, automation_id: str) -> None:
        self.take_back(automation_id)
        self.allowed_for = (*self.allowed_for, automation_id)

    def take_back(self, automation_id: str) -> None:
        self.allowed_for = tuple(other for other in self.allowed_for if other != automation_id)
        self.lapsed = tuple(other for other in self.lapsed if other != automation_id)

    def lapse(self, automation_id: str) -> None:
        """Its permission holds again when an admin confirms it."""
        if automation_id in self.allowed_for:
            self.take_back(automation_id)
            self.lapsed = (*self.lapsed, automation_id)

    @property
    def uses(self) -> SecretUses:
        return SecretUses(self.allowed_for, self.lapsed)

    @property
    def record(self) -> SecretRecord:
        return extended(
            SecretRecord,
            self.uses,
            id=self.__name__,
            name=self.name,
            created_at=int(self.created_at),
            updated_at=int(self.updated_at),
            updated_by=self.updated_by,
        )


class Secrets(Folder):
    """/api/secrets; a secret is found by its id and by its name."""

    url = "/api/secrets"
    holds = "secret"

    def __init__(self) -> None:
        super().__init__()
        self.names = OOBTree()  # name -> id

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(self.names.get(name, name))

    def named(self, name: str) -> Secret | None:
        secret_id = self.names.get(name)
        return None if secret_id is None else self.get(secret_id)

    def add(self, root: Root, name: str, value: str, by: str, now: float) -> Secret:
        if name in self.names:
            raise Conflict(f"There is a secret {name} already.", code="name_taken")
        secret = Secret(name, by, now)
        secret.put(root, value, by, now)
        secret_id = new_id()
        self[secret_id] = secret
        self.names[name] = secret_id
        return secret

    def remove(self, secret: Secret) -> None:
        del self.names[secret.name]
        del self[secret.__name__]


def _named(root: Root, names: Iterable[str]) -> Iterator[tuple[str, Secret | None]]:
    folder = secrets_of(root)
    return ((name, folder.named(name)) for name in names)


def reveal(root: Root, names: Iterable[str]) -> dict[str, str]:
    """The values of those that there are, for a run."""
    secrets, seal = _named(root, names), seal_of(root)
    return {name: seal.open(secret.sealed, f"secret:{name}") for name, secret in secrets if secret is not None}


def all_values(root: Root) -> list[str] | None:
    """What must not be seen in what somebody else has written; None where one of them cannot be opened: nobody can say
    what has to be hidden."""
    seal = opener_of(root)
    try:
        return [seal.open(secret.sealed, f"secret:{secret.name}") for secret in secrets_of(root).whole()]
    except Unavailable:
        return None


def unusable(root: Root, names: Iterable[str], automation_id: str | None) -> list[str]:
    """Secrets that this automation may not be written with; a new one (None) may be written with none."""
    return sorted(
        name
        for name, secret in _named(root, names)
        if secret is None or automation_id is None or automation_id not in (*secret.allowed_for, *secret.lapsed)
    )


def forbidden(root: Root, names: Iterable[str], automation_id: str) -> list[str]:
    """Names of secrets that exist, and that no run of this automation may have now."""
    secrets = _named(root, names)
    return sorted(name for name, secret in secrets if secret is not None and automation_id not in secret.allowed_for)


def reseal(root: Root, reseal: Reseal) -> None:
    """`opsapp rekey`: secrets."""
    for secret in secrets_of(root).whole():
        secret.sealed = reseal(secret.sealed, f"secret:{secret.name}")
