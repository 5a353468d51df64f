"""What each kind of heal action mends on a host of the lab: a table of breakages, each a state of its own.

Must not: start a host, judge a heal.
"""

from typing import NamedTuple

from opsapp.wire.actions import ACTIONS
from tests.fleet.acting import BACKUP, RENEW

SLEEPS = "[Service]\nExecStart=/bin/sleep infinity\n"
LIVE = "/var/lib/reloader.live"
HOLDS_BACK = """table inet guard {
 chain input { type filter hook input priority 0; policy drop;
  ct state established,related accept
  tcp dport 22 accept
  iif lo accept
 }
}
"""
NAME_SERVER = (
    "[Service]\nExecStart=/usr/sbin/dnsmasq --keep-in-foreground --user=root --no-resolv --no-hosts --local-ttl=3600"
    " --bind-interfaces --listen-address={address} {more}\n"
)
RESOLVED = "[Resolve]\nDNS=127.0.1.4\nDNSSEC=no\nLLMNR=no\nMulticastDNS=no\nFallbackDNS=\nCacheFromLocalhost=yes\n"
PROOF = "#!/bin/sh\ntar -tzf /root/backup/new.tar.gz > /dev/null && touch /root/backup/proved\n"
LIMIT = (
    "pid=$(podman inspect -f '{{.State.Pid}}' small);"
    " limit=/sys/fs/cgroup/memory$(grep :memory: /proc/$pid/cgroup | cut -d: -f3)/memory.limit_in_bytes;"
    " [ -e $limit ] || limit=/sys/fs/cgroup$(grep ^0:: /proc/$pid/cgroup | cut -d: -f3)/memory.max;"
    " [ $(cat $limit) = 67108864 ]"
)
CONFIG = {
    "plugin_dirs": ["/opt/plugins"],
    "backups": {
        "home": {"files": "/root/backup/*.tar.gz", "run": ["/usr/local/bin/backup"], "verify": ["/usr/local/bin/proof"]}
    },
    "certificates": {"ops.example": {"file": "/root/ops.pem", "run": ["/usr/local/bin/renew"]}},
}


class Kind(NamedTuple):
    """`well` is what a plugin of the host runs to know whether it is well; `same`: what a heal must leave as it is.
    `params` may name `{pid}`, that of the unit `of`, and `{hook}`, the address of the service's own receiver."""

    action: str
    finds: str
    params: dict
    well: str
    fault: str
    prepare: str = ""
    same: str = ""
    of: str = ""


def unit(name, text):
    return f"cat > /etc/systemd/system/{name} <<'END'\n{text}END\nsystemctl daemon-reload\n"


def stopped(action, params):
    """A unit that is stopped, and an action that can do anything: it starts it."""
    name = f"by-{action.replace('_', '-')}"
    return Kind(action, f"The unit {name} does not run", params, f"systemctl -q is-active {name}",
                f"systemctl stop {name}", f"{unit(f'{name}.service', SLEEPS)}systemctl start {name}")  # fmt: skip


def aged(hosts, server):
    """The name server dns4 or dns5 has an old address from this file, in which the new one stands now."""
    asked = f"busybox nslookup shop.example 127.0.1.{server}"
    return (
        f"sed -i s/192.0.2.9/192.0.2.8/ /etc/{hosts}.hosts; systemctl restart dns{server};"
        f" until {asked} | grep -q 192.0.2.8; do :; done; sed -i s/192.0.2.8/192.0.2.9/ /etc/{hosts}.hosts"
    )


def container(name, *options):
    return f"podman run -d --name {name} --network host {' '.join(options)} localhost/box:1 /bin/sleep 100000\n"


