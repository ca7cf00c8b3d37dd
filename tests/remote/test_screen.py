"""`ohw ssh://HOST/PATH` in the real program: the agent works there, the screen is here."""

from __future__ import annotations

from tests.comparable_events import comparable
from tests.remote.far_machine import FarMachine
from tests.remote.screens import (
    answer,
    events_there,
    lines_here,
    lines_there,
    opened,
    quit_screen,
    quit_when_finished,
    send,
    session_here,
    session_there,
    started,
)
from tests.sandbox import bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import UserMessage
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

CALLS = (bash("pwd > here.txt", risk="HIGH"), bash("cat here.txt"), finish("All done."))


def test_a_question_is_answered_here_and_the_command_runs_there(far: FarMachine):
    with started(far, far.user.script(*CALLS)) as terminal:
        terminal.wait_for("ohw  far  ")
        send(terminal, "begin")
        answer(terminal)
        quit_when_finished(terminal)
    assert (far.user.project / "here.txt").read_text().strip() == str(far.user.project)
    assert (session_here(far).id, session_here(far).origin) == (session_there(far).id, far.url)
    assert session_there(far).origin == ""
    assert lines_here(far) == lines_there(far)
    wait_for(lambda: not far.user.processes(), "nothing of the session to run there")


def test_a_task_over_ssh_has_the_events_of_a_local_one(far: FarMachine):
    with started(far, far.user.script(*CALLS)) as terminal:
        send(terminal, "begin")
        answer(terminal)
        quit_when_finished(terminal)
    there = comparable(events_there(far), str(far.user.project), str(far.user.home))
    with Terminal(["--model", far.near.script(*CALLS)], 120, 40, far.near.env, cwd=far.near.project) as terminal:
        terminal.wait_for("What should we work on?")
        send(terminal, "begin")
        answer(terminal)
        quit_when_finished(terminal)
    (local,) = [each for each in list_sessions(far.near.locations) if not each.origin]
    with Store.open(far.near.locations.sessions / f"{local.id}.session", readonly=True) as store:
        here = comparable(list(store.events()), str(far.near.project), str(far.near.home))
    assert there == here


def test_a_session_is_resumed_by_its_copy_and_by_its_directory(far: FarMachine):
    with started(far, far.user.script(finish("The first answer."))) as terminal:
        send(terminal, "begin")
        quit_when_finished(terminal)
    for words in (("resume", session_here(far).id), ("resume", far.url), (far.url, "resume", session_here(far).id)):
        with opened(far, *words) as terminal:
            terminal.wait_for("The first answer.")
            quit_screen(terminal)
    assert lines_here(far) == lines_there(far)


def test_a_killed_screen_leaves_a_question_that_is_answered_later(far: FarMachine):
    with started(far, far.user.script(*CALLS)) as terminal:
        send(terminal, "begin")
        terminal.wait_for("y Approve")
        terminal.process.kill(9)
        terminal.process.wait()
    assert not (far.user.project / "here.txt").exists()
    with opened(far, "resume", session_here(far).id) as terminal:
        answer(terminal)
        quit_when_finished(terminal)
    assert (far.user.project / "here.txt").exists()
    assert lines_here(far) == lines_there(far)


def test_no_engine_of_this_machine_opens_the_copy(far: FarMachine):
    with started(far, far.user.script(*CALLS)) as terminal:
        send(terminal, "begin")
        answer(terminal)
        quit_when_finished(terminal)
    name = session_here(far).id
    before = lines_here(far)
    message = next(event.seq for event in events_there(far) if isinstance(event, UserMessage))
    for words in (["fork", name], ["sessions", "repair", name], ["rewind", name, str(message), "--yes"]):
        refused = far.near.command(*words)
        assert refused.returncode != 0
        assert "is on ssh://far" in refused.stderr
    assert "All done." in far.near.command("export", name).stdout
    assert lines_here(far) == before
    assert "All done." in far.near.command("export", name, "--jsonl").stdout


def test_pages_are_those_of_the_other_machine_and_a_new_session_is_there_too(far: FarMachine):
    (far.user.project / "a.txt").write_text("one\n")
    for user, rule in ((far.near, "run-here"), (far.user, "run-there")):
        user.locations.rules_file.parent.mkdir(parents=True, exist_ok=True)
        user.locations.rules_file.write_text(f'[[deny]]\ncommand = "{rule}"\n')
    with started(far, far.user.script(finish("All done."))) as terminal:
        for command, title, text in (
            ("/rules", "Rules on far", "run-there"),
            ("/tools", "Tools on far", "execute_bash"),
            ("/blame a.txt", "Blame of a.txt on far", "one"),
        ):
            send(terminal, command)
            terminal.wait_for(title)
            terminal.wait_for(text)
            assert "run-here" not in terminal.text()
            terminal.type("q")
            terminal.wait_until(lambda screen, title=title: title not in screen, "the page to close")
        send(terminal, "/commit")
        terminal.wait_for("git cannot show a repository here")
        send(terminal, "/race")
        terminal.wait_for("/race needs the files of far; use ohw there")
        send(terminal, "begin")
        terminal.wait_for("All done.")
        send(terminal, "/new")
        terminal.wait_for("What should we work on?")
        send(terminal, "once more")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    ids = [sorted(each.id for each in list_sessions(one.locations)) for one in (far.near, far.user)]
    assert len(ids[0]) == 2
    assert ids[0] == ids[1]
