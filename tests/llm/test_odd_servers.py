"""Responses of servers that frame, encode or label them in unusual ways are read alike on every route."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from tests.llm.conftest import KEY
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Patience

HELLO = ModelRequest([{"role": "user", "content": "hello"}])
EVENTS = "content-type: text/event-stream"


class RawServer:
    """Answers each connection's one request with the next of these byte strings, then closes the connection."""

    def __init__(self, answers: Sequence[Sequence[bytes]]) -> None:
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.requests: list[bytes] = []
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.requests.append(_request(connection))
                    for piece in self._answers.pop(0) if self._answers else ():
                        connection.sendall(piece)


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def head(*fields: str, version: str = "1.1") -> bytes:
    return "\r\n".join([f"HTTP/{version} 200 OK", *fields, "", ""]).encode()


def chunk(text: str, reason: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return json.dumps({"id": "1", "model": "fake", "choices": [choice]}, ensure_ascii=False)


def stream(form: str = "data: {}\n\n", end: str = "data: [DONE]\n\n", begin: str = "") -> bytes:
    chunks = (chunk("one ", None), chunk("zwölf 😀", None), chunk("", "stop"))
    return (begin + "".join(form.replace("{}", each) for each in chunks) + end).encode()


def chunked(body: bytes, trailer: bytes = b"", step: int = 7) -> bytes:
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    return b"".join(b"%x;odd=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"


def bytewise(body: bytes) -> Iterator[bytes]:
    return (body[at : at + 1] for at in range(len(body)))


WHOLE = json.dumps(
    {"id": "1", "choices": [{"index": 0, "message": {"content": "one zwölf 😀"}, "finish_reason": "stop"}]}
).encode()
ODD = {
    "HTTP/1.0": [head(EVENTS, version="1.0") + stream()],
    "closed at the end": [head(EVENTS, "connection: close") + stream()],
    "chunked with extensions and trailers": [
        head(EVENTS, "transfer-encoding: chunked") + chunked(stream(), b"x-sum: 1\r\n")
    ],
    "gzip": [head(EVENTS, "content-encoding: gzip") + gzip.compress(stream())],
    "byte by byte": [head(EVENTS), *bytewise(stream())],
    "CRLF": [head(EVENTS) + stream("data: {}\r\n\r\n", "data: [DONE]\r\n\r\n")],
    "CR": [head(EVENTS) + stream("data: {}\r\r", "data: [DONE]\r\r")],
    "no space": [head(EVENTS) + stream("data:{}\n\n", "data:[DONE]\n\n")],
    "comments and fields": [head(EVENTS) + stream(": hi\n\nid: 1\nevent: message\nretry: 3\ndata: {}\n\n")],
    "byte order mark": [head(EVENTS) + stream(begin="\ufeff")],
    "no end mark": [head(EVENTS) + stream(end="")],
    "no blank line at the end": [head(EVENTS) + stream(end="data: [DONE]")],
    "single line ends": [head(EVENTS) + stream("data: {}\n")],
    "more after the end mark": [head(EVENTS) + stream() + b"data: nonsense\n\n"],
    "no type": [head() + stream()],
    "type in capitals": [head("Content-Type: TEXT/Event-Stream; Charset=UTF-8") + stream()],
    "events called JSON": [head("content-type: application/json") + stream()],
    "events called binary": [head("content-type: application/octet-stream") + stream()],
    "interim response": [b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + head(EVENTS) + stream()],
}
WHOLES = {
    "type in capitals": [head("content-type: Application/JSON") + WHOLE],
    "no type": [head() + WHOLE],
    "called text": [head("content-type: text/plain") + WHOLE],
    "called events": [head(EVENTS) + WHOLE],
    "byte order mark": [head("content-type: application/json") + b"\xef\xbb\xbf" + WHOLE],
    "gzip": [head("content-type: application/json", "content-encoding: gzip") + gzip.compress(WHOLE)],
    "indented": [head("content-type: application/json") + json.dumps(json.loads(WHOLE), indent=2).encode()],
    "indented called events": [head(EVENTS) + json.dumps(json.loads(WHOLE), indent=2).encode()],
}


def ask(server: RawServer, name: str, tries: int = 1) -> ModelResponse:
    patience = Patience(idle=5, tries=tries, first_wait=0.01)
    model = ProviderModel(name, api_base=server.base, api_key=KEY, patience=patience)
    with contextlib.closing(model):
        return model.respond(HELLO, lambda delta: None, Cancel())


@pytest.mark.parametrize("what", ODD)
def test_stream_is_read(what: str, model_name: str) -> None:
    with RawServer([ODD[what]]) as server:
        response = ask(server, model_name)
    assert (response.text, response.incomplete, response.finish_reason) == ("one zwölf 😀", False, "stop")
    assert len(server.requests) == 1


@pytest.mark.parametrize("what", WHOLES)
@pytest.mark.parametrize("name", ["openai/fake", "openai/gpt-4-fake"])
def test_whole_response_is_read(what: str, name: str) -> None:
    with RawServer([WHOLES[what]]) as server:
        response = ask(server, name)
    assert (response.text, response.incomplete, response.finish_reason) == ("one zwölf 😀", False, "stop")


BROKEN = {
    "not the compression it names": [head(EVENTS, "content-encoding: gzip") + stream()],
    "cut in its compression": [head(EVENTS, "content-encoding: gzip") + gzip.compress(stream())[:12]],
    "cut in a chunk": [head(EVENTS, "transfer-encoding: chunked") + b"ff\r\ndata"],
    "cut before the announced length": [head(EVENTS, "content-length: 99999") + b"data"],
    "no HTTP": [b"SSH-2.0-OpenSSH_9.9\r\n"],
    "nothing": [],
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_response_is_requested_again(what: str, model_name: str) -> None:
    with RawServer([BROKEN[what], ODD["CRLF"]]) as server:
        response = ask(server, model_name, tries=2)
    assert (response.text, response.incomplete) == ("one zwölf 😀", False)
    assert len(server.requests) == 2


def test_redirects_in_a_circle_are_reported_once(model_name: str) -> None:
    circle = [b"HTTP/1.1 307 Go\r\nlocation: /v1/chat/completions\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"]
    with RawServer([circle] * 99) as server, pytest.raises(ModelError, match="not an OpenAI-compatible endpoint"):
        ask(server, model_name, tries=3)
    assert len(server.requests) < 30


NO_URLS = (
    *("127.0.0.1:9/v1", "localhost:9/v1", " http://localhost/v1", "http://localhost/v1\n", "http://exa mple/v1"),
    *("http+unix://%2Ftmp%2Fx/v1", "unix:/tmp/x", "ftp://localhost/v1", "http:///v1", "http://", "http://[::1"),
    *("http://localhost:99999/v1", "http://user:pass/word@localhost/v1"),
)


@pytest.mark.parametrize("base", NO_URLS)
def test_url_of_no_server_is_an_error_of_the_settings(base: str, model_name: str) -> None:
    statuses: list[Delta] = []
    with (
        contextlib.closing(ProviderModel(model_name, api_base=base, api_key=KEY)) as model,
        pytest.raises(ModelError, match="is not the URL of a server") as error,
    ):
        model.respond(HELLO, statuses.append, Cancel())
    assert (error.value.kind, error.value.fallback_reason, statuses) == ("address", "", [])
    assert "word" not in str(error.value).partition(" is not ")[0]


@pytest.mark.parametrize("name", ["openai/fake", "openai/gpt-4-fake"])
@pytest.mark.parametrize(
    ("form", "path"),
    {
        "{}/": "/v1/chat/completions",
        "{}//": "/v1/chat/completions",
        "{}#part": "/v1/chat/completions",
        "{}?api-version=2": "/v1/chat/completions?api-version=2",
        "{}/?a=1&b=x%20y#part": "/v1/chat/completions?a=1&b=x%20y",
    }.items(),
)
def test_path_is_appended_before_the_query(form: str, path: str, name: str) -> None:
    with RawServer([ODD["CRLF"]]) as server:
        server.base = form.format(server.base)
        ask(server, name)
    (request,) = server.requests
    assert request.split()[1].decode().replace("+", "%20") == path


@pytest.mark.parametrize("name", ["openai/fake", "openai/gpt-4-fake"])
def test_spaces_around_the_key_of_the_environment_are_not_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer([ODD["CRLF"]]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base)
        monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
        with contextlib.closing(ProviderModel(name, patience=Patience(tries=1))) as model:
            model.respond(HELLO, lambda delta: None, Cancel())
    assert f"\r\nauthorization: bearer {KEY}\r\n" in server.requests[0].decode().lower()
