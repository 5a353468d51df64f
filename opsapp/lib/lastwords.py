"""The line of a program's output that says why it failed. Must not: hide secrets; whoever shows it does."""

from __future__ import annotations

import re

LONGEST = 300
_WHY = re.compile(
    r"(?i)\b(error|errors|failed|failure|fatal|cannot|can't|could not|unable|denied|refused|no such|not found|invalid|"
    r"missing|timed? ?out|exception|no space|read-only)\b"
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def telling_line(output: str) -> str:
    """The last that speaks of a failure, else the last that is not empty; "" where there is none. What comes after a
    failure is often advice."""
    lines = [line for raw in output.splitlines() if (line := _printable(raw))]
    why = [line for line in lines if _WHY.search(line)]
    told = (why or lines)[-1:]
    return told[0][:LONGEST] if told else ""


def _printable(line: str) -> str:
    """Without colours and other signs for a terminal; of what was written over itself the last state."""
    shown = _COLOURS.sub("", line).rstrip("\r").rpartition("\r")[2]
    return "".join(sign for sign in shown if sign.isprintable()).strip()
