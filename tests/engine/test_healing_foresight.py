"""What is kept between two looks: fed with what is new alone, back after a restart, forgotten with its metric."""

import random

from opsapp.healing.config import PredictionSettings
from opsapp.healing.engine.foresight import RESTORED, Foresight, MetricNews, is_watched
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.resources.foresight import ForesightBook
from tests.support.hosts import place


def news(number, *points):
    return MetricNews(place(), "cpu_percent", number, (), points, points[-1] if points else None)


def test_a_metric_that_is_not_seen_any_more_is_forgotten():
    foresight = Foresight()
    foresight.begin({})
    first = foresight.follow(news(1))
    assert foresight.follow(news(1)) is first
    foresight.read_until[1] = 5
    assert foresight.room() == RESTORED - 1
    foresight.end()
    foresight.begin({})
    assert foresight.room() == RESTORED
    assert foresight.follow(news(1)) is first
    foresight.end()
    foresight.begin({})
    foresight.end()
    assert foresight.read_until == {}
    assert foresight.follow(news(1)) is not first


def test_metrics_are_watched_that_have_a_threshold_or_are_named():
    section = PredictionSettings(metrics=("queue.*",))
    watched = [
        name
        for name in ("cpu_percent", "disk./.percent", "load1", "queue.mail")
        if is_watched([], place(), name, section)
    ]
    assert watched == ["cpu_percent", "disk./.percent", "queue.mail"]


def test_rows_are_packed_by_agent():
    book, dice = ForesightBook(), random.Random(1)
    rows = [ForecastRecord("a1", "m", None, 1.0, 2.0, dice.randrange(100), None, None) for _ in range(3)]
    book.keep("a1", rows)
    book.keep("a2", [])
    assert (book.of("a1"), book.of("a2"), book.about(None, None)) == (rows, [], rows)
    book.close(["a1"], rows)
    assert [row.hits_at for row in book.coming()] == sorted(row.hits_at for row in rows)
    book.keep("a1", [])
    assert book.about(None, None) == []
