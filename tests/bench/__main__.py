"""`python -m tests.bench [NAME…]`: runs the benches (all, or those named) and prints one table."""

import argparse
import importlib
import pkgutil
import platform
import sys
import time
from importlib import metadata

import tests.bench


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


def main():
    known = benches()
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(known))
    names = parser.parse_args().names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no such bench: {', '.join(unknown)}; there are: {', '.join(known)}")
    print(machine())
    missed = []
    for name in names:
        began = time.monotonic()
        print(f"\n{name}: {known[name].__doc__.strip().splitlines()[0]}", flush=True)
        for row in known[name].measure():
            wanted = f"{row.target}{', MISSED' if row.missed else ''}"
            print(f"  {row.what:<58} {shown(row.figure):>10} {row.unit:<8} {wanted}", flush=True)
            missed += [f"{name}: {row.what}"] if row.missed else []
        print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"\n{len(missed)} figures outside their bound" + "".join(f"\n  {line}" for line in missed))


if __name__ == "__main__":
    sys.exit(main())
