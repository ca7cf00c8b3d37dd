"""Errors of the connection: which calls are repeated, what is kept, and the one line the user reads."""

import contextlib
import socket
import time
from dataclasses import replace

import pytest

from tests.fakes.model_turns import Called, Fault, Turn
from tests.llm.conftest import KEY, wait_until
from workbench.llm.client import ProviderModel
from workbench.llm.errors import fault_of, key_variable
from workbench.llm.factory import open_model
from workbench.llm.model import Cancel, ContextOverflow, ModelError, ModelRequest
from workbench.llm.retry import Patience

HELLO = ModelRequest([{"role": "user", "content": "hello"}])


def refused(caller) -> str:
    with pytest.raises(ModelError) as caught:
        caller.ask()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_failing_server_is_retried_and_answers_once(serve, status):
    caller = serve(Fault(status), Turn("back again"))
    assert caller.ask().text == "back again" == caller.streamed("text")
    assert len(caller.server.requests) == 2
    assert "try 2 of 5" in caller.streamed("status")


def test_rate_limit_waits_as_long_as_the_provider_asks(serve):
    caller = serve(Fault(429, headers={"retry-after": "2"}), Turn("served"))
    response = caller.ask()
    assert response.text == "served"
    assert response.latency >= 2
    assert "in 2s" in caller.streamed("status")
    assert "in 1s" in caller.streamed("status")


def test_retries_stop_at_the_maximum(serve):
    caller = serve(*[Fault(429)] * 7)
    assert "rate limited by" in refused(caller)
    assert len(caller.server.requests) == 5


def test_rate_limit_of_an_hour_is_reported_at_once(serve):
    caller = serve(Fault(429, headers={"retry-after": "3600"}))
    assert "3600 s" in refused(caller)
    assert len(caller.server.requests) == 1


