"""The action table: the 55 heal actions, one row each, for the server's planning and the agent.

Handlers stand in the order of preference; one by `own` is a function of opsapp/agent marked `@step`. A wrong row fails
at import, a missing step at the agent's start. Must not: run anything.
"""

from __future__ import annotations

from typing import Any, Dict, List

from .actionparams import COMMAND, CONTAINER, FIREWALL_RULE, HOST, NAME, NIC, PATH, SERVICE, SIZE, URL
from .actiontypes import HIGH, LOW, MEDIUM, UNIT, UNIT_AND_BELOW, UNITS_OF_TUNNEL, Action, Handler, act, own, table, way
from .fields import WireField, choice, integer, json_object, listing, may, need, number, text

_service = {"service": need(SERVICE)}
_container = {"container": need(CONTAINER)}
_process = {"pid": may(integer(2, 2**31)), "top": may(choice("cpu", "memory"))}
_process_given = ("pid", "top")
_instance = {"instance_id": need(NAME)}
_none: Dict[str, WireField] = {}


def _of_service(name: str, risk: str, *handlers: Handler, **facts: Any) -> Action:
    return act(name, risk, _service, *handlers, target_param="service", snapshot="unit", **facts)


def _of_container(name: str, risk: str, *handlers: Handler, **facts: Any) -> Action:
    return act(name, risk, _container, *handlers, target_param="container", **{"snapshot": "container", **facts})


def _by_service_manager(verb: str) -> List[Handler]:
    orders = (f"systemctl {verb} -- {{service}}", f"service {{service}} {verb}", f"rc-service {{service}} {verb}")
    return [way(order) for order in (*orders, f"sv {verb} {{service}}")]


def _by_engine(order: str) -> List[Handler]:
    return [way(f"{engine} {order}") for engine in ("podman", "docker")]


