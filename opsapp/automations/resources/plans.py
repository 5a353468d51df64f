"""Plans: what a tick has to know of each automation that has a schedule, many to an object.

A tick of ten thousand schedules would otherwise read ten thousand automations and as many definitions, which took half
of its time. Written with every edit of an automation; transactions about different ones merge, so the values compare.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SchedulePlan(NamedTuple):
    """`zone` is empty for the configuration's. `simple`: nobody is asked first, and there are no inputs."""

    digest: str
    made_at: float
    schedule: str
    zone: str
    catch_up: bool
    simple: bool
    outline: tuple[str, str, str]
    concurrency: str
    definition: Any  # stays where it is until somebody looks into it

    @property
    def name(self) -> str:
        return self.outline[0]


def plan_of(definition: Any) -> SchedulePlan | None:
    """None: it has no schedule, or is switched off."""
    settings = definition.record
    if not settings.schedule or not settings.enabled:
        return None
    return SchedulePlan(
        definition.digest,
        definition.made_at,
        settings.schedule,
        settings.timezone or "",
        settings.catch_up,
        not settings.requires_approval and not settings.inputs,
        settings.outline,
        settings.concurrency,
        definition,
    )
