"""What was typed into a form when the session had ended: kept by the browser in the page that asks to sign in, and
shown afterwards. No password is kept. Must not: do anything with it; whoever typed it presses the button once more."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote_plus, urlencode

from .builder import Known, act_of, find
from .drafts import REDRAW
from .many import MANY
from .plan import PAGES

REFILL = "refill"
UNKEPT = ("csrf_token", "once", "confirm-proof", REFILL)
LONGEST = 12_000  # as it is sent with the password: a form that signs in has at most 16 KiB


def typed_in(path: str, form: Mapping[str, str]) -> str | None:
    """The typed form as one text; None where there is nothing, or too much."""
    place = find(Known(PAGES, {}), path)
    if place is None:
        return None
    page, name = place[0], form.get("act", "")
    act = act_of(page, form.get("do", "") if name == MANY else name)
    if act is None and not (page.draft is not None and name == REDRAW):
        return None
    secret = {field.name for field in act.fields if field.kind == "password"} if act else set()
    text = urlencode({name: text for name, text in form.items() if name not in UNKEPT and name not in secret})
    return text if len(quote_plus(text)) <= LONGEST else None


def fields_of(kept: str) -> dict[str, str]:
    return dict(parse_qsl(kept[:LONGEST], keep_blank_values=True)) | {REFILL: "1"}
