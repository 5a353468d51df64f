"""What /api/healing/dependencies answers."""

from __future__ import annotations

from opsapp.web.fields import Body, choice, flag, list_of, number, text, whole


class DependencyNode(Body):
    target = text()
    type = text()
    site = text(null=True)
    depends_on = list_of(text())
    status = choice("failed", "ok", "unknown")
    source = text()
    suppressed_by = text(null=True)
    why = text(null=True)


class DependencyEdge(Body):
    child = text(name="from")
    parent = text(name="to")


class DependencyEvidence(DependencyEdge):  # what heals of the parent have shown
    confidence = number(0, 1, null=True)
    came_back = whole(0)
    stayed = whole(0)
    learned = flag()


class DeclaredDependency(Body):
    target = text()
    type = text()
    site = text(null=True)
    depends_on = list_of(text())


class DependencyGraph(Body):  # `dependencies`: what was declared by the API, as PUT takes it
    dependencies = list_of(DeclaredDependency, 10_000)
    nodes = list_of(DependencyNode, 10_000)
    edges = list_of(DependencyEdge, 100_000)
    evidence = list_of(DependencyEvidence, 100_000)
    root_causes = list_of(text(), 10_000)


class DependenciesUpdated(DependencyGraph):
    status = choice("updated")


class DependencyMistake(Body):
    target = text()
    error = text()


class Validation(Body):
    valid = flag()
    errors = list_of(DependencyMistake, 10_000)
