"""A deed in the store: what a verdict writes, and what older stores hold."""

import pickle
from base64 import b64decode
from contextlib import closing
from typing import NamedTuple

import pytest
import ZODB
from ZODB.FileStorage import FileStorage

from opsapp.healing.logic.waves import WaveSizes
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.waves import StoredDeed, members_into_trees
from opsapp.healing.stages import waves
from opsapp.healing.stages.waves import UNKNOWN, WELL, Deed, Verdicts
from opsapp.notify.resources import inbox
from tests.engine.outage import DOWN, ends, fleets, told

# As it was before its members had trees: of five one is well, one unknown, one at work in wave 2, one waits, and one is
# not ready.
OLD = (
    "gANjb3BzYXBwLmhlYWxpbmcuc3RhZ2VzLndhdmVzCkRlZWQKcQAoWAIAAABkMXEBWAQAAABkb3ducQJHQc3NZQAAAAB9cQMoWAIAAABjMXEEY29w"
    "c2FwcC5oZWFsaW5nLnN0YWdlcy53YXZlcwpEZWVkTWVtYmVyCnEFKGgEWAIAAABoMXEGRz+5mZmZmZmaiYhLAVgEAAAAd2VsbHEHdHEIgXEJWAIA"
    "AABjMnEKaAUoaApYAgAAAGgycQtHP8mZmZmZmZqJiEsCWAcAAAB1bmtub3ducQx0cQ2BcQ5YAgAAAGMzcQ9oBShoD1gCAAAAaDNxEEc/0zMzMzMz"
    "M4mISwJYAAAAAHERdHESgXETWAIAAABjNHEUaAUoaBRYAgAAAGg0cRVHP9mZmZmZmZqJiEsAaBF0cRaBcRdYAgAAAGM1cRhoBShoGFgCAAAAaDVx"
    "GUc/4AAAAAAAAIiJSwBoEXRxGoFxG3VLAmgRiImJdHEcgXEdLg=="
)


@pytest.fixture
def fleet(ward):
    return fleets(ward)


class Case(NamedTuple):
    id: str
    target: str


class Written(NamedTuple):
    objects: int
    size: int


def of_verdicts(path, count):
    """The most that one verdict of the first fifty writes, of so many members that all go at once."""
    with closing(ZODB.DB(FileStorage(str(path)))) as db:
        with db.transaction() as connection:
            stored = connection.root()["deed"] = StoredDeed(Deed("d", "down", 0.0))
            for n in range(count):
                case = Case(f"{n * 7919 % count:032}", f"host-{n:05}.example.com")
                stored.keep(waves.joined(stored.deed, None, case, n / count, ready=True))
            stored.keep(waves.next_wave(stored.deed, stored.in_line(), WaveSizes(first=count)))
        return max(verdict(db, at * count // 50) for at in range(50))


def verdict(db, at):
    with db.transaction() as connection:
        stored = connection.root()["deed"]
        member = stored.members[f"{at:032}"]
        stored.keep(waves.judged(stored.deed, member, WELL, ""))
    [sizes] = [[len(record.data) for record in records] for records in db.storage.iterator(db.lastTransaction())]
    return Written(len(sizes), sum(sizes))


def test_a_verdict_writes_as_much_with_a_hundred_members_as_with_two_thousand(tmp_path):
    few, many = of_verdicts(tmp_path / "few", 100), of_verdicts(tmp_path / "many", 2000)
    assert few.objects == many.objects == 2, "the counts, and a leaf of the tree"
    assert few.size * 0.8 <= many.size <= few.size * 1.2
    assert many.size <= 8000


def test_a_request_of_thousands_is_capped_wherever_it_is_shown(fleet):
    outage = fleet(60, level="approve").until_asked()
    [asked] = outage.here.service.vera.get("/api/approvals").json
    assert (len(asked["plan"]["targets"]), asked["plan"]["more"]) == (50, 10)
    page = outage.here.service.browser("otto").get(f"/approvals/{asked['request_id']}").html
    assert "And 10 more" in page.select_one("main").get_text(" ", strip=True)
    [message] = [row for row in outage.here.node.transact(inbox.take, 100) if row.kind == "heal.approval"]
    assert "and 50 more" in message.text
    outage.here.service.client("otto").post_json(f"/api/approvals/{asked['request_id']}/approve", {})
    assert ends(outage.until_quiet()) == {"verified": 60}, "all of it was agreed to"
    assert told(outage)["heal.waves"] == 1


def test_a_deed_of_an_older_store_goes_on(ward):
    here = ward(DOWN)

    def bring_up(root):
        book = healing_of(root).waves
        book.deeds["d1"] = StoredDeed(pickle.loads(b64decode(OLD)))
        members_into_trees(root)
        members_into_trees(root)  # a step that was broken off is taken again
        stored = book.find("d1")
        deed, line, wanting = stored.deed, [member.target for member in stored.in_line()], list(stored.wanting)
        stored.keep(waves.judged(deed, stored.members["c3"], UNKNOWN, ""))
        return deed, line, wanting, stored.deed

    deed, line, wanting, later = here.node.transact(bring_up)
    assert (deed.members, deed.wave, deed.hosts, deed.acting, deed.waiting, deed.begun) == (5, 2, 2, 1, 2, True)
    assert deed.ends == Verdicts(well=1, unknown=1)
    assert (line, wanting) == (["h4"], ["c5"])
    assert later.stopped == "nobody can tell whether it has helped h2"
