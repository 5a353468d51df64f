"""`opsapp demo`: a small estate on this machine that fails now and then and is healed, until Ctrl-C.

What it starts and where it keeps its data: here. Its processes: `processes`; what it makes in the service, through the
API: `estate`; the small web services: `smallservice`. Must not: touch another store, or anything outside its directory.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import secrets
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import IO, Any

import yaml

from opsapp.agents import zipapp
from opsapp.cli.places import Mistaken
from opsapp.cli.remote import ask

from . import estate
from .processes import DemoProcesses, DemoTrouble

MARK = "this-is-an-opsapp-demo"  # nothing is deleted that has no such file
LOCK = "demo.lock"
PATIENCE_S = 60.0
USER = "admin"


def add_commands(commands: Any) -> None:
    command = commands.add_parser(
        "demo", help="a few services on this machine that fail and are healed, until Ctrl-C; then they are deleted"
    )
    command.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    command.add_argument("--port", type=int, default=6080, help="the port to listen at")
    command.add_argument("--dir", metavar="DIR", help=f"where its data is while it runs (default: {_usual()})")
    command.add_argument("--remove", action="store_true", help="end a running demo, and delete what a killed one left")
    command.set_defaults(run=demo)


def _usual() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "opsapp-demo"


def demo(asked: argparse.Namespace) -> int:
    place = Path(asked.dir).absolute() if asked.dir else _usual()
    return remove(place) if asked.remove else demonstrate(place, asked.host, asked.port)


def demonstrate(place: Path, host: str, port: int) -> int:
    """Runs until SIGINT or SIGTERM. Then nothing of the demo is left."""
    from opsapp.web.server import require_free

    stopped = _stop_signals()
    lock = _held(place)
    try:
        require_free(host, port)
        with DemoProcesses(place) as processes:
            _run(processes, place, (host, port), stopped)
    finally:
        shutil.rmtree(place)
        lock.close()
    print("\nThe demo has ended; its data is deleted.", flush=True)
    return 0


def remove(place: Path) -> int:
    if not (place / MARK).exists():
        raise Mistaken(f"there is no demo in {place}")
    with (place / LOCK).open("r+") as lock:
        if not _lock(lock):
            pid = int(lock.read())
            os.kill(pid, signal.SIGTERM)
            _until(lambda: not place.exists() or _lock(lock), f"the demo (process {pid}) has not ended")
    if place.exists():
        shutil.rmtree(place)
    print(f"The demo is gone, and so is {place}.")
    return 0


def _run(processes: DemoProcesses, place: Path, address: tuple[str, int], stopped: list[int]) -> None:
    url = _url(*address)
    password = secrets.token_urlsafe(12)
    sites = processes.start_sites(estate.SITES)
    processes.start_server(_configured(place, *address), password)
    _until(processes.serves, "the service does not answer", stopped)
    token = ask(url, None, "POST", "/api/login", {"username": USER, "password": password})["token"]
    estate.make(url, token, sites, processes.control_url)
    agent = ask(url, token, "POST", "/api/agents", {"label": "this machine", "tags": ["demo"]})
    processes.start_agent(url, agent["agent_id"], agent["key"], zipapp.agent_file().data)
    print(estate.introduction(url, USER, _password_as_told(place, password)), flush=True)
    _go_on(processes, DemoTrouble(processes), estate.DemoStory(url, token), stopped)


def _go_on(processes: DemoProcesses, trouble: DemoTrouble, story: estate.DemoStory, stopped: list[int]) -> None:
    while not stopped:
        processes.check()
        for line in [*trouble.step(), *story.step()]:
            print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)
        time.sleep(0.5)


def _configured(place: Path, host: str, port: int) -> Path:
    """The demo's configuration, without the rules that act on the machine itself."""
    settings = {"healing": {"default_rules": False}, "monitoring": {"retry_spacing_s": 1}}
    (place / "opsapp.yaml").write_text(yaml.safe_dump(settings))
    ini = place / "opsapp.ini"
    ini.write_text(
        "[app:main]\nuse = egg:opsapp#main\nopsapp.logs = true\n"
        "opsapp.data = %(here)s/data\nopsapp.config = %(here)s/opsapp.yaml\n"
        f"[server:main]\nuse = egg:opsapp#gevent\nhost = {host}\nport = {port}\n"
    )
    return ini


def _url(host: str, port: int) -> str:
    """Where this machine reaches what listens there."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _password_as_told(place: Path, password: str) -> str:
    """What is not a terminal is a log, which others read and which is kept: it gets the name of the file only."""
    if sys.stdout.isatty():
        return password
    file = place / "admin-password"
    file.write_text(password + "\n")  # umask 077
    return f"in {file}"


def _held(place: Path) -> IO[str]:
    """The directory, empty and ours alone, while the answer is open."""
    if place.exists() and any(place.iterdir()) and not (place / MARK).exists():
        raise Mistaken(f"{place} has something in it that is no demo: say --dir DIR")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (place / MARK).touch()
    lock = (place / LOCK).open("a+")
    if not _lock(lock):
        raise Mistaken(f"a demo runs in {place} already: `opsapp demo --remove` ends it")
    for left in place.iterdir():  # of one that was killed
        if left.name not in (MARK, LOCK):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stop_signals() -> list[int]:
    """Fills when the demo should end."""
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: stopped.append(number))
    return stopped


def _until(true: Any, otherwise: str, stopped: list[int] | None = None) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        if stopped:
            raise KeyboardInterrupt
        if time.monotonic() > end:
            raise Mistaken(otherwise)
        time.sleep(0.1)
