"""The journal's tail in memory: rows of open and closed generations read alike."""

from opsapp.series.recent import Generation


def test_a_generation_reads_the_same_after_it_is_closed():
    generation = Generation()
    generation.take("log", 1, [(7, 1000, 2.5, 1, 60), (300, 1000, None, 3, 60)])
    generation.take("log", 2, [(7, 2000, 3.5, 1, 60), (9, 2000, 1.0, 1, 60)])
    open_rows = {number: generation.rows(number) for number in (1, 7, 8, 9, 300, 301)}
    generation.close()
    assert {number: generation.rows(number) for number in open_rows} == open_rows
    assert [len(open_rows[number]) for number in open_rows] == [0, 42, 0, 21, 21, 0]


def test_an_empty_generation_has_nothing():
    generation = Generation()
    generation.close()
    assert generation.rows(1) == b""
