"""Ids in an order of our choice: a test that counts on the order of random ones fails with either of the two.

Of this process only; services that a test starts draw their own. Random again with the next process.
"""

import itertools
import secrets
import time

from opsapp.lib import ids

RANDOM, RISING, FALLING = ORDERS = ("random", "rising", "falling")


class Drawn:
    """In the place of `secrets`: what stands in an id is the next of a row, tokens stay random."""

    def __init__(self, order: str):
        row = itertools.count(time.time_ns() // 1000)  # beyond those of a process before, which wrote the same store
        self.row = row if order == RISING else (-number for number in row)

    def token_hex(self, size: int) -> str:
        return secrets.token_hex(size) if size > 8 else f"{next(self.row) % 256**size:0{2 * size}x}"


def draw(order: str) -> None:
    if order != RANDOM:
        ids.secrets = Drawn(order)
