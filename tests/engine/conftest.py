"""Fixtures of the engine tests."""

import pytest
from ZODB.mvccadapter import MVCCAdapterInstance

from tests.engine.healing import ALL, QUICK, Ward


@pytest.fixture
def ward(tmp_path):
    made = []

    def make(*rules, **healing):
        made.append(Ward(tmp_path, *rules, **healing))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def written(monkeypatch):
    """How many objects each transaction has written."""
    sizes, finish = [], MVCCAdapterInstance.tpc_finish

    def counted(self, *given, **named):
        sizes.append(len(self._modified))
        return finish(self, *given, **named)

    monkeypatch.setattr(MVCCAdapterInstance, "tpc_finish", counted)
    return sizes


@pytest.fixture
def held(ward, monkeypatch):
    """A rule of which half of the cases are left alone. The first coins fall as said, the others like the last one."""
    from opsapp.healing.engine import world

    def make(level, *sides, rule=QUICK, places=(), **healing):
        falls, fallen = list(sides or (0.0,)), {}

        def toss(_root, case_id):
            if case_id not in fallen:
                fallen[case_id] = falls.pop(0) if len(falls) > 1 else falls[0]
            return fallen[case_id]

        monkeypatch.setattr(world, "_coin", toss)
        return ward(rule, places=places, **{"holdout": ALL, "trial": ALL, **healing}).at(level)

    return make
