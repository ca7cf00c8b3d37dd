import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts import source
from tests.contracts.source import ROOT


def modules() -> list[Path]:
    return [ROOT / module.path for module in source.modules().values()]


def checks(node: ast.AST) -> bool:
    """Return whether this is an assertion, an expected exception, or a call of a function that asserts."""
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called in ("raises", "warns") or called.startswith("assert_")
    return isinstance(node, ast.Assert)


def test_every_test_contains_a_check():
    problems = [
        f"{path.relative_to(ROOT)}:{node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(checks(part) for part in ast.walk(node))
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("workbench.tui.app", ("litellm", "openai", "mcp", "playwright", "pydantic")),
        ("workbench.__main__, httpx", ("click", "rich", "pygments")),
        ("workbench.engine.__main__, httpx", ("click", "rich", "pygments")),
        ("workbench.session.session", ("textual", "litellm", "openai")),
        ("workbench.cli.main", ("textual", "pydantic", "litellm", "rich")),
        ("workbench.tools.registry", ("pexpect", "textual", "litellm")),
        ("workbench.tools.execute_ipython_cell.impl", ("IPython", "matplotlib", "PIL")),
        ("workbench.tools.browser.impl", ("playwright", "greenlet", "asyncio")),
        ("workbench.session.session_factory", ("textual", "litellm", "mcp", "mcp_types", "httpx2", "opentelemetry")),
        ("workbench", ("pydantic", "msgspec", "asyncio", "litellm", "textual", "mcp")),
        ("workbench.sdk.agent", ("textual", "litellm", "openai", "mcp", "mcp_types")),
        ("workbench.mcp.toolsets", ("textual", "litellm", "mcp", "mcp_types", "httpx2", "jsonschema")),
    ],
)
@pytest.mark.starts
def test_importing_a_layer_is_cheap(module, unwanted):
    code = f"import sys, {module}; print([name for name in {unwanted!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


STARTING = {
    *("Popen", "check_call", "check_output", "getoutput", "getstatusoutput", "create_subprocess_exec"),
    *(
        "create_subprocess_shell",
        "subprocess_exec",
        "subprocess_shell",
        "forkpty",
        "posix_spawn",
        "posix_spawnp",
        "startfile",
    ),
    *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"),
    *("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe"),
}
"""Names of functions that start a process or become another program, whatever they are called on."""
STARTING_OF = {
    "os": {"system", "popen", "fork"},
    "pty": {"fork", "spawn"},
    "subprocess": {"run", "call"},
    "pexpect": {"spawn", "run", "spawnu", "runu"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
    "multiprocessing": {"Process", "Pool"},
    "concurrent.futures": {"ProcessPoolExecutor"},
}
MAY_START = {
    "workbench/processes/spawn.py": "the one way",
    "workbench/processes/descendants.py": "forks the child of a supervisor that becomes its program",
    "workbench/processes/sandboxed_child.py": "forks the child that enters a network namespace",
}


def starts(tree: ast.AST) -> Iterator[str]:
    """Return the calls and imports of a module that could start a process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            owner, _, last = name.rpartition(".")
            if last in STARTING or last in STARTING_OF.get(owner, ()):
                yield name
        if isinstance(node, ast.ImportFrom):
            unwanted = STARTING | STARTING_OF.get(node.module or "", set())
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in unwanted)


def test_only_one_module_starts_processes():
    found = {
        path.relative_to(ROOT).as_posix(): calls
        for path in modules()
        if (calls := list(starts(ast.parse(path.read_text()))))
    }
    assert {name: calls for name, calls in found.items() if name not in MAY_START} == {}
    assert set(MAY_START) == set(found)


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['git'])",
        "from subprocess import run",
        "import subprocess as s\ns.Popen([])",
        "import asyncio\nasyncio.create_subprocess_exec('x')",
        "import os\nos.system('x')",
        "from os import fork",
        "import os\nos.execvp('x', [])",
        "import multiprocessing\nmultiprocessing.Process()",
    ],
)
def test_process_check_detects_every_way_to_start_one(code):
    assert list(starts(ast.parse(code)))


def names_git(tree: ast.AST) -> bool:
    """Return whether a list or tuple of words begins with git, or the program is searched for."""
    for node in ast.walk(tree):
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in (
            "find_program",
            "which",
            "shutil.which",
            "start",
            "run",
        ):
            continue
        if words and isinstance(words[0], ast.Constant) and words[0].value == "git":
            return True
    return False


def test_only_one_module_runs_git():
    calling = [
        path.relative_to(ROOT).as_posix()
        for path in modules()
        if not any(part in path.as_posix() for part in ("workbench/risk/", "workbench/rules/"))
        and names_git(ast.parse(path.read_text()))
    ]
    assert calling == ["workbench/files/git.py"]
