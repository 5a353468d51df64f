"""The house rules that neither ruff nor import-linter can hold: docs/architecture.md, sections 2 and 3."""

import ast
import functools
import pathlib
import re
import sys
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "opsapp").rglob("*.py"))
LONGEST = 400
# room or file -> what its files may import besides the standard library
PURE = {
    "opsapp.wire": ("opsapp.wire",),
    "opsapp.agent": ("opsapp.agent", "opsapp.wire", "wsproto", "h11"),
    "opsapp.lib": ("opsapp.lib", "opsapp.wire", "croniter"),
}
# What the house has too much of. Lower a number when it has fallen; never raise one.
CEILINGS = {"untyped": 394, "of_objects": 271, "subscripts": 1027, "twice_named": 3, "in_circles": 0}
# Dictionaries of anything, by that name or as a line that says JsonObject.
UNTYPED = re.compile(r"(?:[dD]ict|Mapping)\[str, Any\]|^(?!.*\bimport\b).*\bJsonObject\b", re.MULTILINE)
# The same in other words: a dictionary of anything, though its reader has to ask what it is.
OF_OBJECTS = re.compile(r"(?:[dD]ict|Mapping)\[str, object\]|\bPassed\b|-> TemplateValues\b")
# documented, in spite of their names
DOCUMENTED = {"_replace", "_asdict", "_fields", "_field_defaults", "_make", "_exit", "_srcfile"}
INTERNALS = "opsapp.runtime.internals"  # the one file for private names of libraries
VAGUE = {"utils", "util", "manager", "core", "helpers", "common", "misc"}
# Tests may measure here: figures, and clusters whose promises are times. Everywhere else a machine that does other work
# would make them fail.
MEASURED = ("tests/bench/", "tests/cluster/")
WAITING = "tests/support/waiting.py"
SPAN_CLOCKS = {f"{name}{unit}" for name in ("monotonic", "perf_counter", "process_time") for unit in ("", "_ns")}
DAY_CLOCKS = {"time", "time_ns"}
# What a span is called: an assertion that it is below something is a promise about time, wherever it came from.
SPANS = {"perf_counter", "monotonic", "time", "took", "elapsed", "seconds", "lasted", "waited"}
# A file without these words makes none.
TIME_WORDS = re.compile(
    "|".join([*(rf"\b{word}\b" for word in SPANS | SPAN_CLOCKS | DAY_CLOCKS), "_ms\\b", "_seconds\\b"])
)
VAGUE_LOCALS = {"one", "found", "each", "thing", "it", "got"}


class Facts(NamedTuple):
    """What the rules ask of a file."""

    is_explained: bool
    imports: list  # of (line, full module name), those inside functions included
    bound: list  # of (line, name), of every variable and parameter
    classes: set
    ours: set  # of full names that may be files of ours
    read_by_text: int
    private: list  # of (line, name), of private attributes that somebody else defines


def nodes_of(path):
    """Every node of the file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(), str(path))))


@functools.cache
def facts_of(path):
    """Each file is parsed once, and the trees are not kept: together they are two million objects."""
    nodes = nodes_of(path)
    return Facts(
        ast.get_docstring(nodes[0]) is not None,
        [*imports(path, nodes)],
        [*bound_names(nodes)],
        {node.name for node in nodes if isinstance(node, ast.ClassDef)},
        {name for node in nodes if isinstance(node, ast.ImportFrom) for name in imported_names(path, node)},
        sum(map(is_read_by_text, nodes)),
        [*private_names(nodes)],
    )


def name_of(path):
    """The full name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES if path.name != "__init__.py"}


def stem_of(path, node):
    """The full name of the module from which something is imported."""
    package = path.relative_to(ROOT).parent.parts
    base = package[: len(package) - node.level + 1] if node.level else ()
    return ".".join([*base, *([node.module] if node.module else [])])


