"""The public status page beyond its figures, which monitoring says: an admin's settings, the calendar of maintenance,
the subscribers. /api/status/settings, /api/status/page, /api/status/pages, /api/status/subscriptions.

Greenlets: `status-calendar` and `status-news` (what happened becomes messages, and messages rows of the queues),
`status-mail` and `status-webhook` (rows leave, a batch at a time), all under the lease `status-page`; `status-purge`.
"""


def includeme(config):
    from opsapp.monitoring.interfaces import IIncidentTold, IStatusGroups, IStatusPages
    from opsapp.runtime.deletions import Deletable

    from .engine import groups_by_monitor, ownpages, page_ids
    from .engine.announcements import heard
    from .logic.settings import StatusPageSettings
    from .records import OwnPageAsCode, PageAsCode
    from .resources import reseal
    from .views import SMALL

    config.registry.registerUtility(heard, IIncidentTold, "status page")
    config.registry.registerUtility(groups_by_monitor, IStatusGroups)
    config.registry.registerUtility(page_ids, IStatusPages)
    config.add_section("status_page", StatusPageSettings)
    config.add_evolve_step("status-page-1", "opsapp.statuspages.resources.set_up")
    config.add_evolve_step("status-page-2", "opsapp.statuspages.resources.name_pages")
    config.add_kind("status_page", "opsapp.statuspages.engine.ascode", schema=PageAsCode, key="page", names=True)
    config.add_kind(
        "status_pages", "opsapp.statuspages.engine.ownpagescode", schema=OwnPageAsCode, key="slug", names=True
    )
    config.add_deletable(Deletable("status page", "admin", "/statuspage/own/{}", ownpages.put_back, ownpages.let_go))
    config.add_sealed(reseal)
    config.add_engine("opsapp.statuspages.engine.workers.start")
    config.add_body_limit("POST", "/api/status/subscriptions", SMALL)
    config.scan("opsapp.statuspages.views")
