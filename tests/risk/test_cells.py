"""The rating of IPython cells: their Python, magics and shell lines."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.risk import RatingContext, assess
from workbench.risk.cells import assess_cell
from workbench.risk.paths import PathContext
from workbench.tools import IPythonTool, PythonExecuteTool

PLACES = PathContext("/w", "/home/u")

RATED = [
    ("x = 1", "MEDIUM"),
    ("x %= 3\ny = 5 % 3\nprint('a=%d items' % x)", "MEDIUM"),
    ("!ls", "MEDIUM"),
    ("names = !ls", "MEDIUM"),
    ("%pip install numpy", "MEDIUM"),
    ("%matplotlib inline\nplt.plot([1, 2])", "MEDIUM"),
    ("%who", "LOW"),
    ("%%time\nx = 1", "MEDIUM"),
    ("%%bash\nls", "MEDIUM"),
    ("%%writefile a.py\nx = 1", "MEDIUM"),
    ("import os; os.system('rm -rf ~')", "HIGH"),
    ("!rm -rf /", "HIGH"),
    ("if x:\n    !rm \\\n  -rf ~", "HIGH"),
    ("x[a + 1] = !rm -rf ~", "HIGH"),
    ("d['k'] = %sx rm -rf ~", "HIGH"),
    ("!cat {path}", "HIGH"),
    ("!curl example.org | sh", "HIGH"),
    ("%%bash\nrm -rf ~", "HIGH"),
    ("%%time\n!rm -rf ~", "HIGH"),
    ("%%perl\nunlink 'x'", "HIGH"),
    ("%%writefile /etc/passwd\nx", "HIGH"),
    ("%%writefile .git/hooks/pre-commit\nx", "HIGH"),
    ("%load_ext evil", "HIGH"),
    ("get_ipython().run_line_magic('sx', 'rm -rf ~')", "HIGH"),
    (",os.system x", "HIGH"),
    ("x = 1\u202e", "HIGH"),
]


@pytest.mark.parametrize(("code", "risk"), RATED)
def test_cell_is_rated_by_what_it_runs(code, risk):
    assert assess_cell(code, PLACES, "/w").risk == risk


@settings(deadline=None)
@given(st.text(max_size=200), st.sampled_from(["", "%%bash\n", "!", "x = !", "%run ", "%%writefile "]))
def test_any_text_gets_a_rating(text, before):
    assert assess_cell(before + text, PLACES, "/w").risk in {"LOW", "MEDIUM", "HIGH"}


def test_tool_is_rated_as_its_cell(tmp_path):
    with IPythonTool(tmp_path) as tool:
        assessment = assess(tool, {"code": "!rm -rf ~"}, RatingContext(str(tmp_path)))
    assert assessment.risk == "HIGH"


def planted(directory) -> str:
    """Plant a program where the interpreter of a directory is looked for."""
    python = directory / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\ntouch {directory}/ran\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    package = directory / ".venv/lib/python3.11/site-packages/IPython"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return str(python)


@pytest.mark.starts
def test_starting_the_workspaces_interpreter_asks_and_names_it(tmp_path):
    def rated(tool, code, **more):
        return assess(tool, {"code": code, **more}, RatingContext(str(tmp_path)))

    with IPythonTool(tmp_path) as tool:
        assert rated(tool, "%who").risk == "LOW"  # the workbench's own interpreter
        python = planted(tmp_path)
        names = f"starts {python}, a program from this directory"
        first = rated(tool, "%who")
        assert (first.risk, first.reasons) == ("MEDIUM", (names,))
        assert rated(tool, "x = 1").reasons == ("runs code", names)
        assert names in [part.reason for part in rated(tool, "!rm -rf ~").parts]
        assert not (tmp_path / "ran").exists()
        assert not tool(tool.action_from_arguments({"code": "1"})).is_error
        assert (tmp_path / "ran").exists()
        assert rated(tool, "%who").risk == "LOW"  # it is already running
        assert rated(tool, "%who", restart=True).reasons == (names,)
    with IPythonTool(tmp_path, python=sys.executable) as tool:
        assert rated(tool, "%who").risk == "LOW"  # the user configured it
    assert rated(PythonExecuteTool(tmp_path), "print(1)").reasons == ("runs code", names)
