"""Placeholders in shell text: always references, one word each, refused where the shell would not expand them."""

import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsapp.automations.logic import references, templates
from opsapp.automations.logic.params import AgentCommandParams, ScriptParams, WebhookParams
from opsapp.automations.logic.references import Missing, Values, script_problem
from opsapp.automations.logic.settings import PARAMS
from opsapp.automations.logic.shelltext import rewrite, shell_of
from opsapp.wire.records import made

EVIL = "$(echo gone) `id` 'a' \"b\" \\ ; & | > < * ? # ~\n} ]] )) a[$(echo gone)]"
SHELLS = [path for path in map(shutil.which, ("sh", "bash")) if path]


def said(shell, text, value):
    script, env = Values({"x": value}, {}).script(text, "sh")
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **env})
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "text",
    [
        "printf %s {{input:x}}",
        'printf %s "{{ input:x }}"',
        'y={{input:x}}; printf %s "$y"',
        'printf %s "$(printf %s {{input:x}}; echo .)" | head -c -1',
        'printf %s "$(printf %s "{{input:x}}"; echo .)" | head -c -1',
        'printf %s "$(case a in a) printf %s {{input:x}} ;; (b) : ;; esac; echo .)" | head -c -1',
        "f() { printf %s {{input:x}}; }; if true; then f; fi",
        "case {{input:x}} in *) printf %s {{input:x}} ;; esac",
        "case {{input:x}} in a) : ;; *) printf %s {{input:x}} ;; esac # it's fine",
        "( ( printf %s {{input:x}} ) )",
        "echo $# ${x:-${y:-b}} > /dev/null; printf %s {{input:x}}",
        "cat <<'END' > /dev/null\nit's \"one\nEND\nprintf %s {{input:x}}",
        "cat <<-END > /dev/null; printf %s {{input:x}}\n\tit's\n\tEND\n",
        "[ {{input:x}} = y ] || printf %s {{input:x}}",
        "echo $((1 + (2))) > /dev/null; printf %s {{input:x}}",
        "echo `echo \\`echo a\\`` > /dev/null; printf %s {{input:x}}",
        "\\printf %s {{input:x}}",
        'printf %s"\\"" {{input:x}} | tr -d \'\\n\' > /dev/null; printf %s {{input:x}}',
    ],
)
def test_a_value_is_one_word_whatever_is_in_it(shell, text):
    assert said(shell, text, EVIL) == EVIL


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash")
@pytest.mark.parametrize(
    "text",
    [
        "[[ {{input:x}} == y ]] || printf %s {{input:x}}",
        "[[ {{input:x}} == y ]]; [ 1 -eq 1 ] && printf %s {{input:x}}",
        "a=(1 2); echo ${a[0]} > /dev/null; printf %s {{input:x}}",
        "a[0]=1; printf %s $'it\\'s' > /dev/null; printf %s {{input:x}}",
        "cat <<< {{input:x}} | head -c -1",
        'printf %s $"{{input:x}}"',
    ],
)
def test_bash_agrees(text):
    assert said("bash", text, EVIL) == EVIL


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("echo 'hello {{input:x}}'", "inside single quotes"),
        ("echo $'hello {{input:x}}'", "inside single quotes"),
        ("echo 'hello {{input:x}}", "inside single quotes"),
        ("# hello {{input:x}}", "in a comment"),
        ("true; # hello {{input:x}}", "in a comment"),
        ("cat <<END\n{{input:x}}\nEND", "in a here-document"),
        ("cat <<'END'\n{{input:x}}\nEND", "in a here-document"),
        ("cat <<END", None),
        ("cat <<\nEND {{input:x}}", None),
        ("cat <<END\n{{input:x}}", "in a here-document"),
        ("cat << {{input:x}}\n", "here-document"),
        ("echo `echo {{input:x}}`", "inside backquotes"),
        ('echo "`echo {{input:x}}`"', "inside backquotes"),
        ("echo ${y:-{{input:x}}}", "inside ${…}"),
        ('echo "${y:-${z:-{{input:x}}}}"', "inside ${…}"),
        ("echo ${{input:x}}", "behind a dollar sign"),
        ('echo "\\{{input:x}}"', "behind a backslash"),
        ("echo $(({{input:x}} + 1))", "arithmetic"),
        ('echo "$(({{input:x}} + 1))"', "arithmetic"),
        ("(( y = {{input:x}} ))", "arithmetic"),
        ("a[{{input:x}}]=1", "index of an array"),
        ("eval {{input:x}}", "eval"),
        ('true && eval "$(echo {{input:x}})"', "eval"),
        ("let y={{input:x}}", "let"),
        ("[[ {{input:x}} -eq 1 ]]", "[["),
        ("[[ {{input:x}} -eq 1", "[["),
        ('if [[ -n a && "{{input:x}}" -gt 1 ]]; then :; fi', "[["),
        ("echo " + "$(" * 200 + "{{input:x}}", "nested too deeply"),
    ],
)
def test_refused_where_it_would_not_be_expanded_or_would_be_evaluated(text, where):
    problem = script_problem(text, "sh")
    if where is None:
        assert problem is None or "stands" in problem
        return
    assert problem is not None
    assert where in problem
    assert "line " in problem
    with pytest.raises(Missing, match="cannot be filled in safely"):
        Values({"x": "1"}, {}).script(text, "sh")


