"""Messages of the user: images are sent if the model accepts them; a message not yet sent can be unqueued."""

import base64
import threading

import pytest

from tests.sample_images import png
from tests.sandbox import wait_for
from tests.session.fake_agent import calls, faults_of, says
from workbench.session.mentions import MOST_IMAGES, UnusableImage
from workbench.session.session import CommandError
from workbench.session.turn.message_history import messages


def test_image_reaches_the_model_as_it_was_on_sending(harness, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "shot.png").write_bytes(png())
    beside = tmp_path.parent / f"{tmp_path.name}-beside.PNG"
    beside.write_bytes(png(8, 8))
    one = harness(says("I see"))
    one.session.send("compare", ["shot.png", str(beside), "work"])
    (tmp_path / "shot.png").write_bytes(b"gone")
    one.run()
    one.reopen()
    ((message, *_),) = [messages(one.log())]
    text, first, second = message["content"]
    assert f"[Images with this message, in order: shot.png, {beside}]" in text["text"]
    assert "The user mentions work" in text["text"]
    assert "mentions shot.png" not in text["text"]
    assert base64.b64decode(first["image_url"]["url"].partition(",")[2]) == png()
    assert second["image_url"]["url"].startswith("data:image/png;base64,")
    assert one.agent.requests[0][0]["content"] == message["content"]
    assert faults_of(messages(one.log())) == []


def test_file_that_is_no_image_is_only_mentioned(harness, tmp_path):
    (tmp_path / "notes.png").write_text("these are words")
    one = harness(says("ok"))
    one.session.send("read", ["notes.png", "/etc/hostname", "missing.png"])
    (message,) = messages(one.log())
    assert "these are words" in message["content"]
    assert "hostname" not in message["content"]


def test_unsendable_images_are_refused_and_nothing_is_sent(harness, tmp_path):
    one = harness()
    (tmp_path / "large.png").write_bytes(png(extra=b"\0" * 3_600_000))
    with pytest.raises(UnusableImage, match=r"large.png has 3.6 MB; an image of at most 3.5 MB"):
        one.session.send("see", ["large.png"])
    names = [f"{number}.png" for number in range(MOST_IMAGES + 1)]
    for name in names:
        (tmp_path / name).write_bytes(png())
    with pytest.raises(UnusableImage, match="at most 10 images"):
        one.session.send("see", names)
    one.agent.model.prices = {"mode": "chat", "supports_vision": False}
    with pytest.raises(CommandError, match=r"fake/one takes no images; choose another model, or omit 0.png"):
        one.session.send("see", ["0.png"])
    assert one.kinds() == ["session_started"]
    one.agent.model.prices = {"mode": "chat", "supports_vision": True}
    one.session.send("see", ["0.png"])
    assert one.kinds()[-1] == "user_message"


@pytest.fixture
def at_work(harness):
    """Return a session whose agent is in its first call, and the event that lets it continue."""
    began, go_on = threading.Event(), threading.Event()

    def slow(messages, on_delta, cancel):
        began.set()
        assert go_on.wait(60)
        return says("thought about it")

    one = harness(slow, says("all done"))
    one.session.send("begin")
    thread = threading.Thread(target=one.run)
    thread.start()
    assert began.wait(60)
    yield one, go_on, thread
    go_on.set()
    thread.join(60)


def test_withdrawn_queued_message_never_reaches_the_model(at_work):
    one, go_on, thread = at_work
    one.session.send("first thought")
    one.session.send("second thought")
    first = one.log()[-2].seq
    assert one.live[-1].queued == 3  # the message in the running call counts until the answer arrives
    one.session.messages.withdraw(first)
    assert one.live[-1].queued == 2
    with pytest.raises(CommandError, match="already"):
        one.session.messages.withdraw(first)
    go_on.set()
    thread.join(60)
    assert not thread.is_alive()
    sent = str(one.agent.requests)
    assert "second thought" in sent
    assert "first thought" not in sent
    assert "first thought" not in str(messages(one.log()))
    assert faults_of(messages(one.log())) == []
    with pytest.raises(CommandError, match="the agent already has that message"):
        one.session.messages.withdraw(first + 1)


def test_message_that_started_the_run_cannot_be_withdrawn(at_work, harness):
    one, go_on, thread = at_work
    with pytest.raises(CommandError, match="already"):
        one.session.messages.withdraw(2)
    go_on.set()
    thread.join(60)
    wait_for(lambda: one.session.phase == "idle", "the run to end")
    one.session.send("again")
    with pytest.raises(CommandError, match="just started"):
        one.session.messages.withdraw(one.log()[-1].seq)


def test_a_queued_message_counts_as_sent_once_a_request_includes_it(harness):
    sent_in_request: list[int] = []

    def first(messages, on_delta, cancel):
        one.session.send("queued")
        return calls(("note", {"text": "a"}))

    def second(messages, on_delta, cancel):
        sent_in_request.append(one.live[-1].sent)
        return says("all done")

    one = harness(first, second)
    one.session.send("begin")
    one.run()
    queued = next(event.seq for event in one.log() if getattr(event, "text", "") == "queued")
    assert sent_in_request[0] >= queued
    assert one.session.state.sent == sent_in_request[0]
