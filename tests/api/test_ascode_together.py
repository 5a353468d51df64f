"""Two documents at once: each sees what the other did, or is told what has changed. Nothing is lost or twice there."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.api.test_ascode import WEB, apply, monitors
from tests.support.documented import DocumentedApp

ROUNDS, WRITERS = 5, 4


@pytest.fixture
def together(service):
    """Applies documents at the same moment, each from a thread of its own; the answers."""
    service.client("ada")
    headers = {"Authorization": f"Bearer {service.tokens['ada']}"}

    def apply_all(bodies):
        begin = Barrier(len(bodies))

        def run(body):
            begin.wait()
            return DocumentedApp(service.app).post_json("/api/apply", body, headers=headers, status="*").json

        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(run, bodies))

    return apply_all


def stamps(answer):
    return [change["stamp"] for change in answer["changes"]]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_same_document_twice_at_once_makes_each_thing_once(service, together, number):
    document = {"monitors": [{**WEB, "name": f"m{n}"} for n in range(5)], "notices": [{"title": "Sunday"}]}
    answers = together([{"document": document}] * WRITERS)
    assert sorted(len(answer["changes"]) for answer in answers) == [0] * (WRITERS - 1) + [6]
    assert sorted(monitor["name"] for monitor in monitors(service)) == [f"m{n}" for n in range(5)]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_what_two_have_changed_since_they_looked_only_one_changes(service, together, number):
    apply(service, {"monitors": [WEB]})
    documents = [{"monitors": [{**WEB, "interval": 30 + n}, {**WEB, "name": f"own-{n}"}]} for n in range(WRITERS)]
    looked = [apply(service, document, dry_run=True) for document in documents]
    bodies = [
        {"document": document, "seen": stamps(answer)} for document, answer in zip(documents, looked, strict=True)
    ]
    answers = together(bodies)
    [winner] = [n for n, answer in enumerate(answers) if "changes" in answer]
    for n, answer in enumerate(answers):
        if n != winner:
            assert answer["code"] == "changed_since"
            assert f"monitors web: interval is {30 + winner} now" in answer["error"]
    by_name = {monitor["name"]: monitor["interval"] for monitor in monitors(service)}
    assert by_name == {"web": 30 + winner, f"own-{winner}": 60}, "of those that were refused nothing was done"


@pytest.mark.parametrize("number", range(ROUNDS))
def test_different_things_at_once_are_all_there(service, together, number):
    documents = [{"monitors": [{**WEB, "name": f"of-{n}"}]} for n in range(WRITERS)]
    looked = [apply(service, document, dry_run=True) for document in documents]
    answers = together([{"document": d, "seen": stamps(a)} for d, a in zip(documents, looked, strict=True)])
    assert all(answer.get("changes") for answer in answers)
    assert sorted(monitor["name"] for monitor in monitors(service)) == [f"of-{n}" for n in range(WRITERS)]


def test_without_having_looked_the_answer_says_what_was_written_over(service, together):
    apply(service, {"monitors": [WEB]})
    answers = together([{"document": {"monitors": [{**WEB, "interval": 30 + n}]}} for n in range(WRITERS)])
    befores = sorted(answer["changes"][0]["before"]["interval"] for answer in answers)
    afters = sorted(answer["changes"][0]["after"]["interval"] for answer in answers)
    [last] = [monitor["interval"] for monitor in monitors(service)]
    assert befores == sorted({60, *afters} - {last}), "a chain: each saw what the one before it did"


def test_what_was_deleted_or_made_meanwhile_is_told(service):
    document = {"monitors": [{**WEB, "interval": 30}]}
    created = apply(service, document, dry_run=True)
    apply(service, {"monitors": [WEB]})
    answer = apply(service, document, 409, seen=stamps(created))
    assert "monitors web: interval is 60 now" in answer["error"]
    changed = apply(service, document, dry_run=True)
    apply(service, {"monitors": []}, prune=True)
    assert "monitors web is not there" in apply(service, document, 409, seen=stamps(changed))["error"]
    apply(service, document, seen=stamps(created))


def test_a_thing_that_came_meanwhile_is_not_pruned_unseen(service):
    apply(service, {"monitors": [WEB]})
    looked = apply(service, {"monitors": []}, dry_run=True, prune=True)
    apply(service, {"monitors": [{**WEB, "name": "new"}]})
    answer = apply(service, {"monitors": []}, 409, prune=True, seen=stamps(looked))
    assert "monitors new" in answer["error"]
    assert len(monitors(service)) == 2


def test_a_secret_that_changed_meanwhile_is_seen_and_not_told(service):
    address = "https://me:{}@example.test/"
    apply(service, {"monitors": [{**WEB, "url": address.format("first")}]})
    document = {"monitors": [{**WEB, "url": address.format("mine")}]}
    looked = apply(service, document, dry_run=True)
    apply(service, {"monitors": [{**WEB, "url": address.format("other")}]})
    answer = apply(service, document, 409, seen=stamps(looked))
    assert ("monitors web is another now" in answer["error"], "other" in answer["error"].replace("another", "")) == (
        True, False,
    )  # fmt: skip
