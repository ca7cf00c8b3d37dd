"""Commands of the user arrive from another thread at any moment: nothing is lost, corrupted or left undecided."""

import random
import threading
import time
from contextlib import suppress

import pytest

from tests.session.fake_agent import Harness, calls, faults_of, says
from tests.session.test_recovery import undecided_starts
from workbench.session.session import CommandError


class Busy:
    """Drives a session in a thread of its own, as the engine does."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.changed = threading.Event()
        self.ends = False
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        while not self.ends:
            self.changed.wait()
            self.changed.clear()
            self.harness.run()
        self.harness.run()  # handles the last commands

    def wake(self) -> None:
        self.changed.set()

    def end(self) -> None:
        self.ends = True
        self.wake()
        self.thread.join(60)
        assert not self.thread.is_alive()


def command(harness: Harness, chance: random.Random, number: int) -> None:
    """Do something that a user may do at any moment."""
    session, kind = harness.session, chance.choice(["send", "decide", "decide", "interrupt", "mode"])
    if kind == "send":
        session.send(f"message {number}")
    elif kind == "interrupt":
        session.interrupt()
    elif kind == "mode":
        session.set(mode=chance.choice(["medium", "never", "ask", "plan"]))
    elif question := session.question:
        verdict = chance.choice(["approved", "rejected"])
        with suppress(CommandError):  # the question has been withdrawn meanwhile
            session.decide(question.proposed.action_id, verdict, fingerprint=question.assessed.fingerprint)


@pytest.mark.parametrize("seed", range(3))
def test_commands_at_any_moment_break_nothing(harness, seed):
    chance = random.Random(seed)

    def answer(messages, on_delta, cancel):
        texts = [(f"n{next(numbers)}", chance.choice(["LOW", "HIGH"])) for _ in range(3)]
        notes = [("note", {"text": text}, risk) for text, risk in texts]
        return chance.choice([says("words"), calls(("finish", {})), calls(*notes), calls(*notes)])

    numbers = iter(range(100_000))
    d = harness(*[answer] * 1_000)
    busy = Busy(d)
    for number in range(100):
        command(d, chance, number)
        busy.wake()
        if chance.random() < 0.5:
            time.sleep(0.002)  # so that the commands meet the work at different moments
    d.session.set(mode="never")
    d.session.send("the last message")
    busy.end()
    while waiting := d.session.question:  # the mode that never asks does not decide actions that are already waiting
        d.session.decide(waiting.proposed.action_id, "rejected", fingerprint=waiting.assessed.fingerprint)
        d.run()
    log = d.log()
    ended = [event.action_id for event in log if event.kind in ("action_observed", "action_abandoned")]
    assert sorted(ended) == sorted(event.action_id for event in log if event.kind == "action_proposed")
    assert len(ended) == len(set(ended))
    assert len(d.notes) == len(set(d.notes))
    assert undecided_starts(log) == []
    assert [fault for request in d.agent.requests for fault in faults_of(request)] == []
    assert "the last message" in [message["content"] for message in d.agent.requests[-1]]
