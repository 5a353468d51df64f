"""Where the machines of the cluster stand: network namespaces on a bridge, a store's disk that can be filled."""

import os
import shutil
import tempfile
from pathlib import Path

from tests.fleet.lab.machine import run
from tests.fleet.lab.network import Bridge, claimed

SITES = 16


class Site:
    """The bridge and what hangs on it. Root only. Each takes a number of the machine, so several can stand beside each
    other, and removes first what a killed one with that number left in the network."""

    def __init__(self):
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nft"):
            raise SystemExit("make cluster needs root, and ip and nft")
        for number in range(SITES):
            self.bridge = Bridge(f"opsc{number}", f"10.87.{number}")
            self._claim = claimed(self.bridge.name)
            if self._claim is not None:
                return
        raise SystemExit("every place for a cluster is taken")

    @property
    def outside(self):
        """The address of this process: of clients, the web site that is checked, agents."""
        return self.bridge.address

    def __enter__(self):
        self.bridge.sweep()
        self.bridge.up()
        return self

    def place(self, number):
        """A machine of its own: its address, and the words that run a command there."""
        name = f"{self.bridge.name}n{number}"
        address = f"{self.bridge.prefix}.{number}"
        self.bridge.plug(name, name, address, number)
        return Place(name, address)

    def __exit__(self, *_):
        self.bridge.sweep()
        self._claim.close()


class Place:
    def __init__(self, name, address):
        self.name, self.address = name, address
        self.inside = ("ip", "netns", "exec", name)

    def cut_off(self, *addresses):
        """What goes between here and there vanishes; nobody is told."""
        there = f"{{ {', '.join(addresses)} }}"
        rules = f"""table inet cut {{
            chain inbound {{ type filter hook input priority 0; ip saddr {there} drop; }}
            chain outbound {{ type filter hook output priority 0; ip daddr {there} drop; }}
        }}"""
        run(*self.inside, "nft", "-f", "-", stdin=rules + "\n")

    def mend(self):
        run(*self.inside, "nft", "delete", "table", "inet", "cut", check=False)


class Disk:
    """A small file system in memory. `fill` leaves no byte of it."""

    def __init__(self, megabytes):
        self.path = Path(tempfile.mkdtemp(prefix="opsapp-disk-"))
        self.path.chmod(0o755)
        run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", self.path)

    def fill(self):
        with open(self.path / "filler", "ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    continue

    def free(self):
        (self.path / "filler").unlink(missing_ok=True)

    def remove(self):
        run("umount", "-l", self.path, check=False)
        self.path.rmdir()
