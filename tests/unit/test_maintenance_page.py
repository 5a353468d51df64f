"""The maintenance page: what a window covers is said truly, however many monitors there are."""

from opsapp.monitoring.records import MonitorRecord
from opsapp.ui.reader import Answers
from opsapp.ui.shapes import maintenance


def listed(count):
    monitors = [MonitorRecord(id=f"m{n}", name=f"shop-{n}", type="http") for n in range(count)]
    return Answers({"monitors": monitors, "hosts": []})


def told(answers, *scope):
    return maintenance.silences(scope, "disabled", maintenance.names_in(answers)).partition(" is sent")[0]


def test_what_stands_beyond_the_list_is_counted_and_not_called_gone():
    full = listed(maintenance.LISTED)
    assert told(full, "m1", "beyond") == "No alert of shop-1 and 1 more"
    assert told(full, "beyond", "m1", "m2", "m3", "m4") == "No alert of shop-1, shop-2, shop-3 and 2 more"
    assert told(full, "beyond", "further") == "No alert of 2 monitors or hosts"
    assert told(full, "beyond") == "No alert of one monitor or host"


def test_what_is_in_no_whole_list_is_gone():
    few = listed(3)
    assert told(few, "m1", "deleted") == "No alert of shop-1 and something that is gone"
    assert told(few, "m0", "m1", "m2") == "No alert of shop-0, shop-1 and shop-2"
    assert told(few, "m0", "m1", "m2", "deleted", "m1") == "No alert of shop-0, shop-1, shop-2 and 2 more"
