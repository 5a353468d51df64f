"""An update does not begin while another one is under way, or where the system's packages keep the program."""

import threading
from types import SimpleNamespace

from opsapp.agent import update
from opsapp.agent.update import Updater
from opsapp.wire.commands import UpdateParams
from tests.support.waiting import until


def test_the_second_of_two_is_refused_and_leaves_the_first_one_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(update, "program", lambda: str(tmp_path / "agent.pyz"))
    updater = Updater(SimpleNamespace(state_dir=str(tmp_path)), [], lambda place: None)
    begun, go, answers = threading.Event(), threading.Event(), []

    def fetch(fresh, _sha256):
        begun.set()
        go.wait(60)
        raise OSError("the end of this test")

    monkeypatch.setattr(updater, "_fetch", fetch)
    task = SimpleNamespace(id="c", params=UpdateParams("2", "0" * 64))
    first = threading.Thread(target=lambda: answers.append(updater(task)))
    first.start()
    until(begun.is_set, what="the first one's download")
    (tmp_path / "agent.pyz.new").write_bytes(b"the first one's")
    assert updater(task).ran.reason == "busy: another update is under way"
    assert (tmp_path / "agent.pyz.new").exists()
    go.set()
    first.join()
    assert answers[0].ran.reason == "the end of this test"
    assert updater(task).ran.reason == "the end of this test", "and the next one has its turn"


def test_what_a_package_brought_is_left_to_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(update, "program", lambda: str(tmp_path / "agent.pyz"))
    (tmp_path / update.PACKAGED).write_text("by dpkg\n")
    updater = Updater(SimpleNamespace(state_dir=str(tmp_path)), [], lambda place: None)
    task = SimpleNamespace(id="c", params=UpdateParams("2", "0" * 64))
    assert updater(task).ran.reason == "packaged: install the new opsapp-agent package on this host"
    assert not (tmp_path / "agent.pyz.new").exists()
