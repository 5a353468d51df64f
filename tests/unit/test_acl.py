"""The access list of the tree: which role is the lowest that may do something."""

import pytest

from opsapp.tree.acl import Permission, role_for


@pytest.mark.parametrize(
    ("permission", "role"),
    [
        (Permission.view, "viewer"),
        (Permission.operate, "operator"),
        (Permission.administer, "admin"),
        (Permission.relay, None),
        (Permission.report, None),
        (Permission.nobody, None),
        (None, None),
    ],
)
def test_the_lowest_role_that_has_a_permission(permission, role):
    assert role_for(permission) == role
