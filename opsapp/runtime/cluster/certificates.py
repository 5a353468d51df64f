"""The certificates of a cluster: its authority, one for the store, one for each node.

Only these are accepted. A member's directory has `ca.pem`, `cert.pem` and `key.pem`; the authority's directory makes
more of them. Must not: connect to anything.
"""

from __future__ import annotations

import ipaddress
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from opsapp.lib.problems import Conflict
from opsapp.runtime.findings import FAIL, OK, WARN, Finding

from .certificateplaces import AUTHORITY, CA, CERT, KEY, STORE

AUTHORITY_DAYS = 3650
MEMBER_DAYS = 730
WARN_DAYS = 30
BEGAN_BEFORE = timedelta(hours=1)  # clocks differ


class ClusterMember(NamedTuple):
    """`names`: host names and addresses at which it is reached."""

    label: str
    names: tuple[str, ...]
    serves_only: bool = False


def make(place: Path, members: list[ClusterMember], *, renew: bool, now: datetime) -> list[str]:
    """Make certificates for members that have none, or for all that are named; their labels. The authority is made once
    and never again: whoever has its certificates would be of another cluster."""
    authority = place / AUTHORITY
    if not (authority / CA).exists():
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "opsapp cluster")])
        _write(authority, key, _authority(name, key, now), None)
    signer, root = _read_key(authority / KEY), read(authority / CA)
    if ends(root) < now + timedelta(days=MEMBER_DAYS):
        raise Conflict(
            f"The authority in {authority} ends at {ends(root):%Y-%m-%d}: make a new one in another directory."
        )
    made = []
    for member in members:
        if renew or not (place / member.label / CERT).exists():
            key = ec.generate_private_key(ec.SECP256R1())
            _write(place / member.label, key, _member(member, key, root, signer, now), root)
            made.append(member.label)
    return made


def now() -> datetime:
    return datetime.now(timezone.utc)


def members_of(place: Path) -> list[ClusterMember]:
    members = []
    for path in sorted(place.glob(f"*/{CERT}")):
        names = read(path).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = tuple(str(name.value) for name in names)
        members.append(ClusterMember(path.parent.name, addresses, serves_only=path.parent.name == STORE))
    return members


def read(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as problem:
        raise Conflict(f"{path} is no certificate: {problem}") from None


def ends(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_after_utc


def finding(path: Path, now: datetime) -> Finding:
    return ending(str(path), ends(read(path)), now)


def ending(what: str, end: datetime, now: datetime) -> Finding:
    left = (end - now).days
    if end <= now:
        return Finding(FAIL, "certificate", f"{what} ended at {end:%Y-%m-%d}: `opsapp init --cluster DIR --renew`")
    if left < WARN_DAYS:
        return Finding(WARN, "certificate", f"{what} ends in {left} days: `opsapp init --cluster DIR --renew`")
    return Finding(OK, "certificate", f"{what} holds until {end:%Y-%m-%d}")


def findings(directory: Path, now: datetime) -> list[Finding]:
    missing = [name for name in (CA, CERT, KEY) if not (directory / name).exists()]
    if missing:
        return [Finding(FAIL, "certificate", f"{directory} lacks {', '.join(missing)}")]
    certificates = [finding(directory / name, now) for name in (CA, CERT)]
    if (directory / KEY).stat().st_mode & 0o077:
        certificates.append(Finding(FAIL, "certificate", f"others may read {directory / KEY}: chmod 600"))
    return certificates


def _authority(name: x509.Name, key: Any, now: datetime) -> x509.Certificate:
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        _builder(name, name, key.public_key(), now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _member(member: ClusterMember, key: Any, root: x509.Certificate, signer: Any, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, member.label)])
    uses = [ExtendedKeyUsageOID.SERVER_AUTH] + ([] if member.serves_only else [ExtendedKeyUsageOID.CLIENT_AUTH])
    return (
        _builder(name, root.subject, key.public_key(), now, MEMBER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(address) for address in member.names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: Any, now: datetime, days: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEGAN_BEFORE)
        .not_valid_after(now + timedelta(days=days))
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(directory: Path, key: Any, certificate: x509.Certificate, root: x509.Certificate | None) -> None:
    """Readable by the owner alone. The key first: a certificate that is there has its key."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _put(directory / KEY, secret)
    if root is not None:
        _put(directory / CERT, certificate.public_bytes(pem))
    _put(directory / CA, (root or certificate).public_bytes(pem))


def _put(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
    partial.replace(path)


def _read_key(path: Path) -> Any:
    try:
        return serialization.load_pem_private_key(path.read_bytes(), password=None)
    except FileNotFoundError:
        raise Conflict(f"{path} is not there: without the authority's key no certificate can be made") from None
    except ValueError as problem:
        raise Conflict(f"{path} is no key: {problem}") from None
