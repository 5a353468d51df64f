"""A lab takes one of the machine's slots: a number that gives its bridge, its addresses and its directory. It is locked
twice: in the cache, for that directory, and in the network, where labs of other caches have bridges as well.
Whoever takes a slot first removes what a killed predecessor left there."""

import atexit
import fcntl
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tests.support.process import Serve

from . import machine, rootfs
from .host import Host
from .machine import CACHE, Unavailable, run
from .network import Bridge, claimed

SLOTS = 16
MAX_HOSTS = 240
AT_ONCE = 4  # hosts that boot beside each other: a boot waits for its disk, too


def together(do, hosts):
    """The same with each of them, until all have ended: what came of it, or what went wrong with the first of those."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        done = [threads.submit(do, host) for host in hosts]
    return [one.result() for one in done]


def _bridge_name(slot):
    return f"oplab{slot}"


class Lab:
    def __init__(self, slots=range(SLOTS)):
        machine.demand()
        self.layers = rootfs.layers()
        self.slot, self._locks = self._take_slot(slots)
        self.dir = CACHE / f"slot-{self.slot}"
        self.bridge = Bridge(_bridge_name(self.slot), f"10.97.{self.slot}")
        self.hosts, self._made = [], 0
        self._lxcfs = self.figures = None
        self._sweep()
        atexit.register(self.close)
        self.dir.mkdir(mode=0o700)
        self.ssh_key = self.dir / "id_ed25519"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", self.ssh_key)
        self.bridge.up()
        self._start_figures()

    @property
    def address(self):
        """The server's address on the bridge; hosts know it as `server`."""
        return self.bridge.address

    def host(self):
        """A fresh host, booted."""
        (host,) = self.boot(1)
        return host

    def boot(self, count):
        """So many fresh hosts, booted beside each other."""
        made = [self._make() for _ in range(count)]
        try:
            together(Host.start, made)
        except BaseException:
            self.remove(*made)
            raise
        return made

    def remove(self, *hosts):
        together(self._remove, hosts)

    def serve(self, directory, config=None):
        """A service on the bridge, not started. The hosts wait for it: it has their share of the processors."""
        serve = Serve(directory, config=config, host=self.address)
        serve.inside = machine.joining(machine.make_cgroup(f"{self.bridge.name}/service"))
        return serve

    def close(self):
        """Leaves nothing behind: no process, mount, namespace, interface or file. A second call does nothing."""
        atexit.unregister(self.close)
        if not self._locks:
            return
        try:
            for host in [*self.hosts]:  # one after the other: at the end of a program no thread begins
                self._remove(host)
            self._stop_figures()
        finally:
            try:
                self._sweep()
            finally:
                while self._locks:
                    self._locks.pop().close()

    # --- how

    def _make(self):
        if self._made == MAX_HOSTS:
            raise RuntimeError("this lab has no addresses left")
        self._made += 1
        host = Host(self, self._made)
        self.hosts.append(host)
        return host

    def _remove(self, host):
        host.remove()
        self.hosts.remove(host)
        shutil.rmtree(host.dir)

    @staticmethod
    def _take_slot(slots):
        CACHE.mkdir(parents=True, exist_ok=True)
        for slot in slots:
            lock = open(CACHE / f"slot-{slot}.lock", "w")  # noqa: SIM115 (held as long as the lab lives)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            if (claim := claimed(_bridge_name(slot))) is None:
                lock.close()
                continue
            return slot, [lock, claim]
        raise Unavailable("every slot for a lab is taken")

    def _sweep(self):
        machine.remove_cgroup(self.bridge.name)
        self.bridge.sweep()
        machine.unmount(self.dir)
        machine.remove_tree(self.dir)

    def _start_figures(self):
        """lxcfs, when the machine has it: each host then sees its own memory and uptime."""
        program = shutil.which("lxcfs", path=machine.PATH)
        if not program:
            print("lab: no lxcfs on this machine, so hosts see the machine's memory and processors")
            return
        place = self.dir / "lxcfs"
        place.mkdir()
        command = [program, "-f", "-p", str(self.dir / "lxcfs.pid"), str(place)]
        with open(self.dir / "lxcfs.log", "wb") as log:
            quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._lxcfs = subprocess.Popen(command, start_new_session=True, **quiet)
        machine.came_true(lambda: (place / "proc/meminfo").exists() or self._lxcfs.poll() is not None, 5)
        if (place / "proc/meminfo").exists():
            self.figures = place
        else:
            print("lab: lxcfs did not come up:", (self.dir / "lxcfs.log").read_text(errors="replace")[-300:])

    def _stop_figures(self):
        if self._lxcfs is None:
            return
        self._lxcfs.terminate()
        try:
            self._lxcfs.wait(5)
        except subprocess.TimeoutExpired:
            self._lxcfs.kill()
            self._lxcfs.wait(5)
