"""One host by hand: `python -m tests.fleet.lab` boots it, opens a shell in it, and removes it when the shell ends.
With `--build` it only builds what all hosts begin with, where that is missing."""

import subprocess
import sys

from . import Lab, Unavailable, machine, rootfs


def build():
    machine.demand()
    rootfs.layers()


def main():
    lab = Lab()
    try:
        host = lab.host()
        print(f"{host.name} at {host.address}, server side {lab.address}")
        print(f"ssh -i {lab.ssh_key} root@{host.address}")
        subprocess.run([*host.enter(), "bash"])
    finally:
        lab.close()


if __name__ == "__main__":
    try:
        build() if "--build" in sys.argv[1:] else main()
    except Unavailable as reason:
        sys.exit(f"no lab: {reason}")
