"""Deployment over SSH: one host, step by step, in a native thread. Whatever goes wrong is told with its step.

Must not: trust a host key that nobody vouched for, touch the store.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import paramiko
from fabric import Config, Connection
from invoke.exceptions import CommandTimedOut

from opsapp.agents.zipapp import agent_file
from opsapp.lib.problems import Conflict, Problem, UpstreamFailed

from .installscript import script

CONNECT_S = 15
SHORT_S = 30
INSTALL_S = 180
PYTHON = """for each in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    "$each" -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1 && exit 0
done
echo "python3 is missing: Python 3.9 or later is needed" >&2
exit 1"""
SPACE = """for place in /tmp /usr /var /etc; do
    set -- $(df -Pk "$place" | tail -n 1)
    [ -z "$4" ] || [ "$4" -ge 4096 ] && continue
    echo "no space left below $place: $4 KiB are free, 4096 are needed" >&2
    exit 1
done"""
MACHINE = """for each in /etc/machine-id /var/lib/dbus/machine-id /proc/sys/kernel/hostname; do
    said=
    [ ! -r "$each" ] || read -r said < "$each" || true
    echo "$said"
done"""  # with nothing but a shell: a host that lacks more is told so by another step
TOLD = 600  # characters of what a failing step wrote


class Target(NamedTuple):
    host: str
    user: str
    port: int
    key_file: str
    host_key: str | None
    known_hosts: str | None


class Machine(NamedTuple):
    """A machine as its agent describes it; empty when the host does not know."""

    machine_id: str
    hostname: str


def failed(step: str, message: str) -> UpstreamFailed:
    return UpstreamFailed(f"Step {step} failed: {message}", code="deploy_failed", extra={"step": step})


def fingerprint(key: paramiko.PKey) -> str:
    """The fingerprint as `ssh-keygen -l` shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


class NamedKeyPolicy(paramiko.MissingHostKeyPolicy):
    """A host that is not in known_hosts is accepted only when the request names its key."""

    def __init__(self, given: str | None):
        self.given = given
        self.accepted: paramiko.PKey | None = None

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        shown = fingerprint(key)
        if self.given is None:
            message = f"The host's key is not known: {shown}. Send it as host_key if it is the right one."
            raise Conflict(message, code="host_key_unknown", extra={"fingerprint": shown})
        if not names(self.given, key):
            raise Conflict(
                f"The host shows another key: {shown}.", code="host_key_mismatch", extra={"fingerprint": shown}
            )
        self.accepted = key


def names(given: str, key: paramiko.PKey) -> bool:
    """Whether a fingerprint or a public key line names this key."""
    if given.startswith("SHA256:"):
        return given.rstrip("=") == fingerprint(key)
    parts = given.split()
    return key.get_base64() in parts[:3]


class DeployHost:
    def __init__(self, target: Target, connection: Any):
        self.target = target
        self._connection = connection
        self._sudo = ""

    def run(self, step: str, command: str, timeout: int = SHORT_S) -> str:
        """Run a command, and fail with the step unless it ends with 0; at the time-out the far side ends it too."""
        bounded = f"timeout -k 5 {timeout} sh -c {shlex.quote(command)}"
        try:
            result = self._connection.run(
                self._sudo + bounded, hide=True, warn=True, in_stream=False, timeout=timeout + 10
            )
        except CommandTimedOut:
            raise failed(step, f"it took longer than {timeout} s") from None
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise failed(step, f"the connection broke: {problem}") from None
        if result.exited != 0:
            output = (result.stderr.strip() or result.stdout.strip())[-TOLD:]
            raise failed(step, output or f"it ended with {result.exited}")
        return result.stdout

    def become_root(self) -> None:
        if self.run("login", "id -u").strip() != "0":
            self._sudo = "sudo -n "
            self.run("sudo", "true")

    def put(self, step: str, data: bytes, path: str) -> None:
        try:
            self._connection.put(io.BytesIO(data), path)
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise failed(step, f"the host does not store the file: {problem or type(problem).__name__}") from None


