"""Directories that the user lets commands write besides the workspace: which ones, and what a shell can do there."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox import Sandbox as User
from tests.system_packages import found_or_installed
from tests.walls.shells import bash, shell_in
from workbench.processes.launch import SERVER
from workbench.processes.spawn import ROOT
from workbench.processes.supervised_process import SupervisedProcess
from workbench.rules.rule import Rule, RuleError, parse_rule
from workbench.rules.rule_files import checked
from workbench.sandbox import granted_directories as granted_module
from workbench.sandbox.granted_directories import directory_of, granted_directories, refusal
from workbench.sandbox.partial_sandbox import PartialSandbox
from workbench.sandbox.protected_paths import ProtectedPaths
from workbench.sandbox.sandbox import Boundary, GrantedDirectories, Sandbox
from workbench.tools.execute_bash import BashTool
from workbench.tools.execute_ipython_cell.definition import (
    ExecuteIPythonCellAction,
    ExecuteIPythonCellObservation,
    IPythonTool,
)
from workbench.tools.granted_changes import MOST_FILES

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's and Landlock's, which Linux has"),
]


@pytest.fixture
def notes(local_sandbox: User) -> Path:
    """A directory of the user's beside the workspace."""
    directory = local_sandbox.home / "notes"
    directory.mkdir()
    return directory


@pytest.fixture
def rules() -> list[Rule]:
    return []


@pytest.fixture
def boundary(local_sandbox: User, rules: list[Rule]) -> Boundary:
    one = Boundary(local_sandbox.project, local_sandbox.locations, local_sandbox.home)
    return replace(one, granted=lambda: granted_directories(rules, one))


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")


@pytest.fixture(params=[Sandbox, PartialSandbox])
def shell(boundary: Boundary, sandbox: User, request: pytest.FixtureRequest) -> Iterator[BashTool]:
    inside = request.param(boundary)
    yield from shell_in(inside, sandbox)
    inside.close()


@pytest.fixture
def whole_shell(boundary: Boundary, sandbox: User) -> Iterator[BashTool]:
    """A shell in the sandbox of bubblewrap: Landlock cannot take a part out of a directory, as the guide says."""
    inside = Sandbox(boundary)
    yield from shell_in(inside, sandbox)
    inside.close()


class ForServers(Sandbox):
    """The sandbox as MCP servers are started in it."""

    def launch(self, *arguments: Any, **options: Any) -> Any:
        return super().launch(*arguments, **options, name=f"{SERVER} files")


def granting(path: Path | str) -> Rule:
    return checked(parse_rule(f"allow sandbox_write in {path}"))


def test_what_a_rule_names_is_written_from_the_next_command_on(shell: BashTool, notes: Path, rules: list[Rule]):
    line = f"echo text > {notes}/one"
    before = bash(shell, line)
    rules.append(granting(notes))
    after = bash(shell, line)
    assert before.exit_code != 0
    assert "the user decides" in before.text
    assert after.exit_code == 0
    assert f"besides the workspace: {notes}" in after.text
    assert (notes / "one").read_text() == "text\n"


def test_the_result_names_what_a_command_changed_there(shell: BashTool, notes: Path, rules: list[Rule]):
    for name in ("kept", "edited", "gone"):
        (notes / name).write_text("text")
    (notes / ".git").mkdir()
    rules.append(granting(notes))
    done = bash(
        shell, f"cd {notes}; mkdir new; echo x > new/one; echo y >> edited; rm gone; cat kept; echo z > .git/own"
    )
    assert f"while this ran: changed {notes}/edited, deleted {notes}/gone, created {notes}/new/one]" in done.text
    assert "while this ran" not in bash(shell, "cat kept; echo in the workspace > $OLDPWD/file").text
    (notes / "between").write_text("of the user")
    late = bash(shell, "read line; echo $line > late", timeout=0.3)
    assert "while this ran" not in late.text
    assert f"while this ran: created {notes}/late]" in bash(shell, "on", is_input=True).text


def test_the_result_names_ten_of_many_changes_there(shell: BashTool, notes: Path, rules: list[Rule]):
    rules.append(granting(notes))
    assert bash(shell, f"cd {notes}; touch $(seq 101 113)").text.count(f"created {notes}/1") == 10
    assert "and 13 more]" in bash(shell, "rm *; touch $(seq 201 210)").text


def test_a_directory_with_too_many_files_is_not_compared(shell: BashTool, notes: Path, rules: list[Rule]):
    rules.append(granting(notes))
    bash(shell, f"cd {notes}; touch $(seq {MOST_FILES + 1})", timeout=60)
    assert "while this ran" not in bash(shell, "touch one-more").text


