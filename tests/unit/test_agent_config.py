"""Configuration and path rules: who wins, what is refused, and that a path is judged by what it is."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.agent.config import ConfigError, load
from opsapp.agent.link import Backoff
from opsapp.agent.paths import NotAllowed, PathRules


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_text("sesame\n")
    return str(path)


def flags(key, tmp_path, *more):
    state = str(tmp_path / "s")
    return ["--server", "https://ops.example:8080/", "--id", "a1", "--key-file", key, "--state", state, *more]


def test_flags_win_over_environment_over_file(key, tmp_path):
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({"server": "https://file", "agent_id": "from-file", "key_file": key, "interval_s": 5}))
    config = load(["--config", str(file), "--state", str(tmp_path)], {"OPSAPP_SERVER": "https://env"})
    assert (config.server, config.agent_id, config.key, config.interval_s) == ("https://env", "from-file", "sesame", 5)
    environ = {"OPSAPP_SERVER": "https://env", "OPSAPP_AGENT_KEY": "k"}
    config = load(flags(key, tmp_path, "--config", str(file)), environ)
    assert (config.server, config.agent_id, config.key) == ("https://ops.example:8080", "a1", "sesame")


def test_the_agents_own_secrets_are_denied(key, tmp_path):
    config = load(flags(key, tmp_path), {})
    rules = PathRules(config)
    for path in (key, str(tmp_path / "s" / "journal.jsonl"), "/etc/shadow", "/root/.ssh/id_ed25519", "/proc/1/environ"):
        with pytest.raises(NotAllowed):
            rules.check(path, "operator")
    assert rules.check("/etc/hostname", "operator") == os.path.realpath("/etc/hostname")
    with pytest.raises(NotAllowed):
        rules.check("/etc/hostname", "viewer")
    assert rules.check("/var/log/syslog", "viewer")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "object"),
        ('{"speed": 1}', "unknown keys: speed"),
        ('{"interval_s": "5"}', "interval_s"),
        ('{"interval_s": 0}', "interval_s"),
        ('{"interval_s": true}', "interval_s"),
        ('{"allow_paths": "/"}', "allow_paths"),
        ('{"deny_paths": ["etc"]}', "deny_paths"),
        ('{"protected_processes": [1]}', "protected_processes"),
        ('{"key": "inline"}', "unknown keys: key"),
    ],
)
def test_mistakes_in_the_file_are_told(key, tmp_path, content, said):
    file = tmp_path / "agent.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=said):
        load(flags(key, tmp_path, "--config", str(file)), {})


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--id", "a1"], "server is missing"),
        (["--server", "https://x"], "agent_id is missing"),
        (["--server", "ftp://x", "--id", "a"], "http"),
        (["--server", "http://[::1", "--id", "a"], "is not a URL"),
        (["--server", "http://x:70000", "--id", "a"], "URL"),
        (["--server", "http://me:pw@x", "--id", "a"], "credentials"),
        (["--server", "https://x", "--id", "a"], "no key"),
        (["--server", "https://x", "--id", "a", "--key-file", "/no/such"], "cannot read the key"),
        (["--config", "/no/such"], "cannot read"),
    ],
)
def test_mistakes_in_the_flags_are_told(argv, said):
    with pytest.raises(ConfigError, match=said):
        load(argv, {})


@given(st.lists(st.sampled_from(["..", ".", "a", "secret", "link", "", "b"]), max_size=8))
def test_no_way_of_writing_a_path_leads_into_what_is_denied(tmp_path_factory, parts):
    root = tmp_path_factory.mktemp("rules")
    for name in ("a", "secret", "b"):
        (root / name).mkdir()
    (root / "a" / "link").symlink_to(root / "secret")
    (root / "link").symlink_to(root / "a")
    key = root / "key"
    key.write_text("k")
    argv = ["--server", "https://x", "--id", "a", "--key-file", str(key), "--state", str(root / "secret")]
    rules = PathRules(load(argv, {}))
    path = str(root) + "/" + "/".join(parts)
    try:
        real = rules.check(path, "operator")
    except NotAllowed:
        return
    assert not real.startswith(str(root / "secret"))


def test_backing_off_doubles_with_jitter_up_to_a_bound():
    backoff = Backoff(1, 60)
    waits = [backoff.next() for _ in range(12)]
    assert all(2**number * 0.5 <= wait <= 2**number for number, wait in enumerate(waits[:6]))
    assert all(30 <= wait <= 60 for wait in waits[6:])
    backoff.reset()
    assert backoff.next() <= 1


def test_a_server_abroad_without_tls_is_refused_unless_it_is_allowed(key, tmp_path):
    argv = ["--server", "http://10.0.0.1:6080", "--id", "a", "--key-file", key, "--state", str(tmp_path)]
    with pytest.raises(ConfigError, match=r"has no TLS.*--allow-plain-http"):
        load(argv, {})
    assert load([*argv, "--allow-plain-http"], {}).allow_plain_http is True
    file = tmp_path / "agent.json"
    for allowed, wrong in ((True, None), (False, "has no TLS"), ("yes", "must be true or false")):
        file.write_text(json.dumps({"allow_plain_http": allowed}))
        if wrong is None:
            assert load([*argv, "--config", str(file)], {}).server == "http://10.0.0.1:6080"
        else:
            with pytest.raises(ConfigError, match=wrong):
                load([*argv, "--config", str(file)], {})
    assert load(["--server", "http://localhost:6080", *argv[2:]], {}).allow_plain_http is False


def test_viewers_read_what_everybody_on_the_host_may_read(key, tmp_path):
    log = tmp_path / "log"
    (log / "private").mkdir(parents=True)
    modes = {"open.log": 0o644, "own.log": 0o640, "private/open.log": 0o644}
    for name, mode in modes.items():
        (log / name).write_text("a line\n")
        (log / name).chmod(mode)
    (log / "private").chmod(0o750)
    (log / "link.log").symlink_to(log / "own.log")
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({"viewer_paths": [str(log)]}))
    rules = PathRules(load(flags(key, tmp_path, "--config", str(file)), {}))
    read = {}
    for name in (*modes, "link.log"):
        try:
            rules.open_for_reading(str(log / name), "viewer").close()
            read[name] = True
        except NotAllowed:
            read[name] = False
        rules.open_for_reading(str(log / name), "operator").close()
    assert read == {"open.log": True, "own.log": False, "private/open.log": False, "link.log": False}
