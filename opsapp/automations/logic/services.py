"""How a service of this machine is controlled: the argument list for whichever manager there is."""

from __future__ import annotations

SYSTEMD, OPENRC, SYSV = "systemd", "openrc", "sysv"


def argv(manager: str, service: str, action: str) -> list[str]:
    """The program and its arguments; a service's name cannot become an option."""
    if manager == SYSTEMD:
        flags = ["--no-pager"] if action == "status" else []
        return ["systemctl", action, *flags, "--", service]
    if action in ("enable", "disable"):
        if manager == OPENRC:
            return ["rc-update", "add" if action == "enable" else "del", service]
        return ["update-rc.d", service, action]
    if manager == OPENRC:
        return ["rc-service", service, action]
    return ["service", service, action]
