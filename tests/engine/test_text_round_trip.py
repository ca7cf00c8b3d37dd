"""Any text survives the round trip between screen and engine: lone surrogates and controls, in every field of text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.test_engine import launch
from tests.sandbox import Sandbox, finish
from workbench.client.client import Disconnected
from workbench.client.engine_client import EngineClient
from workbench.client.engine_connection import EngineConnection
from workbench.protocol import commands as wire
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.codec import Data, encode
from workbench.protocol.commands import Message
from workbench.text import well_formed


def joined(text: str) -> str:
    """Return the text with surrogate pairs joined to the characters they stand for; JSON cannot write them in another
    way.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


ODD = (
    "caf\udce9",
    "\ud800",
    "\udfff\ud800",
    "\ud83d",
    "\ud83d\ude00",
    "\x00",
    "\x1b]0;t\x07",
    "\u2028",
    "\\ud800",
    "a\nb\r",
    "\x85",
)
TEXT = st.lists(st.characters() | st.sampled_from(ODD), max_size=20).map(lambda parts: joined("".join(parts)))
COMMANDS = st.one_of(
    st.builds(wire.SendMessage, text=TEXT, mentions=st.tuples(TEXT)),
    st.builds(wire.RunUserCommand, command=TEXT),
    st.builds(
        wire.Decide,
        action_id=TEXT,
        verdict=st.just("edited"),
        note=TEXT,
        edited=st.dictionaries(TEXT, TEXT | st.lists(TEXT)),
        written=st.tuples(st.builds(ev.FileText, path=TEXT, text=TEXT)),
    ),
    st.builds(wire.AllowAlways, action_id=TEXT, fingerprint=TEXT, rule=TEXT),
    st.builds(wire.AnswerQuestion, action_id=TEXT, text=TEXT),
    st.builds(wire.RevertFiles, files=st.tuples(st.builds(ev.FileDelta, path=TEXT, before=TEXT, after=TEXT))),
    st.builds(wire.ApplyChanges, files=st.just(()), session=TEXT),
    st.builds(wire.RestoreCopy, copy_id=TEXT),
    st.builds(wire.ChangeSettings, title=TEXT, rule=TEXT, model=TEXT),
    st.builds(wire.GetPrompt, server=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, TEXT)),
)
LIVE = st.one_of(
    st.builds(live.TextDelta, text=TEXT),
    st.builds(live.ToolOutput, action_id=TEXT, text=TEXT),
    st.builds(live.EngineState, state=st.just("idle"), detail=TEXT),
    st.builds(live.Notice, text=TEXT),
)
EVENTS = st.one_of(
    st.builds(ev.UserMessage, text=TEXT, mentions=st.tuples(TEXT)),
    st.builds(
        ev.ActionProposed,
        action_id=TEXT,
        response_id=TEXT,
        call_id=TEXT,
        tool=TEXT,
        arguments=st.dictionaries(TEXT, TEXT | st.integers() | st.lists(TEXT)),
    ),
    st.builds(ev.SessionStarted, id=TEXT, workspace=TEXT, model=TEXT, mode=st.just("ask")),
)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        COMMANDS.map(lambda each: (wire.decode_command, each)),
        LIVE.map(lambda each: (wire.decode_message, each)),
        EVENTS.map(lambda each: (wire.decode_message, each)),
        st.builds(wire.Hello, notices=st.tuples(TEXT)).map(lambda each: (wire.decode_hello, each)),
    )
)
def test_every_message_survives_a_round_trip(pair: tuple[Callable[[bytes], object], Data]):
    decode, message = pair
    line = encode(message)
    assert b"\n" not in line
    assert decode(line) == message


@pytest.mark.parametrize(
    "line", [b"{", b"\xff", b'{"kind":"send_message","text":"\\ud800"', b'["\\ud800"' * 5_000, b"[" * 100_000]
)
def test_invalid_message_raises_value_error(line: bytes):
    with pytest.raises(ValueError):  # noqa: PT011 - of json or of msgspec
        wire.decode_command(line)


