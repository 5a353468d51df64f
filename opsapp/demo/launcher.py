"""Becomes the program of its arguments, which Linux ends together with the process that started this.

Started by its file name, so it must not import anything of opsapp.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it was gone before this was asked for
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
