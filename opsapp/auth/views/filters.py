"""/api/me/filters: the lists that the caller has kept, as each wants to see them again."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth import schemas
from opsapp.auth.records import FilterRecord
from opsapp.auth.resources import SavedFilter
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Conflict, NotFound
from opsapp.tree.folder import Facet, NamedFacets, add_facet
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.records import made

from .me import Me, own_user

MOST = 50


class MyFilter(Facet):
    """One saved filter of the caller, by its id."""

    url = "/api/me/filters/{filter_id}"


class MyFilters(NamedFacets):
    """The caller's saved filters; any id leads on, since only the caller's own can be deleted below it."""

    of = MyFilter


add_facet(Me, "filters", MyFilters)


@api.get(MyFilters, query=Paging, returns=[FilterRecord], teams="own")
def saved_filters(context: MyFilters, request: Request) -> list[FilterRecord]:
    """The caller's saved filters, in the order in which they were saved."""
    user = own_user(request)
    return page_of(request, [made(FilterRecord, saved._asdict()) for saved in user.saved_filters])


@api.create(
    MyFilters,
    role="viewer",
    own_session=True,
    body=FilterRecord,
    returns=FilterRecord,
    audit="filter.save",
    teams="own",
)
def save_filter(context: MyFilters, request: Request) -> FilterRecord:
    """Keeps a list as it is asked for now. One of the same name for the same page takes its place."""
    user = own_user(request)
    saved = SavedFilter(new_id(), **request.valid_body)
    others = tuple(other for other in user.saved_filters if (other.name, other.path) != (saved.name, saved.path))
    if len(others) >= MOST:
        raise Conflict(f"You have {MOST} saved filters. Delete one first.", code="too_many_filters")
    user.saved_filters = (*others, saved)
    request.audit("filter.save", saved.id, after={"name": saved.name, "path": saved.path})
    return made(FilterRecord, saved._asdict())


@api.delete(MyFilter, role="viewer", own_session=True, returns=schemas.StatusOk, audit="filter.delete", teams="own")
def delete_filter(context: MyFilter, request: Request) -> schemas.StatusOk:
    """Forgets one."""
    user = own_user(request)
    kept = tuple(saved for saved in user.saved_filters if saved.id != context.__name__)
    if len(kept) == len(user.saved_filters):
        raise NotFound("There is no such filter.")
    user.saved_filters = kept
    request.audit("filter.delete", context.__name__)
    return schemas.StatusOk()
