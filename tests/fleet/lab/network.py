"""The bridge all hosts of a lab hang on, and the packets that are dropped when a host is cut off from the server."""

import re
import socket
from pathlib import Path

from .machine import run


def sent_in_vain(host):
    """How often the server's side has sent again what the host has not taken: it waits twice as long each time."""
    shown = run("ss", "-tin", "dst", host.address).stdout
    return max(map(int, re.findall(r"backoff:(\d+)", shown)), default=0)


def claimed(name):
    """A name taken among all who share this network, from any checkout and cache; None when somebody has it.
    It is free again when what is returned is closed, or the process ends."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0opsapp-{name}")
    except OSError:
        claim.close()
        return None
    return claim


class Bridge:
    def __init__(self, name, prefix):
        self.name, self.prefix = name, prefix
        self.address = f"{prefix}.1"

    def up(self):
        run("ip", "link", "add", self.name, "type", "bridge")
        self._no_ipv6(self.name)
        run("ip", "addr", "add", f"{self.address}/24", "dev", self.name)
        run("ip", "link", "set", self.name, "up")
        rules = f"""table bridge {self.name} {{
            set away {{ type ipv4_addr; }}
            chain inbound {{ type filter hook input priority -300; ip saddr @away drop; }}
            chain outbound {{ type filter hook output priority -300; ip daddr @away drop; }}
        }}"""
        run("nft", "-f", "-", stdin=rules + "\n")

    def sweep(self):
        """Removes the bridge, and the namespaces and cables of who was killed before it removed them."""
        for namespace in Path("/run/netns").glob(f"{self.name}[a-z]*"):
            self.unplug(namespace.name, namespace.name)
        for cable in Path("/sys/class/net").glob(f"{self.name}[a-z]*"):
            run("ip", "link", "del", cable.name, check=False)
        self.down()

    def down(self):
        run("nft", "delete", "table", "bridge", self.name, check=False)
        if self._there(self.name):
            run("ip", "link", "del", self.name)

    def plug(self, namespace, cable, address, number):
        """A network namespace with one cable to the bridge, whose hardware address follows the number."""
        hardware = f"02:6f:70:{self.prefix.split('.')[2].zfill(2)}:00:{number:02x}"
        run("ip", "netns", "add", namespace)
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "address", hardware, "netns", namespace)
        self._no_ipv6(cable)
        run("ip", "link", "set", cable, "master", self.name, "up")
        run("ip", "-n", namespace, "link", "set", "lo", "up")
        run("ip", "-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", namespace, "link", "set", "eth0", "up")

    def unplug(self, namespace, cable):
        if self._there(cable):
            run("ip", "link", "del", cable, check=False)  # it may vanish with its namespace first
        if Path(f"/run/netns/{namespace}").exists():
            run("ip", "netns", "del", namespace)

    def cut(self, address):
        """Packets between the host and the server vanish; nobody is told."""
        run("nft", "add", "element", "bridge", self.name, "away", f"{{ {address} }}")

    def mend(self, address):
        run("nft", "delete", "element", "bridge", self.name, "away", f"{{ {address} }}")

    @staticmethod
    def _there(link):
        return Path(f"/sys/class/net/{link}").exists()

    @staticmethod
    def _no_ipv6(link):
        switch = Path(f"/proc/sys/net/ipv6/conf/{link}/disable_ipv6")
        if switch.exists():
            switch.write_text("1")
