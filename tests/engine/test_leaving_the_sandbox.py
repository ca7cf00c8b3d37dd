"""What the user lets commands write: directories, which are recorded, and anything in commands of their own."""

from __future__ import annotations

import sys

import pytest

from tests.engine.test_engine import ID, receive_until, refusal
from tests.sandbox import Sandbox, bash, finish
from workbench.client.engine_connection import EngineConnection
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.protocol.commands import AllowWriting, Decide, Message, RunUserCommand, SendMessage
from workbench.protocol.events import ActionAssessed, ActionObserved, RunEnded, SettingsChanged, UserCommand

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's, which runs on Linux"),
]


def launch(sandbox: Sandbox, model: str, kind: str) -> Launch:
    return Launch(sandbox.locations, Settings(model=model, sandbox=kind), ID, str(sandbox.project), True)


def changes_settings(message: Message) -> bool:
    return isinstance(message, SettingsChanged)


def observed(connection: EngineConnection) -> tuple[str, bool]:
    """Return the result of the next action as text, and whether the user had to approve it, as is done here."""
    messages = receive_until(connection, lambda message: isinstance(message, ActionAssessed))
    assessed = next(message for message in messages if isinstance(message, ActionAssessed))
    if assessed.needs_decision:
        decision = Decide(action_id=assessed.action_id, verdict="approved", fingerprint=assessed.fingerprint)
        connection.send_command(decision)
    messages += receive_until(connection, lambda message: isinstance(message, RunEnded))
    result = next(message for message in messages if isinstance(message, ActionObserved))
    return str(result), assessed.needs_decision


def test_what_the_user_grants_is_recorded_and_written_until_it_is_taken_back(local_sandbox: Sandbox):
    notes = local_sandbox.home / "notes"
    notes.mkdir()
    line = bash(f"echo text >> {notes}/one")
    script = local_sandbox.script(line, finish("Done."), line, finish("Done."))
    connection = EngineConnection.open(launch(local_sandbox, script, "workspace-write"))
    connection.send_command(AllowWriting(directory="../home/notes"))
    (granted,) = filter(changes_settings, receive_until(connection, changes_settings))
    connection.send_command(SendMessage(text="begin"))
    first, was_asked = observed(connection)
    connection.send_command(AllowWriting(directory="~/notes", revoked=True))
    receive_until(connection, changes_settings)
    connection.send_command(SendMessage(text="again"))
    second, was_asked_again = observed(connection)
    connection.close()
    assert granted.rule == f"allow sandbox_write in {notes}"
    assert "exit code 0" in first
    assert "Read-only file system" in second
    assert (was_asked, was_asked_again) == (False, True)
    assert (notes / "one").read_text() == "text\n"


@pytest.mark.parametrize(
    ("kind", "directory", "reason"),
    [
        ("workspace-write", "~", "it is your home directory"),
        ("workspace-write", "src", "there is no such directory"),
        ("read-only", "~/notes", "the sandbox is read-only"),
        ("off", "~/notes", "there is no sandbox"),
        ("workspace-write", "~no-such-user/x", "there is no such directory"),
    ],
)
def test_a_grant_that_cannot_be_is_refused_with_its_reason(
    kind: str, directory: str, reason: str, local_sandbox: Sandbox
):
    (local_sandbox.home / "notes").mkdir()
    connection = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish("Done.")), kind))
    connection.send_command(AllowWriting(directory=directory))
    refused = refusal(connection)
    connection.close()
    assert "commands may not write" in refused.reason
    assert reason in refused.reason


@pytest.mark.parametrize(("mark", "writes"), [("", False), ("!", True)])
def test_a_command_of_the_users_leaves_the_sandbox_with_a_second_mark_alone(
    mark: str, writes: bool, local_sandbox: Sandbox
):
    model = local_sandbox.script(finish("Done."))
    connection = EngineConnection.open(launch(local_sandbox, model, "workspace-write"))
    connection.send_command(RunUserCommand(command=f"{mark} echo text > ~/outside"))
    messages = receive_until(connection, lambda message: isinstance(message, ActionObserved))
    connection.close()
    (command,) = (message for message in messages if isinstance(message, UserCommand))
    assert (command.command.strip(), command.outside) == ("echo text > ~/outside", writes)
    assert not any(isinstance(message, ActionAssessed) for message in messages), "nobody is asked"
    assert (local_sandbox.home / "outside").exists() is writes
