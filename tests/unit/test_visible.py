"""Names that show what they hold."""

import pytest

from opsapp.agents.logic import changed_profile
from opsapp.lib.visible import visible
from opsapp.wire.reports import HostProfile

DECEIVING = "\x00\x1b\n\x7f\x9b\u061c\u200e\u200f\u2028\u2029\u202e\u2066\u2069"


@pytest.mark.parametrize("char", DECEIVING)
def test_what_deceives_is_replaced(char):
    assert visible(f"web{char}1") == "web\ufffd1"


@pytest.mark.parametrize("text", ["web-1", "Büro 3", "سرور", "می\u200cخواهم", "👩\u200d💻", "日本"])
def test_what_people_write_stays(text):
    """The joiners of Persian and of emoji are no controls of direction."""
    assert visible(text) == text


def test_a_hosts_own_words_are_replaced_and_compared_so():
    said = HostProfile("web\u202egnp.1", "Linux\x1b[2J")
    known = changed_profile({}, said)
    assert known == {"hostname": "web\ufffdgnp.1", "os": "Linux\ufffd[2J"}
    assert changed_profile(known, said) == {}
