"""The forecast that comes true first, in a sentence and as a fan. Must not: forecast; the API does, and says how often
it was right."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.overview_answers import NextBreak
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import Word, place_of
from opsapp.wire.records import made

from .fans import between, chart_of, reaches, unit_of, what_of


class NextLine(NamedTuple):
    what: str
    host: Word
    words: str
    hits_at: int
    between: str
    chart: Markup


def breaks_next(first: NextBreak | None, of_host: list[ForecastRecord] | None, reader: Reader) -> NextLine | None:
    """`of_host`: the forecasts of its host, with their fans and what was measured."""
    if first is None:
        return None
    what = (first.metric, first.mount)
    same = (row for row in of_host or () if (row.metric, row.mount) == what and row.hits_at is not None)
    told = next(same, None) or made(ForecastRecord, vars(first))
    return NextLine(
        what_of(told),
        Word(first.hostname, place_of("agent", told.agent_id)),
        f"{reaches(told)} {unit_of(told).words(told.threshold)} in",
        told.hits_at or first.hits_at,
        between(told, reader.now),
        chart_of(told, f"{what_of(told)} on {first.hostname}", reader),
    )
