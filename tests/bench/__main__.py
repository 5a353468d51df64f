"""`python -m tests.bench [NAME…]`: runs the benches (all, or those named) and prints one table, and at its end what is
worse by more than 5 % than when it ran here last.

With `--against DIR` it runs each in turn with the code of another tree of the project (a `git worktree` of the commit
before, say), so many pairs, and prints both.
"""

import argparse
import importlib
import pkgutil
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

import tests.bench
from tests.bench import results


def benches():
    """Name -> module, of those modules here that measure something."""
    found = {}
    for info in pkgutil.iter_modules(tests.bench.__path__):
        if info.name != "__main__":
            module = importlib.import_module(f"tests.bench.{info.name}")
            if hasattr(module, "measure"):
                found[info.name] = module
    return found


def machine():
    versions = [f"{name} {metadata.version(name)}" for name in ("pyramid", "ZODB", "gevent")]
    return f"Python {platform.python_version()}, {', '.join(versions)}, {platform.machine()}"


def shown(figure):
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:,.3g}"


def asked(known):
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(known))
    parser.add_argument("--against", metavar="DIR", type=Path, help="another tree of the project, for pairs")
    parser.add_argument("--pairs", metavar="N", type=int, default=3, help="with --against (3)")
    said = parser.parse_args()
    unknown = [name for name in said.names if name not in known]
    if unknown:
        parser.error(f"no such bench: {', '.join(unknown)}; there are: {', '.join(known)}")
    return said


def tell(name, change):
    print(f"  {name}: {change.what}: {shown(change.before)}, now {shown(change.now)} {change.unit}"
          f" ({change.times:.2f} times as bad)")  # fmt: skip


def in_pairs(names, other, pairs):
    """Both trees in turn: every row, then what is worse."""
    worse = []
    for name in names:
        print(f"\n{name}: {pairs} pairs; median there, median here, and how much worse here", flush=True)
        for change in results.in_pairs(name, other, pairs):
            print(f"  {change.what:<58} {shown(change.before):>10} {shown(change.now):>10} {change.times:>6.2f}")
            worse += [(name, change)] if change.is_worse else []
    print(f"\n{len(worse)} figures are worse here by more than 5 %")
    for name, change in worse:
        tell(name, change)


def main():
    known = benches()
    said = asked(known)
    names = said.names or list(known)
    print(machine())
    if said.against is not None:
        in_pairs(names, said.against.resolve(), said.pairs)
    else:
        in_one_table(known, names)


def in_one_table(known, names):
    missed, worse = [], []
    for name in names:
        began = time.monotonic()
        print(f"\n{name}: {known[name].__doc__.strip().splitlines()[0]}", flush=True)
        rows = []
        for row in known[name].measure():
            rows.append(row)
            wanted = f"{row.target}{', MISSED' if row.missed else ''}"
            print(f"  {row.what:<58} {shown(row.figure):>10} {row.unit:<8} {wanted}", flush=True)
            missed += [f"{name}: {row.what}"] if row.missed else []
        print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
        changes = results.beside_last(name, machine(), rows)
        worse += [(name, change) for change in changes if change.is_worse]
    print(f"\n{len(missed)} figures outside their bound" + "".join(f"\n  {line}" for line in missed))
    print(f"{len(worse)} figures worse by more than 5 % than when they were taken here last")
    for name, change in worse:
        tell(name, change)


if __name__ == "__main__":
    sys.exit(main())
