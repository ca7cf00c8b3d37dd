"""The connection to a server of the user's own is opened before the first request, and neither delays nor fails one."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Turn
from tests.llm.conftest import KEY, wait_until
from tests.session.test_opening import NAME, where, write_session
from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings
from workbench.llm.factory import open_profile
from workbench.llm.fallback import FallbackModel, Rests
from workbench.llm.model import Cancel, Model, ModelError, ModelRequest, open_early
from workbench.llm.openai_compatible import OPENING
from workbench.protocol.events import UserMessage
from workbench.session.session_factory import open_session

__all__ = ["where"]  # a fixture
HELLO = ModelRequest([{"role": "user", "content": "hello"}])


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    yield
    assert wait_until(is_over)


def is_over() -> bool:
    return not any(thread.name == OPENING for thread in threading.enumerate())


def model_at(base: str, calls: str = "auto") -> Model:
    return open_profile(Profile("", "openai/x", base, calls=calls), KEY)


def text_of(model: Model) -> str:
    return model.respond(HELLO, lambda delta: None, Cancel()).text


WRAPPED: dict[str, Callable[[str], Model]] = {
    "calls as text or not": model_at,
    "bare": lambda base: model_at(base, "native"),
    "with fallback models": lambda base: FallbackModel(("first", model_at(base)), {}, Rests()),
}


@pytest.mark.parametrize("opener", WRAPPED.values(), ids=WRAPPED)
def test_first_request_uses_the_connection_opened_before_without_the_key(opener):
    with ModelServer([Turn("here")]) as server, contextlib.closing(opener(server.base_url)) as model:
        open_early(model)
        assert wait_until(is_over)
        assert text_of(model) == "here"
        (opened,), (asked,) = server.opened, server.requests
    assert opened.client == asked.client
    assert KEY not in str(opened)
    assert "authorization" not in {name.lower() for name in opened.headers}


def test_opening_sends_no_password_and_no_query_of_the_url():
    with ModelServer([]) as server:
        base = f"http://user:pass-word@{server.base_url.removeprefix('http://')}?token={KEY}"
        with contextlib.closing(model_at(base)) as model:
            open_early(model)
            assert wait_until(is_over)
        (opened,) = server.opened
    assert opened.path == "/v1"
    assert "authorization" not in {name.lower() for name in opened.headers}


class OneThread(HTTPServer):
    """A server that serves one connection after the other, and keeps each until the client closes it."""

    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            OneThread.asked.set()
            time.sleep(0.3)  # the request comes meanwhile
            self.answer(b"")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.answer(b'{"choices": [{"message": {"content": "here"}, "finish_reason": "stop"}]}')

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing to stderr."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.Handler)


def test_request_right_after_the_opening_reaches_a_server_with_a_single_thread():
    with OneThread() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        with contextlib.closing(model_at(f"http://127.0.0.1:{server.server_address[1]}/v1")) as model:
            open_early(model)
            assert OneThread.asked.wait(60)
            assert text_of(model) == "here"
        server.shutdown()


def test_request_does_not_wait_forever_for_a_server_that_ignores_the_opening():
    server = ModelServer([Turn("here")], answers_head=False)
    with server, contextlib.closing(model_at(server.base_url)) as model:
        open_early(model)
        assert wait_until(lambda: bool(server.opened))
        assert text_of(model) == "here"
        assert not is_over(), "it still waits"


def test_call_canceled_while_it_waits_for_the_opening_sends_nothing():
    cancel = Cancel()
    server = ModelServer([Turn("never sent")], answers_head=False)
    with server, contextlib.closing(model_at(server.base_url)) as model:
        open_early(model)
        assert wait_until(lambda: bool(server.opened))
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        assert model.respond(HELLO, lambda delta: None, cancel).finish_reason == "interrupted"
        assert wait_until(lambda: not any(thread.name == "model-call" for thread in threading.enumerate()))
        assert server.requests == []


def test_unreachable_server_is_reported_by_the_request_alone(capfd):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with contextlib.closing(model_at(f"http://127.0.0.1:{held.getsockname()[1]}/v1")) as model:
            open_early(model)
            assert wait_until(is_over)
            with pytest.raises(ModelError, match="nothing is listening"):
                text_of(model)
    assert capfd.readouterr() == ("", "")


def test_model_that_is_closed_at_once_leaves_no_connection():
    for _ in range(20):
        with ModelServer([]) as server:
            model = model_at(server.base_url)
            open_early(model)
            model.close()
            assert wait_until(is_over)


@pytest.mark.parametrize("name", ["openai/gpt-5", "anthropic/claude-x", "scripted/demo", "none"])
def test_other_models_open_nothing_early(name):
    with ModelServer([]) as server, contextlib.closing(open_profile(Profile("", name, server.base_url))) as model:
        open_early(model)
        assert is_over()
        assert server.opened == []


@pytest.mark.parametrize("is_foreign", [False, True])
def test_only_the_users_own_session_contacts_its_server(where: Locations, tmp_path: Path, is_foreign: bool):
    with ModelServer([]) as server:
        model = {"model": "openai/x", "api_base": server.base_url}
        path = write_session(where, tmp_path, UserMessage(text="go"), **model)
        path.chmod(0o666 if is_foreign else 0o600)
        settings = replace(Settings(**model), accepts_foreign=is_foreign)
        opened = open_session(where, settings, NAME, on_event=lambda event: None, on_live=lambda event: None)
        with contextlib.closing(opened):
            assert wait_until(is_over)
        assert bool(server.opened) is not is_foreign