def examples(count: int) -> list[wire.Command]:
    """Return commands of every kind with odd texts in each field; always the same ones."""
    chance = Random(4)

    def text() -> str:
        return "".join(chance.choices(ODD, k=chance.randint(1, 3)))

    made: list[wire.Command] = []
    for _ in range(count):
        made += [
            wire.SendMessage(text=text(), mentions=(text(), "caf\udce9.txt")),
            wire.Decide(action_id=text(), verdict="approved", note=text(), edited={text(): text()}),
            wire.AllowAlways(action_id=text(), fingerprint=text(), rule=text()),
            wire.AnswerQuestion(action_id=text(), text=text()),
            wire.RevertFiles(files=(ev.FileDelta(path=f"/{text()}", before=text(), after=text()),)),
            wire.RestoreCopy(copy_id=text()),
            wire.ChangeSettings(title=text(), rule=text()),
            wire.GetPrompt(server=text(), name=text(), arguments={text(): text()}),
            wire.RunUserCommand(command=f": {text()}"),
        ]
    return made


def test_no_text_in_a_command_ends_the_connection(local_sandbox: Sandbox):
    (local_sandbox.project / "caf\udce9.txt").write_text("held inside\n")
    connection = EngineConnection.open(launch(local_sandbox, local_sandbox.script(*[finish("Fine.")] * 100)))
    for number, command in enumerate(examples(6)):
        connection.send_command(command)
        name = f"title {number}"
        connection.send_command(wire.ChangeSettings(title=name))
        received: list[Message] = []
        while not any(getattr(each, "title", None) == name for each in received):
            received += connection.receive()
        assert not any("inside the engine" in getattr(each, "reason", "") for each in received), received
    connection.close()


def test_file_with_an_invalid_utf8_name_is_sent_with_the_message(local_sandbox: Sandbox):
    (local_sandbox.project / "caf\udce9.txt").write_text("held inside\n")
    connection = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish("Fine."))))
    connection.send_command(wire.SendMessage(text="see @caf\udce9.txt", mentions=("caf\udce9.txt",)))
    received: list[Message] = []
    while not any(isinstance(each, ev.UserMessage) for each in received):
        received += connection.receive()
    message = next(each for each in received if isinstance(each, ev.UserMessage))
    assert message.text == well_formed("see @caf\udce9.txt")
    assert [each.text for each in message.attached] == ["held inside\n"]
    connection.close()


async def _lost(client: EngineClient) -> Disconnected:
    async with asyncio.timeout(30):
        while True:
            for message in await client.receive():
                if isinstance(message, Disconnected):
                    return message


async def test_dead_thread_is_reported_and_later_commands_arrive(
    local_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
):
    client = EngineClient(launch(local_sandbox, local_sandbox.script(finish("Fine."))))
    real = EngineConnection.receive

    def fails(connection: EngineConnection, *_: object) -> list[Message]:
        raise ArithmeticError("no such number")

    client.history()
    client.send(wire.SendMessage(text="begin"))
    async with asyncio.timeout(30):
        while not any(isinstance(each, ev.RunEnded) for each in await client.receive()):
            pass
    monkeypatch.setattr(EngineConnection, "receive", fails)
    client.send(wire.ChangeSettings(title="zero"))
    lost = await _lost(client)
    assert "failed inside ohw (ArithmeticError: no such number)" in lost.reason
    assert not lost.for_good

    def cannot(connection: EngineConnection, command: wire.Command) -> None:
        raise ArithmeticError("nor this")

    sending = EngineConnection.send_command
    monkeypatch.setattr(EngineConnection, "receive", real)
    monkeypatch.setattr(EngineConnection, "send_command", cannot)
    client.send(wire.ChangeSettings(title="first"))
    assert "ArithmeticError: nor this" in (await _lost(client)).reason
    monkeypatch.setattr(EngineConnection, "send_command", sending)
    client.send(wire.ChangeSettings(title="second"))
    async with asyncio.timeout(30):
        while not any(getattr(each, "title", None) == "second" for each in await client.receive()):
            pass
    client.close(stop=True)
