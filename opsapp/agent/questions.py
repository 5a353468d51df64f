"""Questions to programs of the host that may hang: asked in a thread of their own, so that nothing else waits for them.

Must not: ask a second time while a question is under way.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Generic, List, Optional, TypeVar, Union

T = TypeVar("T")
PATIENCE_S = 5.0


class NoAnswerYet(OSError):
    """Nobody has answered yet."""


class RepeatedQuestion(Generic[T]):
    def __init__(
        self, question: Callable[[], T], patience_s: float = PATIENCE_S, monotonic: Callable[[], float] = time.monotonic
    ):
        self._question = question
        self._patience_s = patience_s
        self._monotonic = monotonic
        self._thread: Optional[threading.Thread] = None
        self._answers: List[Union[T, Exception]] = []
        self._asked_at = 0.0
        self._silent_since: Optional[float] = None

    def __call__(self) -> T:
        """The answer; OSError when there is none, at once while an earlier question still waits for its own."""
        if self._thread is None or not self._thread.is_alive():
            self._answers, self._asked_at = [], self._monotonic()
            self._thread = threading.Thread(target=self._ask, args=(self._answers,), daemon=True, name="asking")
            self._thread.start()
        self._thread.join(max(0.0, self._asked_at + self._patience_s - self._monotonic()))
        answer = self._answers[0] if self._answers else NoAnswerYet(f"no answer within {self._patience_s:g} s")
        if isinstance(answer, OSError) and self._silent_since is None:
            self._silent_since = self._asked_at
        if isinstance(answer, Exception):
            raise answer
        self._silent_since = None
        return answer

    def silent_s(self) -> float:
        """The seconds since the first question without an answer; 0 when the last one was answered."""
        return 0.0 if self._silent_since is None else self._monotonic() - self._silent_since

    def _ask(self, answers: List[Union[T, Exception]]) -> None:
        try:
            answers.append(self._question())
        except Exception as error:  # noqa: BLE001  the one who asks has to see it, not this thread
            answers.append(error)
