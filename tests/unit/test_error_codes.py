"""Every error code stands in one table, with a sentence, and each that stands there is used."""

import re

from opsapp.web.codes import MEANINGS, OF_COMMANDS
from opsapp.wire.messages import STREAM_ENDS
from tests.support.errorcodes import codes, status_of
from tests.support.errors_page import PAGE, page

PASSED_ON = set()  # a code that another place has made
TOLD_BY_OTHERS = {
    # place and expression -> the codes that it can be
    ("opsapp/agents/engine/streams.py", "code"): set(STREAM_ENDS)
    - {"not_found", "not_allowed", "too_large", "bad_request", "gone", "busy"},
    ("opsapp/approvals/engine.py", "status"): {"expired", "withdrawn"},
    ("opsapp/auth/engine/secondfactor.py", "outcome.reason"): {"bad_partial_token", "wrong_code"},
    ("opsapp/lib/problems.py", "code"): PASSED_ON,
    ("opsapp/runtime/ascode/apply.py", "problem.code"): PASSED_ON,
    ("opsapp/runtime/secrets/sealedfields.py", "problem.code"): PASSED_ON,
    ("opsapp/web/errors.py", "problem.code"): PASSED_ON,
    ("opsapp/web/errors.py", "error.title.lower().replace(' ', '_')"): PASSED_ON,  # Pyramid's, none of which is ours
    ("opsapp/web/refusals.py", "code"): PASSED_ON,
    ("opsapp/web/server/refusal.py", "self.code"): PASSED_ON,
    ("opsapp/web/server/refusal.py", "code"): PASSED_ON,
    ("opsapp/web/server/requestloop.py", "problem.code"): PASSED_ON,
}


def used():
    literal = {found_at.code for found_at in codes() if found_at.literal}
    return literal.union(*TOLD_BY_OTHERS.values())


def told():
    return {code for meanings in MEANINGS.values() for code in meanings} | set(OF_COMMANDS)


def test_every_code_is_told_and_none_is_told_that_nobody_uses():
    assert used() - told() == set(), "say in opsapp/web/codes.py what it means"
    assert told() - used() == set(), "nobody answers with it any more"


def test_a_code_that_is_computed_is_known_here():
    computed = {(found_at.place, found_at.code) for found_at in codes() if not found_at.literal}
    assert computed == set(TOLD_BY_OTHERS)


def test_a_code_stands_under_the_status_that_its_problem_has():
    misplaced = {
        (found_at.code, status)
        for found_at in codes()
        if found_at.literal and found_at.code not in OF_COMMANDS
        if (status := status_of(found_at.raised)) is not None and found_at.code not in MEANINGS[status]
    }
    assert misplaced == set()


def test_each_meaning_is_one_plain_sentence():
    for meaning in [*OF_COMMANDS.values(), *(text for meanings in MEANINGS.values() for text in meanings.values())]:
        assert re.fullmatch(r"[A-Z][^.]*(\.[0-9][^.]*)*\.", meaning), meaning


def test_the_page_of_the_guide_is_made_from_the_table():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.support.errors_page"
