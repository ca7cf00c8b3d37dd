"""The session file or the workspace is deleted, moved or replaced by something that is not a file during a run."""

import json
import os
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox, bash, finish, wait_for


def run(sandbox: Sandbox, *turns: Turn, json_lines: bool = False):
    with ModelServer(list(turns)) as server:
        more = ("--json",) if json_lines else ()
        return sandbox.ohw("run", "go", "--model", "openai/x", "--api-base", server.base_url, "--mode", "never", *more)


@pytest.mark.parametrize(
    "taken",
    ["rm -f {name}", "mkdir away && mv {name} away", "cp {name} copy && mv copy {name}"],
)
def test_nothing_runs_once_the_session_file_is_deleted(sandbox: Sandbox, taken: str):
    sessions = sandbox.locations.sessions
    sessions.mkdir(parents=True, exist_ok=True)
    script = (
        sandbox.project / "take.sh"
    )  # what it writes to is known only when it runs, and "never" asks about such a line
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
    message = f"the folder {sandbox.project} was moved, deleted or replaced"
    assert end["detail"] == message
    assert done.returncode == 1
    assert f"{message}; once it is back: ohw resume" in done.stderr
    assert "to go on" not in done.stderr
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
    assert "fifo" not in sandbox.ohw("sessions").stdout


@pytest.mark.parametrize("place", [".gitignore", ".gitattributes"])
def test_own_git_process_waiting_for_a_pipe_ends_with_the_run(sandbox: Sandbox, place: str):
    os.mkfifo(sandbox.project / place)
    done = sandbox.ohw("run", "go", "--model", sandbox.script(bash("echo hi > made"), finish()), "--mode", "never")
    assert done.returncode == 0
    assert (sandbox.project / "made").exists()
    wait_for(lambda: not sandbox.processes(), "every process to be gone", 5)
