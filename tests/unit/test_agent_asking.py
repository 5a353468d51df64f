"""Questions that may hang: who asks waits a moment, once, and learns for how long there has been no answer."""

import threading

import pytest

from opsapp.agent.questions import NoAnswerYet, RepeatedQuestion
from tests.support.waiting import until


class Clock:
    now = 50.0

    def __call__(self):
        return self.now


def test_a_question_that_is_answered_is_asked_anew_each_time():
    numbers = iter(range(9))
    asked = RepeatedQuestion(lambda: next(numbers))
    assert (asked(), asked(), asked.silent_s()) == (0, 1, 0.0)


def test_one_that_hangs_is_waited_for_once_and_asked_once(monkeypatch):
    clock, gate, questions, waits = Clock(), threading.Event(), [], []
    asked = RepeatedQuestion(lambda: questions.append(1) or gate.wait(), patience_s=0.2, monotonic=clock)
    with pytest.raises(NoAnswerYet):
        asked()
    clock.now += 30
    with monkeypatch.context() as counted:
        counted.setattr(asked._thread, "join", waits.append)
        with pytest.raises(NoAnswerYet):
            asked()
    assert waits == [0.0], "its moment was over long ago"
    assert (len(questions), asked.silent_s()) == (1, 30.0)
    gate.set()
    until(lambda: not asked._thread.is_alive(), what="the end of the first question")
    asked._patience_s = 60.0  # this one is answered
    assert asked() is True
    assert (len(questions), asked.silent_s()) == (2, 0.0)


def test_a_refusal_counts_as_silence_and_another_mistake_is_passed_on():
    clock, wrong = Clock(), [OSError("no bus"), OSError("no bus"), KeyError("x")]

    def question():
        raise wrong.pop(0)

    asked = RepeatedQuestion(question, monotonic=clock)
    for spent in (0.0, 4.0):
        clock.now += spent
        with pytest.raises(OSError, match="no bus"):
            asked()
    assert asked.silent_s() == 4.0
    with pytest.raises(KeyError):
        asked()
