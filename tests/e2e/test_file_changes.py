"""The whole program: what a command changes on disk, and what others change, is in the log with both texts."""

from __future__ import annotations

import json
import subprocess

from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.client.engine_connection import EngineConnection
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.protocol.commands import SendMessage
from workbench.protocol.events import Event
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

ID = "20260101-files-0001"


def log(sandbox: Sandbox) -> list[Event]:
    with Store.open(session_path(sandbox.locations, ID), readonly=True) as store:
        return list(store.events())


def test_run_reports_what_its_commands_changed(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\n")
    (sandbox.project / "gone.txt").write_text("bye\n")
    command = "echo two >> a.txt; rm gone.txt; mkdir d; echo new > d/b.txt"
    done = sandbox.agent("run", "go", "--json", "--mode", "never", "--model", sandbox.script(bash(command), finish()))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    first, after = (event for event in events if event["kind"] == "version_taken")
    changes = {
        file["path"].removeprefix(f"{sandbox.project}/"): (file["before"], file["after"]) for file in after["files"]
    }
    assert changes == {"a.txt": ("one\n", "one\ntwo\n"), "gone.txt": ("bye\n", None), "d/b.txt": (None, "new\n")}
    assert first["files"] == []
    assert events[-1]["kind"] == "run_ended"


def test_nothing_is_executed_or_changed_in_the_users_repository(sandbox: Sandbox):
    sang = sandbox.home / "sang"
    project = sandbox.project
    for command in (
        ["init", "-q"],
        ["config", "core.fsmonitor", f"touch {sang}; false"],
        ["config", "filter.x.clean", f"touch {sang}; cat"],
    ):
        subprocess.run(["git", *command], cwd=project, check=True, env=sandbox.env)
    (project / ".gitattributes").write_text("* filter=x diff=x\n")
    before = sorted(str(path) for path in (project / ".git").rglob("*"))
    done = sandbox.agent("run", "go", "--mode", "never", "--model", sandbox.script(bash("echo 1 > a.txt"), finish()))
    assert done.returncode == 0, done.stderr
    assert not sang.exists()
    assert sorted(str(path) for path in (project / ".git").rglob("*")) == before


def test_changes_by_another_program_are_noticed_while_the_engine_runs(local_sandbox: Sandbox):
    path = local_sandbox.project / "a.txt"
    path.write_text("one\n")
    launch = Launch(
        local_sandbox.locations,
        Settings(model=local_sandbox.script(finish()), mode="never", sandbox="off"),
        ID,
        str(local_sandbox.project),
        True,
    )
    screen = EngineConnection.open(launch)
    screen.send_command(SendMessage(text="go"))
    wait_for(lambda: any(event.kind == "version_taken" for event in log(local_sandbox)), "the first version")
    path.write_text("two\n")
    changes = wait_for(
        lambda: [event for event in log(local_sandbox) if event.kind == "files_changed"], "the change to be seen"
    )
    screen.close()
    assert (changes[0].by, [(file.before, file.after) for file in changes[0].files]) == ("other", [("one\n", "two\n")])
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