KINDS = (
    Kind("service_reload", "The proxy works with an old configuration", {"service": "reloader"},
         f"cmp -s /etc/reloader.conf {LIVE}", "echo new > /etc/reloader.conf",
         f"echo old > /etc/reloader.conf; cp /etc/reloader.conf {LIVE}\n"
         + unit("reloader.service", f"{SLEEPS}ExecReload=/bin/cp /etc/reloader.conf {LIVE}\n")
         + "systemctl start reloader", same="systemctl show -p MainPID reloader"),
    Kind("service_dependency_restart", "The shop has lost its database", {"service": "front"},
         "systemctl -q is-active front && systemctl -q is-active behind", "systemctl stop behind",
         unit("behind.service", SLEEPS)
         + unit("front.service", f"[Unit]\nRequires=behind.service\nAfter=behind.service\n{SLEEPS}")
         + "systemctl start front"),
    Kind("scheduled_task_repair", "Nobody cleans up at night", {"task": "nightly"},
         "systemctl -q is-active nightly.timer", "systemctl disable --now nightly.timer",
         unit("nightly.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
         + unit("nightly.timer", "[Timer]\nOnCalendar=*-*-* 03:00\n[Install]\nWantedBy=timers.target\n")
         + "systemctl enable --now nightly.timer"),
    Kind("nice_adjust", "The report slows the shop down", {"pid": "{pid}", "priority": 12},
         "[ $(ps -o ni= -p $(systemctl show -P MainPID report)) = 12 ]",
         "renice -n 0 -p $(systemctl show -P MainPID report)",
         f"{unit('report.service', SLEEPS + 'Nice=12' + chr(10))}systemctl start report",
         same="systemctl show -p MainPID report", of="report"),
    Kind("container_pause", "The batch runs by day", {"container": "batch"},
         "[ $(podman inspect -f '{{.State.Status}}' batch) = paused ]", "podman unpause batch",
         f"{container('batch')}podman pause batch", same="podman inspect -f '{{.Id}}' batch"),
    Kind("container_recreate", "The container of the shop is spoiled", {"container": "spoiled"},
         "podman exec spoiled /bin/busybox test ! -e /bin/rubbish",
         "podman exec spoiled /bin/busybox cp /bin/busybox /bin/rubbish", container("spoiled")),
    Kind("compose_restart", "The containers of the till are down", {"project": "till"},
         "[ $(podman inspect -f '{{.State.Status}}' till) = running ]", "podman kill till",
         container("till", "--label com.docker.compose.project=till"), same="podman inspect -f '{{.Id}}' till"),
    Kind("scale_container", "The container has too little memory", {"container": "small", "mem_limit": "64m"}, LIMIT,
         "podman update --memory 32m small", f"{container('small')}podman update --memory 64m small",
         same="podman inspect -f '{{.Id}}' small"),
    Kind("flush_dns", "The host has an old address of the shop", {},
         "resolvectl query shop.example | grep -q 192.0.2.9",
         f"{aged('shop', 4)}; resolvectl flush-caches; resolvectl query shop.example; systemctl restart dns4",
         "echo 192.0.2.9 shop.example > /etc/shop.hosts\n"
         + unit("dns4.service", NAME_SERVER.format(address="127.0.1.4", more="--addn-hosts=/etc/shop.hosts"))
         + f"mkdir -p /etc/systemd/resolved.conf.d; printf '{RESOLVED}' > /etc/systemd/resolved.conf.d/lab.conf;"
         " systemctl start dns4; systemctl restart systemd-resolved"),
    Kind("dns_cache_clear", "The name server has an old address of the shop", {"instance_id": "dns5"},
         "busybox nslookup shop.example 127.0.1.5 | grep -q 192.0.2.9",
         aged("own", 5),
         "echo 192.0.2.9 shop.example > /etc/own.hosts\n"
         + unit("dns5.service", NAME_SERVER.format(address="127.0.1.5", more="--addn-hosts=/etc/own.hosts"))
         + "systemctl start dns5", same="systemctl show -p MainPID dns5"),
    Kind("package_cache_clean", "Old packages take the disk", {}, "[ ! -e /var/cache/apt/archives/x.deb ]",
         "touch /var/cache/apt/archives/x.deb"),
    Kind("disk_cleanup", "What is not needed takes the disk", {"mount": "/"},
         "[ ! -e /var/cache/apt/archives/y.deb ]", "touch /var/cache/apt/archives/y.deb"),
    Kind("cert_renew", "The certificate of the shop ends soon", {"domain": "ops.example"},
         "openssl x509 -noout -checkend 864000 -in /root/ops.pem", "DAYS=1 /usr/local/bin/renew",
         f"cat > /usr/local/bin/renew <<'END'\n{RENEW.replace('-days 30', '-days ${DAYS:-30}')}END\n"
         "chmod 755 /usr/local/bin/renew; /usr/local/bin/renew"),
    Kind("backup_verify", "Nobody has proved the newest backup", {"backup_set": "home"},
         "[ ! /root/backup/new.tar.gz -nt /root/backup/proved ]", "touch -d '1 hour ago' /root/backup/proved",
         f"mkdir -p /root/backup; cat > /usr/local/bin/backup <<'END'\n{BACKUP}END\n"
         f"cat > /usr/local/bin/proof <<'END'\n{PROOF}END\nchmod 755 /usr/local/bin/backup /usr/local/bin/proof;"
         " /usr/local/bin/backup; touch /root/backup/proved"),
    Kind("btrfs_scrub", "The pool was never scrubbed", {"mount": "/mnt/pool"},
         "! [ -e /mnt/pool/old ] || btrfs scrub status /mnt/pool | grep -q finished", "touch /mnt/pool/old"),
    Kind("snapshot_rollback", "The data of the shop are spoiled", {"target": "/mnt/pool/data", "snapshot": "daily"},
         "grep -q good /mnt/pool/data/file", "echo bad > /mnt/pool/data/file",
         "cd /mnt/pool; btrfs subvolume create data; echo good > data/file; btrfs subvolume snapshot -r data daily"),
    Kind("fsck_schedule", "Nobody will check the file system", {}, "[ -e /forcefsck ]", "rm /forcefsck",
         "touch /forcefsck"),
    Kind("network_interface_restart", "The interface of the backups is down", {"nic": "spare0"},
         "ip link show spare0 | grep -q ,UP", "ip link set spare0 down",
         "ip link add spare0 type veth peer name spare1; ip link set spare1 up; ip link set spare0 up"),
    Kind("firewall_rule_add", "The shop cannot be reached", {"rule": {"direction": "in", "action": "accept",
         "protocol": "tcp", "port": 80}}, "", "nft -f /root/guard.nft",
         f"cat > /root/guard.nft <<'END'\n{HOLDS_BACK}END\nsystemctl start nginx"),
    Kind("failover_dns", "The first name server does not answer", {"primary": "127.0.1.2", "secondary": "127.0.1.3"},
         "timeout 3 getent ahostsv4 probe.example", "systemctl stop dns2",
         "".join(unit(f"dns{n}.service", NAME_SERVER.format(address=f"127.0.1.{n}",
                                                           more="--address=/probe.example/192.0.2.7")) for n in (2, 3))
         + "systemctl start dns2 dns3; printf 'options timeout:1 attempts:1\\nnameserver 127.0.1.2\\n'"
         " > /etc/resolv.conf"),
    Kind("package_security_patch", "No patches were looked for since the last warning", {},
         "[ /var/log/unattended-upgrades/unattended-upgrades.log -nt /root/warned ]",
         "touch -d '1 min ago' /root/warned",
         "touch -d '1 day ago' /root/warned; mkdir -p /var/log/unattended-upgrades;"
         " touch -d '1 hour ago' /var/log/unattended-upgrades/unattended-upgrades.log"),
    stopped("webhook", {"url": "{hook}"}),
    stopped("agent_command", {"command": "systemctl start by-agent-command"}),
    stopped("run", {"command": "systemctl start by-run"}),
    stopped("automation", {"automation_id": "{automation}"}),
    stopped("run_playbook", {"playbook_id": "{automation}"}),
)  # fmt: skip

# Healed from alert to ledger by other tests of this suite, which say how.
ELSEWHERE = {
    "test_default_chains.py": (
        "process_kill", "temp_cleanup", "journal_vacuum", "log_rotate", "storage_cleanup", "service_reset_failed",
        "restart_service", "restart_container", "clear_cache", "memory_pressure_relief", "vpn_reconnect",
        "trigger_backup",
    ),
    "test_defaults.py": ("host_reboot",),
}  # fmt: skip
# No host of the lab has what these are for.
NOT_HERE = {
    "a registry of images": ("container_image_pull",),
    "Windows": (
        "event_log_clear", "sfc_scan", "windows_update_check", "chkdsk", "iis_app_pool_recycle", "wsl_restart",
        "driver_rollback", "group_policy_refresh", "ad_replication_force",
    ),
    "virtual machines": ("vm_restart", "vm_migrate"),
    "modules of the kernel": ("zfs_scrub", "raid_rebuild"),
    "a server of media": ("media_queue_cleanup", "media_library_scan"),
}  # fmt: skip


def unnamed():
    """The kinds that are in no list."""
    lists = (*ELSEWHERE.values(), *NOT_HERE.values())
    return set(ACTIONS) - {kind.action for kind in KINDS} - {action for row in lists for action in row}
