"""Models behind a real HTTP server; litellm is imported once for all tests of this directory."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.model_server import ModelServer, Script
from workbench.llm.client import ProviderModel
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, Delta, ModelRequest, ModelResponse
from workbench.llm.retry import Patience

KEY = "sk-very-secret-0123456789"


class Caller:
    """A server with its script, a model that uses it, and the streamed text."""

    def __init__(self, server: ModelServer, model: ProviderModel) -> None:
        self.server = server
        self.model = model
        self.deltas: list[Delta] = []
        self.cancel = Cancel()

    def ask(self, text: str = "hello", tools: tuple[dict[str, object], ...] = ()) -> ModelResponse:
        return self.model.respond(
            ModelRequest([{"role": "user", "content": text}], tools), self.deltas.append, self.cancel
        )

    def ask_aside(self) -> Callable[[], ModelResponse]:
        """Ask in a thread; the returned function waits and returns the answer."""
        answers: list[ModelResponse] = []
        thread = threading.Thread(target=lambda: answers.append(self.ask()))
        thread.start()

        def join() -> ModelResponse:
            thread.join(60)
            return answers[0]

        return join

    def streamed(self, kind: str) -> str:
        return "".join(delta.text for delta in self.deltas if delta.kind == kind)


@pytest.fixture(scope="session", autouse=True)
def _litellm() -> None:
    load_litellm()


_QUIET = pytest.mark.filterwarnings("ignore")  # litellm leaves sockets open, and uses what pydantic calls deprecated
ROUTES = (
    pytest.param("openai/fake", id="direct"),
    pytest.param("openai/gpt-4-fake", id="sdk"),
    pytest.param("hosted_vllm/fake", id="litellm", marks=_QUIET),
)
"""A model of one server on each route to it: directly, through litellm with OpenAI's SDK, with litellm's own client."""


@pytest.fixture(params=ROUTES)
def model_name(request: pytest.FixtureRequest) -> str:
    """Every test of a fault runs on each way to a server that speaks OpenAI's protocol."""
    return str(request.param)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, model_name: str) -> Iterator[Callable[..., Caller]]:
    """Start a server with the script and open a model on it."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    opened: list[Caller] = []

    def start(*script: object, idle: float = 20.0, tries: int = 5, first_wait: float = 0.01, name: str = "") -> Caller:
        server = ModelServer(script)  # type: ignore[arg-type]
        server.__enter__()
        patience = Patience(connect=10, idle=idle, tries=tries, first_wait=first_wait)
        opened.append(
            Caller(server, ProviderModel(name or model_name, api_base=server.base_url, api_key=KEY, patience=patience))
        )
        return opened[-1]

    yield start
    for caller in opened:
        caller.model.close()
        caller.server.__exit__()


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait for a condition; return False if it is not met in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


__all__ = ["KEY", "Caller", "Script", "wait_until"]
