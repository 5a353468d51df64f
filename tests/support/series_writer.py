"""`python -m tests.support.series_writer DIR FIRST [MAIN HISTORY]`: measures into the stores of DIR, or of these
addresses, as fast as it can, on a clock that runs ahead, and folds, merges and seals all the time. Says each
observation's number once it is committed."""

import sys
from pathlib import Path

from opsapp.series.observations import UP
from opsapp.series.rollup import DAY
from tests.support.measuring import Measuring
from tests.support.stores import Stores

BASE = 19_700 * DAY
STEP = 30_000
SERIES = 3


def main(directory, first, *addresses):
    store = Measuring(Stores(Path(directory), addresses), keep=(100 * DAY,) * 3)
    print("ready", flush=True)
    observation = first
    while True:
        now = BASE + observation * STEP
        store.journal.add(1 + 64 * (observation % SERIES), now, float(observation), UP, 90)
        store.commit(now)
        print(observation, flush=True)
        if observation % 15 == 0:
            store.settle(now)
        observation += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
