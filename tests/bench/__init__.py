"""What is measured, never tested: `make bench` prints a table. A bench is a module here with `measure()`, which yields
Rows; its docstring says what is measured and how, and whose figures stand beside ours in the same run."""

from typing import NamedTuple


class Row(NamedTuple):
    what: str
    figure: float
    unit: str
    target: str = ""
