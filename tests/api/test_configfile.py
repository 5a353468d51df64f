"""The YAML file: defaults, every mistake with its path and line, reload all or nothing."""

import pytest

from opsapp import app
from opsapp.auth.config import OidcSettings, RoleMap
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.default_rules import declare
from opsapp.lib.problems import StoreAway
from opsapp.web import configfile
from opsapp.web.config import LogSettings, WebSettings


@pytest.fixture
def sections(service):
    return service.app.registry.opsapp_sections


def write(tmp_path, text):
    path = tmp_path / "opsapp.yaml"
    path.write_text(text)
    return path


def mistakes(path, sections):
    with pytest.raises(configfile.BadConfig) as caught:
        configfile.read(path, sections)
    return {mistake.path: (mistake.line, mistake.message) for mistake in caught.value.mistakes}


@pytest.mark.shared
def test_without_a_file_every_default_is_there(service):
    config = service.node.config
    assert config.timezone == "UTC"
    assert config[WebSettings].base_url is None
    assert config[LogSettings].format == "text"


@pytest.mark.shared
def test_an_empty_file_means_defaults(tmp_path, sections, service):
    config = configfile.read(write(tmp_path, "\n# nothing\n"), sections)
    assert [config[kind] for kind in sections.values()] == [service.node.config[kind] for kind in sections.values()]


@pytest.mark.parametrize(
    "text",
    [
        "server: {public_url: 'https://ops.example.org'}\n",
        "server: {public_url: 'https://ops.example.org'}\nweb: {base_url: 'https://ops.example.org'}\n",
    ],
)
@pytest.mark.shared
def test_the_public_address_has_two_names(tmp_path, sections, text):
    config = configfile.read(write(tmp_path, text), sections)
    assert config[WebSettings].base_url == "https://ops.example.org"


@pytest.mark.shared
def test_two_names_of_the_public_address_may_not_disagree(tmp_path, sections):
    text = "web: {base_url: 'https://a.example.org'}\nserver:\n  public_url: https://b.example.org\n"
    assert mistakes(write(tmp_path, text), sections) == {
        "server.public_url": (3, "is not what web.base_url says: one of the two is enough")
    }


@pytest.mark.shared
def test_every_mistake_is_told_with_its_line(tmp_path, sections):
    text = "timezone: Mars/Olympus\nweb:\n  base_ulr: http://x\n  trusted_proxies: [10.0.0.0/8, nonsense]\nlgo: {}\n"
    found = mistakes(write(tmp_path, text), sections)
    assert found["timezone"][0] == 1
    assert found["web.base_ulr"] == (3, "is not known here; did you mean 'base_url'?")
    assert found["web.trusted_proxies.1"][0] == 4
    assert found["lgo"] == (5, "is not known here; did you mean 'log'?")


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("web: [1\n", "file", 2),
        ("- a\n- b\n", "file", 1),
        ("log:\n  level: info\n  level: debug\n", "log.level", 3),
        ("log: 7\n", "log", 1),
        ("timezone: !!python/object:os.system x\n", "timezone", 1),
        ("web:\n  base_url: ftp://x\n", "web.base_url", 2),
        ("web:\n  ? [a, b]\n  : 1\n", "web", 2),
        ("web: &within\n  login: *within\n", "file", None),
        ("[" * 1000, "file", None),  # deeper than Python goes; 5000 take YAML a second
        ("web:\n  base_url: 'http://[::1'\n", "web.base_url", 2),
        ("web:\n  base_url: http://ops.example:99999\n", "web.base_url", 2),
        ("web:\n  base_url: http://ops example\n", "web.base_url", 2),
        ("web:\n  base_url: http://me:secret@ops.example\n", "web.base_url", 2),
    ],
)
@pytest.mark.shared
def test_what_cannot_be_read_is_refused(tmp_path, sections, text, path, line):
    assert mistakes(write(tmp_path, text), sections)[path][0] == line


@pytest.mark.shared
def test_aliases_of_aliases_do_not_fill_the_memory(tmp_path, sections):
    """A few lines that stand for 10^12 values; `opsapp apply` reads files by the same function."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert (
        mistakes(write(tmp_path, "\n".join(lines)), sections)["file"][1] == "has aliases that stand for too many values"
    )
    values, _ = configfile.parse("one: &one {a: [1, 2]}\ntwo: *one\n", "here")
    assert values == {"one": {"a": [1, 2]}, "two": {"a": [1, 2]}}


@pytest.mark.shared
def test_a_missing_file_is_a_mistake(tmp_path, sections):
    assert "file" in mistakes(tmp_path / "none.yaml", sections)


def test_reload_is_all_or_nothing(service, tmp_path):
    path = write(tmp_path, "timezone: Europe/Berlin\n")
    service.app.registry.settings["opsapp.config"] = str(path)
    seen = []
    service.app.registry.opsapp_appliers.append(lambda root, config: seen.append(config.timezone))
    assert app.reload(service.app.registry) is True
    assert service.node.config.timezone == seen[-1] == "Europe/Berlin"
    path.write_text("timezone: Europe/Paris\nnonsense: 1\n")
    assert app.reload(service.app.registry) is False
    assert service.node.config.timezone == "Europe/Berlin"


GOOD_OIDC = """
web:
  oidc:
    enabled: true
    issuer: https://id.example.org/realm
    client_id: opsapp
    redirect_uri: https://ops.example.org/api/auth/oidc/callback
    role_map: {admin: ops-admins}
