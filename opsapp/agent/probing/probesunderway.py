"""One thread looks, another one answers in time whether the first has come back or not."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Callable, List

from opsapp.wire.addresses import AddressPolicy
from opsapp.wire.messages import Probed
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probemessages import ProbeAsked, ProbeNetworks
from opsapp.wire.probes import GENERAL, Outcome, Probe, ProbeTarget, guarded
from opsapp.wire.records import made
from opsapp.wire.reports import Passed

from . import web
from .gate import SocketGate
from .plugins import PluginRunner

log = logging.getLogger("probing")
MOST = 64  # under way at once, those included that have been answered for and still hang on a name
SLACK_S = 0.25  # for a probe that notices by itself that its time is up


class Probing:
    """`answer` may be called from any thread."""

    def __init__(self, answer: Callable[[Probed], None], plugins: PluginRunner):
        self._answer = answer
        self._plugins = plugins
        self._running = threading.BoundedSemaphore(MOST)

    def take(self, name: str, asked: Passed) -> None:
        """Called from the session's thread. `asked` is a `messages.PROBE_TARGET`."""
        if self._running.acquire(blocking=False):
            threading.Thread(target=self._wait_for, args=(name, asked), daemon=True, name="probe").start()
        else:
            self._answer(Probed(name, message_of(Outcome(None, None, "too many probes are under way"))))

    def _wait_for(self, name: str, asked: Passed) -> None:
        target, gate = target_of(asked), gate_of(asked)
        outcomes: List[Outcome] = []
        prober = threading.Thread(target=self._look, args=(target, gate, outcomes), daemon=True, name="looking")
        prober.start()
        prober.join(target.timeout + SLACK_S)
        gate.end()
        late = Outcome(False, None, f"no answer within {target.timeout:g} s")
        self._answer(Probed(name, message_of(outcomes[0] if outcomes else late)))

    def _look(self, target: ProbeTarget, gate: SocketGate, outcomes: List[Outcome]) -> None:
        try:
            outcomes.append(look(target, gate, self._plugins.probe))
        finally:
            self._running.release()


def look(target: ProbeTarget, gate: SocketGate, plugin: Probe) -> Outcome:
    """`plugin` looks at what is on this host."""
    declared = TYPES[target.type]
    probe = declared.probe or (plugin if declared.on_host else web.probe)
    try:
        return guarded(lambda: probe(target, gate), target.timeout, gate.elapsed)
    except Exception:
        log.exception("a probe failed: %s", target.type)
        return Outcome(None, None, "the probe itself failed; the agent's log says how")
    finally:
        gate.clear()


def target_of(asked: Passed) -> ProbeTarget:
    general = made(ProbeAsked, asked)
    own = made(TYPES[general.type].settings, asked)
    told = {name: getattr(general, name) for name in GENERAL}
    return ProbeTarget("", **told, own=own, body=general.body.encode())


def gate_of(asked: Passed) -> SocketGate:
    general, networks = made(ProbeAsked, asked), made(ProbeNetworks, asked)
    return SocketGate(general.timeout, AddressPolicy(networks.allow, networks.deny), general.ip_family)


def message_of(outcome: Outcome) -> Outcome:
    """Targets have a say in the detail: the message would be refused if it held what cannot be printed."""
    plain = "".join(char if char.isprintable() else " " for char in outcome.detail[:500]).strip()
    return replace(outcome, detail=plain)
