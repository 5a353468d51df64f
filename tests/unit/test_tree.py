"""Folders: names that views have are not given to children, and no child takes another's place."""

import pytest

from opsapp.tree.folder import RESERVED, Folder


def test_a_name_is_taken_once_and_never_from_a_view(monkeypatch):
    monkeypatch.setattr("opsapp.tree.folder.RESERVED", RESERVED | {"stream"})
    folder, child = Folder(), Folder()
    folder["one"] = child
    assert (child.__parent__, child.__name__, folder["one"]) == (folder, "one", child)
    assert "one" in folder
    for name in ("one", "stream"):
        with pytest.raises(ValueError, match=r"taken|name of a view"):
            folder[name] = Folder()
    assert list(folder) == ["one"]
    del folder["one"]
    assert "one" not in folder
    assert folder  # an empty one is something all the same
