"""Pages: templates, static files, HTML views over the resources of the API. A page is `pages.page(request,
"name.jinja2", title=…, …)`. Must not: decide anything."""


def includeme(config):
    from functools import partial

    from pyramid.security import NO_PERMISSION_REQUIRED

    from opsapp.assistants.interfaces import IGuide
    from opsapp.notify.interfaces import IPageAddresses
    from opsapp.tree.root import Root
    from opsapp.web.errors import IErrorPage, ISignInAgain
    from opsapp.web.paths import SIGN_IN_LIMIT

    from . import guidebook
    from .leading import PageAddresses
    from .views.signin import problem_page, signed_out
    from .views.static import served

    config.registry.registerUtility(partial(problem_page, config.registry), IErrorPage)
    config.registry.registerUtility(signed_out, ISignInAgain)
    config.registry.registerUtility(PageAddresses(config.registry), IPageAddresses)
    config.registry.registerUtility(guidebook.texts, IGuide)
    public = {"permission": NO_PERMISSION_REQUIRED, "subpath_ok": True}
    config.add_view(served, context=Root, name="static", request_method="GET", **public)
    config.add_body_limit("POST", "/login", SIGN_IN_LIMIT)
    config.add_body_limit("POST", "/login/totp", SIGN_IN_LIMIT)
    config.add_body_limit("POST", "/answer/*", SIGN_IN_LIMIT)
    config.add_body_limit("POST", "/invitation/{token}", SIGN_IN_LIMIT)
    config.include("opsapp.ui.views.lockedpages")
    config.add_engine("opsapp.ui.firstpages.start", everywhere=True)
    config.scan("opsapp.ui.views")
