"""The executor's directory after a copy by root: what does not belong to the executor's user is in its way."""

import os

from opsapp.agents.engine.executor_launch import remove_foreign


def test_what_belongs_to_another_user_is_removed_and_nothing_that_it_leads_to(tmp_path):
    """It died again and again with a journal that it could not write, while health said that all is well."""
    place, elsewhere = tmp_path / "executor", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("somebody else's")
    (place / "journal").write_text("of before the copy")
    (place / "runs").mkdir()
    (place / "runs" / "one").write_text("left")
    (place / "link").symlink_to(elsewhere)
    remove_foreign(place, os.getuid())
    assert sorted(path.name for path in place.iterdir()) == ["journal", "link", "runs"]
    remove_foreign(place, os.getuid() + 1)
    assert list(place.iterdir()) == []
    assert (elsewhere / "kept").read_text() == "somebody else's"
