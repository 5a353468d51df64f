"""How each heal action is performed: chains of handlers by capability, as argument lists.

A handler is (tools it needs, argument lists, `when` it fits). `{name}` in an argument stands for that parameter and
never leaves its argument. A step "@name" is done by the agent's own code, with the action's parameters. A program whose
name begins with "-" may fail without ending the chain. `when` names a question that the agent answers about this host
and these parameters (opsapp/agent/fits.py): whose interface it is, which platform was asked for.
Must not: run anything; name a shell, but for the actions whose purpose is one.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Tuple

_PLACE = re.compile(r"\{([a-z_]+)\}")


class Handler(NamedTuple):
    """One way to perform an action: every tool must be usable on the host; the steps run in order until one fails."""

    tools: Tuple[str, ...]
    steps: Tuple[Tuple[str, ...], ...]
    when: str = ""

    def argv(self, params: Dict[str, Any]) -> List[List[str]]:
        return [[_fill(part, params) for part in step] for step in self.steps]


def _fill(part: str, params: Dict[str, Any]) -> str:
    return _PLACE.sub(lambda match: str(params[match.group(1)]), part)


def _way(tool: str, *steps: Tuple[str, ...], when: str = "") -> Handler:
    return Handler((tool,), steps, when)


def _own(name: str, *tools: str, when: str = "") -> Handler:
    """A native step: the agent's own code, with the tools that it uses itself."""
    return Handler(tools, ((f"@{name}",),), when)


def _service_ways(verb: str) -> Tuple[Handler, ...]:
    return (
        _way("systemctl", ("systemctl", verb, "--", "{service}")),
        _way("service", ("service", "{service}", verb)),
        _way("rc-service", ("rc-service", "{service}", verb)),
        _way("sv", ("sv", verb, "{service}")),
    )


def _container_ways(*steps: Tuple[str, ...]) -> Tuple[Handler, ...]:
    return tuple(_way(tool, *[(tool, *step) for step in steps]) for tool in ("podman", "docker"))


