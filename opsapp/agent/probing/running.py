"""Probes on their way: a thread looks, another one answers in time whether it has come back or not."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Dict, List

from . import dns, plain, web
from .gate import Failed, Gate, Unavailable, outcome

log = logging.getLogger("probing")
MOST = 64  # under way at once, those included that have been answered for and still hang on a name
SLACK_S = 0.25  # for a probe that notices by itself that its time is up

PROBES: Dict[str, Callable[[Dict[str, Any], Gate], Dict[str, Any]]] = {
    "http": web.probe,
    "keyword": web.probe,
    "json": web.probe,
    "tcp": plain.tcp,
    "ping": plain.ping,
    "tls": plain.tls,
    "dns": dns.probe,
}


class Probing:
    """`answer("probed", id=…, outcome=…)` may be called from any thread."""

    def __init__(self, answer: Callable[..., None]):
        self._answer = answer
        self._places = threading.BoundedSemaphore(MOST)

    def take(self, name: str, target: Dict[str, Any]) -> None:
        """From the session's thread."""
        if self._places.acquire(blocking=False):
            threading.Thread(target=self._wait_for, args=(name, target), daemon=True, name="probe").start()
        else:
            self._answer("probed", id=name, outcome=outcome(None, None, "too many probes are under way"))

    def _wait_for(self, name: str, target: Dict[str, Any]) -> None:
        gate, found = Gate(target), []  # type: ignore[var-annotated]
        looking = threading.Thread(target=self._look, args=(target, gate, found), daemon=True, name="looking")
        looking.start()
        looking.join(target["timeout"] + SLACK_S)
        gate.end()
        late = outcome(False, None, f"no answer within {target['timeout']:g} s")
        self._answer("probed", id=name, outcome=found[0] if found else late)

    def _look(self, target: Dict[str, Any], gate: Gate, found: List[Dict[str, Any]]) -> None:
        try:
            found.append(look(target, gate))
        finally:
            self._places.release()


def look(target: Dict[str, Any], gate: Gate) -> Dict[str, Any]:
    """One probe to its end; what went wrong is its outcome."""
    try:
        return PROBES[target["type"]](target, gate)
    except Unavailable as unavailable:
        return outcome(None, None, str(unavailable))
    except Failed as failed:
        return outcome(False, None, str(failed))
    except TimeoutError:
        return outcome(False, None, f"no answer within {target['timeout']:g} s")
    except OSError as error:
        return outcome(False, gate.elapsed(), error.strerror or str(error) or type(error).__name__)
    except ValueError as error:
        return outcome(False, None, f"unreadable: {error}")
    except Exception:
        log.exception("a probe failed: %s", target["type"])
        return outcome(None, None, "the probe itself failed; the agent's log says how")
    finally:
        gate.clear()
