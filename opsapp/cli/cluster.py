"""`opsapp init --cluster DIR`: the certificates of a cluster."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from opsapp.runtime.cluster import certificates
from opsapp.runtime.cluster.certificateplaces import AUTHORITY, STORE
from opsapp.runtime.cluster.certificates import ClusterMember

from .places import Mistaken

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]{0,251}[A-Za-z0-9])?")


def add_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("certificates of a cluster")
    group.add_argument(
        "--cluster", metavar="DIR", help="make a certificate authority, and certificates for the store and the nodes"
    )
    group.add_argument("--store-host", metavar="HOSTS", help="names and addresses of the ZEO server, with commas")
    group.add_argument("--nodes", metavar="NODES", help="node-1=10.0.0.5,node-2=10.0.0.6: the nodes and where they are")
    group.add_argument("--renew", action="store_true", help="renew all certificates in DIR, with the same authority")


def make(asked: argparse.Namespace) -> None:
    place = Path(asked.cluster)
    members = {member.label: member for member in certificates.members_of(place)} if asked.renew else {}
    if asked.store_host:
        members[STORE] = ClusterMember(STORE, tuple(map(_checked, asked.store_host.split(","))), serves_only=True)
    for named_node in (asked.nodes or "").split(",") if asked.nodes else ():
        label, _, host = named_node.partition("=")
        if label in (STORE, AUTHORITY):
            raise Mistaken(f"a node cannot be called {label}")
        members[_checked(label)] = ClusterMember(label, tuple(dict.fromkeys([label, _checked(host or label)])))
    if not members:
        raise Mistaken("say for whom: --store-host HOST, --nodes NAME=HOST,…, or --renew")
    made = certificates.make(place, list(members.values()), renew=asked.renew, now=certificates.now())
    for label in members:
        state = "made" if label in made else "exists already (--renew makes a new one)"
        print(f"{place / label}\t{state}")
    print(f"keep {place / AUTHORITY} in a safe place, and on no node: it makes new certificates")


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise Mistaken(f"{name!r} is no name of a host, and no address")
    return name
