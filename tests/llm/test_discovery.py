"""Finding keys and local servers: only usable ones are listed, no key is read, and nothing waits for a slow server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from workbench.llm.discovery import LocalServer, ModelSource, sources_of_keys, sources_of_servers


@contextmanager
def serving(path: str, body: bytes, status: int = 200) -> Iterator[int]:
    """A web server that answers at one path; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.path == path
            self.send_response(status if is_known else 404)
            self.end_headers()
            self.wfile.write(body if is_known else b"not here")

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_servers_are_listed_with_their_models():
    tags = json.dumps({"models": [{"name": "qwen3:8b"}, {"name": "llama3"}]}).encode()
    listed = json.dumps({"object": "list", "data": [{"id": "Qwen/Qwen3-8B"}]}).encode()
    with serving("/api/tags", tags) as one, serving("/v1/models", listed) as two:
        servers = [
            LocalServer("Ollama", one, "/api/tags", "ollama_chat/"),
            LocalServer("vLLM", two, "/v1/models", "openai/", "/v1"),
        ]
        ollama, vllm = sources_of_servers(servers, limit=20)
    assert ollama == ModelSource(f"Ollama at localhost:{one}", ("ollama_chat/qwen3:8b", "ollama_chat/llama3"))
    assert ollama.options == "--model ollama_chat/qwen3:8b"
    assert vllm.options == f"--model openai/Qwen/Qwen3-8B --api-base http://127.0.0.1:{two}/v1"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>", 200),
        (b"[1, 2]", 200),
        (b'{"data": 3}', 200),
        (b'{"data": [3, {"id": 4}, {"id": ""}, {"id": "two words"}, {"id": "\\u001b[31m"}]}', 200),
        (b"\xff\xfe", 200),
        (b"[" * 100_000, 200),
        (b'{"data": [{"id": "a"}]}', 500),
    ],
)
def test_services_that_are_no_model_servers_are_ignored(body: bytes, status: int):
    with serving("/v1/models", body, status) as port:
        assert sources_of_servers([LocalServer("vLLM", port, "/v1/models", "openai/", "/v1")], limit=20) == []


def test_silent_server_and_closed_port_do_not_hide_others():
    with socket.create_server(("127.0.0.1", 0)) as silent, serving("/m", b'{"data": [{"id": "a"}]}') as port:
        with socket.create_server(("127.0.0.1", 0)) as gone:
            closed = gone.getsockname()[1]
        servers = [LocalServer("Silent", silent.getsockname()[1], "/m", ""), LocalServer("Closed", closed, "/m", "")]
        sources = sources_of_servers([*servers, LocalServer("There", port, "/m", "openai/")], limit=6)
    assert [each.models for each in sources] == [("openai/a",)]


def test_keys_are_detected_by_variable_and_never_shown():
    env = {"ANTHROPIC_API_KEY": "sk-hidden", "OPENAI_API_KEY": " ", "MY_API_KEY": "sk-other"}
    sources = sources_of_keys(env)
    assert [each.what for each in sources] == ["ANTHROPIC_API_KEY found"]
    assert sources[0].options.startswith("--model anthropic/")
    assert "sk-" not in repr(sources)
