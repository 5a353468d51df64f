"""What commands write while they run: few messages, in order, with nothing lost between them."""

import pytest

from opsapp.agent.outputs import EVERY_S, PIECE, Outputs


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sent():
    return []


@pytest.fixture
def outputs(clock, sent):
    return Outputs(lambda *said: sent.append(said), clock)


def test_the_first_words_go_at_once_and_what_follows_together(outputs, clock, sent):
    assert outputs.put("c", b"one ") is False
    assert sent == [("c", 0, "one ")]
    assert outputs.put("c", b"two ") is True  # somebody has to come back for it
    assert outputs.put("c", b"three ") is False
    assert outputs.due_in() == pytest.approx(EVERY_S)
    outputs.flush()
    assert len(sent) == 1
    clock.now += EVERY_S
    assert outputs.due_in() == 0
    outputs.flush()
    assert sent[1:] == [("c", 1, "two three ")]
    assert outputs.due_in() is None


def test_thousands_of_lines_are_a_few_messages(outputs, clock, sent):
    for _ in range(50_000):
        clock.now += 1 / 50_000
        outputs.put("c", b"line\n")
    outputs.end("c")
    assert len(sent) < 30
    assert "".join(data for _, _, data in sent) == "line\n" * 50_000
    assert [seq for _, seq, _ in sent] == list(range(len(sent)))


def test_what_is_large_goes_at_once_in_pieces(outputs, sent):
    outputs.put("c", b"x")
    outputs.put("c", b"y" * (2 * PIECE + 1))
    assert [len(data) for _, _, data in sent] == [1, PIECE, PIECE, 1]


def test_letters_that_were_cut_in_two_are_whole_and_commands_do_not_mix(outputs, clock, sent):
    outputs.put("a", "ü".encode()[:1])
    outputs.put("b", b"other")
    clock.now += EVERY_S
    outputs.put("a", "ü".encode()[1:])
    assert sent == [("b", 0, "other"), ("a", 0, "ü")]


def test_the_end_of_a_command_is_told_at_once_and_forgotten(outputs, sent):
    outputs.put("c", b"one ")
    outputs.put("c", b"two")
    outputs.end("c")
    assert sent[1:] == [("c", 1, "two")]
    outputs.end("c")
    assert outputs.due_in() is None
