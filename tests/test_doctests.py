"""The examples in the docstrings of the public packages run unchanged."""

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import workbench
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.sandbox import Sandbox
from workbench.tools import list_registered_tools, unregister_tool
from workbench.tools.manifest import ALL_TOOLS


@pytest.mark.parametrize("package", ["workbench.tools", "workbench.sdk", "workbench.mcp"])
def test_examples_in_docstrings_run(package: str, local_sandbox: Sandbox):
    module = import_module(package)
    results = doctest.testmod(module)
    for name in set(list_registered_tools()) - ALL_TOOLS:
        unregister_tool(name)
    assert results.attempted >= 5
    assert results.failed == 0


def examples_in_guide(name: str) -> list[str]:
    text = (Path(str(workbench.__file__)).parent / f"guide/{name}.md").read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


SCRIPT = [Turn(calls=[Called("weather", {"city": "Rome"})]), Turn(text="Sun.")]


@pytest.mark.parametrize(
    ("number", "output"),
    [(0, "HIGH: weather {'city': 'Rome'}\nSun.\n"), (1, "6.0\n")],
    ids=["agent", "function"],
)
def test_examples_in_the_guide_on_the_agent_run(local_sandbox: Sandbox, number: int, output: str):
    with ModelServer(SCRIPT) as server:
        code = examples_in_guide("api")[number].replace("http://localhost:8000/v1", server.base_url)
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=local_sandbox.project, env=local_sandbox.env, timeout=60
        )
    assert (done.stdout, done.stderr, done.returncode) == (output, "", 0)
