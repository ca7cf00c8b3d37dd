"""`ohw rewind` moves a session of the real program back, files included, and on again."""

from __future__ import annotations

import json

from tests.sandbox import Sandbox, bash, finish


def ran(sandbox: Sandbox) -> str:
    """Run an agent that edits, deletes by shell and creates; return the id of its session."""
    (sandbox.project / "a.txt").write_text("mine\n")
    (sandbox.project / "old.txt").write_text("old\n")
    model = sandbox.script(bash("echo one >> a.txt"), bash("rm old.txt; mkdir -p d; echo new > d/new.txt"), finish())
    done = sandbox.agent("run", "go", "--json", "--mode", "never", "--model", model)
    return json.loads(done.stdout.splitlines()[0])["id"]


def files(sandbox: Sandbox) -> dict[str, str]:
    paths = (path for path in sandbox.project.rglob("*") if path.is_file())
    return {str(path.relative_to(sandbox.project)): path.read_text() for path in paths}


def test_session_goes_back_to_a_checkpoint_and_on_again(sandbox: Sandbox):
    session = ran(sandbox)
    later = files(sandbox)
    listed = sandbox.command("rewind", session).stdout.splitlines()
    assert "before: go" in listed[0]
    assert "2 files" in listed[2], listed
    refused = sandbox.command("rewind", session, "2", "--only", "files")
    assert "--yes rewinds without a question" in refused.stderr
    assert files(sandbox) == later

    first = listed[1].split()[0]
    done = sandbox.ohw("rewind", session, first, "--yes")
    assert "  create  old.txt" in done.stdout, done.stderr
    assert "  delete  d/new.txt" in done.stdout
    assert files(sandbox) == {"a.txt": "mine\none\n", "old.txt": "old\n"}
    *active, branch = sandbox.command("rewind", session).stdout.splitlines()
    assert [line.split()[0] for line in active] == [listed[0].split()[0], first]
    assert branch.endswith(": go")
    assert "back to event " in branch
    sandbox.command("rewind", session, "--redo", "--yes")
    assert files(sandbox) == later


def test_conflict_is_kept_until_the_user_names_it(sandbox: Sandbox):
    session = ran(sandbox)
    message = sandbox.command("rewind", session).stdout.split()[0]
    (sandbox.project / "a.txt").write_text("mine\nand mine\n")
    refused = sandbox.command("rewind", session, message, "--overwrite", "old.txt", "--yes")
    assert (refused.returncode, "old.txt is not in conflict. Conflicts: a.txt" in refused.stderr) == (2, True), (
        refused.stderr
    )
    declined = sandbox.command("rewind", session, message)
    assert "keep    a.txt  (you changed the same lines)" in declined.stdout
    assert "--overwrite PATH" in declined.stdout

    done = sandbox.command("rewind", session, message, "--overwrite", str(sandbox.project / "a.txt"), "--yes")
    assert "write   a.txt  (your lines are lost)" in done.stdout, done.stderr
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    sandbox.command("rewind", session, "--redo", "--yes")
    assert files(sandbox)["a.txt"] == "mine\nand mine\n"
    refused = sandbox.command("rewind", session, message, "--overwrite", "d/new.txt", "--only", "conversation")
    assert "d/new.txt is not in conflict; no file is" in refused.stderr


def test_event_that_is_no_checkpoint_is_refused(sandbox: Sandbox):
    session = ran(sandbox)
    refused = sandbox.command("rewind", session, "3")
    assert f"event 3 is no checkpoint; `ohw rewind {session}` lists them" in refused.stderr
    assert "there is no rewind to undo" in sandbox.command("rewind", session, "--redo", "--yes").stderr


def test_export_has_all_branches_and_its_import_is_where_the_session_is(sandbox: Sandbox):
    session = ran(sandbox)
    message = sandbox.command("rewind", session).stdout.split()[0]
    sandbox.command("rewind", session, message, "--yes")
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    exported = sandbox.home / "session.jsonl"
    sandbox.command("export", session, "-o", str(exported))
    kinds = [json.loads(line)["kind"] for line in exported.read_text().splitlines()]
    assert kinds.count("action_observed") >= 2
    done = sandbox.command("import", str(exported))
    assert "before: go" not in sandbox.command("rewind", "--last").stdout, done.stdout


def test_options_may_stand_anywhere_and_a_number_alone_is_an_event_of_the_last_session(sandbox: Sandbox):
    session = ran(sandbox)
    message, action, _ = (line.split()[0] for line in sandbox.command("rewind", session).stdout.splitlines())
    assert "Done." in sandbox.command("rewind", session, "--yes", action).stdout
    assert files(sandbox) == {"a.txt": "mine\none\n", "old.txt": "old\n"}
    assert "Done." in sandbox.command("rewind", message, "--yes").stdout
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    sandbox.locations.sessions.joinpath(f"{session}.session").rename(sandbox.locations.sessions / f"{action}.session")
    assert "back to event " in sandbox.command("rewind", action).stdout


def test_options_without_effect_are_refused(sandbox: Sandbox):
    session = ran(sandbox)
    before = files(sandbox)
    message, *_ = sandbox.command("rewind", session).stdout.split()
    sandbox.command("rewind", session, message, "--only", "files", "--yes")
    refused = sandbox.command("rewind", session, "--redo", message, "--yes")
    assert (refused.returncode, "give EVENT or --redo, not both" in refused.stderr) == (2, True), refused.stderr
    for option in (["--only", "files"], ["--overwrite", "a.txt"], ["--yes"]):
        refused = sandbox.command("rewind", session, *option)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{option[0]} needs an EVENT or --redo" in refused.stderr
    refused = sandbox.command("rewind", session, "--redo", "--only", "conversation", "--yes")
    assert (refused.returncode, "--redo moves only the files here" in refused.stderr) == (2, True), refused.stderr
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    sandbox.command("rewind", session, "--redo", "--only", "files", "--yes")
    assert files(sandbox) == before


def test_redo_of_the_conversation_alone_moves_no_file(sandbox: Sandbox):
    session = ran(sandbox)
    message, *_ = sandbox.command("rewind", session).stdout.split()
    sandbox.command("rewind", session, message, "--yes")
    done = sandbox.command("rewind", session, "--redo", "--only", "conversation", "--yes")
    assert "The files stay as they are." in done.stdout, done.stderr
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    assert "before: go" in sandbox.command("rewind", session).stdout


def test_each_redo_goes_one_rewind_further_back(sandbox: Sandbox):
    session = ran(sandbox)
    later = files(sandbox)
    message, action, _ = (line.split()[0] for line in sandbox.command("rewind", session).stdout.splitlines())
    sandbox.command("rewind", session, action, "--yes")
    between = files(sandbox)
    sandbox.command("rewind", session, message, "--yes")
    *_, first, second = sandbox.command("rewind", session).stdout.splitlines()
    assert f"back to event {action}: go" in second
    assert first.split("back to")[1] != second.split("back to")[1]

    done = sandbox.command("rewind", session, "--redo", "--yes")
    assert files(sandbox) == between
    undone = done.stdout.split(f"To undo it: ohw rewind {session} ")[1].split()[0]
    sandbox.command("rewind", session, "--redo", "--yes")
    assert files(sandbox) == later
    assert "there is no rewind to undo" in sandbox.command("rewind", session, "--redo", "--yes").stderr

    sandbox.command("rewind", session, undone, "--yes")
    assert files(sandbox) == {"a.txt": "mine\n", "old.txt": "old\n"}
    sandbox.command("rewind", session, "--redo", "--yes")
    assert files(sandbox) == later
