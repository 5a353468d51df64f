"""The `opsapp` command. Exit codes: 0 well, 1 not possible, 2 wrong usage; a user's mistake never shows a traceback.
Must not: decide anything that the service does not decide too."""

from __future__ import annotations

import atexit
import gc


def main(arguments: list[str] | None = None) -> int:
    """What a thousand modules leave in memory stays there, and the collector would walk it a dozen times while it is
    made (a sixth of a start): it begins with the command, of a server when it is ready. At the end it would walk all
    of that twice more, to free what the system frees anyway."""
    gc.disable()
    atexit.register(gc.freeze)
    try:
        from .commands import run

        return run(arguments)
    finally:
        gc.enable()
