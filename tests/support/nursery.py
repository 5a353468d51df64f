"""`python -m tests.support.nursery SOCKET`: imports what a server imports when it starts, and copies itself when asked.

What that is a first copy finds out, which makes an application in a temporary directory and tells the modules it has.
Must not: import a module that a server does not import, hold a thread, or open what a copy would share.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 16


def main() -> None:
    """Ends when the test process has closed its end, or, in a copy, as the server does."""
    gc.disable()  # as `opsapp.cli.main` has it while it imports
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        for name in _modules_of_a_server():
            import_module(name)
        gc.freeze()
        while True:
            told, handles, _flags, _address = socket.recv_fds(asked, LONGEST, 1)
            if not told:
                return
            question = json.loads(told)
            if "reap" in question:
                answer = os.waitstatus_to_exitcode(os.waitpid(question["reap"], 0)[1])
            else:
                answer = os.fork()
                if not answer:
                    break
                os.close(handles[0])
            asked.send(str(answer).encode())
    _become(question, handles[0])


def _become(about: dict[str, Any], log: int) -> None:
    """The process that `python -m opsapp.cli serve …` would be by now."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.chdir(about["directory"])
    os.umask(about["umask"])
    os.environ.clear()
    os.environ.update(about["environment"])
    sys.path[0] = about["directory"]
    sys.argv[1:] = ["serve", *about["words"]]
    gc.enable()
    runpy.run_module("opsapp.cli", run_name="__main__", alter_sys=True)


class Begun:
    """Notes which modules Python begins to import, and leaves the looking for them to others."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        self.names.append(name)


def _modules_of_a_server() -> list[str]:
    """In the order in which it imports them."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w") as file, tempfile.TemporaryDirectory() as place:
            _tell_modules(file, place)
        sys.exit()
    os.close(writing)
    with os.fdopen(reading) as file:
        told = file.read()
    assert os.waitpid(child, 0)[1] == 0, "a server could not be started"
    return told.split()


def _tell_modules(file: Any, place: str) -> None:
    begun = Begun()
    sys.meta_path.insert(0, begun)
    import opsapp.cli.commands  # noqa: F401  # first, as with a command
    from opsapp.cli import main
    from opsapp.web import server

    def serve(_application: Any, *_address: Any, node: Any, **_more: Any) -> int:
        file.write("\n".join(name for name in begun.names if name in sys.modules))
        node.stop()
        return 0

    server.serve = serve
    os.environ["OPSAPP_ADMIN_PASSWORD"] = "nobody signs in"
    assert main(["serve", str(ROOT / "development.ini"), "--port=0", "--data", place]) == 0


if __name__ == "__main__":
    main()
