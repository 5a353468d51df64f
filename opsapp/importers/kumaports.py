"""Types of Uptime Kuma that ask a service in its own language. Here only its port is looked at, and the report says so:
nothing of what they ask, and no password, is taken.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from .estate import MonitorEntry, host_and_port
from .foreign import NotImported
from .kumarecords import KumaMonitor

PORT_OF = {  # by type, the usual one
    "mysql": 3306,
    "postgres": 5432,
    "sqlserver": 1433,
    "mongodb": 27017,
    "redis": 6379,
    "mqtt": 1883,
    "kafka-producer": 9092,
    "grpc-keyword": 443,
    "websocket-upgrade": 80,
}
ASKED = {
    "mqtt": "its topic is not read",
    "kafka-producer": "no message is sent",
    "grpc-keyword": "its method is not called",
    "websocket-upgrade": "no WebSocket is opened",
}
_SERVER = re.compile(r"(?:^|;)\s*(?:server|data source)\s*=\s*(?:tcp:)?([^;,\\]+)(?:\\[^;,]*)?(?:,\s*(\d+))?", re.I)
_PORTS = {"wss": 443, "ws": 80, "https": 443, "http": 80, "rediss": 6379, "mqtts": 8883}


def only_port(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    kind = str(monitor.type)
    host, port = _target(kind, monitor)
    if not host:
        raise NotImported("it names no server")
    notes.append(f"only whether its port opens is looked at: {ASKED.get(kind, 'its query is not run')}")
    return MonitorEntry(name=monitor.name, type="tcp", url="tcp://" + host_and_port(host, port))


def _target(kind: str, monitor: KumaMonitor) -> tuple[str, int]:
    if kind == "mqtt":
        return _parts(monitor.hostname or "", monitor.port or PORT_OF[kind])
    if kind == "kafka-producer":
        return _parts(_first(monitor.kafka_producer_brokers), PORT_OF[kind])
    if kind == "grpc-keyword":
        return _parts(monitor.grpc_url, PORT_OF[kind])
    if kind == "websocket-upgrade":
        return _parts(monitor.url, PORT_OF[kind])
    text = monitor.database_connection_string
    server = _SERVER.search(text) if kind == "sqlserver" else None
    return (server[1].strip(), int(server[2] or PORT_OF[kind])) if server else _parts(text, PORT_OF[kind])


def _first(listed: Any) -> str:
    return str(listed[0]) if isinstance(listed, list) and listed else ""


def _parts(address: str, usual: int) -> tuple[str, int]:
    """Host and port of an address with or without a scheme; of several hosts (mongodb://a,b) the first."""
    scheme, there, rest = address.partition("://")
    if "," in (rest if there else address):
        address = re.sub(r",[^/?]*", "", address, count=1)
    parts = urlsplit(address if there else f"//{address}")
    if scheme.endswith("+srv"):
        raise NotImported("its servers are found by a name of the kind SRV")
    return parts.hostname or "", parts.port or _PORTS.get(scheme if there else "", usual)