WAYS: Dict[str, Tuple[Handler, ...]] = {
    # ---- services and processes
    "restart_service": _service_ways("restart"),
    "service_reload": _service_ways("reload"),
    "service_reset_failed": (_way("systemctl", ("systemctl", "reset-failed", "--", "{service}")),),
    "service_dependency_restart": (_own("restart_with_dependencies", "systemctl"),),
    "process_kill": (_own("kill_process"),),
    "nice_adjust": (_own("renice"),),
    "scheduled_task_repair": (
        _way(
            "systemctl",
            ("-systemctl", "reset-failed", "--", "{task}.service", "{task}.timer"),
            ("systemctl", "enable", "--now", "--", "{task}.timer"),
            ("systemctl", "restart", "--", "{task}.timer"),
            when="timer",
        ),
        _way(
            "schtasks.exe",
            ("schtasks.exe", "/Change", "/TN", "{task}", "/ENABLE"),
            ("schtasks.exe", "/Run", "/TN", "{task}"),
        ),
    ),
    # ---- containers
    "restart_container": _container_ways(("restart", "{container}")),
    "container_pause": _container_ways(("pause", "{container}")),
    "container_image_pull": (_own("pull_image", "podman"), _own("pull_image", "docker")),
    "container_recreate": (_own("recreate", "podman"), _own("recreate", "docker")),
    "scale_container": (_own("scale", "podman"), _own("scale", "docker")),
    "compose_restart": (
        _way("docker compose", ("docker", "compose", "--project-name", "{project}", "restart")),
        _way("docker-compose", ("docker-compose", "--project-name", "{project}", "restart")),
        _own("restart_project", "podman"),
    ),
    # ---- disk, memory, logs
    "log_rotate": (
        _own("no_logs_there", "logrotate", when="logs_elsewhere"),
        _way("logrotate", ("logrotate", "--force", "/etc/logrotate.conf")),
    ),
    "temp_cleanup": (_own("clean_temp"),),
    "disk_cleanup": (_own("clean_disk"),),
    "storage_cleanup": (_own("clean_storage"),),
    "clear_cache": (_own("drop_caches"),),
    "memory_pressure_relief": (_own("relieve_memory"),),
    "journal_vacuum": (
        _own("no_journal_there", "journalctl", when="journal_elsewhere"),
        _way("journalctl", ("journalctl", "--rotate"), ("journalctl", "--vacuum-size={max_size}")),
    ),
    "fsck_schedule": (_own("schedule_fsck", "fsck"), _way("chkntfs.exe", ("chkntfs.exe", "/C", "C:"))),
    "chkdsk": (_way("chkdsk.exe", ("chkdsk.exe", "{drive}", "/scan")),),
    "zfs_scrub": (_way("zpool", ("zpool", "scrub", "{pool}")),),
    "btrfs_scrub": (_way("btrfs", ("btrfs", "scrub", "start", "{mount}")),),
    "raid_rebuild": (_way("mdadm", ("mdadm", "--manage", "{array}", "--add", "{disk}")),),
    "snapshot_rollback": (
        _way("zfs", ("zfs", "rollback", "-r", "{target}@{snapshot}"), when="zfs_snapshot"),
        _own("rollback_btrfs", "btrfs", when="btrfs_snapshot"),
        _way("virsh", ("virsh", "snapshot-revert", "{target}", "{snapshot}"), when="virsh_domain"),
        _way("qm", ("qm", "rollback", "{target}", "{snapshot}"), when="vm_number"),
    ),
    # ---- packages and certificates
    "package_cache_clean": (
        _way("apt-get", ("apt-get", "clean")),
        _way("dnf", ("dnf", "clean", "all")),
        _way("yum", ("yum", "clean", "all")),
        _way("zypper", ("zypper", "--non-interactive", "clean", "--all")),
        _way("apk", ("apk", "cache", "clean")),
        _way("pacman", ("pacman", "-Sc", "--noconfirm")),
    ),
    "package_security_patch": (
        _way("unattended-upgrade", ("unattended-upgrade", "-v")),
        _way("dnf", ("dnf", "--assumeyes", "upgrade", "--security")),
        _way("zypper", ("zypper", "--non-interactive", "patch", "--category", "security")),
    ),
    "cert_renew": (
        _own("renew_certificate", when="renew_hook"),
        _way("certbot", ("certbot", "renew", "--non-interactive", "--cert-name", "{domain}")),
        _way("acme.sh", ("acme.sh", "--renew", "--domain", "{domain}")),
        _way("dehydrated", ("dehydrated", "--cron", "--domain", "{domain}")),
    ),
    # ---- names and networks
    "flush_dns": (
        _way("resolvectl", ("resolvectl", "flush-caches")),
        _way("systemd-resolve", ("systemd-resolve", "--flush-caches")),
        _way("nscd", ("nscd", "--invalidate=hosts")),
    ),
    "dns_cache_clear": (
        _way("unbound-control", ("unbound-control", "flush_zone", ".")),
        _way("rndc", ("rndc", "flush")),
        _way("rec_control", ("rec_control", "wipe-cache", ".$")),
        _way("pihole", ("pihole", "restartdns", "reload")),
        _way(
            "systemctl",
            ("systemctl", "kill", "--signal=HUP", "--kill-who=main", "--", "{instance_id}"),
            when="dnsmasq_unit",
        ),
    ),
    "failover_dns": (
        _own("failover_resolved", "resolvectl", when="resolved_owns_names"),
        _own("failover_nameserver", when="resolv_conf_is_a_file"),
    ),
    "vpn_reconnect": (
        _way("wg-quick", ("-wg-quick", "down", "{interface}"), ("wg-quick", "up", "{interface}"), when="wg_quick"),
        _own("restart_openvpn", "systemctl", when="openvpn"),
        _way("tailscale", ("-tailscale", "down"), ("tailscale", "up"), when="tailscale"),
        _way(
            "nmcli",
            ("-nmcli", "connection", "down", "id", "{interface}"),
            ("nmcli", "connection", "up", "id", "{interface}"),
            when="nm_connection",
        ),
        _way("networkctl", ("networkctl", "reconfigure", "{interface}"), when="networkd_link"),
        _way("ip", ("ip", "link", "set", "dev", "{interface}", "up"), when="link_exists"),
    ),
    "network_interface_restart": (
        _way("nmcli", ("nmcli", "device", "reapply", "{nic}"), when="nm_device"),
        _way("networkctl", ("networkctl", "reconfigure", "{nic}"), when="networkd_nic"),
        _own("bounce_link", "ip", when="nic_exists"),
    ),
    "firewall_rule_add": (
        _own("add_ufw_rule", "ufw"),
        _own("add_firewalld_rule", "firewall-cmd"),
        _own("add_nft_rule", "nft"),
        _own("add_iptables_rule", "iptables"),
    ),
    # ---- backups, media servers, virtual machines
    "trigger_backup": (_own("trigger_backup"),),
    "backup_verify": (_own("verify_backup"),),
    "media_queue_cleanup": (_own("clean_media_queue"),),
    "media_library_scan": (_own("scan_media_library"),),
    "vm_restart": (
        _way("virsh", ("virsh", "reboot", "{vm_id}"), when="libvirt"),
        _way("qm", ("qm", "reboot", "{vm_id}"), when="proxmox"),
    ),
    "vm_migrate": (
        _way("virsh", ("virsh", "migrate", "--live", "--persistent", "{vm_id}", "qemu+ssh://{target_node}/system")),
        _way("qm", ("qm", "migrate", "{vm_id}", "{target_node}", "--online")),
    ),
    # ---- the host itself, and shells
    # In a minute, not now: the result must be on its way first.
    "host_reboot": (_way("shutdown", ("shutdown", "-r", "+1")),),
    "run": (_way("sh", ("sh", "-c", "{command}")),),
    "agent_command": (_way("sh", ("sh", "-c", "{command}")),),
    # ---- Windows, reached from its Linux subsystem
    "event_log_clear": (_way("wevtutil.exe", ("wevtutil.exe", "clear-log", "{log}")),),
    "sfc_scan": (_way("sfc.exe", ("sfc.exe", "/scannow")),),
    "windows_update_check": (_way("usoclient.exe", ("usoclient.exe", "StartScan")),),
    "iis_app_pool_recycle": (_way("appcmd.exe", ("appcmd.exe", "recycle", "apppool", "/apppool.name:{pool}")),),
    "wsl_restart": (_way("wsl.exe", ("wsl.exe", "--shutdown")),),
    "driver_rollback": (
        _way(
            "pnputil.exe", ("pnputil.exe", "/delete-driver", "{device}", "/uninstall"), ("pnputil.exe", "/scan-devices")
        ),
    ),
    "group_policy_refresh": (
        _way("gpupdate.exe", ("gpupdate.exe", "/force")),
        _way("samba-gpupdate", ("samba-gpupdate", "--force")),
    ),
    "ad_replication_force": (_way("repadmin.exe", ("repadmin.exe", "/syncall", "/AdeP")),),
}
