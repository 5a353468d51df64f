"""Accounts and credentials: users, teams, sessions, API keys, invitations and single sign-on. /api/login, /api/logout,
/api/me, /api/users, /api/invitations, /api/keys, /api/teams, /api/stream-ticket, /api/auth/oidc. Greenlets: session-
purge, provider-look, directory-look, directory-check. Must not: decide what a role may do (tree.acl)."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    from opsapp.runtime.findings import IStoreFinder
    from opsapp.web.paths import SIGN_IN_LIMIT

    from . import policy
    from .config import LoginSettings, OidcSettings
    from .engine.directorycheck import standing
    from .interfaces import IUserDeleted
    from .ldapconfig import LdapSettings
    from .records import KeyAsCode, TeamSettings, UserAsCode
    from .resources import provisioned, teams
    from .scimconfig import ScimSettings

    config.add_section("web.login", LoginSettings)
    config.add_section("web.oidc", OidcSettings)
    config.add_section("auth.ldap", LdapSettings)
    config.add_section("auth.scim", ScimSettings)
    config.registry.registerUtility(standing, IStoreFinder, "directory")
    config.add_evolve_step("auth-1-users", "opsapp.auth.resources.set_up")
    config.add_evolve_step("auth-2-keys", "opsapp.auth.resources.keys.set_up")
    config.add_evolve_step("auth-3-tickets", "opsapp.auth.resources.tickets.set_up")
    config.add_evolve_step("auth-4-second-factor", "opsapp.auth.resources.secondfactor.set_up")
    config.add_evolve_step("auth-5-federation", "opsapp.auth.resources.federation.set_up")
    config.add_evolve_step("auth-6-invitations", "opsapp.auth.resources.invitations.set_up")
    config.add_evolve_step("auth-7-teams", "opsapp.auth.resources.teams.set_up")
    config.add_evolve_step("auth-8-approve", "opsapp.auth.resources.teams.give_approve")
    config.add_evolve_step("auth-9-groups", "opsapp.auth.resources.membership.set_up")
    config.add_evolve_step("auth-10-scim-tokens", "opsapp.auth.resources.scimtokens.set_up")
    config.add_evolve_step("auth-11-provisioned", "opsapp.auth.resources.provisioned.set_up")
    config.registry.registerUtility(provisioned.forget_user, IUserDeleted, "provisioned")
    config.registry.registerUtility(teams.leave_all, IUserDeleted, "teams")
    config.set_sight_reader(policy.sight_of_caller)
    config.add_sealed("opsapp.auth.resources.secondfactor.reseal")
    config.add_kind(
        "users", "opsapp.auth.engine.usercode", schema=UserAsCode, key="username", audit="user", guarded=True
    )
    config.add_kind("keys", "opsapp.auth.engine.keycode", schema=KeyAsCode, key=("user", "name"), guarded=True)
    config.add_kind("teams", "opsapp.auth.engine.teamcode", schema=TeamSettings, audit="team", guarded=True, names=True)
    config.add_preparation("opsapp.auth.engine.make_first_admin")
    config.add_credential_reader(policy.read_credential)
    config.add_caller_lookup(policy.look_up)
    config.add_engine("opsapp.auth.engine.start")
    config.add_engine("opsapp.auth.engine.providerlook.start", everywhere=True)
    config.add_engine("opsapp.auth.engine.directorycheck.start")
    config.add_engine("opsapp.auth.engine.directorycheck.start_looking", everywhere=True)
    config.add_body_limit("POST", "/api/login", SIGN_IN_LIMIT)
    config.add_body_limit("POST", "/api/login/totp", SIGN_IN_LIMIT)
    for method in ("GET", "POST"):  # a provider that is set up to send a form is refused as soon
        config.add_body_limit(method, "/api/auth/oidc/callback", SIGN_IN_LIMIT)
    config.include("opsapp.auth.confirmation")
    config.include("opsapp.auth.demanded")
    config.include("opsapp.auth.assistants")
    config.include("opsapp.auth.cookies")
    config.scan("opsapp.auth.views")
