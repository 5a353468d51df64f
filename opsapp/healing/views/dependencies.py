"""/api/healing/dependencies: what depends on what, as people declare it and as the service suggests it."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.dependencies import add_edge, graph_at, graph_of, mistakes_in, refuse_mistakes, remove_edge
from opsapp.healing.logic.graph import MOST_TARGETS
from opsapp.healing.records import DependenciesUpdated, DependencyGraph, DependencyList, OneDependency
from opsapp.healing.resources.dependencies import Dependencies
from opsapp.lib.problems import Invalid, Malformed
from opsapp.web import api
from opsapp.web.bodies import RAW, require_plain_json
from opsapp.web.deletions import undoable
from opsapp.web.fields import AsOf
from opsapp.web.jsontext import loads
from opsapp.wire.records import changed, extended, plain


@api.get(Dependencies, query=AsOf, returns=DependencyGraph)
def dependencies(context: Dependencies, request: Request) -> Any:
    """What depends on what, and which targets are root causes now."""
    at = request.valid_query["as_of"]
    if at is not None:
        window = request.node.config[HealingSettings].absorption_window_s
        return request.node.transact_at(at, graph_at, at, window)
    return graph_of(request.root)


def answer(request: Request) -> DependenciesUpdated:
    return extended(DependenciesUpdated, graph_of(request.root))


@api.update(Dependencies, role="admin", body=DependencyList, read_only=DependencyGraph, returns=DependenciesUpdated)
def declare(context: Dependencies, request: Request) -> Any:
    """What is declared here, besides the configuration file, from now on. Without `dependencies` it stays as it is."""
    declared = changed(DependencyList(context.declared("api")), request.valid_body)
    refuse_mistakes(request.root, declared.dependencies)
    context.declare(declared.dependencies, "api")
    request.audit("healing.dependencies", "dependencies", after=plain(declared)["dependencies"])
    return answer(request)


@api.act(Dependencies, "edges", role="admin", body=OneDependency, returns=DependenciesUpdated)
def connect(context: Dependencies, request: Request) -> Any:
    """One dependency more, beside what is declared: no later list of all drops it."""
    body = request.valid_body
    add_edge(request.root, body["target"], body["depends_on"])
    request.audit("healing.dependencies.add", "dependencies", after=dict(body))
    return answer(request)


@api.delete(Dependencies, "edges", role="admin", body=OneDependency, returns=answers.Status, errors=(404,), undoes=True)
def disconnect(context: Dependencies, request: Request) -> Any:
    """One dependency less."""
    body = request.valid_body
    edge = body["target"], body["depends_on"]
    remove_edge(request.root, *edge)
    undoable(request, "dependency", " → ".join(edge), "dependencies", edge)
    request.audit("healing.dependencies.remove", "dependencies", before=dict(body))
    return {"status": "updated"}


@api.act(
    Dependencies, "validate", role="viewer", body=RAW, takes=DependencyList, returns=answers.Validation, audit=False
)
def validate(context: Dependencies, request: Request) -> Any:
    """What is wrong with a list of dependencies; nothing is changed."""
    if request.body:
        require_plain_json(request)
    errors = mistakes_in(request.root, read_list(request.body))
    return answers.Validation(not errors, tuple(errors))


def read_list(raw: bytes) -> list[Any]:
    """A list of entries, or an object that holds one under `dependencies`."""
    value = loads(raw) if raw else []
    if isinstance(value, dict):
        unknown = value.keys() - {"dependencies"}
        if unknown:
            raise Invalid({name: "is not known here" for name in unknown})
        value = value.get("dependencies")
    elif not isinstance(value, list):
        raise Malformed("The body must be a list of dependencies, or an object with one.")
    if not value or not isinstance(value, list):
        raise Invalid({"dependencies": "is required: a list that is not empty"})
    if len(value) > MOST_TARGETS:
        raise Invalid({"dependencies": f"must have at most {MOST_TARGETS} entries"})
    return value
