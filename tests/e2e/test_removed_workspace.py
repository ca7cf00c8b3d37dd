"""The session file or the workspace is deleted, moved or replaced by something that is not a file during a run."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.agent.instructions import project_notes
from workbench.errors import UsageError
from workbench.files.toml_edit import write_settings
from workbench.mcp.config import find_servers
from workbench.rules.rule import Rule, RuleError
from workbench.rules.rule_files import drop_rule
from workbench.session.workspace.ignore_patterns import patterns_above
from workbench.tools import TaskTrackerTool
from workbench.tools.openapi.documents import BadDocument, load
from workbench.tools.openapi.source import Source
from workbench.tools.trust import TOOLS
from workbench.tools.user_tools import tool_files
from workbench.tui.themes import ThemeError, read_theme


def run(sandbox: Sandbox, *turns: Turn, json_lines: bool = False):
    with ModelServer(list(turns)) as server:
        more = ("--json",) if json_lines else ()
        return sandbox.agent(
            "run", "go", "--model", "openai/x", "--api-base", server.base_url, "--mode", "never", *more
        )


@pytest.mark.parametrize(
    "taken",
    [
        "rm -f {name}",
        "mkdir away && mv {name} away",
        "cp {name} copy && mv copy {name}",
        "truncate -s 0 {name}",
        "truncate -s 0 {name}-wal",
        "truncate -s 4096 {name}-wal",
        "rm {name}-wal",
        "mv $PWD $PWD-moved",
        "cp -r $PWD $PWD-copy && rm -r $PWD && mv $PWD-copy $PWD",
    ],
    ids=["rm", "mv", "copy", "cut", "cut-log", "shorter-log", "rm-log", "mv-all", "copy-all"],
)
def test_nothing_runs_once_the_session_file_is_deleted(sandbox: Sandbox, taken: str):
    sessions = sandbox.locations.sessions
    sessions.mkdir(parents=True, exist_ok=True)
    # Its target is known only when it runs, and even "never" asks about such a line.
    script = sandbox.project / "take.sh"
    script.write_text(f"""cd {sessions} && {taken.format(name='"$(ls *.session)"')}\n""")
    done = run(
        sandbox,
        bash_turn("sh take.sh", risk="HIGH"),
        bash_turn("touch after", risk="HIGH"),
        finish_turn("Done."),
    )
    assert done.returncode == 1
    assert "was deleted, moved or replaced" in done.stderr
    assert "ohw resume" not in done.stderr + done.stdout
    assert not (sandbox.project / "after").exists()


@pytest.mark.parametrize(
    ("taken", "tool"),
    [("mv {0} {0}-moved", "editor"), ("rm -r {0}", "shell"), ("mv {0} {0}-moved && mkdir {0}", "shell")],
)
def test_nothing_runs_once_the_workspace_is_deleted(sandbox: Sandbox, taken: str, tool: str):
    path = sandbox.project / "sub" / "after"
    created = {"command": "create", "path": str(path), "file_text": "x", "security_risk": "LOW", "summary": "New"}
    later = (
        bash_turn(f"mkdir -p {path.parent} && touch {path}", risk="HIGH")
        if tool == "shell"
        else Turn("", calls=(Called("str_replace_editor", created),))
    )
    script = sandbox.home / "gone.sh"
    script.write_text(taken.format(sandbox.project))
    done = run(sandbox, bash_turn(f"sh {script}", risk="HIGH"), later, finish_turn("Done."), json_lines=True)
    (end,) = [line for line in map(json.loads, done.stdout.splitlines()) if line["kind"] == "run_ended"]
    message = f"the directory {sandbox.project} was moved, deleted or replaced"
    assert end["detail"] == message
    assert done.returncode == 1
    assert f"{message}; once it is back: ohw resume" in done.stderr
    assert "to continue" not in done.stderr
    assert not path.exists()
    assert not Path(f"{sandbox.project}-moved/sub").exists()
    assert sandbox.project.exists() == ("mkdir" in taken)


@pytest.mark.parametrize("place", ["settings.toml", "rules.toml", "trusted.json", "20260101-fifo-0000.session"])
def test_pipe_in_place_of_a_file_does_not_block(sandbox: Sandbox, place: str):
    where = sandbox.locations
    directory = {"toml": where.config, "json": where.data, "session": where.sessions}[place.partition(".")[2]]
    directory.mkdir(parents=True, exist_ok=True)
    os.mkfifo(directory / place)
    for words in (["sessions"], ["tools"], ["run", "go", "--model", sandbox.script(bash("echo hi"), finish())]):
        done = sandbox.ohw(*words)
        output = done.stdout + done.stderr
        assert "Traceback" not in output
        assert done.returncode == (2 if place == "settings.toml" else 0)
        assert place != "settings.toml" or "not a regular file" in output
    assert "fifo" not in sandbox.command("sessions").stdout


_READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "ignored": (".gitignore", lambda root: list(patterns_above(root / "sub"))),
    "excluded": (".git/info/exclude", lambda root: list(patterns_above(root / "sub"))),
    "tools": (f"{TOOLS}/a.py", lambda root: list(tool_files(root))),
    "notes": ("AGENTS.md", project_notes),
    "servers": (".mcp.json", lambda root: list(find_servers({}, root / "settings.toml", root, ()).servers)),
    "tasks": ("TASKS.json", lambda root: TaskTrackerTool(root)({"command": "view"}).is_error),
}
_REFUSING: dict[str, tuple[type[Exception], Callable[[Path], object]]] = {
    "rule": (RuleError, lambda file: drop_rule(file, Rule("deny", command="x"))),
    "setting": (UsageError, lambda file: write_settings(file, {("theme",): "dark"})),
    "openapi": (BadDocument, lambda file: load(Source("a", str(file)), file.parent)),
    "theme": (ThemeError, read_theme),
}


@pytest.mark.parametrize("reader", _READERS)
def test_reading_a_fixed_name_does_not_wait_for_a_pipe(tmp_path: Path, reader: str):
    name, read = _READERS[reader]
    for directory in (tmp_path / name).parent, tmp_path / ".git", tmp_path / "sub":
        directory.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / name)
    assert not read(tmp_path)


@pytest.mark.parametrize("change", _REFUSING)
def test_a_pipe_is_refused_where_a_file_is_needed(tmp_path: Path, change: str):
    error, read = _REFUSING[change]
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(error):
        read(tmp_path / "pipe.toml")


@pytest.mark.parametrize("place", [".gitignore", ".gitattributes"])
def test_own_git_process_waiting_for_a_pipe_ends_with_the_run(sandbox: Sandbox, place: str):
    os.mkfifo(sandbox.project / place)
    done = sandbox.ohw("run", "go", "--model", sandbox.script(bash("echo hi > made"), finish()), "--mode", "never")
    assert done.returncode == 0
    assert (sandbox.project / "made").exists()
    wait_for(lambda: not sandbox.processes(), "every process to be gone", 5)