ACTIONS: Dict[str, Action] = table(
    # ---- low: eligible for automatic execution
    _of_container("restart_container", LOW, *_by_engine("restart {container}"), timeout=90),
    _of_service("restart_service", LOW, *_by_service_manager("restart"), **UNIT),
    _of_service("service_reload", LOW, *_by_service_manager("reload"), **UNIT),
    _of_service("service_reset_failed", LOW, way("systemctl reset-failed -- {service}"), settle=2.0),
    _of_container("container_pause", LOW, *_by_engine("pause {container}"), rollback="container", settle=2.0),
    _of_container("container_image_pull", LOW, own("pull_image", "podman"), own("pull_image", "docker"), timeout=600),
    act("process_kill", LOW, _process, own("kill_process"), snapshot="process", either=_process_given),
    act(
        "nice_adjust",
        LOW,
        {**_process, "priority": may(integer(-20, 19), 10)},
        own("renice"),
        snapshot="process",
        rollback="process",
        settle=2.0,
        either=_process_given,
    ),
    act(
        "log_rotate",
        LOW,
        {"mount": may(PATH)},
        own("no_logs_there", "logrotate", when="logs_elsewhere"),
        way("logrotate --force /etc/logrotate.conf"),
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    act(
        "temp_cleanup",
        LOW,
        {"path": may(PATH), "max_age_hours": may(number(1, 8760), 24), "mount": may(PATH)},
        own("clean_temp"),
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    act("clear_cache", LOW, _none, own("drop_caches"), snapshot="memory", settle=2.0),
    act(
        "flush_dns",
        LOW,
        _none,
        way("resolvectl flush-caches"),
        way("systemd-resolve --flush-caches"),
        way("nscd --invalidate=hosts"),
        snapshot="resolver",
        settle=2.0,
    ),
    act(
        "dns_cache_clear",
        LOW,
        _instance,
        way("unbound-control flush_zone ."),
        way("rndc flush"),
        way("rec_control wipe-cache .$"),
        way("pihole restartdns reload"),
        way("systemctl kill --signal=HUP --kill-who=main -- {instance_id}", when="dnsmasq_unit"),
        target_param="instance_id",
        snapshot="resolver",
    ),
    act(
        "journal_vacuum",
        LOW,
        {"max_size": may(SIZE, "200M"), "mount": may(PATH)},
        own("no_journal_there", "journalctl", when="journal_elsewhere"),
        way("journalctl --rotate", "journalctl --vacuum-size={max_size}"),
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    act(
        "package_cache_clean",
        LOW,
        _none,
        way("apt-get clean"),
        way("dnf clean all"),
        way("yum clean all"),
        way("zypper --non-interactive clean --all"),
        way("apk cache clean"),
        way("pacman -Sc --noconfirm"),
        snapshot="disk",
        timeout=300,
    ),
    act(
        "disk_cleanup",
        LOW,
        {"mount": may(PATH, "/")},
        own("clean_disk"),
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    act(
        "webhook",
        LOW,
        {"url": need(URL), "method": may(choice("GET", "POST", "PUT"), "POST"), "body": may(json_object())},
        where="server",
        timeout=30,
    ),
    act(
        "event_log_clear", LOW, {"log": may(NAME, "Application")}, way("wevtutil.exe clear-log {log}"), snapshot="host"
    ),
    act("sfc_scan", LOW, _none, way("sfc.exe /scannow"), snapshot="host", timeout=3600),
    act("windows_update_check", LOW, _none, way("usoclient.exe StartScan"), snapshot="host", timeout=600),
    # ---- medium: automatic, and people are told
    _of_container("container_recreate", MEDIUM, own("recreate", "podman"), own("recreate", "docker"), timeout=300),
    _of_service("service_dependency_restart", MEDIUM, own("restart_with_dependencies", "systemctl"), **UNIT_AND_BELOW),
    act(
        "storage_cleanup",
        MEDIUM,
        {"targets": may(listing(NAME, 32), []), "mount": may(PATH)},
        own("clean_storage"),
        target_param="mount",
        snapshot="disk",
        timeout=600,
    ),
    act(
        "cert_renew",
        MEDIUM,
        {"domain": need(HOST)},
        own("renew_certificate", when="renew_hook"),
        way("certbot renew --non-interactive --cert-name {domain}"),
        way("acme.sh --renew --domain {domain}"),
        way("dehydrated --cron --domain {domain}"),
        target_param="domain",
        snapshot="certificate",
        timeout=600,
    ),
    act(
        "vpn_reconnect",
        MEDIUM,
        {"interface": need(NIC)},
        way("-wg-quick down {interface}", "wg-quick up {interface}", when="wg_quick"),
        own("restart_openvpn", "systemctl", when="openvpn"),
        way("-tailscale down", "tailscale up", when="tailscale"),
        way("-nmcli connection down id {interface}", "nmcli connection up id {interface}", when="nm_connection"),
        way("networkctl reconfigure {interface}", when="networkd_link"),
        way("ip link set dev {interface} up", when="link_exists"),
        target_param="interface",
        snapshot="tunnel",
        rollback="tunnel",
        **UNITS_OF_TUNNEL,  # OpenVPN and wg-quick are units
        armed_s=180,
    ),
    act("zfs_scrub", MEDIUM, {"pool": need(NAME)}, way("zpool scrub {pool}"), target_param="pool", snapshot="host"),
    act(
        "btrfs_scrub",
        MEDIUM,
        {"mount": need(PATH)},
        way("btrfs scrub start {mount}"),
        target_param="mount",
        snapshot="disk",
    ),
    act(
        "backup_verify",
        MEDIUM,
        {"backup_set": need(NAME)},
        own("verify_backup"),
        target_param="backup_set",
        snapshot="backup",
        timeout=3600,
    ),
    act(
        "media_queue_cleanup", MEDIUM, _instance, own("clean_media_queue"), target_param="instance_id", snapshot="host"
    ),
    act(
        "media_library_scan", MEDIUM, _instance, own("scan_media_library"), target_param="instance_id", snapshot="host"
    ),
    act(
        "network_interface_restart",
        MEDIUM,
        {"nic": need(NIC)},
        way("nmcli device reapply {nic}", when="nm_device"),
        way("networkctl reconfigure {nic}", when="networkd_nic"),
        own("bounce_link", "ip", when="nic_exists"),
        target_param="nic",
        snapshot="link",
        rollback="link",
        timeout=60,
        armed_s=180,
    ),
    act(
        "compose_restart",
        MEDIUM,
        {"project": need(NAME)},
        way("docker compose --project-name {project} restart", tool="docker compose"),
        way("docker-compose --project-name {project} restart"),
        own("restart_project", "podman"),
        target_param="project",
        snapshot="project",
        timeout=300,
    ),
    act("memory_pressure_relief", MEDIUM, _none, own("relieve_memory"), snapshot="memory", settle=2.0),
    act(
        "scale_container",
        MEDIUM,
        {**_container, "cpu_limit": may(number(0.01, 1024)), "mem_limit": may(SIZE)},
        own("scale", "podman"),
        own("scale", "docker"),
        target_param="container",
        snapshot="limits",
        rollback="limits",
        settle=2.0,
        either=("cpu_limit", "mem_limit"),
    ),
    act(
        "trigger_backup",
        MEDIUM,
        {"source": need(NAME)},
        own("trigger_backup"),
        target_param="source",
        snapshot="backup",
        timeout=3600,
    ),
    act("automation", MEDIUM, {"automation_id": need(NAME)}, where="server", runs="automation_id", timeout=3600),
    act(
        "agent_command",
        MEDIUM,
        {"hostname": may(HOST), "command": need(COMMAND)},
        way("sh -c {command}"),
        target_param="hostname",
        snapshot="host",
        shell=True,
    ),
    act(
        "chkdsk",
        MEDIUM,
        {"drive": may(text(2, low=2, pattern="[A-Za-z]:"), "C:")},
        way("chkdsk.exe {drive} /scan"),
        snapshot="host",
        timeout=3600,
    ),
    act(
        "fsck_schedule",
        MEDIUM,
        _none,
        own("schedule_fsck", "fsck"),
        way("chkntfs.exe /C C:"),
        snapshot="fsck",
        rollback="fsck",
    ),
    act(
        "scheduled_task_repair",
        MEDIUM,
        {"task": need(NAME)},
        way(
            "-systemctl reset-failed -- {task}.service {task}.timer",
            "systemctl enable --now -- {task}.timer",
            "systemctl restart -- {task}.timer",
            when="timer",
        ),
        way("schtasks.exe /Change /TN {task} /ENABLE", "schtasks.exe /Run /TN {task}"),
        target_param="task",
        snapshot="timer",
    ),
    act(
        "iis_app_pool_recycle",
        MEDIUM,
        {"pool": need(NAME)},
        way("appcmd.exe recycle apppool /apppool.name:{pool}"),
        target_param="pool",
        snapshot="host",
    ),
    act("wsl_restart", MEDIUM, _none, way("wsl.exe --shutdown"), snapshot="host"),
    # ---- high: always with an approval
    act(
        "host_reboot", HIGH, _none, way("shutdown -r +1"), snapshot="host", timeout=60, settle=180.0, least_settle=180.0
    ),
    act(
        "vm_restart",
        HIGH,
        {"vm_id": need(NAME), "platform": may(choice("libvirt", "proxmox"))},
        way("virsh reboot {vm_id}", when="libvirt"),
        way("qm reboot {vm_id}", when="proxmox"),
        target_param="vm_id",
        snapshot="vm",
        timeout=300,
    ),
    act(
        "vm_migrate",
        HIGH,
        {"vm_id": need(NAME), "target_node": need(HOST)},
        way("virsh migrate --live --persistent {vm_id} qemu+ssh://{target_node}/system"),
        way("qm migrate {vm_id} {target_node} --online"),
        target_param="vm_id",
        snapshot="vm",
        timeout=3600,
    ),
    act(
        "package_security_patch",
        HIGH,
        _none,
        way("unattended-upgrade -v"),
        way("dnf --assumeyes upgrade --security"),
        way("zypper --non-interactive patch --category security"),
        snapshot="packages",
        timeout=3600,
    ),
    act(
        "snapshot_rollback",
        HIGH,
        {"target": need(NAME), "snapshot": need(NAME)},
        way("zfs rollback -r {target}@{snapshot}", when="zfs_snapshot"),
        own("rollback_btrfs", "btrfs", when="btrfs_snapshot"),
        way("virsh snapshot-revert {target} {snapshot}", when="virsh_domain"),
        way("qm rollback {target} {snapshot}", when="vm_number"),
        target_param="target",
        snapshot="host",
        timeout=1800,
    ),
    act(
        "firewall_rule_add",
        HIGH,
        {"rule": need(FIREWALL_RULE)},
        own("add_ufw_rule", "ufw"),
        own("add_firewalld_rule", "firewall-cmd"),
        own("add_nft_rule", "nft"),
        own("add_iptables_rule", "iptables"),
        snapshot="firewall",
        rollback="firewall",
        settle=2.0,
        armed_s=180,
    ),
    act(
        "raid_rebuild",
        HIGH,
        {"array": need(PATH), "disk": need(PATH)},
        way("mdadm --manage {array} --add {disk}"),
        target_param="array",
        snapshot="host",
        timeout=600,
    ),
    act("run_playbook", HIGH, {"playbook_id": need(NAME)}, where="server", runs="playbook_id", timeout=3600),
    act("run", HIGH, {"command": need(COMMAND)}, way("sh -c {command}"), snapshot="host", shell=True, timeout=300),
    act(
        "failover_dns",
        HIGH,
        {"primary": need(HOST), "secondary": need(HOST)},
        own("failover_resolved", "resolvectl", when="resolved_owns_names"),
        own("failover_nameserver", when="resolv_conf_is_a_file"),
        target_param="primary",
        snapshot="resolver",
        rollback="resolver",
        settle=2.0,
        armed_s=180,
    ),
    act(
        "driver_rollback",
        HIGH,
        {"device": need(NAME)},
        way("pnputil.exe /delete-driver {device} /uninstall", "pnputil.exe /scan-devices"),
        target_param="device",
        snapshot="host",
    ),
    act(
        "group_policy_refresh", HIGH, _none, way("gpupdate.exe /force"), way("samba-gpupdate --force"), snapshot="host"
    ),
    act("ad_replication_force", HIGH, _none, way("repadmin.exe /syncall /AdeP"), snapshot="host"),
)
