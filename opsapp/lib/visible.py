"""Text as it can be shown: no longer than there is room, and without characters that move the cursor or turn the
direction of what follows.

In a name they make one thing look like another, in a terminal or a page.
"""

from __future__ import annotations

import re

from opsapp.wire.kinds import Text

# Controls (C0, C1, line and paragraph separators) and what changes the direction of text.
DECEIVING = r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_DECEIVING = re.compile(f"[{DECEIVING}]")
REPLACED_BY = "\ufffd"


def visible(text: str) -> str:
    """What others sent, with such characters replaced."""
    return _DECEIVING.sub(REPLACED_BY, text)


def clip(text: str, longest: int) -> str:
    """A text that is not too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def name_kind(high: int = 200, example: str | None = None) -> Text:
    """Something that can be seen, and looks like what it is."""
    seen = rf"[^{DECEIVING}]*[^\s{DECEIVING}][^{DECEIVING}]*"
    return Text(1, high, seen, example, "not be blank, nor hold characters that control text or its direction")