def test_a_shell_keeps_its_directory_and_its_state_until_what_is_granted_changes(
    shell: BashTool, notes: Path, rules: list[Rule], sandbox: User
):
    rules.append(granting(notes))
    (sandbox.project / "src").mkdir()
    bash(shell, "cd src; word=kept")
    same = bash(shell, "echo $word")
    rules.clear()
    other = bash(shell, f"pwd; echo [$word]; echo text > {notes}/two")
    assert same.output == "kept\n"
    assert "the workspace and nothing else" in other.text
    assert other.output.startswith(f"{sandbox.project}/src\n[]\n")
    assert not (notes / "two").exists()


def test_a_running_command_keeps_its_shell_while_what_is_granted_changes(
    shell: BashTool, notes: Path, rules: list[Rule]
):
    running = bash(shell, "read line; echo got $line", timeout=0.3)
    rules.append(granting(notes))
    refused = bash(shell, f"echo text > {notes}/one")
    ended = bash(shell, "on", is_input=True)
    assert running.exit_code == -1
    assert "the previous one is still running" in refused.text
    assert "got on" in ended.output
    assert bash(shell, f"echo text > {notes}/one").exit_code == 0


def test_protected_files_and_git_settings_in_it_stay_as_they_are(whole_shell: BashTool, notes: Path, rules: list[Rule]):
    for path, text in {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".mcp.json": "{}"}.items():
        (notes / path).parent.mkdir(exist_ok=True)
        (notes / path).write_text(text)
    (notes / ".git/hooks").mkdir()
    rules.append(granting(notes))
    tried = bash(
        whole_shell,
        f"cd {notes}; echo x > .git/hooks/pre-commit; echo x > .git/config; echo x > .mcp.json; mv .git g; echo x > f",
    )
    assert "Read-only file system" in tried.output
    assert sorted(path.name for path in notes.iterdir()) == [".git", ".mcp.json", "f"]
    assert (notes / ".git/config").read_text() == "[core]\n"
    assert (notes / ".mcp.json").read_text() == "{}"
    assert not list((notes / ".git/hooks").iterdir())


def test_the_repository_around_it_stays_closed(shell: BashTool, notes: Path, rules: list[Rule]):
    (notes / ".git").mkdir()
    (notes / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (notes / "part").mkdir()
    rules.append(granting(notes / "part"))
    tried = bash(shell, f"echo x > {notes}/part/f; echo x > {notes}/.git/new")
    assert tried.exit_code != 0
    assert (notes / "part/f").exists()
    assert not (notes / ".git/new").exists()


def test_a_server_does_not_write_what_is_granted_to_commands(boundary: Boundary, notes: Path, rules: list[Rule]):
    rules.append(granting(notes))
    inside = ForServers(boundary)
    server = SupervisedProcess(["bash", "-c", f"echo text > {notes}/one"], boundary.workspace, sandbox=inside)
    try:
        assert b"Read-only file system" in server.stderr.read()
    finally:
        server.close()
        inside.close()
    assert not (notes / "one").exists()


def test_an_interpreter_ends_only_when_something_is_granted_no_longer(
    boundary: Boundary, notes: Path, rules: list[Rule], sandbox: User
):
    inside = Sandbox(boundary)
    tool = IPythonTool(sandbox.project, state_dir=sandbox.home / "state", sandbox=inside)
    write = f"open('{notes}/one', 'w').write('text')"
    try:
        assert tool.executor is not None
        executor = tool.executor

        def run(code: str, *, restart: bool = False) -> ExecuteIPythonCellObservation:
            return executor(ExecuteIPythonCellAction(code=code, timeout=60, restart=restart))

        run("x = 1")
        rules.append(granting(notes))
        before = run(f"print(x)\n{write}")
        allowed = run(write, restart=True)
        assert f"while this ran: created {notes}/one]" in allowed.text
        rules.clear()
        after = run(write)
    finally:
        tool.close()
        inside.close()
    assert "1\n" in before.text
    assert "Read-only file system" in before.text
    assert not allowed.is_error
    assert "A new interpreter was started" in after.text
    assert "Read-only file system" in after.text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "your home directory is in it"),
        ("~", "it is your home directory"),
        ("/etc", "it belongs to the system"),
        ("/usr/local/share", "it belongs to the system"),
        ("/var/lib", "it belongs to the system"),
        ("~/project", "it is in the workspace"),
        ("~/.config", "hidden directory"),
        ("~/.local/share/data", "hidden directory"),
        ("~/code/.vscode", "it is protected"),
        ("~/src", "the workspace is in it"),
        ("~/vault", "keys, or data of ohw, are there"),
        ("~/vault/more", "keys, or data of ohw, are there"),
        ("~/scratch", "temporary files of programs outside"),
        ("~/scratch/ohw-shell-1", "temporary files of programs outside"),
        ("~/bin", "programs that you run are there"),
        ("~/tools", "programs that you run are there"),
        ("~/tools/lib/python", "programs that you run are there"),
        (f"{sys.prefix}/lib", "programs that you run are there"),
        (f"{ROOT}/workbench", "programs that you run are there"),
        ("~/link", "it is a link"),
        ("~/absent", "there is no such directory"),
        ("~/file", "there is no such directory"),
        ("~/a*b", "characters that mean something else"),
    ],
)
def test_directories_that_decide_what_runs_or_hold_keys_are_refused(
    path: str, reason: str, boundary: Boundary, sandbox: User, monkeypatch: pytest.MonkeyPatch
):
    home = sandbox.home
    names = (
        ".config",
        ".local/share/data",
        "code/.vscode",
        "bin",
        "tools/bin",
        "tools/lib/python",
        "vault/more",
        "a*b",
    )
    for name in (*names, "src/team/project", "scratch/ohw-shell-1"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "link").symlink_to(home / "tools")
    (home / "file").write_text("")
    monkeypatch.setenv("PATH", f"{home}/bin:{home}/tools/bin", prepend=os.pathsep)
    monkeypatch.setattr(tempfile, "tempdir", str(home / "scratch"))
    boundary = replace(boundary, secrets=(str(home / "vault"),))
    inner = replace(boundary, workspace=home / "src/team/project") if path == "~/src" else boundary
    assert reason in refusal(directory_of(path.replace("~/project", str(sandbox.project))), inner)