def test_exhausted_credit_is_not_a_rate_limit(serve):
    caller = serve(Fault(429, "You exceeded your current quota", "insufficient_quota"))
    assert "no credit" in refused(caller)
    assert len(caller.server.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_key_names_the_setting_and_is_never_shown(serve, status):
    caller = serve(Fault(status, f"Incorrect API key provided: {KEY[:8]}****6789 ({KEY})"))
    line = refused(caller)
    assert key_variable(caller.model.name) in line
    assert "api_key_env" in line
    assert KEY not in line
    assert KEY[:8] not in line
    assert len(caller.server.requests) == 1


def test_key_in_any_other_error_is_masked(serve):
    line = refused(serve(Fault(400, f"bad request with key {KEY} and sk-other-abcdefghijk")))
    assert KEY not in line
    assert "abcdefghijk" not in line
    assert "bad request" in line


def test_key_with_a_line_break_is_refused_before_it_is_sent():
    with pytest.raises(ModelError, match="api_key") as caught:
        open_model("openai/x", api_key="secret-part\n")
    assert "secret-part" not in str(caught.value)


def test_full_context_window_is_recognized(serve):
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    with pytest.raises(ContextOverflow, match=r"9000 tokens.*: /compact, /model or /new"):
        serve(Fault(400, message, "context_length_exceeded")).ask()


def test_other_bad_requests_are_reported_and_not_retried(serve):
    caller = serve(Fault(400, "bad temperature\nmust be below 2"))
    assert "bad temperature" in refused(caller)
    assert len(caller.server.requests) == 1


def test_unknown_model_is_reported(serve):
    caller = serve(Fault(404, "no such model", "model_not_found"))
    assert f"does not know the model {caller.model.name}" in refused(caller)


def test_unreachable_server_is_reported():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        model = ProviderModel("openai/x", api_base=address, api_key="k")
        with contextlib.closing(model), pytest.raises(ModelError, match=f"nothing is listening at {address}"):
            model.respond(HELLO, print, Cancel())


def test_unknown_host_is_reported():
    model = ProviderModel("openai/x", api_base="http://no-such-host.invalid/v1")
    with contextlib.closing(model), pytest.raises(ModelError, match=r"cannot reach http://no-such-host\.invalid/v1"):
        model.respond(HELLO, print, Cancel())


def test_server_without_tls_is_reported(serve):
    address = serve(Turn("x")).server.base_url.replace("http:", "https:")
    model = ProviderModel("openai/x", api_base=address, api_key="k")
    with contextlib.closing(model), pytest.raises(ModelError, match="cannot reach https:"):
        model.respond(HELLO, print, Cancel())


def test_unknown_provider_is_reported():
    model = ProviderModel("nobody/x")
    with contextlib.closing(model), pytest.raises(ModelError, match="PROVIDER/NAME"):
        model.respond(HELLO, print, Cancel())


@pytest.mark.parametrize(
    ("name", "variable"), [("openai/gpt-4o", "OPENAI"), ("anthropic/claude-opus-4-1", "ANTHROPIC")]
)
def test_missing_key_error_names_its_variable(monkeypatch, name, variable):
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    model = ProviderModel(name)
    with contextlib.closing(model), pytest.raises(ModelError, match=f"no key .*{variable}_API_KEY"):
        model.respond(HELLO, print, Cancel())


@pytest.mark.parametrize("name", [None, "", "  "])
def test_missing_model_error_says_how_to_set_one(name):
    with pytest.raises(ModelError, match=r"no model is set.*ohw demo"):
        open_model(name)


def test_connection_broken_before_the_answer_is_retried(serve):
    caller = serve(Fault(kind="hang up"), Turn("second time"))
    assert caller.ask().text == "second time"


def test_stream_cut_in_the_text_keeps_the_text(serve):
    caller = serve(Turn("twelve chars and then twelve more", cut_after=3))
    response = caller.ask()
    assert response.text == "twelve chars and then tw"
    assert (response.incomplete, response.finish_reason) == (True, "cut")
    assert "broke" in caller.streamed("status")
    assert len(caller.server.requests) == 1


def test_stream_cut_inside_a_call_drops_the_call(serve):
    call = Called("execute_bash", {"command": "rm -r build && echo all gone"})
    response = serve(Turn("I delete.", calls=(call,), cut_after=5)).ask()
    assert response.text == "I delete."
    assert response.incomplete
    assert response.tool_calls == ()


def test_stream_without_an_end_mark_is_incomplete(serve):
    response = serve(Turn(raw=(b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n',), done=False)).ask()
    assert (response.text, response.incomplete) == ("half", True)


def test_response_at_its_length_limit_is_marked(serve):
    call = Called("execute_bash", '{"command": "echo on')
    response = serve(Turn(calls=(call,), finish="length")).ask()
    assert response.finish_reason == "length"
    assert response.tool_calls[0].arguments == '{"command": "echo on'


def test_silent_server_times_out(serve):
    caller = serve(Fault(kind="silent"), idle=2.5)
    assert "stopped answering" in refused(caller)
    assert len(caller.server.requests) == 1


def test_stalled_response_keeps_its_text_and_is_marked(serve):
    response = serve(Turn("three little tokens", cut_after=2, then="stall"), idle=2.5).ask()
    assert response.text == "three little"
    assert (response.incomplete, response.finish_reason) == (True, "stalled")


def test_error_in_the_middle_of_the_stream_keeps_the_text(serve):
    chunks = (
        b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n',
        b'data: {"error":{"message":"overloaded","code":529}}\n\n',
    )
    response = serve(Turn(raw=chunks)).ask()
    assert (response.text, response.incomplete) == ("so far", True)


def test_cancel_during_silence_returns(serve):
    caller = serve(Fault(kind="silent"))
    join = caller.ask_aside()
    assert caller.server.arrived.wait(60)
    caller.cancel.set()
    response = join()
    assert (response.incomplete, response.finish_reason, response.text) == (True, "interrupted", "")


def test_cancel_during_the_stream_keeps_the_text_and_closes_the_connection(serve):
    caller = serve(Turn("first words, and then a silence", cut_after=2, then="stall"))
    join = caller.ask_aside()
    assert wait_until(lambda: "first" in caller.streamed("text"))
    caller.cancel.set()
    response = join()
    assert (response.text, response.finish_reason) == ("first words,", "interrupted")
    assert caller.server.gone.wait(60)


def test_cancel_during_the_wait_for_a_retry_returns(serve):
    caller = serve(Fault(429, headers={"retry-after": "100"}))
    join = caller.ask_aside()
    assert wait_until(lambda: "in 100s" in caller.streamed("status"))
    caller.cancel.set()
    assert join().finish_reason == "interrupted"
    assert len(caller.server.requests) == 1


def test_model_can_be_called_again_after_a_cancel(serve):
    caller = serve(Turn("first words, and then", cut_after=2, then="stall"), Turn("again"))
    join = caller.ask_aside()
    assert wait_until(lambda: bool(caller.streamed("text")))
    caller.cancel.set()
    join()
    caller.cancel = Cancel()
    assert caller.ask().text == "again"


def test_password_in_the_url_is_not_shown():
    model = ProviderModel("openai/x", api_base="http://me:hidden@127.0.0.1:9/v1", patience=Patience(connect=5))
    with contextlib.closing(model), pytest.raises(ModelError) as caught:
        model.respond(HELLO, print, Cancel())
    assert "hidden" not in str(caught.value)


def test_web_page_in_place_of_an_answer_is_not_retried(serve):
    caller = serve(Fault(200, headers={"content-type": "text/html"}))
    assert "is not an OpenAI-compatible endpoint: check the URL" in refused(caller)
    assert len(caller.server.requests) == 1


@pytest.mark.parametrize("model_name", ["openai/fake", "openai/gpt-4-fake"], indirect=True)
def test_json_that_is_no_answer_points_to_the_url(serve):
    caller = serve(Fault(200, raw=b"{}"))
    assert "is not an OpenAI-compatible endpoint: check the URL" in refused(caller)


def test_error_with_status_200_is_recognized(serve):
    assert "no credit left" in refused(serve(Fault(200, "You exceeded your current quota")))


def test_unknown_path_error_names_model_and_url(serve):
    assert refused(serve(Fault(404, "Not Found"))).endswith("check its name and the URL (it often ends in /v1)")


def test_error_in_the_stream_without_a_status_gets_none(serve):
    chunk = b'data: {"error":{"message":"engine overloaded","code":"engine_busy"}}\n\n'
    caller = serve(*[Turn(raw=(chunk,))] * 2, tries=2)
    line = refused(caller)
    assert "is failing: engine overloaded" in line
    assert "None" not in line + caller.streamed("status")
    assert len(caller.server.requests) == 2


def test_key_in_a_streamed_error_is_masked(serve):
    caller = serve(Turn(raw=(f'data: {{"error":{{"message":"bad key {KEY[3:]}","code":"400"}}}}\n\n'.encode(),)))
    caller.model._target = replace(caller.model._target, api_key=KEY[3:])
    line = refused(caller)
    assert "HTTP 400" in line
    assert KEY[3:] not in line


def test_key_from_the_environment_is_never_shown(serve, monkeypatch):
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "0123abcd4567")
    line = refused(serve(Fault(400, "no access with 0123abcd4567 today")))
    assert "0123abcd4567" not in line
    assert "no access with … today" in line


def test_openai_base_url_is_not_blamed_for_another_provider(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ANTHROPIC_API_BASE", f"http://127.0.0.1:{held.getsockname()[1]}")
        model = ProviderModel("anthropic/claude-x", api_key="k" * 12)
        with (
            contextlib.closing(model),
            pytest.raises(ModelError, match="nothing is listening at the provider of anthropic"),
        ):
            model.respond(HELLO, print, Cancel())


def test_listed_prices_do_not_apply_to_an_own_server(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert ProviderModel("openai/gpt-4o").prices
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert ProviderModel("openai/gpt-4o").prices is None


def test_unknown_provider_has_no_prices():
    assert ProviderModel("nobody/x").prices is None


@pytest.mark.parametrize("piece", ["a", "aError ", "x: ", "{", "<p "])
def test_error_of_a_million_characters_is_classified_quickly(piece):
    error = RuntimeError(piece * (1_000_000 // len(piece)))
    begun = time.process_time()
    assert fault_of(error).kind == "other"
    assert time.process_time() - begun < 1
