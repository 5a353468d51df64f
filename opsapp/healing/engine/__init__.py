"""Healing at work. `start` is called on the hub; `HealingEngine` holds what lives in memory of one node."""

from __future__ import annotations

from functools import partial
from typing import Any

from opsapp.approvals.engine import IApprovalKind
from opsapp.audit.engine import IAnchored
from opsapp.automations.interfaces import IAutomationEdited
from opsapp.healing.config import HealingSettings
from opsapp.healing.resources.rules import automation_edited
from opsapp.maintenance.interfaces import IWindowEnded
from opsapp.monitoring.interfaces import IRootCauses, IWarRoomSection
from opsapp.notify.interfaces import ICauses
from opsapp.runtime.findings import IStoreFinder
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node

from . import anchors, deployments, discovery, forecasts, inlets, ledgerfolding, letters, server_actions, warroom, world
from .approval_kind import HealApproval
from .chaos import faults
from .fleet import Fleet
from .foresight import Foresight
from .inventory import IFleetAccess
from .pipeline import HealingEngine, IHealingEngine, anything
from .server_actions import ServerActionRunner


def includeme(config: Any) -> None:
    config.registry.registerUtility(HealApproval(), IApprovalKind, "heal")
    config.registry.registerUtility(Fleet(), IFleetAccess)
    config.registry.registerUtility(warroom.causes, ICauses)
    config.registry.registerUtility(warroom.causes_of, IRootCauses)
    config.registry.registerUtility(automation_edited, IAutomationEdited, "healing")
    config.registry.registerUtility(warroom.section, IWarRoomSection, "healing")
    config.registry.registerUtility(anchors.audited, IAnchored)
    config.registry.registerUtility(ledgerfolding.unarchived, IStoreFinder, "ledger")
    config.registry.registerUtility(world.windows_now, world.IWindowSource, "maintenance")
    config.registry.registerUtility(world.window_ended, IWindowEnded, "healing")
    config.add_preparation("opsapp.healing.engine.prepare")
    config.add_preparation("opsapp.healing.engine.trusted.prepare")
    config.add_preparation("opsapp.healing.engine.ledgerchecks.prepare")
    config.add_preparation("opsapp.healing.engine.inlets.prepare")
    config.add_engine("opsapp.healing.engine.ledgerchecks.start", everywhere=True)
    config.add_engine("opsapp.healing.engine.start")


def prepare(node: Node) -> None:
    node.registry.registerUtility(HealingEngine(node), IHealingEngine)


def start(node: Node) -> None:
    engine: HealingEngine = node.registry.getUtility(IHealingEngine)
    engine.watch()
    add = partial(node.supervisor.add, lease="healing")
    add("healing-alerts", engine.look, every=0.25, wake=("live",))
    add(
        "healing-pipeline",
        engine.work,
        every=0.25,
        wake=("healing", "leases", "command-results", "agent-outcomes"),
        look=QueueLook(node, anything),
    )
    hands = ServerActionRunner(node)
    node.at_stop(hands.begin_stop, hands.finish_stop)
    node.leases.busy_while("healing", lambda: hands.under_way)
    add(
        "healing-deeds",
        hands.step,
        every=1.0,
        wake=(server_actions.QUEUE,),
        look=QueueLook(node, server_actions.there_are),
    )
    add("healing-chaos", lambda: node.transact(faults.revert_due), every=5.0, wake=(faults.QUEUE,))
    add("healing-offline", engine.give_policies, every=5.0)
    every = node.config[HealingSettings].discovery.every_s
    add("healing-discovery", lambda: discovery.step(node), every=every)
    every = node.config[HealingSettings].prediction.every_s
    foresight = Foresight()
    add("healing-prediction", lambda: forecasts.step(node, foresight), every=every)
    anchors.start(node)
    add("healing-letter", lambda: letters.step(node), every=letters.EVERY_S)
    add("ledger-fold", lambda: ledgerfolding.step(node), every=3600.0, cleans=True)
    add("deployments-purge", lambda: deployments.step(node), every=3600.0, lease="housekeeping", cleans=True)
    add("healing-governor", engine.govern, every=60.0)
    add("healing-inlets", engine.look_after_inlets, every=60.0, wake=(inlets.QUEUE,))
    add("healing-purge", engine.purge, every=3600.0, lease="housekeeping", cleans=True)
