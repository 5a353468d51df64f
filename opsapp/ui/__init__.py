"""Pages: templates, static files, HTML views over the same resources that the API has. No logic lives here.

/, /login, /login/totp, /logout, /static. A page is `pages.page(request, "name.jinja2", title=…, …)`.
"""


def includeme(config):
    from pyramid.security import NO_PERMISSION_REQUIRED
    from pyramid.static import static_view

    from opsapp.tree.root import Root
    from opsapp.web.errors import IErrorPage
    from opsapp.web.paths import SIGN_IN_LIMIT

    from .pages import error_page

    config.registry.registerUtility(error_page, IErrorPage)
    files = static_view("opsapp.ui:static", use_subpath=True, cache_max_age=300)
    public = {"permission": NO_PERMISSION_REQUIRED, "subpath_ok": True}
    config.add_view(files, context=Root, name="static", request_method="GET", **public)
    config.add_body_limit("POST", "/login", SIGN_IN_LIMIT)
    config.add_body_limit("POST", "/login/totp", SIGN_IN_LIMIT)
    config.scan("opsapp.ui.views")
