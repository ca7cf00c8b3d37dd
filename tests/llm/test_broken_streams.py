"""A damaged piece of a stream ends the answer with an error on every route, as a cut connection does.

Responses are closed with their call and not when garbage is collected.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.fakes import provider_streams
from tests.fakes.model_turns import Turn
from tests.fakes.provider_server import WireServer
from tests.llm.conftest import wait_until
from tests.llm.test_endless_responses import HEAD, answered, serving
from tests.llm.test_provider_streams import ROUTE, ROUTES, TEXT, Route, _accounts, ask, asking, calls, google
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Patience
from workbench.llm.stream_check import whole_events
from workbench.llm.stream_decoder import BrokenStream, events_of, lines_of

__all__ = ["_accounts", "google"]
pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
WORDS = Turn("word ✓ " * 20, piece=14)
BINARY = (provider_streams.bedrock_converse,)
IN_LINES = (provider_streams.ollama_chat, provider_streams.ollama_generate)


def with_bad_json(frame: bytes) -> bytes:
    at = frame.find(b"{")
    return frame[:at] + b"<" + frame[at + 1 :]


def with_its_end_missing(frame: bytes) -> bytes:
    end = len(frame.rstrip(b"\n"))
    return frame[: end - 3] + frame[end:]


def with_a_cut_character(frame: bytes) -> bytes:
    return frame.replace(b"\\u2713", "✓".encode()[:2], 1)


def with_the_rest_of_a_character(frame: bytes) -> bytes:
    return frame.replace(b"\\u2713", "✓".encode()[1:], 1)


def with_its_middle_missing(frame: bytes) -> bytes:
    end = len(frame.rstrip(b"\n"))
    return frame[: end // 2] + frame[end // 2 + 9 :]


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (
    with_bad_json,
    with_its_end_missing,
    with_a_cut_character,
    with_the_rest_of_a_character,
    with_its_middle_missing,
)


def damaged(route: Route, damage: Callable[[bytes], bytes], turn: Turn) -> list[bytes]:
    """Return the frames of an answer with the one in the middle of its text damaged."""
    frames = list(route.encoder(turn))
    holding = [number for number, frame in enumerate(frames) if b"word" in frame and b"2713" in frame]
    middle = holding[len(holding) // 3]
    whole = frames[middle]
    frames[middle] = damage(whole)
    assert frames[middle] != whole
    return frames


def cases() -> Iterator[object]:
    for route in ROUTES:
        for damage in DAMAGES[:1] if route.encoder in BINARY else DAMAGES:
            yield pytest.param(route, damage, id=f"{route}-{damage.__name__}")


@pytest.mark.parametrize(("route", "damage"), cases())
def test_broken_piece_ends_the_response_as_incomplete(route, damage):
    notices: list[Delta] = []
    with WireServer(route.encoder, WORDS) as server, asking(route, server) as model:
        server.frames = damaged(route, damage, WORDS)
        response = model.respond(ModelRequest([{"role": "user", "content": "go"}]), notices.append, Cancel())
    assert (response.incomplete, response.finish_reason, response.tool_calls) == (True, "cut", ())
    assert WORDS.text.startswith(response.text)
    assert 0 < len(response.text) < len(WORDS.text)
    assert notices[-1].kind == "status"


@pytest.mark.parametrize("route", [route for route in ROUTES if route.encoder not in BINARY], ids=str)
def test_broken_piece_before_any_text_is_retried(route):
    turn = Turn("", calls=calls(route)) if route.encoder is not provider_streams.ollama_generate else WORDS
    server = WireServer(route.encoder, turn)
    frames = list(route.encoder(turn))
    with server, asking(route, server, tries=2) as model:
        server.frames = [with_bad_json(frames[0]), *frames[1:]]
        asked: list[int] = []

        def repaired(delta: Delta) -> None:
            asked.append(len(server.requests))
            server.frames = frames

        response = model.respond(ModelRequest([{"role": "user", "content": "go"}]), repaired, Cancel())
    assert asked
    assert not response.incomplete
    assert len(response.tool_calls) == len(turn.calls)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.encoder not in BINARY], ids=str)
def test_invalid_bytes_are_replaced_and_line_separators_kept(route):
    raw = "a\u2028b\u2029c\x85d".encode() + b"\xff\xc0"
    with WireServer(route.encoder, WORDS) as server, asking(route, server) as model:
        server.frames = damaged(route, lambda frame: frame.replace(b"\\u2713", raw), WORDS)
        response = ask(model)
    assert (response.incomplete, response.finish_reason) == (False, "stop")
    assert "word a\u2028b\u2029c\x85d\ufffd\ufffd word" in response.text


def streamed(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000], ids=str)
def test_events_are_read_with_any_line_ending_and_chunk_boundary(end, size):
    lines = ("event: x", 'data: {"a": "é✓"}', "", ": note", "", 'data:{"b":', "data: 1}", "", "data: [DONE]", "", "no")
    raw = end.join(lines).encode()
    assert list(lines_of(streamed(raw, size))) == list(lines)
    values = [value for event in events_of(streamed(raw, size)) for _, value in event.values()]
    assert values == [{"a": "é✓"}, {"b": 1}, "[DONE]"]
    passed = b"".join(whole_events(streamed(raw, size)))
    assert passed == b'event: x\ndata: {"a": "\xc3\xa9\xe2\x9c\x93"}\n\n: note\n\ndata: {"b": 1}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("raw", "is_whole"),
    [
        (b'data: {"a": 1}\ndata: {"b": 2}\n\n', True),
        (b'data: {"a": 1}\nother: field\n\n', True),
        (b"event: ping\ndata: ping\n\n", True),
        (b"data:\n\n", True),
        (b'data: {"a": 1}\ndata: {"b": \n\n', False),
        (b"data: word\n\n", False),
        (b'data: {"a": "\xe2\x9c"}\n\n', False),
        (b'data: {"a": "\x93"}\n\n', False),
        (b"data: " + b"[" * 100_000 + b"\n\n", False),
    ],
    ids=["two", "field", "ping", "empty", "half", "word", "cut", "rest", "deep"],
)
def test_invalid_json_is_broken(raw, is_whole):
    try:
        passed = b"".join(whole_events([raw]))
    except BrokenStream:
        passed = b""
    assert bool(passed) == is_whole


def respond_aside(model: ProviderModel, cancel: Cancel) -> tuple[threading.Thread, list[object], list[Delta]]:
    outcome: list[object] = []
    deltas: list[Delta] = []

    def run() -> None:
        try:
            outcome.append(model.respond(ModelRequest([{"role": "user", "content": "go"}]), deltas.append, cancel))
        except ModelError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome, deltas


@pytest.fixture
def _no_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@ROUTE
@pytest.mark.usefixtures("_no_collections")
def test_consecutive_calls_share_a_connection(route):
    with WireServer(route.encoder, Turn(TEXT), keeps_alive=True) as server, asking(route, server) as model:
        for _ in range(4):
            assert ask(model).text == TEXT
            assert wait_until(lambda: not any(thread.name == "model-call" for thread in threading.enumerate()))
    assert len({request.client for request in server.requests}) == 1


@ROUTE
@pytest.mark.parametrize("moment", ["before the answer", "in the answer", "at a broken piece"])
@pytest.mark.usefixtures("_no_collections")
def test_connection_is_closed_at_once(route, moment):
    cancel = Cancel()
    with WireServer(route.encoder, WORDS, keeps_alive=True) as server, asking(route, server) as model:
        if moment == "before the answer":
            ask(model)
            server.is_silent = True
        elif moment == "in the answer":
            server.frames, server.holds_open = list(route.encoder(WORDS))[:5], True
        else:
            frames = damaged(route, with_bad_json, WORDS)
            server.frames, server.holds_open = frames[: len(frames) * 2 // 3], True
        before = len(server.requests)
        thread, outcome, deltas = respond_aside(model, cancel)
        if moment != "at a broken piece":
            assert wait_until(lambda: len(server.requests) > before)
            assert moment == "before the answer" or wait_until(lambda: deltas)
            cancel.set()
        assert server.gone.wait(15), "the server sees that the client has closed"
        thread.join(15)
    (response,) = outcome
    assert isinstance(response, ModelResponse)
    assert response.finish_reason == ("cut" if moment == "at a broken piece" else "interrupted")


MESSAGE = '{"role": "assistant", "content": "Hi ✓"}'
WHOLE = f'{{"choices": [{{"index": 0, "message": {MESSAGE}, "finish_reason": "stop"}}]}}'.encode()


@pytest.mark.parametrize("model", ["openai/x", "openai/gpt-4o"], ids=["direct", "litellm"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (WHOLE[:-9], "broke"),
        (WHOLE.replace("✓".encode(), "✓".encode()[:2]), "broke"),
        (b"Hello", "not an OpenAI-compatible endpoint"),
    ],
    ids=["cut", "character", "alien"],
)
def test_an_answer_that_does_not_stream_is_whole_or_broken(model, body, message):
    with serving(lambda: iter([HEAD.replace(b"text/event-stream", b"application/json"), body])) as (url, asked):
        provider = ProviderModel(model, api_base=url, api_key="k", patience=Patience(tries=2, first_wait=0.01))
        outcome = answered(provider, [])
    assert message in str(outcome)
    assert len(asked) == (2 if message == "broke" else 1), "a broken answer is asked for again"
