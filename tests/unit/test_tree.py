"""Folders: names that views have are not given to children, and no child takes another's place."""

import pytest

from opsapp.lib.problems import Invalid
from opsapp.tree.folder import RESERVED, Folder


def test_a_name_is_taken_once_and_never_from_a_view(monkeypatch):
    monkeypatch.setattr("opsapp.tree.folder.RESERVED", RESERVED | {"stream"})
    folder, child = Folder(), Folder()
    folder["one"] = child
    assert (child.__parent__, child.__name__, folder["one"]) == (folder, "one", child)
    assert "one" in folder
    with pytest.raises(ValueError, match="taken"):
        folder["one"] = Folder()
    with pytest.raises(Invalid) as refused:  # people choose some names: it is their mistake, and no fault
        folder["stream"] = Folder()
    assert list(refused.value.fields) == ["id"]
    assert list(folder) == ["one"]
    del folder["one"]
    assert "one" not in folder
    assert folder  # an empty one is something all the same
