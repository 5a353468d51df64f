"""Many rows that say the same and began together become one, which counts them.

Must not: know what rows are about. What a reader must not miss is part of the kind that the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

TOGETHER_S, FEWEST = 120, 3

R = TypeVar("R")


def gathered(
    rows: Iterable[R], kind_of: Callable[[R], Hashable | None], began: Callable[[R], float], fewest: int = FEWEST
) -> list[Sequence[R]]:
    """Rows in their order. `fewest` or more of one kind, each begun within two minutes of another, are one group at the
    place of the first. What has no kind stands alone."""
    rows, kinds = list(rows), dict[Hashable, list[int]]()
    for number, row in enumerate(rows):
        kind = kind_of(row)
        if kind is not None:
            kinds.setdefault(kind, []).append(number)
    groups: dict[int, list[int]] = {}
    for same in kinds.values():
        for together in _runs(same, lambda number: began(rows[number])):
            if len(together) >= fewest:
                groups |= dict.fromkeys(together, sorted(together))
    return [
        [rows[member] for member in groups.get(number, [number])]
        for number in range(len(rows))
        if groups.get(number, [number])[0] == number
    ]


def _runs(numbers: Iterable[int], began: Callable[[int], float]) -> Iterator[list[int]]:
    """Cut where nothing began for longer."""
    run: list[int] = []
    for number in sorted(numbers, key=began):
        if run and began(number) - began(run[-1]) > TOGETHER_S:
            yield run
            run = []
        run.append(number)
    yield run
