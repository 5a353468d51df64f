"""The audit record shows what was done to it by somebody who has the store and not the master key."""

import json

import pytest

from opsapp.audit import resources
from opsapp.audit.engine import Actor
from opsapp.audit.resources.log import FOLD, Block, Kept
from opsapp.lib import chains
from opsapp.runtime.secrets import chainkey

pytestmark = pytest.mark.attack

VERIFY = "/api/audit/verify"


def fill(root, count):
    for n in range(count):
        after = {"n": n, 7: ("a",)}
        resources.note(root, Actor("otto", "::1"), "thing.update", f"t{n}", after=after)


@pytest.fixture
def filled(service):
    """A log with folded blocks and a tail."""
    service.ada.get("/api/audit")
    service.transact(fill, 2 * FOLD + 20)
    return service


def log_of(root):
    return max(root.system["audit"].values(), key=lambda log: log.number)


def blocks(log):
    return [block for shelf in log.shelves.values() for *_, block in shelf.blocks]


def test_a_record_that_nobody_touched(filled):
    found = filled.ada.get(VERIFY).json
    written = filled.transact(resources.written)
    assert found == {"valid": True, "entries": written, "first_bad": None}
    filled.otto.get(VERIFY, status=403)


def tail_changed(log):
    number = log.tail.minKey()
    log.tail[number] = Kept(log.tail[number].values | {"username": "ada"})


def block_changed(log):
    entries = blocks(log)[0].entries()
    entries[3]["username"] = "ada"
    blocks(log)[0].packed = Block(entries, None).packed


def one_taken_out(log):
    entries = blocks(log)[1].entries()
    blocks(log)[1].packed = Block(entries[:5] + entries[6:], None).packed


def end_cut_off(log):
    log.tail.clear()
    log.head = log.tail_start


def beginning_cut_off(log):
    shelf = log.shelves[log.shelves.minKey()]
    shelf.blocks = shelf.blocks[1:]


def appended(log):
    entry = dict(log.tail[log.tail.maxKey()].values)
    log.tail[log.tail.maxKey() + 1] = Kept(entry)
    log.head = chains.link(b"", log.head, [log.number, entry])


def signature_gone(log):
    log.signature = None


def chain_gone(log):
    log.head = log.signature = None


CHANGES = [
    tail_changed,
    block_changed,
    one_taken_out,
    end_cut_off,
    beginning_cut_off,
    appended,
    signature_gone,
    chain_gone,
]


@pytest.mark.parametrize("how", CHANGES, ids=lambda how: how.__name__)
def test_what_was_done_to_it_is_found(filled, how):
    filled.transact(lambda root: how(log_of(root)))
    found = filled.ada.get(VERIFY).json
    assert found["valid"] is False
    assert found["reason"]
    if how in (tail_changed, block_changed):
        assert found["first_bad"] in {entry["id"] for entry in filled.ada.get("/api/audit?limit=1000").json}


def test_a_log_that_is_gone_or_one_too_many_is_found(filled):
    def hide(root):
        logs = root.system["audit"]
        del logs[next(name for name, log in logs.items() if log is log_of(root))]

    filled.transact(hide)
    assert filled.ada.get(VERIFY).json["valid"] is False

    def forget_name(root):
        root.system[resources.WRITERS].names = tuple(root.system["audit"])

    filled.transact(forget_name)
    assert filled.ada.get(VERIFY).json["valid"] is False


def test_what_the_retention_takes_is_not_missed(filled):
    filled.clock.advance(100)
    filled.transact(fill, 5)
    for _ in range(3):
        filled.transact(resources.retire, filled.clock.now() - 50)
    found = filled.ada.get(VERIFY).json
    assert (found["valid"], found["entries"] < FOLD) == (True, True)
    filled.transact(fill, FOLD)
    assert filled.ada.get(VERIFY).json["valid"] is True
    filled.clock.advance(100)
    filled.transact(resources.retire, filled.clock.now() - 50)
    filled.transact(fill, 1)
    assert filled.ada.get(VERIFY).json["valid"] is True


def test_entries_from_before_the_chain_are_kept_and_signed_as_they_are(filled):
    """As in a store of an older version: logs without links, and no key."""

    def older(root):
        del root.system[chainkey.NAME]
        root.system[resources.WRITERS].signature = None
        for log in root.system["audit"].values():
            log.head = log.tail_start = log.signature = None
            for block in blocks(log):
                block.start = None

    filled.transact(older)
    chainkey.prepare(filled.node)
    assert filled.ada.get(VERIFY).json["valid"] is True
    filled.transact(fill, 2 * FOLD)
    assert filled.ada.get(VERIFY).json["valid"] is True
    filled.transact(lambda root: tail_changed(log_of(root)))
    assert filled.ada.get(VERIFY).json["valid"] is False


def test_entries_are_linked_as_they_are_read_later(filled):
    entries = filled.transact(lambda root: [block.entries() for block in blocks(log_of(root))])
    assert json.loads(json.dumps(entries)) == entries
    assert entries[0][-1]["after"] == {"n": entries[0][-1]["after"]["n"], "7": ["a"]}
