"""The example file shows every key there is, each with the value that holds when it is left out."""

from pathlib import Path

import yaml

from opsapp.web import configfile

EXAMPLE = Path(__file__).resolve().parents[2] / "opsapp.example.yaml"


def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def flat(value, path=""):
    if not isinstance(value, dict):
        return {path: value}
    return {key: each for name, below in value.items() for key, each in flat(below, f"{path}.{name}").items()}


def test_the_example_is_the_defaults(service):
    defaults = configfile.schema_of(service.app.registry.opsapp_sections).read({}, "", {})
    shown, holding = flat(yaml.safe_load(EXAMPLE.read_text())), flat(plain(defaults))
    assert sorted(holding.keys() - shown.keys()) == [], "keys that the example does not show"
    assert sorted(shown.keys() - holding.keys()) == [], "keys that there are not"
    assert {key: (shown[key], holding[key]) for key in shown if shown[key] != holding[key]} == {}
