"""A running attempt can be opened: it is shown, its questions are answered, and no agent can do that."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from tests.batch.runs import FINISH, outcomes, start_batch, task, write_tasks
from tests.e2e.test_socket_peers import ATTACK, WAYS
from tests.sandbox import Sandbox, bash, wait_for
from workbench.batch.attempt_files import running_data
from workbench.client.client import Disconnected
from workbench.client.engine_client import EngineClient
from workbench.client.engine_connection import EngineConnection
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.launch import EngineRefused, Launch
from workbench.protocol.commands import Command, Decide, Interrupt, Leave, Message, SendMessage
from workbench.protocol.events import ActionAssessed, ActionDecided, RunEnded, Verdict
from workbench.session.session_names import socket_path

pytestmark = pytest.mark.timeout(200)
T = TypeVar("T")
ASKS = bash("touch made.txt && echo made > made.txt", "HIGH")


class OpenedAttempt:
    """The only attempt of a run, as a screen sees it."""

    def __init__(self, sandbox: Sandbox) -> None:
        run = sandbox.project / "run"
        note = wait_for(lambda: next(run.glob("attempts/*/session"), None), "a session")
        nonce = json.loads((run / "run.json").read_text())["nonce"]
        self.locations: Locations = replace(sandbox.locations, data=running_data(sandbox.locations, nonce))
        self.directory: Path = note.parent
        self.session = wait_for(note.read_text, "the name of the session")
        wait_for(lambda: socket_path(self.locations, self.session).exists(), "a socket")
        self.launch = Launch(self.locations, Settings(), self.session, starts_engine=False)

    @property
    def question(self) -> str:
        """What the attempt waits for."""
        file = self.directory / "question"
        return file.read_text() if file.exists() else ""

    @contextmanager
    def connected(self) -> Iterator[Screen]:
        connection = EngineConnection.open(self.launch)
        try:
            yield Screen(connection)
        finally:
            connection.close()


class Screen:
    """A connected front end, which reads the messages one after another."""

    def __init__(self, connection: EngineConnection) -> None:
        self._connection = connection
        self._unread: deque[Message] = deque()

    def send(self, command: Command) -> None:
        self._connection.send_command(command)

    def until(self, kind: type[T]) -> T:
        """Return the next message of that kind."""
        while True:
            while self._unread:
                if isinstance(message := self._unread.popleft(), kind):
                    return message
            self._unread.extend(self._connection.receive())

    def decide(self, verdict: Verdict) -> None:
        """Decide on the next action that is assessed."""
        asked = self.until(ActionAssessed)
        self.send(Decide(action_id=asked.action_id, verdict=verdict, fingerprint=asked.fingerprint))
        self.until(ActionDecided)


async def disconnected(client: EngineClient) -> Disconnected:
    while True:
        for message in await client.receive():
            if isinstance(message, Disconnected):
                return message


@pytest.fixture
def tasks(sandbox: Sandbox) -> str:
    return write_tasks(sandbox, task(1))


@contextmanager
def waiting_attempt(sandbox: Sandbox, tasks: str, *turns: dict, minutes: str = "3") -> Iterator[OpenedAttempt]:
    """Start a run of one attempt, and yield the attempt once it waits for an answer; the run then ends."""
    arguments = (tasks, "-o", "run", "--model", sandbox.script(*turns), "--wait", minutes)
    with start_batch(sandbox, *arguments) as process:
        attempt = OpenedAttempt(sandbox)
        wait_for(lambda: attempt.question, "a question")
        yield attempt
        process.communicate(timeout=100)
    assert not attempt.question
    assert not socket_path(attempt.locations, attempt.session).exists()


def test_question_of_a_running_attempt_is_answered_from_a_screen(sandbox: Sandbox, tasks: str):
    with waiting_attempt(sandbox, tasks, ASKS, FINISH) as attempt:
        assert attempt.question.startswith("HIGH: ")
        with attempt.connected() as screen:
            screen.decide("approved")
            ended = screen.until(RunEnded)
            assert ended.reason == "finished"
    assert outcomes(sandbox)["t1"].state == "solved"


def test_closed_screen_leaves_the_question_open_for_the_next_one(sandbox: Sandbox, tasks: str):
    with waiting_attempt(sandbox, tasks, ASKS, FINISH) as attempt:
        with attempt.connected() as screen:
            screen.until(ActionAssessed)
            screen.send(Leave(stop=True))
        assert attempt.question
        with attempt.connected() as screen:
            screen.decide("rejected")
    assert outcomes(sandbox)["t1"].state == "unsolved"


def test_user_who_stops_an_attempt_can_say_what_to_do_instead(sandbox: Sandbox, tasks: str):
    with waiting_attempt(sandbox, tasks, ASKS, ASKS, FINISH) as attempt, attempt.connected() as screen:
        screen.until(ActionAssessed)
        screen.send(Interrupt())
        screen.until(RunEnded)
        screen.send(SendMessage(text="Go on."))
        screen.decide("approved")
    assert outcomes(sandbox)["t1"].state == "solved"


def test_time_of_the_user_is_not_that_of_the_attempt(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1, minutes=0.05))
    with waiting_attempt(sandbox, tasks, ASKS, FINISH) as attempt:
        time.sleep(3.5)  # more than the limit of the task
        with attempt.connected() as screen:
            screen.decide("approved")
    outcome = outcomes(sandbox)["t1"]
    assert outcome.state == "solved"
    assert outcome.seconds < 3


def test_interrupted_run_does_not_wait_for_answers(sandbox: Sandbox, tasks: str):
    arguments = (tasks, "-o", "run", "--model", sandbox.script(ASKS, FINISH), "--wait", "3")
    with start_batch(sandbox, *arguments) as process:
        attempt = OpenedAttempt(sandbox)
        wait_for(lambda: attempt.question, "a question")
        process.send_signal(signal.SIGINT)
        wait_for(lambda: "no more attempts are started" in process.stderr.readline(), "the first signal")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert outcomes(sandbox)["t1"].state == "interrupted"


@pytest.mark.skipif(sys.platform != "linux", reason="the marks are those of Linux")
def test_agent_cannot_answer_its_own_question(sandbox: Sandbox):
    attack, out = sandbox.home / "attack.py", sandbox.home / "out"
    attack.write_text(ATTACK)
    command = WAYS["detached"].format(attack=attack, runtime=sandbox.locations.runtime, out=out)
    tasks = write_tasks(sandbox, task(1, mode="high"))
    turns = (bash(command, "HIGH"), ASKS, FINISH)
    with waiting_attempt(sandbox, tasks, *turns) as attempt, attempt.connected() as screen:
        screen.decide("approved")
        wait_for(lambda: out.exists() and "belongs to an agent" in out.read_text(), "the attack")
        screen.decide("rejected")
    assert outcomes(sandbox)["t1"].state == "unsolved"


def test_screen_of_an_attempt_that_has_ended_starts_no_engine(sandbox: Sandbox, tasks: str):
    with waiting_attempt(sandbox, tasks, ASKS, FINISH) as attempt, attempt.connected() as screen:
        client = EngineClient(attempt.launch)
        list(client.history())
        screen.decide("approved")
        assert asyncio.run(disconnected(client)).for_good
        client.close()
    with pytest.raises(EngineRefused, match="not running"):
        EngineConnection.open(attempt.launch)
    assert not sandbox.engines()
