"""Redirects: a conversation and its key are sent only to the host that the user named, on every route of litellm."""

from __future__ import annotations

import pytest

from tests.fakes import provider_streams
from tests.fakes.model_turns import Fault, Turn
from tests.fakes.provider_server import WireServer
from tests.llm.conftest import KEY
from tests.llm.test_provider_streams import ROUTE, ROUTES, Route, _accounts, ask, asking, google
from workbench.llm.model import ModelError

pytestmark = pytest.mark.filterwarnings("ignore")
__all__ = ["_accounts", "google"]  # fixtures of the routes
OTHERS = tuple(
    Route(f"{provider}/x", provider_streams.openai_chat, "/v1")
    for provider in (
        *("azure", "cerebras", "dashscope", "fireworks_ai", "github_copilot", "groq", "hosted_vllm", "huggingface"),
        *("lm_studio", "moonshot", "openrouter", "perplexity", "xai", "zai"),
    )
)


def heard(route: Route, status: int, host: str = "127.0.0.1") -> int:
    """Call a server that redirects to another one; return how many requests the other one got. The refusal is reported
    once.
    """
    with WireServer(route.encoder, Turn("caught")) as thief, WireServer(route.encoder, Turn()) as server:
        target = thief.base_url.replace("127.0.0.1", host)
        server.redirect = (status, f"{target}/v1/chat/completions")
        with asking(route, server, tries=3) as model, pytest.raises(ModelError) as caught:
            ask(model)
        assert len(server.requests) == 1, "it is not tried again"
    message = str(caught.value)
    assert target in message
    assert "was not sent there" in message
    assert KEY not in message
    return len(thief.requests)


@ROUTE
def test_no_route_follows_a_redirect_to_another_port(route):
    assert heard(route, 307) == 0


@pytest.mark.parametrize("route", OTHERS, ids=str)
def test_no_other_provider_follows_a_redirect_to_another_host(route):
    assert heard(route, 307, "localhost") == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("route", [ROUTES[0], ROUTES[2], ROUTES[4], ROUTES[5]], ids=str)
def test_no_kind_of_redirect_to_another_host_is_followed(route, status):
    assert heard(route, status, "localhost") == 0


@pytest.mark.parametrize("provider", ["zai", "nvidia_nim", "deepinfra", "sambanova", "groq", "together_ai"])
def test_no_library_retries_on_its_own(provider):
    route = Route(f"{provider}/x", provider_streams.openai_chat, "/v1")
    busy = Fault(503, headers={"retry-after": "0"})
    with WireServer(route.encoder, busy) as server, asking(route, server) as model:
        with pytest.raises(ModelError, match="is failing"):
            ask(model)
        assert len(server.requests) == 1


@pytest.mark.parametrize("route", [ROUTES[0], ROUTES[2], ROUTES[4]], ids=str)
def test_redirect_within_the_host_is_followed(route):
    with WireServer(route.encoder, Turn("here")) as server, asking(route, server) as model:
        server.redirect = (308, "/moved")
        assert ask(model).text == "here"
        assert [request.path for request in server.requests[1:]] == ["/moved"]
