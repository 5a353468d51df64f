"""Fixtures of the engine tests."""

import pytest

from tests.engine.healing import Ward


@pytest.fixture
def ward(tmp_path):
    made = []

    def make(*rules, **healing):
        made.append(Ward(tmp_path, *rules, **healing))
        return made[-1]

    yield make
    for one in made:
        one.close()