def imports(path, nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            stem = stem_of(path, node)
            if stem == "opsapp":
                yield from ((node.lineno, f"opsapp.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, stem


def within(module, rooms):
    return any(module == room or module.startswith(room + ".") for room in rooms)


def allowed(module):
    """What a file that must stay pure may import besides the standard library; None for the others."""
    for room, rooms in PURE.items():
        if within(module, [room]):
            return rooms
    parts = module.split(".")
    if len(parts) >= 3 and parts[2] in ("logic", "records"):
        own = (".".join((*parts[:2], part)) for part in ("logic", "records", "config"))
        return (*own, "opsapp.lib", "opsapp.wire")
    return None


def strangers(path):
    rooms = allowed(name_of(path))
    if rooms is None:
        return []
    return [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for line, module in facts_of(path).imports
        if module.split(".")[0] not in sys.stdlib_module_names and not within(module, rooms)
    ]


def test_no_file_outgrows_its_room():
    long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES}
    assert {name: lines for name, lines in long.items() if lines > LONGEST} == {}


def test_pure_rooms_import_only_what_they_may():
    assert [line for path in FILES for line in strangers(path)] == []


def test_nothing_is_monkey_patched():
    patched = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in [*FILES, *sorted((ROOT / "tests").rglob("*.py"))]
        if "monkey" in path.read_text()
        for line, module in facts_of(path).imports
        if within(module, ["gevent.monkey"])
    ]
    assert patched == []


def test_no_room_has_a_vague_name():
    assert [name_of(path) for path in FILES if VAGUE & set(name_of(path).split("."))] == []


def bound_names(nodes):
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def test_variables_say_what_they_hold():
    vague = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in [*FILES, *sorted((ROOT / "tests/support").rglob("*.py"))]
        for line, name in facts_of(path).bound
        if name in VAGUE_LOCALS
    ]
    assert vague == []


def test_every_file_says_what_it_is():
    silent = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path != ROOT / "opsapp/__init__.py" and not facts_of(path).is_explained
    ]
    assert silent == []


def given_on(path):
    """Names that a room's __init__ imports and does not use, as they are for others, with the module of each."""
    nodes = nodes_of(path)
    made_in = {
        alias.asname or alias.name: MODULES.get(stem_of(path, node))
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name: module for name, module in made_in.items() if name not in used}


def test_what_a_room_gives_on_is_taken():
    """Ruff does not look for unused imports there: names are not listed once more to say that they are wanted."""
    words = {path: set(re.findall(r"\w+", path.read_text())) for path in [*FILES, *(ROOT / "tests").rglob("*.py")]}
    left = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        if path.name == "__init__.py"
        for name, module in given_on(path).items()
        if not any(name in words[other] for other in words.keys() - {path, module})
    ]
    assert left == []


def imported_names(path, node):
    """The files of ours that this imports, those for types included. A package's __init__ ties nothing."""
    stem = stem_of(path, node)
    names = {f"{stem}.{alias.name}" for alias in node.names}
    return (names & MODULES.keys()) or ({stem} & MODULES.keys())


def in_circles():
    """The files that import themselves by way of others."""
    edges = {name: facts_of(path).ours - {name} for name, path in MODULES.items()}
    return [name for name in edges if name in reached(name, edges)]


def reached(name, edges):
    found, ahead = set(), list(edges[name])
    while ahead:
        module = ahead.pop()
        if module not in found:
            found.add(module)
            ahead.extend(edges[module])
    return found


def is_read_by_text(node):
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )


def test_the_house_has_less_and_less_of_what_it_has_too_much_of():
    rooms = {}
    for path in FILES:
        for name in facts_of(path).classes:
            rooms.setdefault(name, set()).add(path.relative_to(ROOT).parts[1])
    measured = {
        "untyped": sum(len(UNTYPED.findall(path.read_text())) for path in FILES),
        "of_objects": sum(len(OF_OBJECTS.findall(path.read_text())) for path in FILES),
        "subscripts": sum(facts_of(path).read_by_text for path in FILES),
        "twice_named": sum(len(where) > 1 for where in rooms.values()),
        "in_circles": len(in_circles()),
    }
    assert {name: n for name, n in measured.items() if n > CEILINGS[name]} == {}, CEILINGS


def private_names(nodes):
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in attributes:
        name = node.attr
        # _p_… is the documented interface of persistent objects
        if name.startswith("_") and not name.startswith(("__", "_p_")) and name not in DOCUMENTED | own:
            yield node.lineno, name


def test_private_names_of_libraries_stand_in_one_file():
    used = [
        f"{path.relative_to(ROOT)}:{line} uses {name}"
        for path in FILES
        if name_of(path) != INTERNALS
        for line, name in facts_of(path).private
    ]
    assert used == []


def is_clock(node, names):
    """A call of one of these functions of `time`, or of one that was imported by its name."""
    fn = node.func if isinstance(node, ast.Call) else None
    if isinstance(fn, ast.Attribute):
        return isinstance(fn.value, ast.Name) and fn.value.id == "time" and fn.attr in names
    return isinstance(fn, ast.Name) and fn.id in names


