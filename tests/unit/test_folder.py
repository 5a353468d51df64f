"""Names in the tree: each once, and none that a view has."""

import pytest

from opsapp.tree import folder as folder_module
from opsapp.tree.folder import Folder


class Leaf:
    pass


def test_a_name_is_given_once_and_never_one_of_a_view(monkeypatch):
    monkeypatch.setattr(folder_module, "RESERVED", {"export"})
    folder = Folder()
    folder["a"] = Leaf()
    with pytest.raises(ValueError, match="'a' is taken"):
        folder["a"] = Leaf()
    with pytest.raises(ValueError, match="is the name of a view"):
        folder["export"] = Leaf()
    assert list(folder) == ["a"]


def test_an_empty_one_is_still_there():
    assert Folder()
    assert Folder().get("a") is None
    with pytest.raises(KeyError):
        Folder()["a"]
