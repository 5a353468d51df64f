"""The `when` of a handler: whether it fits this host and these parameters. Must not: change anything."""

from __future__ import annotations

import os
import re
from typing import Callable, Dict

from opsapp.wire.actionparams import HealParams

from . import mounts, vpn
from .proc import name_of
from .resolver import RESOLV_CONF
from .services import ask
from .snapshots import LocalHost

Fits = Callable[[HealParams, LocalHost], bool]


def _says(*argv: str) -> bool:
    return ask(list(argv))[0] == 0


def _of_networkd(link: str) -> bool:
    code, output = ask(["networkctl", "status", "--no-pager", "--lines=0", link])
    return code == 0 and bool(re.search(r"State: \S+ \((?!unmanaged)", output))


def _of_network_manager(link: str) -> bool:
    code, output = ask(["nmcli", "--get-values", "GENERAL.STATE", "device", "show", link])
    return code == 0 and not output.strip().startswith("10")


def _link_exists(link: str) -> bool:
    return link != "lo" and link in vpn.names()


def _runs_dnsmasq(unit: str) -> bool:
    code, output = ask(["systemctl", "show", "--no-pager", "--property=MainPID", "--value", "--", unit])
    pid = output.strip()
    return code == 0 and pid.isdigit() and pid != "0" and name_of(pid) == "dnsmasq"


def _is_timer(task: str) -> bool:
    code, output = ask(["systemctl", "show", "--no-pager", "--property=LoadState", "--value", "--", f"{task}.timer"])
    return code == 0 and output.strip() == "loaded"


FITS: Dict[str, Fits] = {
    "wg_quick": lambda params, host: os.path.isfile(f"/etc/wireguard/{params.interface}.conf"),
    "openvpn": lambda params, host: bool(vpn.openvpn_units(params.interface)),
    "tailscale": lambda params, host: params.interface.startswith("tailscale"),
    "nm_connection": lambda params, host: _says(
        "nmcli", "--get-values", "connection.id", "connection", "show", "id", params.interface
    ),
    "nm_device": lambda params, host: _of_network_manager(params.nic),
    "networkd_link": lambda params, host: _of_networkd(params.interface),
    "networkd_nic": lambda params, host: _of_networkd(params.nic),
    "link_exists": lambda params, host: _link_exists(params.interface),
    "nic_exists": lambda params, host: _link_exists(params.nic),
    "zfs_snapshot": lambda params, host: _says(
        "zfs", "list", "-H", "-t", "snapshot", f"{params.target}@{params.snapshot}"
    ),
    "btrfs_snapshot": lambda params, host: (
        params.target.startswith("/") and _says("btrfs", "subvolume", "show", params.target)
    ),
    "virsh_domain": lambda params, host: _says("virsh", "domstate", params.target),
    "vm_number": lambda params, host: params.target.isdigit(),
    "libvirt": lambda params, host: params.platform in (None, "libvirt"),
    "proxmox": lambda params, host: params.platform in (None, "proxmox"),
    "dnsmasq_unit": lambda params, host: _runs_dnsmasq(params.instance_id),
    "timer": lambda params, host: _is_timer(params.task),
    "journal_elsewhere": lambda params, host: not mounts.has_journal(params.mount),
    "logs_elsewhere": lambda params, host: not mounts.has_rotated_logs(params.mount),
    "renew_hook": lambda params, host: params.domain in host.config.certificates,
    "resolved_owns_names": lambda params, host: os.path.realpath(RESOLV_CONF).startswith("/run/systemd/resolve/"),
    "resolv_conf_is_a_file": lambda params, host: (
        os.path.isfile(RESOLV_CONF) and not os.path.realpath(RESOLV_CONF).startswith("/run/systemd/resolve/")
    ),
}
