"""A real slapd in a directory of the test: no root, a store and people of its own, TLS by an authority of the test."""

import contextlib
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from opsapp.auth.ldapconfig import GroupMap

from .process import Process, free_port

SEARCHED = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
BINARY = shutil.which("slapd") or shutil.which("slapd", path=":".join(SEARCHED))
MODULES, SCHEMAS = Path("/usr/lib/ldap"), Path("/etc/ldap/schema")
BASE = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
ROOT_DN, ROOT_PASSWORD = f"cn=root,{BASE}", "of the directory itself"
SERVICE_DN, SERVICE_PASSWORD = f"cn=opsapp,{BASE}", "the service's own password"
PASSWORD = "a password of the directory"
ROLES = GroupMap(
    admin=(f"cn=admins,{GROUPS}",), operator=(f"CN=Operators, OU=Groups,{BASE}",), viewer=(f"cn=staff,{GROUPS}",)
)

CONF = """\
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/nis.schema
include {schemas}/inetorgperson.schema
modulepath {modules}
moduleload back_mdb
moduleload memberof
pidfile {place}/pid
TLSCACertificateFile {ca}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
allow bind_anon_cred bind_anon_dn
database mdb
suffix "{base}"
rootdn "{root}"
rootpw "{password}"
directory {place}/db
index entryUUID eq
index uid,mail eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{service}" read by * none
overlay memberof
"""
PERSON = """\
dn: uid={uid},{people}
objectClass: inetOrgPerson
cn: {uid}
sn: {uid}
mail: {uid}@example.org
uid: {uid}
userPassword: {password}
"""
TREE = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {SERVICE_DN}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: opsapp
userPassword: {SERVICE_PASSWORD}
"""


class Slapd(Process):
    name = "slapd"
    measured = False

    def __init__(self, directory, authority):
        if BINARY is None or shutil.which("ldapmodify") is None:
            pytest.skip("slapd or ldap-utils is not installed (Debian: apt-get install slapd ldap-utils)")
        super().__init__(directory)
        self.port, self.tls_port = free_port(), free_port()
        self.plain, self.tls = f"ldap://localhost:{self.port}", f"ldaps://localhost:{self.tls_port}"
        self.ca_file = authority.ca_file
        certificate, key = authority.issue(f"directory-{self.port}")
        (self.directory / "db").mkdir()
        self.conf, self.secret = self.directory / "slapd.conf", self.directory / "root-password"
        said = {"schemas": SCHEMAS, "modules": MODULES, "place": self.directory, "base": BASE, "root": ROOT_DN}
        said |= {"ca": self.ca_file, "certificate": certificate, "key": key}
        said |= {"password": ROOT_PASSWORD, "service": SERVICE_DN}
        self.conf.write_text(CONF.format(**said))
        self.secret.write_text(ROOT_PASSWORD)

    def command(self):
        return [BINARY, "-f", str(self.conf), "-h", f"{self._place(self.plain)} {self._place(self.tls)}", "-d", "0"]

    def _place(self, uri):
        return uri.replace("localhost", "127.0.0.1")

    def is_ready(self):
        listening = Path("/proc/net/tcp").read_text()
        return all(f":{port:04X} " in listening for port in (self.port, self.tls_port))

    def tell(self, ldif, *, adds=True):
        """`ldapmodify` with these changes, or these new entries."""
        words = ["ldapmodify", "-x", "-H", self._place(self.plain), "-D", ROOT_DN, "-y", str(self.secret)]
        done = subprocess.run([*words, *(["-a"] if adds else [])], input=ldif, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def fill(self):
        self.tell(TREE)
        self.add("grace", "admins")
        self.add("otis", "operators")
        self.add("vic", "staff")
        self.add("nobody")

    def add(self, uid, *groups, password=PASSWORD):
        self.tell(PERSON.format(uid=uid, people=PEOPLE, password=password))
        for group in groups:
            self.join(group, dn_of(uid))

    def join(self, group, dn):
        """A groupOfNames has a member from its beginning."""
        whole = f"dn: cn={group},{GROUPS}\nobjectClass: groupOfNames\ncn: {group}\nmember: {dn}\n"
        words = ["ldapsearch", "-x", "-LLL", "-H", self._place(self.plain), "-D", ROOT_DN, "-y", str(self.secret)]
        known = subprocess.run([*words, "-b", GROUPS, f"(cn={group})", "1.1"], capture_output=True, text=True).stdout
        more = f"dn: cn={group},{GROUPS}\nchangetype: modify\nadd: member\nmember: {dn}\n"
        self.tell(more if known.strip() else whole, adds=not known.strip())

    def leave(self, group, dn):
        """Also the last one: the group is deleted with it."""
        less = f"dn: cn={group},{GROUPS}\nchangetype: modify\ndelete: member\nmember: {dn}\n"
        self.tell(less, adds=False)

    def drop_group(self, group):
        self.tell(f"dn: cn={group},{GROUPS}\nchangetype: delete\n", adds=False)

    def remove(self, uid):
        self.tell(f"dn: {dn_of(uid)}\nchangetype: delete\n", adds=False)

    def change(self, uid, **values):
        for name, value in values.items():
            self.tell(f"dn: {dn_of(uid)}\nchangetype: modify\nreplace: {name}\n{name}: {value}\n", adds=False)


def dn_of(uid):
    return f"uid={uid},{PEOPLE}"


def asked_at(slapd, **settings):
    """What `auth.ldap` says of this directory."""
    usual = {"enabled": True, "uri": slapd.tls, "ca_file": slapd.ca_file, "base": PEOPLE, "role_map": ROLES}
    return usual | {"bind_dn": SERVICE_DN, "bind_password": SERVICE_PASSWORD, "timeout_s": 20.0} | settings


class Relay:
    """Stands between a service and a directory, without TLS. `at_answer(n)` is called with the number of each answer to
    a bind of a connection, before it is passed on; False from it: it never is."""

    def __init__(self, port):
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.uri = f"ldap://127.0.0.1:{self._listening.getsockname()[1]}"
        self.at_answer = lambda number: True
        self._held = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._port))
                self._held += [near, far]
                threading.Thread(target=self._forth, args=(near, far), daemon=True).start()
                threading.Thread(target=self._back, args=(far, near), daemon=True).start()

    def _forth(self, near, far):
        with contextlib.suppress(OSError):
            while data := near.recv(65536):
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)

    def _back(self, far, near):
        answers = 0
        with contextlib.suppress(OSError):
            while data := far.recv(65536):
                if is_bind_response(data):
                    answers += 1
                    if not self.at_answer(answers):
                        return
                near.sendall(data)
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listening.close()
        for held in self._held:
            held.close()


def is_bind_response(data):
    """A message with a short length: 30 n 02 1 id 61."""
    return len(data) > 5 and data[0] == 0x30 and data[1] < 0x80 and data[2] == 0x02 and data[4 + data[3]] == 0x61
