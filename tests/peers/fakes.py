"""The fakes: how each is installed below a directory, started, and given its answers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.peers.cases import Answer, Case

NPM_FAKES = ("@copilotkit/aimock",)
PYTHON_FAKES = ("llmock", "litellm[proxy]")
PATIENCE = 90.0
"""Seconds until a fake answers."""


@dataclass(frozen=True)
class Route:
    """A model's name, the path of the fake's address that serves it, and how the fake sends calls there."""

    model: str
    path: str = ""
    calls: Literal["pieces", "whole", "none"] = "pieces"

    def plays(self, case: Case) -> bool:
        """Return whether the fake can play the case: if it sends calls in one piece, only the text before one can be
        cut.
        """
        has_calls = any(answer.calls for answer in case.answers)
        return not has_calls or self.calls == "pieces" or (self.calls == "whole" and not case.cuts_call)


class Fake(ABC):
    """A running fake; `routes` are the models tried with it."""

    name: str
    routes: Sequence[Route]

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = _free_port()

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}"

    @abstractmethod
    def running(self) -> contextlib.AbstractContextManager[None]:
        """Start it, and stop it at the end of the block."""

    @abstractmethod
    def prepare(self, case: Case) -> None:
        """Set its answers from now on."""

    def verdict(self) -> str:
        """Return the faults that the fake found in its client; empty if there were none."""
        return ""


class Aimock(Fake):
    """aimock (npm): answers by fixtures, in the form of eleven providers."""

    name = "aimock"
    routes = (
        Route("openai/fake", "/v1"),
        Route("openai/gpt-5-codex", "/v1"),
        Route("anthropic/claude-x"),
        Route("gemini/gemini-2.5-pro", "/v1beta", "whole"),
        Route("vertex_ai/gemini-2.5-pro", "", "whole"),
        Route("mistral/mistral-x", "/v1"),
        Route("cohere_chat/command-x", "/v2/chat"),
        Route("ollama_chat/qwen-x", "", "whole"),
        Route("ollama/qwen-x", "", "none"),
        Route("bedrock/converse/amazon.nova-x"),
        Route("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0"),
        Route("azure/fake"),
        Route("openrouter/fake", "/v1"),
    )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        program = self.directory / "npm" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
        fixtures = self.directory / "aimock.json"
        fixtures.write_text('{"fixtures": [{"match": {"userMessage": "unused"}, "response": {"content": "-"}}]}')
        words = ["node", str(program), "--port", str(self.port), "--fixtures", str(fixtures), "--chunk-size", "6"]
        with _started(words, self.directory / "aimock.log", f"{self.url}/health"):
            yield

    def prepare(self, case: Case) -> None:
        call(f"{self.url}/__aimock/reset", {})
        # It does not read Gemini's tool results, which litellm spells as protobuf does, so it counts answers.
        fixtures = [_fixture(answer, {"turnIndex": number}) for number, answer in enumerate(case.answers)]
        call(f"{self.url}/__aimock/fixtures", {"fixtures": fixtures})


def _fixture(answer: Answer, match: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {}
    if answer.text:
        response["content"] = answer.text
    if answer.calls:
        response["toolCalls"] = [{"name": name, "arguments": arguments} for name, arguments in answer.calls]
    cut = {"truncateAfterChunks": answer.cut_after} if answer.cut_after else {}
    return {"match": match, "response": response, **cut}


class Llmock(Fake):
    """llmock (PyPI): answers by a queue, breaks streams in several ways, and judges how its client reacted."""

    name = "llmock"
    routes = (
        Route("openai/fake", "/v1"),
        Route("openai/gpt-5-codex", "/v1"),
        Route("anthropic/claude-x", "/anthropic"),
        Route("gemini/gemini-2.5-pro", "/gemini/v1beta", "whole"),
        Route("mistral/mistral-x", "/mistral/v1"),
        Route("cohere_chat/command-x", "/cohere/v2/chat"),
        Route("groq/fake", "/groq/openai/v1"),
        Route("together_ai/fake", "/together/v1"),
        Route("perplexity/fake", "/perplexity/v1"),
        Route("xai/fake", "/xai/v1"),
    )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        words = [str(_python(self.directory, "llmock")), "serve", "--tool-mode", "off", "--port", str(self.port)]
        with _started(words, self.directory / "llmock.log", f"{self.url}/health"):
            yield

    def prepare(self, case: Case) -> None:
        call(f"{self.url}/_llmock/reset", {})
        behaviors: list[dict[str, Any]] = []
        for answer in case.answers:
            calls = [{"name": name, "arguments": arguments} for name, arguments in answer.calls]
            for status in answer.fails:
                behaviors.append({"type": "fail", "status": status, "retry_after": 1 if status == 429 else None})
            # An answer without any usable part is requested again, and breaks again.
            times = None if answer.cut_after else 1
            behaviors.append({"type": "reply", "text": answer.text or None, "tool_calls": calls, "times": times})
            if answer.cut_after:
                fault = {"type": "stream_fault", "kind": answer.how, "after_chunks": answer.cut_after}
                behaviors.append({**fault, "times": times})
        call(f"{self.url}/_llmock/scenario", {"behaviors": behaviors})

    def verdict(self) -> str:
        findings = [each["code"] for each in call(f"{self.url}/_llmock/verdict")["findings"]]
        return ", ".join(code for code in findings if code not in self._CANNOT_KNOW)

    _CANNOT_KNOW = ("truncated_stream_accepted", "malformed_chunk_ignored", "gave_up")
    """Its conclusion about a client that does not retry, which `cases` checks."""


class LitellmProxy(Fake):
    """litellm's proxy (PyPI) in front of an aimock: the streams of all providers, converted to OpenAI's form."""

    name = "litellm proxy"
    routes = tuple(
        Route(f"openai/{name}", "/v1")
        for name in ("over-openai", "over-anthropic", "over-gemini", "over-ollama", "over-bedrock", "over-cohere")
    )

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._behind = Aimock(directory)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with self._behind.running():
            config = self.directory / "proxy.yaml"
            config.write_text(json.dumps({"model_list": list(self._models())}))
            words = [str(_python(self.directory, "litellm")), "--port", str(self.port), "--config", str(config)]
            with _started(words, self.directory / "proxy.log", f"{self.url}/health/liveliness"):
                yield

    def _models(self) -> Iterator[dict[str, Any]]:
        for route in self._behind.routes:
            provider = route.model.partition("_chat/")[0].partition("/")[0]
            parameters = {"model": route.model, "api_base": self._behind.url + route.path, "api_key": "sk-none"}
            yield {"model_name": f"over-{provider}", "litellm_params": {**parameters, "num_retries": 0}}

    def prepare(self, case: Case) -> None:
        self._behind.prepare(case)


FAKES: tuple[type[Fake], ...] = (Aimock, Llmock, LitellmProxy)


def install(directory: Path) -> None:
    """Install the fakes below the directory, where they are not there yet."""
    npm, uv = shutil.which("npm"), shutil.which("uv")
    if not npm or not uv:
        raise SystemExit("npm and uv are needed to install the fakes")
    if not (directory / "npm").exists():
        quiet = ("--silent", "--no-audit", "--no-fund")
        subprocess.run([npm, "install", *quiet, "--prefix", str(directory / "npm"), *NPM_FAKES], check=True)
    if not (directory / "venv").exists():
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(directory / "venv")], check=True)
        python = str(_python(directory, "python"))
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *PYTHON_FAKES], check=True)


def versions(directory: Path) -> str:
    """The installed versions, on one line."""
    package = json.loads((directory / "npm/node_modules/@copilotkit/aimock/package.json").read_text())
    code = "from importlib.metadata import version as v; print('llmock', v('llmock') + ',', 'litellm', v('litellm'))"
    done = subprocess.run(
        [str(_python(directory, "python")), "-c", code], capture_output=True, text=True, check=True, cwd=directory
    )
    return f"aimock {package['version']}, {done.stdout.strip()}"


def call(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send the body as JSON by POST, or a GET request if there is none, and return the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.read().decode(errors='replace')[:400]}") from error


def _python(directory: Path, program: str) -> Path:
    return directory / "venv" / "bin" / program


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def _started(words: Sequence[str], log: Path, health: str) -> Iterator[None]:
    """Run a server until the end of the block; returns once it answers."""
    home = log.parent / "home"
    home.mkdir(exist_ok=True)
    names = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none", "AWS_REGION_NAME": "us-east-1"}
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LITELLM_LOCAL_MODEL_COST_MAP": "True", **names}
    with log.open("wb") as file, subprocess.Popen(words, stdout=file, stderr=file, env=env, cwd=home) as process:
        try:
            until = time.monotonic() + PATIENCE
            while not _answers(health):
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{words[0]} does not start: {log.read_text(errors='replace')[-800:]}")
                time.sleep(0.1)
            yield
        finally:
            process.kill()


def _answers(health: str) -> bool:
    try:
        with urllib.request.urlopen(health, timeout=5):
            return True
    except OSError:
        return False
