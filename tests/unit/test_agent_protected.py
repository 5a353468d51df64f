"""Protected names: the agent's own always, the server's until it says otherwise, over a restart too."""

from opsapp.agent.protected import ProtectedNames


def test_the_server_adds_and_takes_back_only_what_it_added(tmp_path):
    protected = ProtectedNames(str(tmp_path), ["sshd", "init"])
    names = protected.names
    protected.take(["postgres", "init"])
    assert names == {"sshd", "init", "postgres"}
    protected.take([])
    assert names == {"sshd", "init"}
    protected.take(None)
    assert names == {"sshd", "init"}


def test_it_is_kept_for_when_the_server_is_away(tmp_path):
    ProtectedNames(str(tmp_path), ["sshd"]).take(["postgres"])
    assert ProtectedNames(str(tmp_path), ["sshd"]).names == {"sshd", "postgres"}


def test_what_cannot_be_read_protects_no_less_than_the_own_list(tmp_path):
    for said in ("{", '{"a": 1}', "[1, null]"):
        (tmp_path / "protected.json").write_text(said)
        assert ProtectedNames(str(tmp_path), ["sshd"]).names == {"sshd"}
