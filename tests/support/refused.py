"""Which pages are not for whom, by hand. tests/api/test_pages_roles.py holds it where a path has no names."""

ADMINS = ("/users", "/audit", "/notifications", "/secrets", "/statuspage", "/healing/inlets",
          "/settings/service", "/settings/as-code", "/teams", "/provisioning", "/oncall/new",
          "/oncall/policies/new")  # fmt: skip
REFUSED = {
    "vera": (
        *ADMINS,
        "/healing/replay",
        "/healing/rules/new",
        "/agents/add",
        "/automations/new",
        "/deleted",
        "/maintenance/new",
        "/monitors/new",
    ),
    "otto": (*ADMINS, "/agents/add"),
    "ada": (),
}


def refuses(who, place):
    """Whether the page is not for this role."""
    changes = who == "vera" and place.endswith(("/edit", "/clone"))
    changes_rules = who != "ada" and place.startswith("/healing/rules/") and place.endswith("/clone")
    return changes or changes_rules or (bool(REFUSED[who]) and place.startswith(REFUSED[who]))
