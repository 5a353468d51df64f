"""Certificates for tests: an authority of our own, and servers that are right, expired, misnamed or self-signed."""

from __future__ import annotations

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs for itself; `ca_file` is what a client has to trust."""

    def __init__(self, directory):
        self.directory = directory
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "opsapp tests")])
        self.certificate = _build(self.name, self.name, self.key.public_key(), self.key, [], 3650, ca=True)
        self.ca_file = str(directory / "ca.pem")
        (directory / "ca.pem").write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, label, names=("localhost", "127.0.0.1"), days=90.0, self_signed=False):
        """(certificate file, key file) for the names; negative days: expired that long ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, label)])
        issuer, signer = (subject, key) if self_signed else (self.name, self.key)
        certificate = _build(subject, issuer, key.public_key(), signer, names, days)
        paths = self.directory / f"{label}.pem", self.directory / f"{label}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return str(paths[0]), str(paths[1])


def _build(subject, issuer, public_key, signer, names, days, ca=False):
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - datetime.timedelta(days=max(abs(days), 1) * 2 + 365))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), False)
    return builder.sign(signer, hashes.SHA256())


def _alternative(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
