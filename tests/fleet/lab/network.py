"""The bridge all hosts of a lab hang on, and the packets that are dropped when a host is cut off from the server."""

import re
from pathlib import Path

from .machine import run


def sent_in_vain(host):
    """How often the server's side has sent again what the host has not taken: it waits twice as long each time."""
    shown = run("ss", "-tin", "dst", host.address).stdout
    return max(map(int, re.findall(r"backoff:(\d+)", shown)), default=0)


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
