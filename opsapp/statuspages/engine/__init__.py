"""What other rooms call of the public status page. All but `ask` run in the caller's transaction."""

from opsapp.statuspages.logic import dates
from opsapp.statuspages.logic.addresses import KINDS, address_problem
from opsapp.statuspages.logic.calendar import CANCELLED, PlannedTime
from opsapp.statuspages.logic.calendar import text as calendar_text
from opsapp.statuspages.logic.letters import STAGE_WORDS
from opsapp.statuspages.records import PageRecord
from opsapp.statuspages.resources import store_of
from opsapp.tree.root import Root

from .ownpages import is_known as is_own_page
from .ownpages import looks as own_looks
from .ownpages import record as own_page
from .ownpages import scope
from .settings import public_page
from .subscriptions import ask, belongs, confirm, leave, waits
from .visitors import enter, has_said, has_visit, is_closed


def calendar(root: Root, slug: str | None = None) -> list[PlannedTime]:
    """Every time of every window, the earliest first; with `slug`, of pages of their own."""
    return sorted(store_of(root).entries(own=slug is not None).values(), key=lambda entry: (entry.start, entry.uid))


def page_of(root: Root) -> PageRecord:
    return store_of(root).page


def page_ids(root: Root) -> dict[str, str]:
    """`monitoring.interfaces.IStatusPages`"""
    return {slug: page.id for slug, page in store_of(root).own_pages().items()}


def groups_by_monitor(root: Root) -> dict[str, str]:
    """`monitoring.interfaces.IStatusGroups`: those of the page of all."""
    return {monitor_id: group.name for group in page_of(root).groups for monitor_id in group.monitors}


def logo(root: Root) -> tuple[bytes, str, str] | None:
    return store_of(root).logo


def wrong_address(kind: str, address: str) -> str | None:
    return address_problem(kind, address) if kind in KINDS else "Choose how you want to be told."
