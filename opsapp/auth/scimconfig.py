"""The section `auth.scim` of the YAML file."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.settings import Between, Length, Most
from opsapp.wire.dataclass import frozen

ScimGroupNames = Annotated[tuple[Annotated[str, Length(1, 256)], ...], Most(100)]


@frozen
class ScimRoleMap:
    """The names, or the external ids, of the provider's groups that stand for a role."""

    admin: ScimGroupNames = ()
    operator: ScimGroupNames = ()
    viewer: ScimGroupNames = ()


@frozen
class ScimSettings:
    """`auth.scim`"""

    role_map: ScimRoleMap = ScimRoleMap()
    sign_in_by: Literal["external_id", "user_name"] = "external_id"
    oidc_claim: Annotated[str, Length(1, 200)] = "sub"
    requests_per_minute: Annotated[int, Between(60, 100_000)] = 3000

    @property
    def gives_roles(self) -> bool:
        """Otherwise the role comes with each sign-in, as for everybody else."""
        return any((self.role_map.admin, self.role_map.operator, self.role_map.viewer))
