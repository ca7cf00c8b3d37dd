"""Servers that are reached by an address: streamable HTTP and SSE, and row M08 of the fault cases."""

import pytest

from tests.fakes.mcp_http import HttpServer, sse_server
from tests.mcp.conftest import ask
from tests.sandbox import wait_for
from tests.tools.web.site import Site
from workbench.mcp.config import read_server
from workbench.mcp.errors import ServerFailed


def web(place, url, **more):
    return read_server("web", {"url": url, "startTimeout": 60, **more}, "here", str(place.directory))


def test_call_over_streamable_http_sends_the_configured_headers(place, monkeypatch):
    monkeypatch.setenv("WEB_TOKEN", "tok-of-the-web-1")
    with HttpServer() as server:
        settings = web(place, server.url, headers={"Authorization": "Bearer ${WEB_TOKEN}"})
        assert ask(place.tool(server=settings), "hello").text == "echo: hello"
        place.clients.pop().close()
        assert {headers.get("authorization") for _, _, headers in server.requests} == {"Bearer tok-of-the-web-1"}
        assert server.requests[-1][0] == "DELETE"  # it announces that it leaves


def test_m08_refused_key_is_reported(place):
    with HttpServer("401") as server, pytest.raises(ServerFailed, match="HTTP 401 Unauthorized: a sign-in is required"):
        place.client(web(place, server.url)).connect().result(60)


def test_m08_key_is_not_sent_to_another_host(place):
    with HttpServer() as other, HttpServer("redirect", other.url.replace("127.0.0.1", "localhost")) as server:
        settings = web(place, server.url, headers={"Authorization": "Bearer secret-12345"})
        with pytest.raises(ServerFailed, match="web cannot be used"):
            place.client(settings).connect().result(60)
        assert len(server.requests) > 0
        assert other.requests == []


def test_m08_lost_session_is_started_again(place):
    with HttpServer() as server:
        tool = place.tool(server=web(place, server.url))
        server.sessions += 1  # as after a restart of the server
        assert ask(tool, "one").text == "echo: one"  # nothing had looked at the call, so it was sent again
        assert server.sessions == 3


def test_m04_oversized_response_ends_the_call_within_the_memory_limit(place):
    with HttpServer() as server:
        tool = place.tool(server=web(place, server.url))
        assert ask(tool, "small events").text == "echo: small events"
        seen = [ask(tool, f"huge {way}").text for way in ("json", "events")]
        assert all("is gone: it sent a message of more than 16 MB" in text for text in seen)
        wait_for(lambda: server.left == 2, "the rest to be left unread")
        assert ask(tool, "hello").text == "echo: hello"
        assert "compressed message, which was not requested" in ask(tool, "small packed").text


def test_ended_server_is_an_error_at_once(place):
    with HttpServer() as server:
        tool = place.tool(server=web(place, server.url))
        assert ask(tool, "one").text == "echo: one"
    observation = ask(tool, "two")
    assert observation.is_error
    assert "web" in observation.text


@pytest.fixture
def sse():
    """Run the SDK's own server over SSE."""
    with sse_server() as url:
        yield url


def test_call_over_sse_works(place, sse):
    assert ask(place.tool(server=web(place, sse, type="sse")), "hello").text == "echo: hello"
    place.clients.pop().close()


def test_url_without_a_type_falls_back_to_sse(place, sse):
    tool = place.tool(server=web(place, sse))
    assert ask(tool, "hello").text == "echo: hello"
    place.clients.pop().close()


@pytest.mark.parametrize("status", ["401", "403", "500"])
def test_refusing_server_is_not_asked_over_sse(place, status):
    with HttpServer(status) as server:
        with pytest.raises(ServerFailed, match=f"HTTP {status}"):
            place.client(web(place, server.url)).connect().result(60)
        assert "GET" not in {method for method, _, _ in server.requests}


def test_server_of_a_named_type_is_asked_over_that_only(place, sse):
    with pytest.raises(ServerFailed, match="web cannot be used"):
        place.client(web(place, sse, type="http")).connect().result(60)


def test_invalid_certificate_is_reported_and_nothing_is_sent(place):
    with Site(tls=True) as site:
        settings = web(place, site.url("/mcp", "127.0.0.1"), headers={"Authorization": "Bearer secret-12345"})
        with pytest.raises(ServerFailed, match=r"(?i)certificate"):
            place.client(settings).connect().result(60)
    assert site.visits == []