@pytest.mark.parametrize("name", ["notes", "bin/../notes", "code/notes"])
def test_directories_of_the_users_own_are_granted(name: str, boundary: Boundary, sandbox: User):
    (sandbox.home / "bin").mkdir()
    (sandbox.home / name).mkdir(parents=True, exist_ok=True)
    assert refusal(directory_of(f"~/{name}"), boundary) == ""


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "/a\0b", "/a\tb", "/a $ b"])
def test_a_path_that_cannot_be_is_refused_and_raises_nothing(path: str, boundary: Boundary):
    assert refusal(directory_of(path, "/srv"), boundary)


def test_the_way_to_protected_files_cannot_be_moved_inside_nested_directories(
    whole_shell: BashTool, notes: Path, rules: list[Rule]
):
    (notes / "x/repo").mkdir(parents=True)
    (notes / "x/repo/.mcp.json").write_text("{}")
    rules += [granting(notes), granting(notes / "x/repo")]
    tried = bash(whole_shell, f"cd {notes}; mv x old && mkdir -p x/repo && echo evil > x/repo/.mcp.json")
    assert "Device or resource busy" in tried.output
    assert (notes / "x/repo/.mcp.json").read_text() == "{}"


def test_a_directory_that_is_searched_in_part_says_so(
    boundary: Boundary, notes: Path, rules: list[Rule], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(granted_module, "protected_paths", lambda path: ProtectedPaths(is_complete=False))
    rules.append(granting(notes))
    assert str(notes) in boundary.granted().limits[0]


def test_a_directory_is_named_from_home_or_from_the_workspace(boundary: Boundary, sandbox: User):
    assert directory_of("~/notes", "/srv") == f"{sandbox.home}/notes"
    assert directory_of("../notes/", "/srv/project") == "/srv/notes"
    assert directory_of("/data/one/**", "/srv/project") == "/data/one"


def test_a_directory_that_is_exchanged_for_a_link_is_granted_no_longer(
    boundary: Boundary, notes: Path, rules: list[Rule], sandbox: User
):
    rules.append(granting(notes))
    before = boundary.granted()
    notes.rename(sandbox.home / "moved")
    notes.symlink_to(sandbox.home / "moved")
    assert before == GrantedDirectories((str(notes),))
    assert boundary.granted().writable == ()
    assert "it is a link" in boundary.granted().refused[0]


def test_a_rule_of_a_directory_or_for_another_workspace_grants_nothing(boundary: Boundary, notes: Path):
    rule = granting(notes)
    for other in (replace(rule, source="folder"), replace(rule, folder="/elsewhere"), Rule("allow", path=str(notes))):
        assert granted_directories([other], boundary) == GrantedDirectories()
    own = replace(rule, source="person", folder=str(boundary.workspace))
    assert granted_directories([own], boundary).writable == (str(notes),)


@pytest.mark.parametrize(
    "text",
    [
        "deny sandbox_write in ~/notes",
        "allow sandbox_write",
        "allow sandbox_write in notes",
        "allow sandbox_write in ~/*",
    ],
)
def test_a_rule_for_writing_names_one_directory(text: str):
    with pytest.raises(RuleError, match="sandbox_write"):
        checked(parse_rule(text))
