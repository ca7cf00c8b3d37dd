"""Our child processes load nothing from the working directory (S15): no modules, variables or programs of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import timeit
from collections.abc import Collection
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.sandbox import Sandbox, bash, finish
from workbench.__main__ import without_workspace
from workbench.config.settings import load_settings
from workbench.engine.launch import Launch, start_engine
from workbench.engine.model_test import ModelTest
from workbench.errors import WorkbenchError
from workbench.processes import spawn
from workbench.processes.shell_environment import shell_environment
from workbench.session.session_names import new_id
from workbench.session.storage.session_list import newest_first
from workbench.tools.web_read.impl import converted
from workbench.tui.terminal.clipboard import copy_command
from workbench.view.sessions import SessionShelf
from workbench.view.state import SessionState
from workbench.view.tools import tools_here

ROOT = Path(__file__).parent.parent
STARTED_WITH = frozenset(
    subprocess.run(
        [sys.executable, "-S", "-c", "import runpy, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
)
"""What any Python imports before it runs a line of ours, also with `-m`."""


def module_names() -> set[str]:
    """Every module that could be imported here: ours, those of the standard library, those of installed packages."""
    installed = {name for name in packages_distributions() if name.isidentifier()}
    return {"workbench", "sitecustomize", "usercustomize", *sys.stdlib_module_names, *installed}


def plant(directory: Path, names: Collection[str], mark: Path) -> None:
    """Create a module of each name that writes its name into `mark` when imported, then fails."""
    code = f"open({str(mark)!r}, 'a').write(__name__ + chr(10))\nraise ImportError('a module of the folder')\n"
    for at, name in enumerate(sorted(names)):
        if at % 2:
            (directory / f"{name}.py").write_text(code)
        else:
            (directory / name).mkdir()
            (directory / name / "__init__.py").write_text(code)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "imported"


@pytest.fixture
def hostile(sandbox: Sandbox, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The user's working directory has a module of every name, and all of Python's variables point to it."""
    names = module_names()
    assert len(names) > 300
    plant(sandbox.project, names, mark)
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(sandbox.project)
    monkeypatch.setenv("PYTHONPATH", f":{sandbox.project}")
    monkeypatch.setenv("PYTHONWARNINGS", "error::wsgiref.Warning")
    monkeypatch.setenv("PYTHONSTARTUP", str(sandbox.project / "json.py"))
    return sandbox


def imported(mark: Path) -> str:
    return mark.read_text() if mark.exists() else ""


