"""Native steps on file systems, certificates and compose projects, and snapshots of what only has to be told.

Must not: remove what it replaces; a subvolume that is rolled back stays beside the new one.
"""

from __future__ import annotations

import os
import time
from typing import Any, Iterator, List, Tuple

from opsapp.wire.actionparams import HealParams

from .backups import age_hours
from .containers import parse
from .disk import sync_directory
from .disks import rows_of
from .native import Context, Ran, done, failed, step
from .proc import boot_id, maybe
from .services import ask

FORCE_FSCK = "/forcefsck"
DEHYDRATED = ("/var/lib/dehydrated/certs", "/etc/dehydrated/certs")  # of Debian, and its own


# ---- btrfs
@step
def rollback_btrfs(context: Context) -> Ran:
    """Put a writable copy of the snapshot in its place; what was there is set aside beside it."""
    target, named = context.params.target.rstrip("/"), context.params.snapshot
    snapshot = named if named.startswith("/") else os.path.join(os.path.dirname(target), named)
    if _is_mounted(target):
        return failed(f"{target} is mounted: a subvolume in use cannot be replaced")
    if ask(["btrfs", "subvolume", "show", snapshot])[0] != 0:
        return failed(f"{snapshot} is no btrfs snapshot")
    aside = f"{target}.before-{int(time.time())}"
    os.rename(target, aside)
    ran = context.run(["btrfs", "subvolume", "snapshot", snapshot, target])
    if ran.status != "done":
        os.rename(aside, target)
        return ran._replace(reason=f"{ran.reason}; what was there is back")
    return done(f"what was there is now {aside}", ran.output)


def _is_mounted(path: str) -> bool:
    """The table of mounts decides, because a subvolume looks like a mount point to everything else."""
    return os.path.realpath(path) in {row[1] for row in rows_of("/proc/self/mounts")}


# ---- file system checks
def take_fsck(_params: HealParams, _host: Any) -> dict:
    return {"forced": os.path.exists(FORCE_FSCK)}


@step
def schedule_fsck(_context: Context) -> Ran:
    os.close(os.open(FORCE_FSCK, os.O_WRONLY | os.O_CREAT, 0o644))
    sync_directory("/")
    return done("every file system is checked at the next boot")


@step
def restore_fsck(context: Context) -> Ran:
    if not context.state["forced"] and os.path.exists(FORCE_FSCK):
        os.unlink(FORCE_FSCK)
        sync_directory("/")
    return done("no check is forced that was not forced before")


# ---- certificates
def take_certificate(params: HealParams, host: Any) -> dict:
    """The certificate's state, where a file of it is known."""
    domain = params.domain
    path = certificate_file(domain, host)
    code, output = ask(["openssl", "x509", "-noout", "-enddate", "-serial", "-in", path])
    if code != 0:
        raise OSError(f"the certificate {path} cannot be read: {output.strip()[:200]}")
    return {"domain": domain, "file": path, "says": output.strip()[:500]}


def certificate_file(domain: str, host: Any) -> str:
    """The operator's setting wins; else the newest file that a known client keeps, since one client may have taken over
    from another."""
    hook = host.config.certificates.get(domain)
    if hook:
        return str(hook.file)
    acme = os.path.expanduser("~/.acme.sh")
    certbot = f"/etc/letsencrypt/live/{domain}/fullchain.pem"
    places = [certbot, f"{acme}/{domain}/fullchain.cer", f"{acme}/{domain}_ecc/fullchain.cer"]
    places += [f"{directory}/{domain}/fullchain.pem" for directory in DEHYDRATED]
    return max(filter(os.path.isfile, places), key=os.path.getmtime, default=certbot)


@step
def renew_certificate(context: Context) -> Ran:
    """Renew the certificate; only a file that has changed is a renewal."""
    hook = context.config.certificates[context.params.domain]
    before = maybe(hook.file)
    ran = context.run(list(hook.run))
    if ran.status == "done" and maybe(hook.file) == before:
        return ran._replace(status="failed", exit_code=None, reason=f"{hook.file} is the same as before")
    return ran


# ---- compose projects
_LABELS = ("com.docker.compose.project", "io.podman.compose.project")


def containers_of(project: str) -> List[str]:
    """The containers of a project, whichever compose made them."""
    outputs = _listed("podman", project, "{{.Names}}")
    return list(dict.fromkeys(name for output in outputs for name in output.split()))


def _listed(tool: str, project: str, form: str) -> Iterator[str]:
    for label in _LABELS:
        code, output = ask([tool, "ps", "--all", "--filter", f"label={label}={project}", "--format", form])
        if code == 0:
            yield output


@step
def restart_project(context: Context) -> Ran:
    names = containers_of(context.params.project)
    if not names:
        return failed(f"podman has no containers of a project {context.params.project}")
    return context.run(["podman", "restart", "--", *names])


def take_project(params: HealParams, host: Any) -> dict:
    for tool in ("podman", "docker"):
        if host.capabilities.usable(tool):
            outputs = _listed(tool, params.project, "{{json .}}" if tool == "docker" else "json")
            states = {container.name: container.state for output in outputs for container in parse(output)}
            return {"project": params.project, "containers": states}
    raise OSError("no container runtime works here")


# ---- what only has to be told
def take_host(_params: HealParams, _host: Any) -> dict:
    """The state for actions that change nothing that could be named."""
    return {
        "boot_id": boot_id(),
        "load": os.getloadavg()[0],
        "uptime_s": float((maybe("/proc/uptime") or "0").split()[0]),
        "mdstat": (maybe("/proc/mdstat") or "")[:2000],
    }


def take_packages(_params: HealParams, host: Any) -> dict:
    """The packages' state, enough to go back by hand."""
    asked = (("apt-get", ["dpkg-query", "--show"]), ("dnf", ["rpm", "-qa"]), ("zypper", ["rpm", "-qa"]))
    for _, output in _answers(host, *asked):
        return {"packages": output.splitlines()[:10000]}
    raise OSError("no package manager works here")


def _answers(host: Any, *asked: Tuple[str, List[str]]) -> Iterator[Tuple[str, str]]:
    """What the tools say that are usable here."""
    for tool, argv in asked:
        if host.capabilities.usable(tool):
            code, output = ask(argv, 60)
            if code == 0:
                yield tool, output


def take_timer(params: HealParams, host: Any) -> dict:
    names = [f"{params.task}.timer", f"{params.task}.service"]
    if not host.capabilities.usable("systemctl"):
        raise OSError("no service manager works here")
    _, output = ask(["systemctl", "show", "--no-pager", "--property=Id,ActiveState,UnitFileState,Result", "--", *names])
    return {"task": params.task, "units": output.strip()[:1000]}


def take_vm(params: HealParams, host: Any) -> dict:
    asked = (("virsh", ["virsh", "dominfo", params.vm_id]), ("qm", ["qm", "status", params.vm_id]))
    for tool, output in _answers(host, *asked):
        return {"vm_id": params.vm_id, "by": tool, "says": output.strip()[:1000]}
    raise OSError(f"nobody here knows a virtual machine {params.vm_id}")


def take_backup(params: HealParams, host: Any) -> dict:
    name = params.source or params.backup_set
    backup = host.config.backups.get(name)
    if backup is None:
        raise OSError(f"this agent's configuration has no backup {name!r}")
    return {"backup": name, "age_hours": age_hours(backup)}
