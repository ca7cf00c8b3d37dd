"""`ohw replay --from` lets a session take another future, in a fork with a directory of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.e2e.test_compare import compared, ran
from tests.e2e.test_custom_commands import define
from tests.e2e.test_rewind import files
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sample_images import png
from tests.sandbox import Sandbox, bash, finish
from tests.session.recording import QUIET, approve, go_on
from workbench.config.settings import Settings
from workbench.session.session_factory import open_session

USER = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def went_on(sandbox: Sandbox, *words: str) -> tuple[str, Path]:
    """Run a session on from an event; return the id and the directory of the new future."""
    done = sandbox.agent("replay", *words, "--mode", "never")
    assert done.returncode == 0, done.stderr
    return future_of(done.stderr)


def future_of(narration: str) -> tuple[str, Path]:
    directory = Path(narration.split("its directory: ")[1].splitlines()[0])
    return narration.split("compare with: ohw compare ")[1].split()[1], directory


def events(sandbox: Sandbox, session: str, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, sandbox.command("export", session, "--jsonl").stdout.splitlines())
    return [event for event in lines if event["kind"] == kind]


def call(command: str) -> Called:
    return Called("execute_bash", {"command": command, "security_risk": "LOW"})


def stopped_at_a_question(sandbox: Sandbox, *calls: Called) -> tuple[str, str]:
    """Run an agent that makes these calls at once, up to its first question; return the session and the question."""
    with ModelServer([Turn(calls=list(calls))]) as server:
        model = ("--model", "openai/fake", "--api-base", server.base_url, "--mode", "ask")
        done = sandbox.agent("run", "go", "--json", *model)
    assert done.returncode == 3, done.stderr
    session = json.loads(done.stdout.splitlines()[0])["id"]
    return session, str(events(sandbox, session, "action_assessed")[0]["seq"])


def decided(sandbox: Sandbox, *words: str) -> tuple[CompletedProcess[str], list[dict[str, Any]]]:
    """Decide an action in another future, whose model ends the run; return the run and the messages it was sent."""
    with ModelServer([finish_turn("Done.")]) as server:
        model = ("--model", "openai/fake", "--api-base", server.base_url, "--mode", "medium")
        done = sandbox.agent("replay", *words, *model)
        return done, next((each.messages for each in server.requests if each.body), [])


def test_another_model_answers_the_same_message(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt")
    message = sandbox.command("rewind", session).stdout.split()[0]
    before = files(sandbox)
    other = sandbox.script(bash("echo other > a.txt"), finish())
    fork, directory = went_on(sandbox, session, "--from", message, "--model", other)
    assert (directory / "a.txt").read_text() == "other\n"
    assert files(sandbox) == before
    (pair,) = compared(sandbox, session, fork)["differences"]
    assert pair["files"][0]["path"] == "a.txt"
    assert pair["first_step"]["session"]["kind"] == "answer"


def test_same_message_has_its_image_and_the_limits_of_its_command(sandbox: Sandbox):
    (sandbox.project / ".gitignore").write_text("*.png\n")  # the new directory has no such file
    (sandbox.project / "a.png").write_bytes(png(4, 4))
    define(sandbox, "look", "---\nallowed-tools: Read\n---\nLook at @a.png\n")
    with ModelServer([finish_turn("Looked.")]) as first, ModelServer([finish_turn("Seen.")]) as other:
        model = ("--model", "openai/fake", "--api-base")
        assert sandbox.agent("run", "/look", *model, first.base_url).returncode == 0
        message = sandbox.command("rewind", "--last").stdout.split()[0]
        done = sandbox.agent("replay", "--last", "--from", message, *model, other.base_url)
    assert done.returncode == 0, done.stderr
    (before,), (again,) = ([each.messages for each in server.requests] for server in (first, other))
    assert again[-1]["content"] == before[-1]["content"]
    assert "image_url" in str(again[-1])
    assert "[/look allows only these tools" in str(again[-1])


def test_another_prompt_is_sent_after_an_action(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt", "echo two > a.txt")
    checkpoint = sandbox.command("rewind", session).stdout.splitlines()[1].split()[0]
    other = sandbox.script(bash("echo one > a.txt"), bash("cat a.txt > b.txt"), finish())
    fork, directory = went_on(sandbox, session, "--from", checkpoint, "--prompt", "copy it", "--model", other)
    assert (directory / "b.txt").read_text() == "one\n"
    assert (sandbox.project / "a.txt").read_text() == "two\n"
    assert "copy it" in sandbox.command("export", fork).stdout


def test_new_future_may_not_write_where_the_session_works(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt")
    message = sandbox.command("rewind", session).stdout.split()[0]
    other = sandbox.script(bash(f"echo other > {sandbox.project}/a.txt"), finish())
    went_on(sandbox, session, "--from", message, "--model", other)
    assert (sandbox.project / "a.txt").read_text() == "one\n"


def test_new_future_may_not_reach_the_session_through_the_repository_around_it(sandbox: Sandbox):
    repository = sandbox.project.parent
    (sandbox.project / "a.txt").write_text("committed\n")
    for words in ("init -q", "add project", "commit -qm first"):
        subprocess.run(["git", *USER, *words.split()], cwd=repository, check=True)
    session = ran(sandbox, "echo one > a.txt")
    message = sandbox.command("rewind", session).stdout.split()[0]
    for command in (
        f"git --work-tree={repository} checkout HEAD -- .",
        f"git -C {repository} checkout -q -b other",
        f"cd {repository} && git checkout HEAD -- project",
    ):
        model = sandbox.script(bash(command), finish())
        done = sandbox.ohw("replay", session, "--from", message, "--model", model, "--mode", "never")
        assert "deny in" in done.stderr
        assert (sandbox.project / "a.txt").read_text() == "one\n"
        branches = subprocess.run(["git", "branch"], cwd=repository, check=True, capture_output=True, text=True).stdout
        assert "other" not in branches


def test_waiting_action_is_approved_in_another_future(sandbox: Sandbox):
    session, question = stopped_at_a_question(sandbox, call(f"echo one > {sandbox.project}/a.txt"))
    done, sent = decided(sandbox, session, "--from", question, "--approve")
    fork, directory = future_of(done.stderr)
    assert done.returncode == 0, done.stderr
    assert f"echo one > {directory}/a.txt\n  allowed by you" in done.stderr
    assert (directory / "a.txt").read_text() == "one\n"
    assert [message["role"] for message in sent[1:]] == ["user", "assistant", "tool", "user"]
    assert str(directory) in sent[-1]["content"]
    (decision, _) = events(sandbox, fork, "action_decided")
    assert (decision["verdict"], decision["by"]) == ("approved", "person")
    assert f"echo one > {directory}/a.txt" in sandbox.command("decisions", fork).stdout
    assert files(sandbox) == {}
    assert events(sandbox, session, "action_decided") == []


def test_approved_action_is_rejected_in_another_future_of_that_future(sandbox: Sandbox):
    session, question = stopped_at_a_question(sandbox, call("echo one > a.txt"))
    approved, directory = future_of(decided(sandbox, session, "--from", question, "--approve")[0].stderr)
    result = sandbox.command("rewind", approved).stdout.splitlines()[1].split()[0]
    done, sent = decided(sandbox, approved, "--from", result, "--reject", "use b.txt")
    fork, other = future_of(done.stderr)
    assert done.returncode == 0, done.stderr
    assert [message["content"] for message in sent if message["role"] == "tool"] == [
        "The user rejected this action; it was not run. The user's note: use b.txt"
    ]
    assert list(other.iterdir()) == []
    assert (directory / "a.txt").read_text() == "one\n"
    (pair,) = compared(sandbox, approved, fork)["differences"]
    steps = pair["first_step"]
    assert (steps["session"]["title"], steps["from"]["title"]) == ("rejected: use b.txt", "approved")


def test_other_actions_that_waited_then_are_asked_about_again(sandbox: Sandbox):
    calls = (call("echo 1 > a.txt"), call("echo 2 > b.txt"))
    session, _ = stopped_at_a_question(sandbox, *calls)
    second = events(sandbox, session, "action_proposed")[1]["seq"]
    done, _ = decided(sandbox, session, "--from", str(second), "--approve")
    fork, directory = future_of(done.stderr)
    assert done.returncode == 3
    assert "execute_bash: echo 2 > b.txt\n  allowed by you\n▸ execute_bash: echo 1 > a.txt\n" in done.stderr
    assert f"stopped at a question: may execute_bash run? Answer it with `ohw resume {fork}`" in done.stderr
    assert list(directory.iterdir()) == []


def test_what_was_approved_together_with_it_is_approved_again(sandbox: Sandbox):
    session, _ = stopped_at_a_question(sandbox, call("echo 1 > a.txt"), call("echo 2 > b.txt"))
    with ModelServer([finish_turn("Done.")]) as server:
        settings = Settings(
            model="openai/fake", api_base=server.base_url, sandbox="off", from_flags=("model", "api_base")
        )
        opened = open_session(sandbox.locations, settings, session, **QUIET)
        for action in opened.session.questions():
            approve(opened, action)
        go_on(opened)
        opened.close()
    assert files(sandbox) == {"a.txt": "1\n", "b.txt": "2\n"}
    second = events(sandbox, session, "action_decided")[1]["seq"]
    done, _ = decided(sandbox, session, "--from", str(second), "--reject", "not this one")
    assert done.returncode == 0, done.stderr
    _, directory = future_of(done.stderr)
    assert [path.name for path in directory.iterdir()] == ["a.txt"]


def test_what_would_reach_the_directory_of_the_session_is_not_approved(sandbox: Sandbox):
    name = sandbox.project.name
    session, question = stopped_at_a_question(sandbox, call(f"echo one > ../{name}/a.txt"))
    done, _ = decided(sandbox, session, "--from", question, "--approve")
    assert done.returncode == 3
    assert "not approved: deny in" in done.stderr
    assert files(sandbox) == {}


def script(sandbox: Sandbox, text: str) -> None:
    path = sandbox.project / "run.sh"
    path.write_text(text)
    path.chmod(0o755)


def test_what_an_approved_command_executes_is_what_the_question_showed(sandbox: Sandbox):
    script(sandbox, "echo shown > out.txt\n")
    session, question = stopped_at_a_question(sandbox, call("./run.sh"))
    script(sandbox, "echo edited > out.txt\n")
    done, _ = decided(sandbox, session, "--from", question, "--approve")
    assert done.returncode == 0, done.stderr
    assert (future_of(done.stderr)[1] / "out.txt").read_text() == "shown\n"


def test_command_that_would_execute_something_else_is_not_approved(sandbox: Sandbox):
    (sandbox.project / ".gitignore").write_text("run.sh\n")  # no snapshot has it
    script(sandbox, "echo shown > out.txt\n")
    session, question = stopped_at_a_question(sandbox, call("./run.sh"))
    done, sent = decided(sandbox, session, "--from", question, "--approve")
    assert (done.returncode, sent) == (3, [])
    assert "./run.sh\nnot approved: what it runs has changed since it was shown: run.sh" in done.stderr
    assert "stopped at a question" in done.stderr


def test_command_with_a_similar_directory_is_not_approved(sandbox: Sandbox):
    other = sandbox.project.with_name(f"{sandbox.project.name} two")
    session, question = stopped_at_a_question(sandbox, call(f"echo hi > '{other}/k.txt'"))
    done, sent = decided(sandbox, session, "--from", question, "--approve")
    assert (done.returncode, sent) == (3, [])
    assert "not approved: it is not certain which parts of it are paths" in done.stderr


def test_action_that_no_longer_waits_ends_the_command(sandbox: Sandbox):
    (sandbox.project / ".gitignore").write_text("a.txt\n")  # no snapshot has it
    (sandbox.project / "a.txt").write_text("one\n")
    edit = {"command": "str_replace", "path": f"{sandbox.project}/a.txt", "old_str": "one", "new_str": "two"}
    session, question = stopped_at_a_question(sandbox, Called("str_replace_editor", {**edit, "security_risk": "LOW"}))
    done, sent = decided(sandbox, session, "--from", question, "--approve")
    assert (done.returncode, sent) == (1, []), done.stderr
    assert "/a.txt\nnot approved: this action no longer needs a decision" in done.stderr


def test_what_cannot_go_on_is_refused_and_leaves_nothing(sandbox: Sandbox):
    session = ran(sandbox, "ls")
    for words, reason in (
        (["--from", "2"], "--prompt TEXT or --model NAME"),
        (["--from", "2", "--prompt", "x", "--live"], "no --until"),
        (["--from", "2", "--approve", "--until", "3"], "no --until"),
        (["--from", "2", "--approve", "--prompt", "x"], "no --prompt with --approve"),
        (["--from", "2", "--approve", "--reject", "x"], "cannot be used together"),
        (["--from", "2", "--prompt", "  "], "--prompt needs a message"),
        (["--from", "2", "--prompt", " /exit"], "--prompt needs a message, and /exit is none"),
        (["--from", "2", "--approve", "--prompt", ""], "no --prompt with --approve"),
        (["--approve"], "need --from EVENT"),
        (["--prompt", ""], "need --from EVENT"),
        (["--model", "openai/other"], "need --from EVENT"),
        (["--mode", "ask"], "need --from EVENT"),
        (["--reject", ""], "need --from EVENT"),
        (["--from", "999", "--approve"], "there is no event 999"),
        (["--from", "4", "--approve"], "event 4 is of no action that waited for approval; none of this session did"),
        (["--from", "999", "--prompt", "x"], "there is no event 999"),
        (["--from", "4", "--prompt", "x"], "is no checkpoint"),
    ):
        done = sandbox.command("replay", session, *words)
        assert done.returncode == 2
        assert reason in done.stderr
    for model, reason in (("scripted/missing.toml", "missing.toml"), ("nosuch/zz", "no provider is known")):
        done = sandbox.command("replay", session, "--from", "2", "--model", model)
        assert (done.returncode, reason in done.stderr) == (1, True), done.stderr
    assert len(list(sandbox.locations.sessions.glob("*.session"))) == 1
    assert [path.name for path in sandbox.project.parent.iterdir() if path.name.startswith("project")] == ["project"]