@contextlib.contextmanager
def connected(target: Target) -> Iterator[DeployHost]:
    policy = NamedKeyPolicy(target.host_key)
    connection = Connection(
        target.host,
        user=target.user,
        port=target.port,
        config=Config(overrides={"load_ssh_configs": False}, lazy=True),
        connect_timeout=CONNECT_S,
        connect_kwargs={
            "pkey": private_key(target.key_file),
            "allow_agent": False,
            "look_for_keys": False,
            "banner_timeout": CONNECT_S,
            "auth_timeout": CONNECT_S,
        },
    )
    connection.client.set_missing_host_key_policy(policy)
    try:
        if target.known_hosts and Path(target.known_hosts).exists():
            connection.client.load_host_keys(target.known_hosts)
        open_connection(connection, target)
        yield DeployHost(target, connection)
    finally:
        connection.close()
    if policy.accepted is not None and target.known_hosts:
        remember(target, policy.accepted)


def private_key(path: str) -> paramiko.PKey:
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError:
        raise failed("key_file", "there is no such file on the server") from None
    except paramiko.PasswordRequiredException:
        raise failed("key_file", "it needs a passphrase, which nobody can type here") from None
    except OSError as problem:
        raise failed("key_file", f"it cannot be read: {problem.strerror}") from None
    except (ValueError, paramiko.SSHException, paramiko.UnknownKeyType):
        raise failed("key_file", "it holds no private key that can be used") from None


def open_connection(connection: Any, target: Target) -> None:
    try:
        connection.open()
    except Problem:
        raise
    except paramiko.BadHostKeyException as problem:
        shown = fingerprint(problem.key)
        message = f"The host shows another key than the known one: {shown}."
        raise Conflict(message, code="host_key_changed", extra={"fingerprint": shown}) from None
    except paramiko.AuthenticationException:
        raise failed("authenticate", f"the host does not take this key for {target.user}") from None
    except (OSError, EOFError, paramiko.SSHException) as problem:
        reason = "no answer in time" if isinstance(problem, socket.timeout) else _in_words(problem)
        raise failed("connect", reason or type(problem).__name__) from None


def _in_words(problem: Exception) -> str:
    """What the system says, without its number."""
    return getattr(problem, "strerror", None) or str(problem)


def remember(target: Target, key: paramiko.PKey) -> None:
    """The key that somebody vouched for is known from now on."""
    name = target.host if target.port == 22 else f"[{target.host}]:{target.port}"
    path = Path(target.known_hosts or "")
    with path.open("a", encoding="ascii") as file:
        file.write(f"{name} {key.get_name()} {key.get_base64()}\n")


def identify(target: Target) -> Machine:
    """Identify the machine; it blocks, so call it in a lane."""
    with connected(target) as host:
        host.become_root()
        lines = [line.strip() for line in host.run("login", MACHINE).splitlines()]
    ids = [machine_id for machine_id in lines[:2] if machine_id and machine_id != "uninitialized"]
    return Machine(ids[0][:64] if ids else "", lines[2] if len(lines) > 2 else "")


def deploy(
    target: Target, server: str, agent_id: str, key: str, run_as: str, *, allow_plain_http: bool = False
) -> None:
    """Deploy the agent; it blocks, so call it in a lane."""
    with connected(target) as host:
        host.become_root()
        host.run("python", PYTHON)
        host.run("space", SPACE)
        where = host.run("upload", "umask 077; mktemp -d /tmp/opsapp-agent.XXXXXX").strip()
        if not re.fullmatch(r"/tmp/opsapp-agent\.[A-Za-z0-9]+", where):
            raise failed("upload", "the host did not say where its temporary directory is")
        try:
            if target.user != "root":
                host.run("upload", f"chown {shlex.quote(target.user)} {shlex.quote(where)}")
            host.put("upload", agent_file().data, f"{where}/opsapp-agent.pyz")
            host.put("upload", script(server, agent_id, key, run_as).encode(), f"{where}/install.sh")
            option = " --allow-plain-http" if allow_plain_http else ""
            install = f"OPSAPP_AGENT_FILE={where}/opsapp-agent.pyz sh {where}/install.sh{option}"
            host.run("install", install, INSTALL_S)
        finally:
            with contextlib.suppress(Problem):  # the step that failed is what counts
                host.run("clean up", f"rm -rf {shlex.quote(where)}")
