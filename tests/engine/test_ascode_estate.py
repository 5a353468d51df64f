"""A store with one of each kind of thing as code: what is exported and applied changes nothing, whatever part of it and
in whatever order; and every kind has something there to be tried with."""

import json
import random

import pytest

from opsapp.lib.addresses import HIDDEN
from opsapp.runtime.ascode import kinds
from tests.engine.healing import Ward
from tests.support.estate import fill

TRIES = 25
MORE = {
    "letter": [{"letter": "healing", "at": "07:00", "zone": "Europe/Berlin", "channel": "on call"}],
    "status_page": [{"page": "public", "groups": [{"name": "All", "monitors": ["Shop"]}]}],
    "notices": [{"title": "The phones move", "text": "On $${Sunday}", "until": "2097-01-01T00:00:00"}],
    "secrets": [{"name": "of-code", "value": "hush", "allowed_for": ["needs a word"]}],
    "dependencies": [{"target": "Gone", "depends_on": ["Shop"], "site": "Berlin"}],
    "users": [{"username": "grace", "role": "operator"}],
}


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        ward = Ward(tmp_path_factory.mktemp("estate"))
        fill(ward)
        yield ward
        ward.close()


def applied(ward, document, status=200, **more):
    return ward.service.ada.post_json("/api/apply", {"document": document, **more}, status=status).json


@pytest.fixture(scope="module")
def document(ward):
    declared = ward.service.app.registry.opsapp_kinds
    known = {name: entries for name, entries in MORE.items() if name in {kind.name for kind in declared}}
    applied(ward, known)
    return ward.service.ada.get("/api/export").json


def said(ward):
    """What was pruned and comes back is younger than the others."""
    return in_any_order(ward.service.ada.get("/api/export").json)


def in_any_order(document):
    return {kind: sorted(json.dumps(entry, sort_keys=True) for entry in entries) for kind, entries in document.items()}


def test_every_kind_is_there(ward, document):
    assert [name for name, entries in document.items() if not entries] == []
    assert set(document) == {kind.name for kind in ward.service.app.registry.opsapp_kinds}


def test_what_is_exported_and_applied_is_as_it_was(ward, document):
    answer = applied(ward, document)
    assert (answer["changes"], answer["waiting"]) == ([], [])
    assert applied(ward, document, prune=True)["changes"] == []
    assert said(ward) == in_any_order(document)


@pytest.mark.parametrize("seed", range(TRIES))
def test_so_is_any_part_of_it_in_any_order(ward, document, seed):
    draw = random.Random(seed)
    names = draw.sample(sorted(document), draw.randint(1, len(document)))
    part = {name: draw.sample(document[name], draw.randint(0, len(document[name]))) for name in names}
    assert applied(ward, part)["changes"] == []
    assert said(ward) == in_any_order(document)


@pytest.mark.parametrize("seed", range(TRIES))
def test_what_is_pruned_comes_back_by_the_document(ward, document, seed):
    """Of kinds whose things a document makes again, without a secret that only the store has."""
    draw = random.Random(seed)
    name = draw.choice(["windows", "notices", "dependencies", "policies", "letter", "inlets", "status_page"])
    left = draw.sample(document[name], draw.randint(0, len(document[name]) - 1))
    gone = applied(ward, {name: left}, prune=True)["changes"]
    assert [change["change"] for change in gone] == ["delete"] * (len(document[name]) - len(left))
    applied(ward, document)
    assert said(ward) == in_any_order(document)


def test_no_secret_is_in_it(ward, document):
    """Every value that a kind hides is looked for in the whole document."""

    def hidden(root):
        values = set()
        for kind in ward.service.app.registry.opsapp_kinds:
            for stored in kind.actions.stored(ward.service.node, root):
                values |= hidden_in(stored.fields, kind.shown(stored.fields))
        return values

    text = json.dumps(document)
    values = ward.service.read(hidden)
    assert {"hidden", "hush"} <= values
    assert [value for value in values if value in text] == []


def hidden_in(value, shown):
    if isinstance(value, dict):
        parts = [hidden_in(part, shown[name]) for name, part in value.items() if name in shown]
        return {text for part in parts for text in part}
    return {value} if shown == HIDDEN and isinstance(value, str) else set()


def test_an_export_in_the_store_is_that_of_the_api(ward, document):
    declared = ward.service.app.registry.opsapp_kinds
    assert in_any_order(ward.service.read(lambda root: kinds.export(root, ward.service.node, declared))) == said(ward)