"""


def test_a_reload_while_the_store_is_out_of_reach_is_no_mistake_of_the_file(service, monkeypatch):
    """A commit that waited too long for another node's: the file is read again, for nobody sends the signal twice."""
    monkeypatch.setattr(service.node, "transact", lambda *_: (_ for _ in ()).throw(StoreAway()))
    with pytest.raises(StoreAway):
        app.reload(service.app.registry)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("    client_id: opsapp\n", "", "web.oidc.client_id"),
        ("    role_map: {admin: ops-admins}\n", "", "web.oidc.role_map"),
        ("https://id.example.org/realm", "id.example.org", "web.oidc.issuer"),
        ("https://id.example.org/realm", "'https://[::1'", "web.oidc.issuer"),
        ("https://ops.example.org/api", "https://ops.example.org:70000/api", "web.oidc.redirect_uri"),
        ("admin: ops", "root: ops", "web.oidc.role_map.root"),
        ("    client_id: opsapp\n", "    client: opsapp\n", "web.oidc.client"),
    ],
)
@pytest.mark.shared
def test_single_sign_on_is_configured_whole_or_not_at_all(service, tmp_path, old, new, wrong):
    path = tmp_path / "opsapp.yaml"
    path.write_text(GOOD_OIDC)
    found = configfile.read(path, service.app.registry.opsapp_sections)[OidcSettings]
    assert found.scopes == ("openid", "profile", "email")
    assert found.role_map == RoleMap("ops-admins")
    path.write_text(GOOD_OIDC.replace(old, new))
    with pytest.raises(configfile.BadConfig) as caught:
        configfile.read(path, service.app.registry.opsapp_sections)
    assert wrong in {mistake.path for mistake in caught.value.mistakes}


@pytest.mark.shared
def test_a_window_that_ends_before_it_begins_has_its_line(tmp_path, sections):
    text = (
        "log: {format: xml}\n"
        "maintenance:\n"
        "  windows:\n"
        "    - {name: a, start: '2058-01-01T10:00', end: '2058-01-01T11:00'}\n"
        "    - name: b\n"
        "      start: '2058-01-01T10:00'\n"
        "      end: '2058-01-01T09:00'\n"
    )
    found = mistakes(write(tmp_path, text), sections)
    assert found.pop("log.format")[0] == 1
    assert found == {"maintenance.windows.1.end": (7, "must be after start")}


@pytest.mark.shared
def test_what_is_wrong_between_the_fields_of_a_rule_has_its_line_too(tmp_path, sections):
    text = (
        "healing:\n"
        "  rules:\n"
        "    - {id: a, condition: cpu_percent > 1}\n"
        "    - id: b\n"
        "      condition: cpu_percent > 1\n"
        "      escalation_chain:\n"
        "        - {action: restart_service, params: {servce: nginx}}\n"
        "  dependencies:\n"
        "    - {target: x, depends_on: [y]}\n"
        "    - {target: y, depends_on: [x]}\n"
    )
    found = mistakes(write(tmp_path, text), sections)
    assert found["healing.rules.0.action"] == (3, "is required where there is no escalation_chain")
    lacking = found["healing.rules.1.escalation_chain.0.params.servce"]
    assert lacking == (7, "restart_service has no such parameter")
    assert found["healing.dependencies"][0] == 8
    assert "cycle: x → y → x" in found["healing.dependencies"][1]


@pytest.mark.shared
def test_the_thresholds_of_healing_are_configured(tmp_path, sections):
    text = "healing:\n  skip: {outcomes: 3, retry_s: 3600}\n  promotion: {triggers: 2}\n  change: {threshold: 600}\n"
    text += "  recurrence: {heals: 4}\n  brake: {max_heals_per_hour: {target: 2}}\n"
    limits = configfile.read(write(tmp_path, text), sections)[HealingSettings]
    assert (limits.skip.outcomes, limits.skip.retry_s, limits.skip.rate) == (3, 3600, 0.3)
    assert (limits.promotion.triggers, limits.promotion.bound, limits.recurrence.heals) == (2, 0.75, 4)
    assert (limits.change.threshold, limits.brake.max_heals_per_hour.target) == (600, 2)
    wrong = mistakes(write(tmp_path, "healing:\n  change: {threshold: 0.5}\n"), sections)
    assert wrong == {"healing.change.threshold": (2, "must be 2 to 1000000000")}


def test_a_file_of_the_release_before_is_taken_and_what_has_no_effect_is_said(service, tmp_path, sections, caplog):
    config = configfile.read(write(tmp_path, "healing:\n  cusum: {good: 0.9, threshold: 5}\n"), sections)
    service.transact(declare, config)
    assert "healing.cusum in the configuration has no effect any more" in caplog.text
