"""Python code is rated by its calls: names are resolved, and the given paths and commands are rated too."""

import argparse
import ast
import contextlib
import inspect
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.risk.cells import assess_cell, assess_python
from workbench.risk.commands import assess_command
from workbench.risk.description import assess_line
from workbench.risk.paths import PathContext
from workbench.risk.python.source import LONGEST, Nodes, parsed

DATA = Path(__file__).parent / "data"
SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
PLACES = PathContext("/home/u/proj", "/home/u")


def lines(name: str) -> list[str]:
    """Pieces of code of one line each; a line break in one is written as `\\n`."""
    return [line.replace("\\n", "\n") for line in (DATA / name).read_text().splitlines()]


@pytest.mark.parametrize("code", lines("python_dangerous.txt"))
def test_code_that_leaves_the_workspace_hides_or_destroys_is_high(code):
    assert assess_cell(code, PLACES).risk == "HIGH"


@pytest.mark.parametrize("code", lines("python_harmless.txt"))
def test_code_that_stays_in_the_workspace_is_not_high(code):
    assessment = assess_cell(code, PLACES)
    assert assessment.risk == "MEDIUM", assessment.parts


@pytest.mark.parametrize(
    ("code", "risk", "reason"),
    [
        ("open('a.txt')", "LOW", ""),
        ("open('a.txt', 'w')", "MEDIUM", "changes the workspace"),
        ("open('/etc/hosts', 'a')", "HIGH", "writes outside the workspace"),
        ("open('.env')", "HIGH", "reads a file that may contain secrets"),
        ("open('.git/hooks/pre-push', mode='x')", "HIGH", "changes what git runs and keeps"),
        ("open(name)", "MEDIUM", "reads a path only known at run time"),
        ("open(name, 'w')", "HIGH", "changes a path only known at run time"),
        ("shutil.rmtree('src')", "HIGH", "deletes a directory permanently"),
        ("os.system('ls')", "MEDIUM", "runs a shell command"),
        ("subprocess.run(['sudo', 'ls'])", "HIGH", "acts with the rights of another user"),
        ("requests.get('https://example.com')", "MEDIUM", "reads from the network"),
        ("requests.post('https://example.com', data=x)", "HIGH", "sends data to another machine"),
        ("requests.post('http://localhost:1/a', data=x)", "MEDIUM", "sends data to this machine"),
        ("eval(x)", "HIGH", "runs code only known at run time"),
    ],
)
def test_each_call_is_a_part_with_its_own_risk_and_reason(code, risk, reason):
    parts = assess_python(f"y = 1\n{code}", PLACES).parts
    assert [(part.text, part.risk, part.reason) for part in parts if part.text == code] == [(code, risk, reason)]


def test_part_names_the_files_read_written_and_deleted():
    code = "import shutil\nd = 'a'\nshutil.copy(f'{d}/x', 'b')\nfor p in ['c', 'd']: os.remove(p)\nz.extractall('out')"
    parts = assess_python(code, PLACES).parts
    w = PLACES.workspace
    assert {path for part in parts for path in part.paths} == {f"{w}/{name}" for name in ("a/x", "b", "c", "d", "out")}
    assert {path for part in parts for path in part.deletes} == {f"{w}/c", f"{w}/d"}
    assert {path for part in parts for path in part.changes} == {f"{w}/b", f"{w}/out/**"}
    assert [part.protected for part in assess_python("open('.envrc', 'w')", PLACES).parts[1:]] == [(f"{w}/.envrc",)]


@pytest.mark.parametrize(
    "line",
    [
        """python3 -c "import shutil; shutil.move('a', '/etc')\"""",
        "python3 - <<'EOF'\nfrom os import system as s\ns('rm -rf ~')\nEOF",
        'uv run python -c \'open("/etc/x", "w")\'',
        'cd .. && python3 -c \'open("x", "w")\'',
    ],
)
def test_python_in_a_command_line_is_rated_like_a_cell(line):
    assert assess_command(line, PLACES).risk == "HIGH"


def test_words_in_strings_and_method_names_do_not_raise_the_risk():
    line = """python3 -c "import re, json; re.compile('eval(x)'); json.dump({}, open('out.json', 'w'))\""""
    assert assess_command(line, PLACES).risk == "MEDIUM"


def test_relative_paths_of_a_cell_depend_on_its_directory():
    assert assess_cell("open('x', 'w')", PLACES, "/home/u/other").risk == "HIGH"
    assert assess_cell("import os\nos.chdir('/')\nopen('x', 'w')", PLACES).risk == "HIGH"
    assert assess_cell("%cd /\nopen('x', 'w')", PLACES).risk == "HIGH"


@pytest.mark.parametrize("code", ["match x:\n  case", "print 'a'", "x = = 1", "def f(:\n  pass"])
def test_code_that_does_not_parse_is_rated_by_its_words(code):
    assert assess_cell(code, PLACES).risk == "MEDIUM"
    assert assess_cell(f"{code}\nos.system('rm -rf ~')", PLACES).risk == "HIGH"


@pytest.mark.parametrize(
    "code",
    [
        "-" * 15_000 + "1",
        "a" + "+a" * 9_000,
        "x" + "[0]" * 4_000,
        "(" * 9_000,
        "x = 'a'\n" + "x = x + x\n" * 900 + "open(x, 'w')",
        "".join(f"os.system('ls {i}')\n" for i in range(800)),
        "a" * 1_000_000,
    ],
)
def test_code_of_any_shape_and_size_gets_a_rating(code):
    start = time.process_time()
    assert assess_cell(code, PLACES).risk in {"MEDIUM", "HIGH"}
    assert time.process_time() - start < 5
    if len(code) > LONGEST:
        assert assess_cell(code, PLACES).risk == "HIGH"


@pytest.mark.parametrize("module", [argparse, ast, contextlib, socket], ids=lambda module: module.__name__)
def test_every_node_of_the_tree_is_examined(module):
    tree = parsed("\n".join(inspect.getsource(module).splitlines()[:1_500])[:LONGEST].rpartition("\n\n\n")[0])
    nodes = Nodes(tree)
    assert all(node in nodes.of(type(node)) for node in ast.walk(tree) if not isinstance(node, SIGNS))


_WORDS = st.sampled_from(
    [
        "open",
        "(",
        ")",
        "[",
        "]",
        "os",
        ".",
        "system",
        "'a'",
        '"/etc/x"',
        "=",
        "x",
        ",",
        "+",
        "/",
        ":",
        "\n",
        "for",
        "in",
        "import",
        "as",
        "getattr",
        "f'{x}'",
        "lambda",
        "%",
        "!",
        "with",
        "def",
        "**",
        "{}",
    ]
)


@settings(deadline=None)
@given(st.lists(_WORDS, max_size=60))
def test_any_code_gets_a_rating(found):
    assert assess_cell(" ".join(found), PLACES).risk in {"LOW", "MEDIUM", "HIGH"}


def test_risk_command_accepts_python_and_cells():
    assert assess_line('{"kind": "python", "input": "open(\'/etc/x\', \'w\')"}', PLACES).risk == "HIGH"
    assert assess_line('{"kind": "cell", "input": "!ls"}', PLACES).risk == "MEDIUM"
    assert assess_line('{"kind": "python", "input": "!ls"}', PLACES).reasons == (
        "runs code",
        "runs code that cannot be read here",
    )