def read_from_clock(scope, names):
    """The variables of a function that hold what a clock said."""
    return {
        target.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and any(is_clock(part, names) for part in ast.walk(node.value))
        for whole in node.targets
        for target in ast.walk(whole)
        if isinstance(target, ast.Name)
    }


def outside_calls(node):
    """The parts of an expression, without the arguments of what it calls."""
    yield node
    for part in ast.iter_child_nodes(node):
        if not isinstance(node, ast.Call):
            yield from outside_calls(part)


def times_compared(nodes):
    """The lines on which a test makes a promise about time: it measures a span or compares what a clock of spans said,
    or it compares a difference of times of day."""
    if not any(is_clock(node, SPAN_CLOCKS | DAY_CLOCKS) for node in nodes):
        return  # nearly all files: what follows walks through each function several times
    for scope in [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]:
        spans, days = read_from_clock(scope, SPAN_CLOCKS), read_from_clock(scope, DAY_CLOCKS)

        def said(node, names, variables):
            return is_clock(node, names) or (isinstance(node, ast.Name) and node.id in variables)

        def difference(node, names, variables):
            return (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Sub)
                and any(said(part, names, variables) for part in ast.walk(node))
            )

        for node in ast.walk(scope):
            compared = [*outside_calls(node)] if isinstance(node, ast.Compare) else []
            if (
                difference(node, SPAN_CLOCKS, spans)
                or any(said(part, SPAN_CLOCKS, spans) for part in compared)
                or any(difference(part, DAY_CLOCKS, days) for part in compared)
            ):
                yield node.lineno


def is_span(name):
    return name in SPANS or name.endswith(("_ms", "_seconds"))


def spans_bounded(nodes):
    """The lines that assert that something called like a span is below something."""
    for asserted in [node for node in nodes if isinstance(node, ast.Assert)]:
        for compared in [node for node in ast.walk(asserted.test) if isinstance(node, ast.Compare)]:
            words = [getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(compared)]
            if any(isinstance(op, ast.Lt | ast.LtE) for op in compared.ops) and any(map(is_span, words)):
                yield asserted.lineno


def test_no_test_depends_on_the_speed_of_the_machine():
    paths = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("*.py"))}
    lines = [
        f"{name}:{line}"
        for name, path in paths.items()
        if not name.startswith(MEASURED) and TIME_WORDS.search(path.read_text())
        for line in promises_about_time(nodes_of(path), is_waiting=name == WAITING)
    ]
    assert lines == []


def promises_about_time(nodes, is_waiting=False):
    return sorted({*spans_bounded(nodes), *(() if is_waiting else times_compared(nodes))})


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("began = time.monotonic()\n    work()\n    assert time.monotonic() - began < 2", True),
        ("began = perf_counter()\n    took = perf_counter() - began", True),
        ("deadline = time.monotonic() + 5\n    while time.monotonic() < deadline: pass", True),
        ("made = time.time()\n    work()\n    assert time.time() - made < 2", True),
        ("assert entry['at'] > time.time() - 4", True),
        ("assert entry['at'] <= time.time()", True),
        ("assert entry['at'] >= time.time()", False),
        ("assert took <= 0.25, name", True),
        ("assert 0 < answer.elapsed < 2", True),
        ("assert row['n'] and row_ms(row) < 20", True),
        ("assert ticks <= 50", False),
        ("ask(at=time.time() - 400)", False),
        ("assert ask(at=time.time() - 400) == 401", False),
        ("assert worker.wait(deadline=time.monotonic() + 60)", False),
    ],
)
def test_the_check_sees_each_promise_about_time(text, seen):
    nodes = list(ast.walk(ast.parse(f"def test():\n    {text}")))
    assert bool(promises_about_time(nodes)) is seen
    assert TIME_WORDS.search(text) or not seen


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os", []),
        ("from .state import x", ["opsapp.monitoring.state"]),
        ("from ..lib import ids", []),
        ("from . import resources", ["opsapp.monitoring"]),
        ("def f():\n    import gevent", ["gevent"]),
        ("from opsapp import wire, web", ["opsapp.web"]),
    ],
)
def test_the_check_sees_each_form_of_import(text, found, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "opsapp/monitoring/logic.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert [line.rpartition(" ")[2] for line in strangers(path)] == found


def test_no_line_of_a_template_is_wider_than_a_screen():
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "opsapp").rglob("*.jinja2")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 160
    ]
    assert wide == []
