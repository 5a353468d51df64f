"""What a request takes on its way to its place in the store ends with it, or at once where it gets no place."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from pyramid.testing import DummyRequest

from opsapp.lib.problems import StoreAway
from opsapp.runtime.store.transactions import TURN_AFTER
from opsapp.web import setup


class Store:
    """Its turns and places are counted while somebody has them."""

    def __init__(self, is_away):
        self.is_away = is_away
        self.turns = self
        self.turns_taken, self.lent = [], []

    @contextmanager
    def attempt(self, number):
        self.turns_taken.append(number)
        try:
            yield
        finally:
            self.turns_taken.remove(number)

    def borrow(self):
        if self.is_away:
            raise StoreAway
        self.lent.append("place")
        return "place"

    def give_back(self, place):
        assert self.turns_taken  # the turn ends after the transaction
        self.lent.remove(place)


class Asked(DummyRequest):
    def __init__(self, store):
        super().__init__(environ={"retry.attempt": TURN_AFTER}, node=SimpleNamespace(store=store))
        self.ends = []

    def add_finished_callback(self, callback):
        self.ends.append(callback)


def test_a_request_without_a_place_gives_back_its_turn():
    store = Store(is_away=True)
    request = Asked(store)
    with pytest.raises(StoreAway) as refused:
        setup.place(request)
    assert refused.value.__traceback__  # whoever holds the error holds all that its frames hold
    assert (store.turns_taken, store.lent, request.ends) == ([], [], [])


def test_a_request_has_its_turn_and_its_place_until_it_ends():
    store = Store(is_away=False)
    request = Asked(store)
    assert setup.place(request) == "place"
    assert (store.turns_taken, store.lent) == ([TURN_AFTER], ["place"])
    [end] = request.ends
    end(request)
    assert (store.turns_taken, store.lent) == ([], [])
