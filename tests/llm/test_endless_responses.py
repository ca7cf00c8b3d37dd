"""Answers that never end: each is cut at its limit, reported as endless, and not requested again."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.llm.conftest import wait_until
from workbench.llm import exchange
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Patience

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
ASK = ModelRequest([{"role": "user", "content": "hello"}])


def chunk(delta: dict, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "f"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


def call(number: int, arguments: str) -> dict:
    function = {"name": "execute_bash", "arguments": arguments}
    return {"tool_calls": [{"index": number, "id": f"c{number}", "type": "function", "function": function}]}


def text() -> Iterator[bytes]:
    yield HEAD
    yield from itertools.repeat(chunk({"content": "word " * 200}))


def reasoning() -> Iterator[bytes]:
    yield HEAD
    yield from itertools.repeat(chunk({"reasoning_content": "word " * 200}))


def calls() -> Iterator[bytes]:
    yield HEAD
    yield from (chunk(call(number, '{"command": "true"}')) for number in itertools.count())


def arguments() -> Iterator[bytes]:
    yield HEAD
    yield chunk(call(0, '{"command": "'))
    piece = {"tool_calls": [{"index": 0, "function": {"arguments": "a" * 20_000}}]}
    yield from itertools.repeat(chunk(piece))


def a_line() -> Iterator[bytes]:
    yield HEAD + b'data: {"id": "'
    yield from itertools.repeat(b"a" * 65_536)


def an_answer_at_once() -> Iterator[bytes]:
    yield HEAD.replace(b"text/event-stream", b"application/json") + b'{"choices": "'
    yield from itertools.repeat(b"a" * 65_536)


def an_error() -> Iterator[bytes]:
    yield HEAD.replace(b"200 OK", b"400 Bad").replace(b"text/event-stream", b"application/json") + b'{"error": "'
    yield from itertools.repeat(b"a" * 65_536)


def compressed(body: Callable[[], Iterator[bytes]]) -> Callable[[], Iterator[bytes]]:
    """Return the body compressed, which is much shorter than the limit."""

    def compress() -> Iterator[bytes]:
        pieces = body()
        head, _, start = next(pieces).partition(b"\r\n\r\n")
        yield head + b"\r\ncontent-encoding: gzip\r\n\r\n"
        packer = zlib.compressobj(wbits=31)
        yield from (packer.compress(piece) for piece in itertools.chain([start], pieces))

    return compress


def read_request(connection: socket.socket) -> None:
    """Read a whole request; closing a connection with unread data would reset it, and the client lose the answer."""
    with connection.makefile("rb") as stream:
        length = 0
        while (line := stream.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        stream.read(length)


@contextlib.contextmanager
def serving(body: Callable[[], Iterator[bytes]]) -> Iterator[tuple[str, list[str]]]:
    """Run a server that sends this body endlessly to each client; yields its address and the clients."""
    asked: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, address = listening.accept()
                asked.append(str(address))
                threading.Thread(target=send, args=(connection,), daemon=True).start()

    def send(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            read_request(connection)
            for piece in body():
                connection.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def answered(model: ProviderModel, deltas: list[Delta], cancel: Cancel | None = None) -> ModelResponse | ModelError:
    try:
        return model.respond(ASK, deltas.append, cancel or Cancel())
    except ModelError as error:
        return error
    finally:
        model.close()


BODIES = [text, reasoning, calls, arguments, a_line, an_answer_at_once, an_error]


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("body", BODIES)
def test_endless_response_is_cut_reported_and_not_retried(monkeypatch, body, is_compressed):
    monkeypatch.setattr(exchange, "MOST_BYTES", 30_000_000)
    deltas: list[Delta] = []
    with serving(compressed(body) if is_compressed else body) as (address, asked):
        before, begun = psutil.Process().memory_info().rss, time.monotonic()
        outcome = answered(ProviderModel("openai/x", api_base=address), deltas)
        assert time.monotonic() - begun < 30
        assert psutil.Process().memory_info().rss - before < 300_000_000
    assert len(asked) == 1
    message = str(outcome) if isinstance(outcome, ModelError) else deltas[-1].text
    assert "sent an answer without end" in message
    if body in (text, reasoning):
        assert isinstance(outcome, ModelResponse)
        assert (outcome.finish_reason, outcome.incomplete, outcome.tool_calls) == ("cut", True, ())
        assert len(outcome.text + outcome.reasoning) > 1_000_000
    else:
        assert isinstance(outcome, ModelError), "no call of it may run"


@pytest.mark.parametrize("body", [a_line, compressed(a_line)], ids=["plain", "compressed"])
@pytest.mark.parametrize(
    "model", ["openai/x", "openai/gpt-4-x", "anthropic/claude-x", "gemini/gemini-x", "ollama_chat/qwen-x", "mistral/m"]
)
def test_every_route_limits_the_length_of_a_response(monkeypatch, model, body):
    monkeypatch.setattr(exchange, "MOST_BYTES", 3_000_000)
    monkeypatch.setattr(exchange, "_MOST_WAITING", 10)
    with serving(body) as (address, asked):
        outcome = answered(ProviderModel(model, api_base=address.removesuffix("/v1"), api_key="sk-x-of-the-test"), [])
    assert isinstance(outcome, ModelError)
    assert "sent an answer without end" in str(outcome)
    assert len(asked) == 1


def test_slow_display_limits_reading_and_a_cancel_ends_it_at_once(monkeypatch):
    cancel, deltas = Cancel(), list[Delta]()
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for piece in text():
            read += 1
            yield piece

    def show(delta: Delta) -> None:
        deltas.append(delta)
        time.sleep(0.05)

    with serving(counted) as (address, _):
        model = ProviderModel("openai/x", api_base=address)
        ended: list[ModelResponse] = []
        thread = threading.Thread(target=lambda: ended.append(model.respond(ASK, show, cancel)))
        thread.start()
        wait_until(lambda: len(deltas) > 20)
        time.sleep(1)
        assert read < 12_000, "what nobody has looked at yet waits in the connection"
        begun = time.monotonic()
        cancel.set()
        thread.join(10)
        assert time.monotonic() - begun < 1
        model.close()
    assert ended[0].finish_reason == "interrupted"
    assert ended[0].text


def dripping(*deltas: dict, times: int = 10**6) -> Callable[[], Iterator[bytes]]:
    """Return a body that repeats these deltas, one every tenth of a second."""

    def body() -> Iterator[bytes]:
        yield HEAD
        for _, delta in zip(range(times), itertools.cycle(deltas), strict=False):
            time.sleep(0.1)
            yield chunk(delta)
        yield chunk({}, "stop") + b"data: [DONE]\n\n"

    return body


@pytest.mark.parametrize("delta", [{}, {"role": "assistant"}, {"content": ""}, {"content": None, "tool_calls": []}])
@pytest.mark.parametrize("model", ["openai/x", "hosted_vllm/x"])
def test_chunks_without_content_count_as_silence(model, delta):
    with serving(dripping(delta)) as (address, asked):
        provider = ProviderModel(model, api_base=address, api_key="k", patience=Patience(silence=1.0, tries=1))
        begun = time.monotonic()
        outcome = answered(provider, [])
        assert time.monotonic() - begun < 20
    assert "stopped answering" in str(outcome)
    assert len(asked) == 1


def test_slow_text_between_empty_chunks_is_not_silence():
    with serving(dripping({"content": "a"}, *[{"content": ""}] * 3, times=24)) as (address, _):
        outcome = answered(ProviderModel("openai/x", api_base=address, patience=Patience(silence=1.0)), [])
    assert isinstance(outcome, ModelResponse)
    assert (outcome.text, outcome.finish_reason) == ("aaaaaa", "stop")
