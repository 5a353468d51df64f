"""References: what is read from one is not exported as its value, and what stands for nothing changes nothing."""

import json

import pytest
import yaml

from opsapp.lib import references
from opsapp.runtime.ascode.references import book_of
from tests.api.test_ascode import WEB, apply, monitors

KEYED = {**WEB, "url": "https://me:hush-1@example.test/", "headers": {"Authorization": "Bearer hush-2"}}
WRITTEN = [
    {"place": ["monitors", "0", "url"], "text": "https://me:${PASSWORD}@example.test/"},
    {"place": ["monitors", "0", "headers", "Authorization"], "text": "Bearer ${file:token}"},
    {"place": ["monitors", "0", "keyword"], "text": "${WORD}"},
]


@pytest.fixture
def referenced(service):
    document = {"monitors": [{**KEYED, "type": "keyword", "keyword": "zebra-7"}]}
    return apply(service, document, references=WRITTEN)


def exported(service):
    return service.ada.get("/api/export").json


@pytest.mark.parametrize(
    "text", ["${A}", "$${A}", "$$${A}", "x ${file:/a b} $ {} ${a-b} $$", "a${A}b${B}", "{{secret:a}}"]
)
def test_what_is_escaped_is_meant_as_it_is(text):
    assert references.plain(references.escaped(text)) == text
    assert list(references.names_in(references.escaped(text))) == []


def test_a_value_that_looks_like_a_reference_is_none():
    assert references.plain(references.resolved("a ${A} $${B}", lambda _: "${C}")) == "a ${C} ${B}"


def test_an_export_writes_the_reference_and_not_what_was_read(service, referenced):
    [monitor] = exported(service)["monitors"]
    assert monitor["url"] == "https://me:${PASSWORD}@example.test/"
    assert monitor["headers"] == {"Authorization": "Bearer ${file:token}"}
    assert monitor["keyword"] == "${WORD}"
    told = json.dumps(referenced) + service.ada.get("/api/audit").text
    assert "${WORD}" in told
    assert "zebra-7" not in told, "a diff and the record are no export, and still have no value"


def test_an_export_applies_where_the_values_are_known(service, referenced):
    before = exported(service)
    assert apply(service, before)["changes"] == []
    assert exported(service) == before
    assert monitors(service)[0]["headers"] == KEYED["headers"]


def test_what_somebody_has_changed_since_is_no_reference_any_more(service, referenced):
    [monitor] = monitors(service)
    service.ada.put_json(f"/api/monitoring/endpoints/{monitor['id']}", {"keyword": "by hand"})
    document = exported(service)
    assert document["monitors"][0]["keyword"] == "by hand"
    document["monitors"][0]["keyword"] = "${WORD}"
    assert list(apply(service, document, 422)["fields"]) == ["monitors.0.keyword"]


def test_a_document_without_the_reference_forgets_it(service, referenced):
    apply(service, {"monitors": [{**KEYED, "type": "keyword", "keyword": "zebra-7"}]})
    assert exported(service)["monitors"][0]["keyword"] == "zebra-7"
    assert service.read(lambda root: len(book_of(root).rows)) == 0


def test_what_is_known_nowhere_is_a_mistake_at_its_place(service):
    document = {"monitors": [{**WEB, "url": "https://${HOST}/"}, {**WEB, "name": "${NAME}"}]}
    fields = apply(service, document, 422)["fields"]
    assert {place: text.partition(" ")[0] for place, text in fields.items()} == {
        "monitors.0.url": "${HOST}",
        "monitors.1.name": "${NAME}",
    }
    assert monitors(service) == []


def test_a_script_keeps_the_variables_of_its_shell(service):
    script = {"name": "home", "type": "script", "params": {"script": "echo ${HOME}"}}
    apply(service, {"automations": [script]})
    document = exported(service)
    assert document["automations"][0]["params"]["script"] == "echo ${HOME}"
    assert apply(service, document)["changes"] == []


def test_a_text_that_looks_like_a_reference_is_exported_as_text(service):
    apply(service, {"monitors": [{**WEB, "name": "costs $${MONEY}"}]})
    assert monitors(service)[0]["name"] == "costs ${MONEY}"
    assert exported(service)["monitors"][0]["name"] == "costs $${MONEY}"
    assert apply(service, exported(service))["changes"] == []


@pytest.mark.attack
@pytest.mark.parametrize(
    ("field", "value", "written", "shown"),
    [
        ("url", "https://me:literal@shop.test/", "https://me:literal@${HOST}/", "https://***@${HOST}/"),
        ("url", "https://me:p@shop.test/?key=literal", "https://me:${P}@shop.test/?key=literal",
         "https://me:${P}@shop.test/?***"),
        ("url", "https://shop.test/?key=value", "https://shop.test/?key=${K}", "https://shop.test/?key=${K}"),
        ("headers", {"X": "literal value"}, "literal ${V}", {"X": "***"}),
        ("headers", {"X": "Bearer value"}, "Bearer ${V}", {"X": "Bearer ${V}"}),
    ],
)  # fmt: skip
def test_what_stands_beside_a_reference_is_hidden_as_ever(service, field, value, written, shown):
    place = ["monitors", "0", field, *(["X"] if isinstance(value, dict) else [])]
    answer = apply(service, {"monitors": [{**WEB, field: value}]}, references=[{"place": place, "text": written}])
    document = exported(service)
    assert document["monitors"][0][field] == shown
    assert "literal" not in json.dumps([answer, document]) + service.ada.get("/api/audit").text
    assert "literal" not in str(service.read(lambda root: list(book_of(root).rows.values())))
    assert apply(service, document)["changes"] == []
    assert monitors(service)[0][field] == value


