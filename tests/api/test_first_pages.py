"""What is asked for first after a start: nothing of it is left to compile for whoever asks."""

import jinja2
import pytest

from opsapp.ui import firstpages, pages, statuspage


@pytest.fixture
def compiled(monkeypatch):
    """Names of the templates that are compiled, from nothing on."""
    for module in (pages, statuspage):
        monkeypatch.setattr(module, "templates", module._make_templates())
    names, real = [], jinja2.Environment.compile

    def compile_noting(environment, source, name=None, *values, **named):
        names.append(name)
        return real(environment, source, name, *values, **named)

    monkeypatch.setattr(jinja2.Environment, "compile", compile_noting)
    return names


def ask(service):
    service.anonymous.get("/login")
    service.browser("ada").get("/")
    service.anonymous.get("/status")


def test_the_first_pages_are_compiled_when_somebody_asks(service, compiled):
    firstpages.start(service.node)
    assert {*firstpages.FIRST, *firstpages.PUBLIC_FIRST} <= set(compiled)
    compiled.clear()
    ask(service)
    assert compiled == []


def test_a_node_without_pages_compiles_none(service, compiled):
    service.node.roles = frozenset({"engine"})
    firstpages.start(service.node)
    assert compiled == []
