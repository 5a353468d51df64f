"""`opsapp init --cluster`: the certificates of a cluster, their files, their end."""

import stat
from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509

from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import certificateplaces, certificates, tls
from opsapp.runtime.store.settings import store_settings

NOW = datetime.now(timezone.utc)


@pytest.fixture
def cluster(opsapp, tmp_path):
    place = tmp_path / "tls"
    asked = ("--store-host", "db.internal,127.0.0.1", "--nodes", "node-1=10.0.0.5,node-2")
    assert opsapp("init", "--cluster", place, *asked)[0] == 0
    return place


def names(path):
    found = certificates.read(path).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return [str(name.value) for name in found.value]


def contents(place):
    return {path: path.read_bytes() for path in place.glob("*/*")}


def test_each_member_gets_its_files_and_nobody_else_may_read_them(cluster):
    assert sorted(path.name for path in cluster.iterdir()) == ["ca", "node-1", "node-2", "store"]
    assert names(cluster / "store/cert.pem") == ["db.internal", "127.0.0.1"]
    assert names(cluster / "node-1/cert.pem") == ["node-1", "10.0.0.5"]
    for member in cluster.iterdir():
        assert stat.S_IMODE(member.stat().st_mode) == 0o700
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in member.iterdir()}
        assert files == dict.fromkeys(
            ["ca.pem", "cert.pem", "key.pem"] if member.name != "ca" else ["ca.pem", "key.pem"], 0o600
        )


def test_a_node_more_and_all_anew(opsapp, cluster):
    before = contents(cluster)
    code, out, _err = opsapp("init", "--cluster", cluster, "--nodes", "node-1,node-3=10.0.0.7")
    assert (code, f"{cluster}/node-1\texists already" in out, f"{cluster}/node-3\tmade" in out) == (0, True, True)
    assert before.items() <= contents(cluster).items()
    assert opsapp("init", "--cluster", cluster, "--renew")[0] == 0
    after = contents(cluster)
    kept = {path for path in before if before[path] == after[path]}
    assert kept == {path for path in before if path.name == "ca.pem" or path.parent.name == "ca"}
    assert names(cluster / "node-3/cert.pem") == ["node-3", "10.0.0.7"]
    assert names(cluster / "store/cert.pem") == ["db.internal", "127.0.0.1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say for whom"),
        (("--nodes", "store"), "a node cannot be called store"),
        (("--nodes", "a b"), "'a b' is no name of a host"),
        (("--nodes", "node-1=../x"), "'../x' is no name of a host"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_made(opsapp, tmp_path, words, said):
    code, _out, err = opsapp("init", "--cluster", tmp_path / "tls", *words)
    assert (code, said in err) == (1, True)
    assert not (tmp_path / "tls").exists()


def test_without_the_key_of_the_authority_nothing_is_made(opsapp, cluster):
    key = (cluster / "ca/key.pem").read_bytes()
    (cluster / "ca/key.pem").write_text("not a key")
    assert "is no key" in opsapp("init", "--cluster", cluster, "--nodes", "node-9")[2]
    secret = cluster / "ca/key.pem"
    secret.unlink()
    assert (
        "without the authority's key no certificate can be made"
        in opsapp("init", "--cluster", cluster, "--nodes", "node-9")[2]
    )
    secret.write_bytes(key)
    (cluster / "ca/ca.pem").write_text("not a certificate")
    assert "is no certificate" in opsapp("init", "--cluster", cluster, "--nodes", "node-9")[2]
    assert not (cluster / "node-9").exists()


def test_an_authority_near_its_end_makes_nothing(tmp_path):
    long_ago = NOW - timedelta(days=3650 - 700)
    member = certificates.ClusterMember("node-1", ("node-1",))
    certificates.make(tmp_path, [member], renew=False, now=long_ago)
    with pytest.raises(Conflict, match="make a new one in another directory"):
        certificates.make(tmp_path, [member], renew=True, now=NOW)


@pytest.mark.parametrize(
    ("days", "level", "said"), [(729, "ok", "holds until"), (29, "warn", "ends in 28 days"), (-1, "FAIL", "ended at")]
)
def test_doctor_tells_the_end_of_a_certificate(tmp_path, days, level, said):
    made_at = NOW - timedelta(days=730 - days)
    certificates.make(tmp_path, [certificates.ClusterMember("node-1", ("node-1",))], renew=False, now=made_at)
    found = certificates.findings(tmp_path / "node-1", NOW)
    assert [finding.level for finding in found] == ["ok", level]
    assert said in found[1].said


def test_doctor_tells_what_is_missing_or_open(opsapp, cluster, place):
    (cluster / "node-1/key.pem").chmod(0o644)
    (cluster / "node-2/cert.pem").unlink()
    for node, said in (("node-1", f"others may read {cluster}/node-1/key.pem"), ("node-2", "lacks cert.pem")):
        ini = cluster.parent / f"{node}.ini"
        ini.write_text(f"[app:main]\nuse = egg:opsapp\nopsapp.data = {place[1]}\nopsapp.tls = {cluster / node}\n")
        code, out, _err = opsapp("doctor", "--ini", ini)
        assert (code, f"FAIL  certificate: {said}" in out or said in out) == (1, True)


def test_a_node_knows_its_certificates_from_the_address_of_the_store():
    uris = store_settings({"opsapp.store": "zeos://db.internal:6079?storage=main&tls=/etc/opsapp/tls"})
    assert str(certificateplaces.directory_of(uris)) == "/etc/opsapp/tls"
    assert certificateplaces.directory_of({"zodbconn.uri": "zeo://db.internal:6079?storage=main"}) is None
    assert uris["opsapp.shared_store"] == "true"


@pytest.mark.parametrize("uri", ["zeos://db.internal:6079?storage=main", "zeos:///socket?tls=/etc/opsapp/tls"])
def test_an_address_without_host_or_certificates_is_refused(opsapp, uri):
    code, _out, err = opsapp("user", "list", "--store", uri)
    assert (code, "names a host and the certificates: ?tls=DIRECTORY" in err) == (1, True)


def test_certificates_that_cannot_be_used_are_told(opsapp, cluster):
    (cluster / "node-1/key.pem").write_bytes((cluster / "node-2/key.pem").read_bytes())
    for directory in (cluster / "node-1", cluster / "nowhere"):
        code, _out, err = opsapp("user", "list", "--store", f"zeos://127.0.0.1:1?tls={directory}")
        assert (code, f"the certificates in {directory} cannot be used" in err) == (1, True)


def test_without_certificates_of_a_cluster_the_machine_decides_whom_to_trust():
    context = tls.client_context(None)
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"
