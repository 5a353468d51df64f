"""Numbers of threads: each living thread has its own, and those of threads that have ended are used again."""

import threading
from concurrent.futures import ThreadPoolExecutor

from opsapp.runtime.base import ThreadNumbers

THREADS = 8


def test_each_thread_has_a_number_of_its_own_and_keeps_it():
    numbers_of, together = ThreadNumbers(), threading.Barrier(THREADS)

    def numbers():
        first = numbers_of.mine()
        together.wait()  # all live at once
        return first, numbers_of.mine()

    with ThreadPoolExecutor(THREADS) as pool:
        pairs = [asked.result() for asked in [pool.submit(numbers) for _ in range(THREADS)]]
    assert sorted(pairs) == [(number, number) for number in range(THREADS)]


def test_the_number_of_a_thread_that_has_ended_is_used_again():
    numbers_of, numbers = ThreadNumbers(), []
    for _ in range(50):
        thread = threading.Thread(target=lambda: numbers.append(numbers_of.mine()))
        thread.start()
        thread.join()
    assert set(numbers) == {0}


def test_two_of_them_know_nothing_of_each_other():
    assert ThreadNumbers().mine() == ThreadNumbers().mine() == 0