def test_ordinary_python_finds_modules_of_the_workspace(hostile: Sandbox, mark: Path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([sys.executable, "-c", "import json"], env=env, capture_output=True)
    assert imported(mark) == "json\n"


def test_listing_tools_imports_nothing_of_the_workspace(hostile: Sandbox, mark: Path):
    rows = tools_here(hostile.project, SessionState())
    assert {"execute_bash", "str_replace_editor"} <= {row.name for row in rows}
    assert imported(mark) == ""


def test_export_imports_nothing_of_the_workspace(hostile: Sandbox, mark: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as clean:
        clean.chdir("/")
        words = ("run", "x", "--mode=never", f"--model={hostile.script(finish())}", f"--workspace={hostile.project}")
        command = spawn.isolated_python("workbench", *words)
        ran = subprocess.run(command, env=hostile.env, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    name = next(newest_first(hostile.locations)).id
    SessionShelf(hostile.locations).export(name, Path("kept.md"))
    assert (hostile.project / "kept.md").read_text().startswith("# ")
    assert imported(mark) == ""


def test_model_test_imports_nothing_of_the_workspace(hostile: Sandbox, mark: Path):
    assert not ModelTest("scripted/none-of-that-name").result().works
    assert imported(mark) == ""


def test_engine_imports_nothing_of_the_workspace_and_has_no_python_variables(hostile: Sandbox, mark: Path):
    settings = load_settings(hostile.locations, model=hostile.script(finish()))
    pid = start_engine(Launch(hostile.locations, settings, new_id("x"), str(hostile.project), is_new=True))
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    finally:
        os.kill(pid, 15)
    assert b"PYTHON" not in environment
    assert imported(mark) == ""


def test_users_python_variables_reach_the_agents_shell(sandbox: Sandbox):
    sandbox.env |= {"PYTHONPATH": "/somewhere/lib"}
    done = sandbox.ohw("run", "x", f"--model={sandbox.script(bash('echo =$PYTHONPATH='), finish())}", "--json")
    assert done.returncode == 0, done.stderr
    assert "=/somewhere/lib=" in done.stdout


async def test_converting_a_page_imports_nothing_of_the_workspace(hostile: Sandbox, mark: Path):
    made = await converted("html", "main", "utf-8", "http://x.example/", "<p>gr\u00fc\u00df dich</p>".encode())
    assert "gr\u00fc\u00df dich" in made["text"]
    assert imported(mark) == ""


@pytest.mark.parametrize("words", [["-m", "workbench"], []], ids=["module", "script"])
def test_program_imports_nothing_of_its_start_directory(sandbox: Sandbox, mark: Path, words: list[str]):
    """`python -m` and an empty entry of PYTHONPATH put the directory on the path before our first line runs."""
    plant(sandbox.project, module_names() - STARTED_WITH - {"workbench"}, mark)
    for name in ("sitecustomize", "usercustomize"):  # imported before our first line where PYTHONPATH has the directory
        (sandbox.project / f"{name}.py").unlink(missing_ok=True)
        for left in (sandbox.project / name).glob("*"):
            left.unlink()
    script = sandbox.home / "ohw"
    script.write_text("import sys\nfrom workbench.__main__ import main\nsys.exit(main())\n")
    env = {**sandbox.env, "PYTHONPATH": f":{ROOT}"}
    command = [sys.executable, *(words or [str(script)])]
    for arguments in (["--version"], ["tools"], ["models"], ["sessions"], ["risk", "ls"], ["mcp"]):
        done = subprocess.run([*command, *arguments], cwd=sandbox.project, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert imported(mark) == ""


def test_import_path_entries_of_the_workspace_are_removed(tmp_path: Path):
    here = tmp_path / "here"
    (here / "lib").mkdir(parents=True)
    (here / "venv").mkdir()
    expected = ["/usr/lib/python3", str(here / "venv"), str(tmp_path / "other")]
    entries = [str(here), "/usr/lib/python3", str(here / "lib"), str(here / "venv"), str(tmp_path / "other")]
    assert without_workspace(entries, str(here), f":{here / 'lib'}:{tmp_path / 'other'}") == expected


def test_child_searches_the_same_import_path_without_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()
    (other / "elsewhere.py").write_text("import json\nprint(json.__file__)\n")
    (here / "json.py").write_text("print('of the folder')\n")
    monkeypatch.setattr(spawn, "_workspaces", {str(here)})
    monkeypatch.setattr(sys, "path", ["", str(here), str(here / "lib"), str(other), *sys.path])
    made = spawn.run(spawn.isolated_python("elsewhere"), capture_output=True, text=True)
    assert made.stdout.strip().endswith("json/__init__.py"), made.stderr
    assert str(here) not in " ".join(spawn.isolated_python("elsewhere"))


def test_own_package_inside_the_workspace_hides_no_other_module():
    assert without_workspace([str(ROOT), "/usr/lib"], str(ROOT), "") == ["/usr/lib", str(ROOT)]


@pytest.mark.parametrize("entries", ["{0}:/usr/bin", ".:/usr/bin", "bin:/usr/bin", ":/usr/bin", "{0}/bin:/usr/bin"])
def test_programs_of_the_workspace_are_not_taken_for_system_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str
):
    monkeypatch.setattr(spawn, "_workspaces", set())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("git", "rg", "bash", "xclip", "chromium"):
        for place in (tmp_path, tmp_path / "bin"):
            (place / name).write_text("#!/bin/sh\nexit 3\n")
            (place / name).chmod(0o755)
    spawn.keep_out_of(tmp_path)
    env = {"PATH": entries.format(tmp_path), "DISPLAY": ":0"}
    for name in ("git", "rg", "bash", "chromium"):
        assert not str(spawn.find_program(name, env) or "").startswith(str(tmp_path))
    assert copy_command({**env, "PATH": env["PATH"].replace("/usr/bin", "/nowhere")}, "linux") is None
    assert "/usr/bin" in spawn.clean_environment(env)["PATH"].split(":")


@pytest.mark.parametrize("inside", ["src", "vendor/inner", ".git"])
@pytest.mark.parametrize("entry", ["bin", ".venv/bin", "src/../node_modules/.bin"])
def test_programs_of_the_surrounding_repository_are_not_used_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, entry: str
):
    monkeypatch.setattr(spawn, "_workspaces", set())
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "vendor/inner").mkdir(parents=True)
    (tmp_path / "vendor/inner/.git").write_text("gitdir: ../../.git\n")
    (tmp_path / entry).mkdir(parents=True)
    (tmp_path / entry / "git").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / entry / "git").chmod(0o755)
    env = {"PATH": f"{tmp_path / entry}:/usr/bin"}
    assert str(spawn.find_program("git", env) or "").startswith(str(tmp_path))
    spawn.keep_out_of(tmp_path / inside)
    assert not str(spawn.find_program("git", env) or "").startswith(str(tmp_path))
    assert spawn.clean_environment(env)["PATH"] == "/usr/bin"


