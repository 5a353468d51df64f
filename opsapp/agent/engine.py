"""Docker's engine, asked by its socket for what its program cannot do: a container made again as it was.

podman keeps the command that made a container; docker keeps what came of it, which its engine takes back.
Must not: stop, remove or start anything.
"""

from __future__ import annotations

import importlib
import json
import socket
import urllib.parse
from typing import Dict, List, Optional, Tuple

from opsapp.wire.fields import JsonObject

from .services import ask

PATIENCE_S = 60.0
SHORT = 12  # an id's first characters: what docker names things by itself
OWN = ("default", "bridge", "host", "none", "")  # networks in which a container has no names or addresses to keep
KEPT = ("IPAMConfig", "Links", "DriverOpts")


def described(inspected: JsonObject) -> JsonObject:
    """What the engine wants to hear for a container like the inspected one."""
    config, host = dict(inspected.get("Config") or {}), dict(inspected.get("HostConfig") or {})
    if inspected["Id"].startswith(config.get("Hostname") or "-") or str(host.get("NetworkMode")).startswith(
        "container:"
    ):
        config.pop("Hostname", None)  # nobody chose it
    config.pop("MacAddress", None)
    held = {mount.split(":")[1] for mount in host.get("Binds") or [] if ":" in mount}
    held |= {mount.get("Target") for mount in host.get("Mounts") or []}
    volumes = [
        f"{mount['Name']}:{mount['Destination']}"
        for mount in inspected.get("Mounts") or []
        if mount.get("Type") == "volume" and mount["Destination"] not in held
    ]
    host["Binds"] = [*(host.get("Binds") or []), *volumes]  # volumes without a name hold data too
    body = {**config, "HostConfig": host}
    mode = str(host.get("NetworkMode") or "")
    networks = networks_of(inspected)
    if mode in networks:
        body["NetworkingConfig"] = {"EndpointsConfig": {mode: networks[mode]}}
    return body


def networks_of(inspected: JsonObject) -> Dict[str, JsonObject]:
    """The networks that somebody made, with what the container is called in them."""
    kept = {}
    for name, about in ((inspected.get("NetworkSettings") or {}).get("Networks") or {}).items():
        if name not in OWN:
            aliases = [alias for alias in about.get("Aliases") or [] if alias != inspected["Id"][:SHORT]]
            kept[name] = {"Aliases": aliases, **{key: about[key] for key in KEPT if about.get(key)}}
    return kept


def connecting(inspected: JsonObject, name: str) -> List[List[str]]:
    """The commands that connect the container to the networks beyond its first one."""
    commands = []
    for network, about in networks_of(inspected).items():
        if network != (inspected.get("HostConfig") or {}).get("NetworkMode"):
            flags = [word for alias in about["Aliases"] for word in ("--alias", alias)]
            address = (about.get("IPAMConfig") or {}).get("IPv4Address")
            commands.append(
                ["docker", "network", "connect", *flags, *(["--ip", address] if address else []), network, name]
            )
    return commands


def lacking() -> Optional[str]:
    """What keeps us from asking. Load what `create` needs while the old container still runs: the Python of the host
    may have been replaced since the agent started."""
    try:
        importlib.import_module("http.client")
    except ImportError as error:
        return str(error)
    return None


def create(name: str, inspected: JsonObject) -> Tuple[bool, str]:
    """Create the container without starting it. (whether it is there, what the engine said)"""
    code, output = ask(["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])
    scheme, _, path = output.strip().partition("://")
    if code != 0 or scheme != "unix":
        return False, f"the engine is at no socket of this host: {output.strip()[:200]}"
    import http.client  # with TLS and e-mail, 3 MB that an agent at rest does not need

    link = http.client.HTTPConnection("docker")
    link.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.sock.settimeout(PATIENCE_S)
        link.sock.connect(path)
        link.request(
            "POST",
            "/containers/create?" + urllib.parse.urlencode({"name": name}),
            json.dumps(described(inspected)),
            {"Content-Type": "application/json"},
        )
        answer = link.getresponse()
        return answer.status == 201, answer.read().decode("utf-8", "replace")[:2000]
    except (OSError, http.client.HTTPException) as error:
        return False, f"{type(error).__name__}: {error}"
    finally:
        link.close()
