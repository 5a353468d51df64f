"""The project's own lab: Debian hosts with systemd on one machine, for agents and healing to be tried on.

Each host is a systemd-nspawn container in a network namespace of its own, on a bridge that leads nowhere else;
its disk is an overlay of limited size over one root file system, built once by debootstrap and cached. Root only.
`python -m tests.fleet.lab` brings one host up by hand.

machine.py  the outer machine: commands, cgroups, mounts, processes
rootfs.py   what all hosts begin with
network.py  the bridge, and cutting a host off
host.py     one host: start, exec, kill, files
lab.py      a slot of the machine, and everything in it removed at the end
"""

from .host import Host
from .lab import Lab
from .machine import Unavailable

__all__ = ["Host", "Lab", "Unavailable"]
