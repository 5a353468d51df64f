"""One port, greenlets for sockets, native threads for the application.

The hub reads a request whole (up to its cap), a thread runs the WSGI application, the hub writes what comes back or
drives what the view left behind. `head` and `body` read, `exchange` writes, `connection` holds one connection's life,
`delivery` carries out the kinds of answer.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import gevent
from gevent.event import Event

from opsapp.lib.problems import Unavailable
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.runtime.threads.hub import Hub, Lane, LeadLane
from opsapp.web import redact, requestcounts
from opsapp.web.address import netloc, reachable
from opsapp.web.config import LimitSettings, WebSettings
from opsapp.web.paths import REGISTRY_KEY

from .connection import plain_address
from .limits import Limits
from .listener import CannotListen, Server, listen, require_free

log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.001
SHARED_THREADS = 8  # on a shared store some may wait in a commit for another node, and others read meanwhile
SPARE_FILES = 256
LEAVE_WITHIN_S = 9.0
TELL_S = 0.5
RELOAD_AGAIN_S = 2.0
DEFAULT_PORT = 6543


def serve(
    app: Callable[..., Any],
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    *,
    node: Node | None = None,
    limits: Limits | None = None,
    reuse_port: bool = False,
    on_ready: Callable[[Server], None] | None = None,
    on_hangup: Callable[[], bool] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. `on_ready(server)` is called on the hub once connections are
    accepted, `on_hangup()` at SIGHUP in a greenlet."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # threads: how long one may keep the others waiting
    gevent.setswitchinterval(SWITCH_INTERVAL_S)  # greenlets that are ready: how long before sockets are looked at
    redact.install()
    limits = _within_files(limits or Limits())
    listener = listen(host, port, reuse_port=reuse_port)
    engine = node if node is not None else _NoNode()
    _announce(node, listener)
    engine.start_hub()
    lane = engine.lead_lane("views", limits.threads if _is_alone(node) else max(limits.threads, SHARED_THREADS))
    registry = getattr(app, "registry", {})
    server = Server(
        listener,
        app,
        lane,
        limits=limits.with_config(_config(node)[LimitSettings]),
        paths=registry.get(REGISTRY_KEY),
        web=lambda: _config(node)[WebSettings],
        drains=not _is_alone(node),
        own_lane=lambda name: engine.lane(name, 1),
        requests=registry.get(requestcounts.KEY),
    )
    leaving = _Leaving()
    if node is not None:
        node.supervisor.on_give_up = lambda: leaving.now(1)
    signals = [
        gevent.signal_handler(signal.SIGTERM, leaving.now, 0),
        gevent.signal_handler(signal.SIGINT, leaving.now, 0),
        gevent.signal_handler(signal.SIGHUP, _reload, server, limits, node, on_hangup),
    ]
    gc.freeze()  # what was made until now stays: the collector need not walk it while others wait
    gc.enable()
    server.start()
    log.info("serving address=%s port=%d", *plain_address(listener.getsockname()))
    if on_ready is not None:
        on_ready(server)
    code = leaving.wait()
    last_resort = _last_resort(code)
    if node is not None:
        node.begin_stop()
    server.finish()
    engine.stop()
    last_resort.cancel()
    for handler in signals:
        handler.cancel()
    log.info("stopped code=%d", code)
    return code


def _is_alone(node: Node | None) -> bool:
    return node is None or node.exclusive


def _announce(node: Node | None, listener: Any) -> None:
    """Announce the address as configured, else the one that is bound."""
    nodes = getattr(node, "nodes", None)
    if nodes is not None and not nodes.address:
        nodes.address = f"http://{netloc(*reachable(plain_address(listener.getsockname())))}"


class _NoNode:
    """Serves an application without a node: a hub and the one lane."""

    def __init__(self) -> None:
        self._hub = Hub()
        self._lanes: list[Lane] = []

    def start_hub(self) -> None:
        self._hub.enter()

    def lane(self, name: str, size: int) -> Lane:
        self._lanes.append(Lane(self._hub, name, size))
        return self._lanes[-1]

    def lead_lane(self, name: str, size: int) -> Lane:
        self._lanes.append(LeadLane(self._hub, name, size))
        return self._lanes[-1]

    def stop(self) -> None:
        for lane in self._lanes:
            lane.close()
        self._hub.leave()


class _Leaving:
    def __init__(self) -> None:
        self._event = Event()
        self._code = 0

    def now(self, code: int) -> None:
        self._code = max(self._code, code)
        self._event.set()

    def wait(self) -> int:
        self._event.wait()
        return self._code


def _reload(server: Server, limits: Limits, node: Node | None, on_hangup: Callable[[], bool] | None) -> None:
    """The callback reads the file, or says False and why not to the log; new limits count from the next request on."""
    if on_hangup is None:
        return
    try:
        taken = _asked(on_hangup)
    except Exception:
        log.exception("reload failed: everything stays as it was")
        return
    if taken:
        server.limits = limits.with_config(_config(node)[LimitSettings])
        log.info("reloaded")


def _asked(on_hangup: Callable[[], bool]) -> bool:
    """Again while the store is out of reach: nobody would send the signal a second time."""
    while True:
        try:
            return on_hangup()
        except Unavailable as problem:
            log.warning("not reloaded yet, it is tried again: %s", problem)
            gevent.sleep(RELOAD_AGAIN_S)


def _config(node: Node | None) -> Configuration:
    return Configuration() if node is None else node.config


def _last_resort(code: int) -> threading.Timer:
    """A stop that hangs must still end. What was committed is safe; what was not never was."""

    def tell() -> None:
        log.error("the stop took longer than %d s: exiting", LEAVE_WITHIN_S)
        logging.shutdown()

    def leave() -> None:
        telling = threading.Thread(target=tell, daemon=True)  # the log may be what hangs
        telling.start()
        telling.join(TELL_S)
        os._exit(code)

    timer = threading.Timer(LEAVE_WITHIN_S, leave)
    timer.daemon = True
    timer.start()
    return timer


def _within_files(limits: Limits) -> Limits:
    """Accept no more connections than there are files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.max_connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < wanted:
            return limits.with_settings({"max_connections": max(64, soft - SPARE_FILES)})
    return limits


def serve_paste(app: Callable[..., Any], _global_conf: Mapping[str, str], **settings: str) -> None:
    registry = getattr(app, "registry", {})
    try:
        code = serve(
            app,
            settings.get("host", "127.0.0.1"),
            int(settings.get("port", DEFAULT_PORT)),
            node=registry.get("opsapp.node"),
            limits=Limits().with_settings(settings),
            reuse_port=settings.get("reuse_port", "").lower() in {"1", "true", "yes", "on"},
            on_hangup=registry.get("opsapp.reload"),
        )
    except CannotListen as problem:
        sys.exit(f"opsapp: {problem}")
    sys.exit(code)
