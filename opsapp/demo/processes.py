"""The demo's processes: three small services, the server, an agent; and the address at which a service is restarted.

All end with the demo, also after kill -9. The address stands for a service manager: nothing else brings a stopped
service back. Must not: know what is watched or healed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opsapp.cli.places import Mistaken

from . import launcher, smallservice

STOP_S = 15
FIRST_S, BETWEEN_S = 20.0, (90.0, 180.0)
LASTS_S = 240.0  # the demo itself restarts then what nobody has restarted
READY = "Serving at "  # what the server prints; another one at this address does not print it into our log
OWN_SETTINGS = "OPSAPP_"  # variables of an installation: its master key, its agent's key


class SmallService:
    """One small service: its process, and the port that it keeps over restarts."""

    def __init__(self, name: str):
        self.name, self.port = name, 0
        self.child: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self.end()
        self.child = subprocess.Popen(
            [sys.executable, "-I", "-S", smallservice.__file__, self.name, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the demo, which ends them in order
        )
        assert self.child.stdout is not None
        self.port = int(self.child.stdout.readline())

    @property
    def runs(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def slow_down(self) -> None:
        with urllib.request.urlopen(urllib.request.Request(self.url, method="POST"), timeout=5):
            pass

    def end(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.communicate()


class DemoProcesses:
    """Everything that the demo has started; ended by leaving the `with`."""

    def __init__(self, place: Path):
        self.place = place
        self.sites: dict[str, SmallService] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._turn = threading.Lock()
        self._control = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._control.serve_forever, daemon=True).start()

    def __enter__(self) -> DemoProcesses:
        return self

    def __exit__(self, *_error: object) -> None:
        self._control.shutdown()
        self._control.server_close()
        for child in self._children.values():
            child.terminate()
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(STOP_S)
            child.kill()
            child.wait()
        for site in self.sites.values():
            site.end()

    @property
    def control_url(self) -> str:
        return f"http://127.0.0.1:{self._control.server_address[1]}"

    def start_sites(self, names: Sequence[str]) -> dict[str, SmallService]:
        for name in names:
            self.sites[name] = SmallService(name)
            self.sites[name].start()
        return self.sites

    def restart(self, name: str) -> bool:
        with self._turn:
            if name in self.sites:
                self.sites[name].start()
        return name in self.sites

    @contextlib.contextmanager
    def alone_with(self, name: str) -> Iterator[SmallService]:
        """The service, which nobody restarts meanwhile."""
        with self._turn:
            yield self.sites[name]

    def start_server(self, ini: Path, password: str) -> None:
        self._start("server", ["-m", "opsapp.cli", "serve", str(ini)], {"OPSAPP_ADMIN_PASSWORD": password})

    def start_agent(self, url: str, agent_id: str, key: str, program: bytes) -> None:
        home = self.place / "agent"
        home.mkdir()
        (home / "opsapp-agent.pyz").write_bytes(program)
        (home / "key").write_text(key + "\n")  # umask 077
        (home / "agent.json").write_text(json.dumps({"allow_plain_http": True}))  # the server is on this machine
        named = {"server": url, "id": agent_id, "key-file": home / "key", "state": home / "state"}
        named["config"] = home / "agent.json"
        words = [str(word) for name, value in named.items() for word in (f"--{name}", value)]
        self._start("agent", ["-I", "-S", str(home / "opsapp-agent.pyz"), *words], {})

    def _start(self, name: str, words: list[str], environment: dict[str, str]) -> None:
        with (self.place / f"{name}.log").open("ab") as log:
            self._children[name] = subprocess.Popen(
                [sys.executable, launcher.__file__, str(os.getpid()), sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.place,
                env={**_others(os.environ), **environment},
                start_new_session=True,
            )

    def check(self) -> None:
        for name, child in self._children.items():
            if child.poll() is not None:
                last_lines = (self.place / f"{name}.log").read_text(errors="replace").strip().splitlines()[-3:]
                raise Mistaken(f"the demo's {name} has ended: " + " | ".join(last_lines))

    def serves(self) -> bool:
        self.check()
        return READY in (self.place / "server.log").read_text(errors="replace")


def _others(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(OWN_SETTINGS)}


def _handler(processes: DemoProcesses) -> type[BaseHTTPRequestHandler]:
    class RestartHandler(BaseHTTPRequestHandler):
        """POST /restart/NAME, as a service manager's order."""

        def do_POST(self) -> None:
            _, verb, name = [*self.path.split("/"), "", ""][:3]
            known = verb == "restart" and processes.restart(name)
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_values: object) -> None:
            """The demo's terminal tells what happens."""

    return RestartHandler


class DemoTrouble:
    """The shop stops, or becomes slow, in turns. The next turn begins when the shop is well again: somebody restarted
    it, or the demo does it at last."""

    def __init__(self, processes: DemoProcesses, monotonic: Callable[[], float] = time.monotonic):
        self.processes, self.monotonic = processes, monotonic
        self._due = monotonic() + FIRST_S
        self._failing: subprocess.Popen[str] | None = None
        self._kinds = itertools.cycle((_stop, _slow_down))

    def step(self) -> Iterator[str]:
        now = self.monotonic()
        with self.processes.alone_with("shop") as shop:
            restarted = self._failing is not None and shop.child is not self._failing
            if restarted:
                self._failing, self._due = None, now + random.uniform(*BETWEEN_S)
            elif self._failing is not None and now >= self._due:
                shop.start()
                yield "Nobody has restarted the shop: the demo has done it."
            elif self._failing is None and not shop.runs:
                self._failing, self._due = shop.child, now + LASTS_S
                yield "The shop has stopped, and the demo did not do it. Its monitor will notice."
            elif self._failing is None and now >= self._due:
                self._failing, self._due = shop.child, now + LASTS_S
                yield next(self._kinds)(shop)


def _stop(shop: SmallService) -> str:
    shop.end()
    return "The shop has stopped. Its monitor will notice; the rule demo-shop-stopped restarts it."


def _slow_down(shop: SmallService) -> str:
    shop.slow_down()
    return "The shop has become slow. The rule demo-shop-slow asks you first: see Approvals."
