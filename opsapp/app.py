"""The paste app factory. Its list of includes is the map of the system, from the ground up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyramid.config import Configurator
from pyramid.router import Router

from .lib.problems import Problem, Unavailable
from .runtime.node import Node
from .runtime.secrets import chainkey, sealedstore, seals
from .runtime.store import backup, embedded, upgrades
from .runtime.store.settings import check_apart, make_data_directory, private_files, store_settings
from .web import configfile
from .web.setup import reserve_view_names, settle_events, settle_requests, settle_views
from .web.viewscan import without_source

log = logging.getLogger(__name__)

INCLUDES = (
    "opsapp.web",  # how HTTP behaves
    "opsapp.audit",  # who did what
    "opsapp.auth",  # users, sessions
    "opsapp.scim",  # how an identity provider makes and ends users
    "opsapp.notify",  # how people are told
    "opsapp.maintenance",  # windows
    "opsapp.agents",  # hosts and what runs on them
    "opsapp.approvals",  # what people decide
    "opsapp.monitoring",  # monitors, probes, incidents
    "opsapp.oncall",  # who is called, and until when
    "opsapp.statuspages",  # the public page: how it looks, who is told, the calendar
    "opsapp.automations",  # what is done when asked
    "opsapp.healing",  # rules, the six stages, the ledger, trust
    "opsapp.tracing",  # spans of all that, for a collector
    "opsapp.assistants",  # who reads, asks why and proposes
    "opsapp.ui",  # pages
)


def main(global_config: dict[str, Any], **settings: Any) -> Router:
    """The WSGI application; `app.registry["opsapp.node"]` is the process around it."""
    config = configure(settings)
    prepare(config, configfile.load)
    config.registry["opsapp.reload"] = lambda: reload(config.registry)
    return config.make_wsgi_app()


def configure(settings: Mapping[str, Any], *, new_history: bool = False) -> Configurator:
    """Every room included, the store open, nothing brought up to date yet. `new_history`: the file of what was measured
    may be missing."""
    settings = {**settings, **store_settings(settings)}
    check_apart(settings)
    make_data_directory(settings)
    with private_files(), without_source():
        embedded.make_ready(backup.files_of(settings), seals.file_beside(settings), new_history=new_history)
        config = Configurator(settings=settings)
        for room in INCLUDES:
            config.include(room)
        config.commit()
        reserve_view_names(config.registry)
        settle_views(config.registry)
        settle_events(config.registry)
        settle_requests(config)
    return config


def prepare(config: Configurator, read_config: Callable[[Any], Any]) -> Node:
    """The store up to date, the configuration read, the rooms ready: the node, stopped again when any of it fails."""
    node: Node = config.registry["opsapp.node"]
    try:
        bring_up_to_date(config, node, patient=True)
        read_config(config.registry)
        for room in config.registry.opsapp_preparations:
            room(node)
    except BaseException:
        node.stop()
        raise
    return node


def bring_up_to_date(config: Configurator, node: Node, *, copy: bool = True, patient: bool = False) -> None:
    """Evolve the store; one that a newer version wrote is refused. Then read the master key: what the configuration
    brings into the store may have to be sealed. `copy`, `patient`: as `upgrading` has them."""
    with private_files():
        files = backup.files_of(config.registry.settings)
        upgrades.bring_up_to_date(node, files, copy=copy, patient=patient)
        seals.prepare(node)
        chainkey.prepare(node)
        sealedstore.seal_stored(node)


def reload(registry: Any) -> bool:
    """SIGHUP: the YAML file anew, or, if anything is wrong with it, everything as it was. While the store is out of
    reach nothing is wrong with the file: Unavailable, and it is asked again."""
    try:
        configfile.load(registry)
    except Unavailable:
        raise
    except Problem as problem:
        log.error("configuration not reloaded: %s", problem)
        return False
    log.info("configuration reloaded")
    return True
