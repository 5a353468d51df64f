"""Monitoring plugins as tests need them: shell scripts in a directory that the agent may take them from."""

import pathlib

OK = "echo \"OK - fine | load1=0.4;5;10 'free space'=3MB;;; U=U\"; exit 0"
WARNING = 'echo "WARNING - it fills | /=90%"; exit 1'
CRITICAL = 'echo "CRITICAL - it is full"; echo "more of it"; exit 2'
UNKNOWN = 'echo "UNKNOWN - what is $1?"; exit 3'
LONG = "60061"  # seconds of a sleep that is nobody else's
HANGING = f"sleep {LONG} & echo half; sleep {LONG}"
FORKING = f"sleep {LONG} & echo $! > {{pids}}; echo forked; exit 0"
# A child that has left the process group, and is not waited for.
DETACHED = f"setsid sleep {LONG} >/dev/null 2>&1 & echo $! > {{pids}}; echo left; exit {{code}}"
ENDLESS = 'head -c 1000000 /dev/zero | tr "\\0" x; echo; echo "| big=1"; exit 0'


def write_plugin(directory, name, lines, mode=0o755):
    """The path of a new plugin."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(mode)
    return str(path)