def test_finding_a_program_does_not_slow_down_with_the_number_of_workspaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spawn, "_workspaces", set())

    def seconds() -> float:
        find = timeit.Timer(lambda: spawn.find_program("git", None, tmp_path), timer=time.process_time)
        return min(find.repeat(number=20, repeat=7))

    spawn.keep_out_of(tmp_path / "first")
    one = seconds()
    for number in range(3_000):
        spawn.keep_out_of(tmp_path / str(number))
    assert seconds() < 3 * one


def test_relative_program_path_is_not_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edit").write_text("#!/bin/sh\n")
    (tmp_path / "edit").chmod(0o755)
    assert spawn.find_program("./edit") is None
    with pytest.raises(FileNotFoundError):
        spawn.run(["./edit"])


def test_users_programs_are_found_if_the_workspace_is_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "mine").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(spawn, "_workspaces", set())
    spawn.keep_out_of(tmp_path)
    spawn.keep_out_of("/")
    assert spawn.find_program("mine", {"PATH": f"{tmp_path}/bin"}) == f"{tmp_path}/bin/mine"


def test_agents_shell_has_no_relative_path_entry():
    made = shell_environment({"PATH": ".:/usr/bin::node_modules/.bin:/opt/x/bin"}, "n")
    assert made["PATH"] == "/usr/bin:/opt/x/bin"


def test_slow_program_is_ended():
    with pytest.raises(TimeoutError, match=r"0\.05 s"):
        spawn.run(["sleep", "9"], timeout=0.05)


async def test_program_started_for_an_event_loop_runs_in_the_root_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = await spawn.start_beside(["sh", "-c", "pwd; echo =$PYTHONPATH="], stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out == b"/\n==\n"


def test_missing_directory_raises_oserror(tmp_path: Path):
    with pytest.raises(OSError, match="gone"):
        spawn.run(["true"], cwd=tmp_path / "gone")


def test_export_into_a_missing_directory_is_reported(sandbox: Sandbox):
    with pytest.raises(WorkbenchError):
        SessionShelf(sandbox.locations).export("20260101-000000-none", sandbox.project / "x.md")
