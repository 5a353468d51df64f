"""Pages of deployments: the list, and the form that posts one by hand."""

from __future__ import annotations

from opsapp.healing.deployments import DeploymentSettings

from .shape import Act, Column, Page, Part, delete, inputs

ALL = "/api/deployments"

DEPLOYMENTS = (
    Page(
        "/deployments",
        "Deployments",
        (
            Part(
                "Deployments",
                ALL,
                (
                    Column("When", "at", "time"),
                    Column("What", "title"),
                    Column("Hosts", "hosts"),
                    Column("Monitors", "monitors"),
                    Column("Posted by", "created_by"),
                    Column("Link", "url"),
                ),
                name="deployments",
                paged=True,
                empty="Nothing has been posted yet. A pipeline posts what it deploys: see the guide.",
                acts=(delete(f"{ALL}/{{id}}", warns="It is a mark no more. You can undo it for a minute."),),
            ),
        ),
        forms=(
            Act(
                "post",
                "Post a deployment",
                f"POST {ALL}",
                inputs(DeploymentSettings),
                done="It is a mark on the axis of these hosts and monitors now.",
            ),
        ),
        menu="Deployments",
        lead="Each is a mark on the time axis of the hosts and monitors that it names, and of their incidents; one "
        "that names none is on every axis.",
    ),
)