def test_of_a_sealed_address_only_a_whole_reference_is_exported(service):
    channels = [{"name": name, "url": "json://literal.test/room"} for name in ("whole", "part")]
    written = [{"place": ["channels", "0", "url"], "text": "${CHAT}"},
               {"place": ["channels", "1", "url"], "text": "json://literal.test/${ROOM}"}]  # fmt: skip
    apply(service, {"channels": channels}, references=written)
    document = exported(service)
    assert {channel["name"]: channel["url"] for channel in document["channels"]} == {"whole": "${CHAT}", "part": "***"}
    assert apply(service, document)["changes"] == []


# ---- secrets of the store


SECRET = {"secrets": [{"name": "token", "value": "hush-3"}]}
BY_SECRET = {"monitors": [{**WEB, "headers": {"Authorization": "Bearer {{secret:token}}"}}]}


def test_a_secret_is_filled_in_where_values_are_hidden(service):
    apply(service, SECRET)
    apply(service, BY_SECRET)
    assert monitors(service)[0]["headers"] == {"Authorization": "Bearer hush-3"}
    document = exported(service)
    assert document["monitors"][0]["headers"] == BY_SECRET["monitors"][0]["headers"]
    assert apply(service, document)["changes"] == []
    apply(service, {"secrets": [{"name": "token", "value": "hush-4"}]})
    [change] = apply(service, BY_SECRET)["changes"]
    assert (change["before"], change["after"], change["secrets"]) == ({}, {}, True)
    assert monitors(service)[0]["headers"] == {"Authorization": "Bearer hush-4"}
    assert "hush" not in service.ada.get("/api/audit").text


@pytest.mark.attack
@pytest.mark.parametrize("field", ["name", "keyword"])
def test_no_secret_comes_to_where_people_read_it(service, field):
    apply(service, SECRET)
    document = {"monitors": [{**WEB, "type": "keyword", "keyword": "x", field: "it is {{secret:token}}"}]}
    answer = apply(service, document, 422)
    assert list(answer["fields"]) == [f"monitors.0.{field}"]
    assert "hush" not in json.dumps(answer)


def test_an_unknown_secret_is_a_mistake(service):
    assert apply(service, BY_SECRET, 422)["fields"] == {"monitors.0.headers.Authorization": "there is no secret token"}


# ---- by the command


@pytest.fixture
def ops(tmp_path, opsapp, place):
    """Writes a document and applies it."""

    def run(text, *more, command="apply"):
        (tmp_path / "ops.yaml").write_text(text)
        return opsapp(command, tmp_path / "ops.yaml", *place, *more)

    return run


DOCUMENT = """\
monitors:
  - name: shop
    type: http
    url: https://me:${PASSWORD}@shop.test/
    headers: {Authorization: "Bearer ${file:token}"}
"""


def test_the_command_reads_the_environment_and_files(ops, opsapp, place, tmp_path, monkeypatch):
    code, out, err = ops(DOCUMENT)
    assert (code, out) == (1, "")
    file = tmp_path / "ops.yaml"
    assert f"{file}: line 4: monitors.0.url (shop): ${{PASSWORD}} is not set in the environment" in err
    assert "line 5: monitors.0.headers.Authorization (shop): ${file:token} cannot be read: No such file" in err
    monkeypatch.setenv("PASSWORD", "hush-${X}")
    (tmp_path / "token").write_text("hush-6\n")
    code, out, _ = ops(DOCUMENT)
    assert (code, "hush" in out) == (0, False)
    assert ops(DOCUMENT)[1] == "created 0, changed 0, deleted 0, 1 as they were\n"
    [monitor] = yaml.safe_load(opsapp("export", *place)[1])["monitors"]
    assert monitor["url"] == "https://me:${PASSWORD}@shop.test/"
    assert monitor["headers"] == {"Authorization": "Bearer ${file:token}"}
    monkeypatch.setenv("PASSWORD", "another")
    code, out, _ = ops(DOCUMENT, "--dry-run")
    assert (code, "a secret differs" in out) == (2, True)


@pytest.mark.parametrize(("written", "said"), [("", "is empty"), ("x" * 20_001, "more than 20000"), (b"\xff", "UTF-8")])
def test_a_file_that_is_no_secret_is_told(ops, tmp_path, monkeypatch, written, said):
    monkeypatch.setenv("PASSWORD", "x")
    (tmp_path / "token").write_bytes(written if isinstance(written, bytes) else written.encode())
    code, _, err = ops(DOCUMENT)
    assert (code, said in err) == (1, True)


def test_json_for_programs(ops, opsapp, place, monkeypatch):
    code, out, _ = ops(DOCUMENT, "--json")
    refusal = json.loads(out)["mistakes"][0]
    assert (code, refusal["line"], refusal["path"], refusal["name"]) == (1, 4, "monitors.0.url", "shop")
    plain = "notices: [{title: Sunday}]\n"
    code, out, _ = ops(plain, "--json", "--dry-run")
    assert (code, json.loads(out)["changes"][0]["key"]) == (2, "Sunday")
    code, out, _ = ops(plain, "--json")
    assert (code, json.loads(out)["dry_run"]) == (0, False)
    assert ops(plain, "--json", "--dry-run")[0] == 0
    code, out, _ = opsapp("export", "--json", *place)
    assert (code, json.loads(out)["notices"][0]["title"]) == (0, "Sunday")
    code, out, _ = ops("nothing: []\n", "--json")
    assert (code, json.loads(out)["mistakes"][0]["message"]) == (1, "is not known here")
    with pytest.raises(SystemExit) as ending:
        opsapp("apply", "--no-such-option")
    assert ending.value.code == 1, "2 says that something would change"
