"""The `opsapp` command: what an operator does at a shell.

Lives here: commands, messages for people, exit codes (0 well, 1 not possible, 2 wrong usage). A user's mistake never
shows a traceback. Must not: decide anything that the service does not decide too.
"""

from __future__ import annotations

import atexit
import gc


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code.

    What a thousand modules leave in memory stays there, and the collector would walk it a dozen times while it is being
    made: a sixth of the time that a start takes. It begins with the command; a server begins with it when it is ready.
    At the end it would walk all of that twice more, a fifth of a short command, to free what the system frees anyway.
    """
    gc.disable()
    atexit.register(gc.freeze)
    try:
        from .commands import run

        return run(arguments)
    finally:
        gc.enable()
