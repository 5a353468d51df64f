"""Native steps on containers: recreate from the command that made it, new limits, a fresh image.

Must not: remove a container before another one runs in its place.
"""

from __future__ import annotations

import os
from typing import Dict, List, Optional

from opsapp.wire.fields import JsonObject

from . import engine
from .containers import inspect
from .native import Context, Ran, done, failed, step
from .proc import cgroup_of, maybe
from .services import ask

_NO_LIMIT = 2**60


def limits(pid: int) -> Dict[str, Optional[float]]:
    """The limits in bytes and cores as the cgroup has them: only there is the truth."""
    limits_known: Dict[str, Optional[float]] = {"memory": None, "cpus": None}
    for line in cgroup_of(pid).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            limits_known["memory"] = limits_known["memory"] or _number(f"/sys/fs/cgroup{path}/memory.max")
            quota = (maybe(f"/sys/fs/cgroup{path}/cpu.max") or "").split()
            if len(quota) == 2 and quota[0].isdigit():
                limits_known["cpus"] = round(int(quota[0]) / int(quota[1]), 3)
        elif "memory" in controllers.split(","):
            limits_known["memory"] = _number(f"/sys/fs/cgroup/memory{path}/memory.limit_in_bytes")
        elif "cpu" in controllers.split(","):
            base = f"/sys/fs/cgroup/{controllers}{path}"
            had, period = _number(f"{base}/cpu.cfs_quota_us"), _number(f"{base}/cpu.cfs_period_us")
            if had and period:
                limits_known["cpus"] = round(had / period, 3)
    return limits_known


def _number(path: str) -> Optional[float]:
    text = (maybe(path) or "").strip()
    return float(text) if text.isdigit() and int(text) < _NO_LIMIT else None


@step
def scale(context: Context) -> Ran:
    """The action table says that at least one of the two limits is given."""
    return _update(context, context.params.mem_limit, context.params.cpu_limit)


@step
def restore_limits(context: Context) -> Ran:
    """Restore the limits; what had none gets one that is none, as a runtime cannot take a limit away."""
    memory, cpus = context.state["limits"]["memory"], context.state["limits"]["cpus"]
    return _update(context, str(int(memory or 4 * _NO_LIMIT)), cpus or os.cpu_count())


def _update(context: Context, memory: Optional[str], cpus: Optional[float]) -> Ran:
    flags = [f"--memory={memory}"] if memory else []
    flags += [f"--cpus={cpus}"] if cpus else []
    if memory:
        flags.append(f"--memory-swap={memory if context.state['runtime'] == 'docker' else '-1'}")
    return context.run([context.state["runtime"], "update", *flags, context.params.container])


@step
def pull_image(context: Context) -> Ran:
    inspected = inspect(context.params.container)
    if inspected is None:
        return failed(f"no container {context.params.container} was found")
    image = str(inspected.get("ImageName") or (inspected.get("Config") or {}).get("Image"))
    return context.run([inspected["runtime"], "pull", "--", image])


@step
def recreate(context: Context) -> Ran:
    """Set the container aside under another name and make it anew; the old one comes back if that fails."""
    name = context.params.container
    inspected = inspect(name)
    if inspected is None:
        return failed(f"no container {name} was found")
    command = (inspected.get("Config") or {}).get("CreateCommand")
    if not command and inspected["runtime"] != "docker":
        return failed(f"{inspected['runtime']} does not tell how {name} was made")
    if (inspected.get("HostConfig") or {}).get("AutoRemove"):
        return failed(f"{name} is gone once it stops: it cannot be set aside")
    lacking = None if command else engine.lacking()
    if lacking:
        return failed(f"the engine cannot be asked: {lacking}")
    runtime, aside = inspected["runtime"], f"{name}-before"
    ran = context.run_all([[runtime, "stop", "-t", "10", "--", name], [runtime, "rename", name, aside]])
    if ran.status != "done":
        _bring_back(runtime, name, None)
        return ran
    output = ran.output
    ran = context.run(_detached(command)) if command else _create(context, name, inspected)
    output += ran.output
    now = inspect(name)
    if ran.status != "done" or now is None or (now.get("State") or {}).get("Status") not in ("running", "exited"):
        output += _bring_back(runtime, name, aside)
        return failed("it could not be made anew; the old one is back", output)
    output += context.run([runtime, "rm", "--force", "--", aside]).output
    return done(f"{name} was made anew", output)


def _create(context: Context, name: str, inspected: JsonObject) -> Ran:
    """The engine makes the container, connects it to its networks, and starts it."""
    made, output = engine.create(name, inspected)
    if not made:
        return failed("the engine did not make it", (output + "\n").encode("utf-8", "replace"))
    return context.run_all([*engine.connecting(inspected, name), ["docker", "start", "--", name]])


def _detached(command: List[str]) -> List[str]:
    """The command run in the background, so that nobody waits for the container."""
    if "run" in command and not {"-d", "--detach", "--detach=true"} & set(command):
        place = command.index("run") + 1
        return [*command[:place], "--detach", *command[place:]]
    return list(command)


def _bring_back(runtime: str, name: str, aside: Optional[str]) -> bytes:
    output = ""
    if aside:
        output += ask([runtime, "rm", "--force", "--", name])[1] + ask([runtime, "rename", aside, name])[1]
    return (output + ask([runtime, "start", "--", name])[1]).encode("utf-8", "replace")
