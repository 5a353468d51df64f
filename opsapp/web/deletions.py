"""/api/deleted: what was deleted within the last minute, and how it is put back."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyramid.request import Request

from opsapp.runtime import deletions
from opsapp.runtime.deletions import Deletion, Deletions

from . import api
from .errors import role_too_low
from .fields import Body, Paging, choice, number, text
from .listpages import page_of
from .refusals import UNDO


class DeletionRecord(Body):
    id = text()
    kind = text()
    name = text()
    until = number(0)


class Restored(Body):
    """`page`: where it is on the pages."""

    status = choice("restored")
    page = text()


def undoable(request: Request, kind: str, name: str, target: str, kept: Any) -> None:
    """The view that has deleted it calls this: the answer says by which id it comes back."""
    request.response.headers[UNDO] = deletions.keep(request.root, kind, name, target, kept).id


def may_undo(request: Request, deletion: Deletion) -> bool:
    """What was deleted carries no tags any more: a limited person puts nothing back."""
    role = deletions.kind_of(request.root, deletion).role
    return request.sight is None and request.has_permission(api.PERMISSIONS[role])


class Undo(NamedTuple):
    id: str
    kind: str
    name: str


def undo_of(request: Request, deletion_id: str) -> Undo | None:
    deletion = deletions.deletions_of(request.root).get(deletion_id)
    if deletion is None or deletion.until <= request.now or not may_undo(request, deletion):
        return None
    return Undo(deletion.id, deletion.kind, deletion.name)


@api.get(Deletions, role="operator", query=Paging, returns=[DeletionRecord])
def deleted(context: Deletions, request: Request) -> Any:
    """What the caller may put back, newest first."""
    kept = context.kept(request.now)
    return [
        {"id": deletion.id, "kind": deletion.kind, "name": deletion.name, "until": int(deletion.until)}
        for deletion in page_of(request, [deletion for deletion in kept if may_undo(request, deletion)])
    ]


@api.act(Deletion, "undo", returns=Restored, audit="deletion.undo", errors=(404, 409))
def undo(context: Deletion, request: Request) -> Any:
    """It is back as it was, with its history. Not where its name was taken meanwhile."""
    kind = deletions.kind_of(request.root, context)
    if not may_undo(request, context):
        raise role_too_low(request.caller.role, kind.role)
    deletions.undo(request.root, context)
    request.audit("deletion.undo", context.target, after={"kind": context.kind, "name": context.name})
    return {"status": "restored", "page": kind.page.format(context.target)}