def test_the_line_is_named_and_so_are_several():
    problem = script_problem("true\n\necho '{{input:x}} {{secret:y}}'\n# {{event:z}}", "bash")
    assert problem.startswith("line 3: {{input:x}} stands inside single quotes")
    assert "line 3: {{secret:y}}" in problem
    assert "line 4: {{event:z}} stands in a comment" in problem


def test_each_name_has_a_variable_of_its_own():
    names = ["a", "A", "a-b", "a.b", "a_b"]
    assert len({references.variable("secret", name) for name in names}) == len(names)
    assert references.variable("input", "who") == "OPSAPP_INPUT_who"
    text, env = Values({"who": 1}, {"a-b": "s"}).script("echo {{secret:a-b}} {{input:who}}", "sh")
    assert set(env.values()) == {"1", "s"}
    assert all(f'"${{{name}}}"' in text for name in env)
    assert Values({"who": 1}, {"a-b": "s"}).inputs() == {"OPSAPP_INPUT_WHO": "1"}


@pytest.mark.parametrize(
    ("interpreter", "script", "shell"),
    [
        (None, "echo", "sh"),
        ("/bin/bash", "#!/usr/bin/python3\n", "bash"),
        ("python3", "print()", None),
        (None, "#!/usr/bin/env -S FOO=1 bash -e\necho", "bash"),
        (None, "#!/usr/bin/env python3\nprint()", None),
        (None, "#!/bin/dash -eu", "dash"),
        (None, "#!", None),
    ],
)
def test_which_shell_reads_it(interpreter, script, shell):
    assert shell_of(interpreter, script) == shell


def test_other_programs_read_the_environment():
    problem = script_problem("print('{{input:x}}')", None)
    assert "OPSAPP_INPUT_NAME" in problem
    assert script_problem("print()", None) is None
    assert Values({}, {}).script("print()", None) == ("print()", {})


def test_which_text_of_an_automation_is_a_program():
    python = ScriptParams(script="#!/usr/bin/python3\n")
    assert python.program.shell is None
    assert replace(python, agent_id="a").program.shell == "sh"
    assert AgentCommandParams(command="id").program[:] == ("command", "id", "/bin/sh")
    assert WebhookParams(url="").program is None


def test_the_templates_keep_the_rule():
    for template in templates.TEMPLATES:
        script = made(PARAMS[template.type], template.params).program
        assert script is None or script_problem(script.text, script.shell) is None, template.id


PIECES = st.sampled_from(
    ["'", '"', "`", "$(", ")", "(", "${", "}", "$((", "))", "#", "\n", " ", ";", "<<E", "\nE\n", "\\", "case a in a)",
     "esac", "echo ", "x=", "[", "]", "[[ ", " ]]", "$", "{", "{{input:x}}", "{{input:x}}", "a"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_the_text_a_place_is_a_reference_or_refused(pieces):
    text = "".join(pieces)
    made, wrong = rewrite(text, lambda _kind, _name: "V")
    assert text.count("{{input:x}}") == made.count("${V}") + made.count("{{input:x}}")
    assert made.replace('"${V}"', "{{input:x}}").replace("${V}", "{{input:x}}") == text
    assert made.count("{{input:x}}") <= len(wrong)


@given(st.lists(PIECES, max_size=12))
@settings(max_examples=40, deadline=None)
def test_no_text_makes_a_shell_run_a_value(pieces):
    script, wrong = rewrite("".join(pieces), lambda _kind, _name: "V")
    if wrong:
        return
    for shell in SHELLS:
        done = subprocess.run(
            [shell, "-c", script], capture_output=True, stdin=subprocess.DEVNULL, timeout=20, cwd="/",
            env={"PATH": "/nowhere", "V": "';\"`echo canary-`$(echo canary-)$((a[$(echo canary-)]))"},
        )  # fmt: skip
        assert b"\ncanary-\n" not in b"\n" + done.stdout
