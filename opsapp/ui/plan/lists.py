"""Acts of every list: save it with its present query, and delete what was saved."""

from __future__ import annotations

from .shape import Act, Field, Page

FILTERS = "/api/me/filters"
KEEP = Act(
    "keep-filter",
    "Save this filter",
    f"POST {FILTERS}",
    (Field("name", "Name", required=True, hint="It stands on this page, and is found by its name"),),
    body={"path": "{path}", "query": "{query}"},
    done="The list is saved, with its filters and its order.",
)
FORGET = Act(
    "forget-filter",
    "Delete the filter",
    "DELETE /api/me/filters/{filter_id}",
    done="The saved filter is deleted. What it listed is as it was.",
)


def is_list(page: Page) -> bool:
    return any(part.filters for part in page.parts)


def forms_of(page: Page) -> tuple[Act, ...]:
    """What may be done on the page besides the acts on its rows."""
    return page.forms + ((KEEP, FORGET) if is_list(page) else ())
