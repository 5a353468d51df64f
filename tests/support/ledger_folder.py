"""`python -m tests.support.ledger_folder DIR`: folds the ledger of the store in DIR, one entry in a transaction, and
says each time how many are folded by now. An empty ledger is filled with entries of years first."""

import sys
from pathlib import Path

from opsapp.healing.engine import ledgerfolding
from opsapp.healing.resources import healing_of, ledgerfolds
from tests.bench.healing import fill_ledger

from .app import Service

ENTRIES, DAY = 400, 86_400
YEARS = 6 * 365 * DAY


def main(directory):
    service = Service(Path(directory))
    service.clock.advance(YEARS)
    service.node.leases.want("healing")
    service.node.leases.step()
    ledgerfolds.fold.__defaults__ = (1,)
    if not service.transact(lambda root: healing_of(root)["ledger"].links()):
        service.transact(fill_ledger, 0, ENTRIES)
    print("ready", flush=True)
    page = service.transact(ledgerfolding.fold, service.clock.now())
    while page.gone:
        print(page.links, flush=True)
        page = service.transact(ledgerfolding.fold, service.clock.now())
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
