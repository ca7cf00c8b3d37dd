"""Fallback models: after which failures another server is called, with which request, and the notice to the user."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn
from workbench.config.settings import Settings
from workbench.llm import fallback
from workbench.llm.client import ProviderModel
from workbench.llm.fallback import FallbackModel, Rests
from workbench.llm.model import Cancel, ContextOverflow, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Patience
from workbench.session.model_keys import SessionModels

SOON = {"retry-after-ms": "1"}
HELLO = ModelRequest([{"role": "user", "content": "hello"}])
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
}


class Chain:
    """Servers and the saved models `one`, `two` … that ask them, each with the next as its fallback model."""

    def __init__(self, servers: list[ModelServer], tables: dict[str, dict[str, Any]]) -> None:
        self.servers = servers
        self.models = SessionModels(Settings(models=tables), {"TWO_KEY": "sk-of-the-second"})
        self.model = self.models.open("one")
        self.deltas: list[Delta] = []
        self.cancel = Cancel()

    def ask(self, request: ModelRequest = HELLO, on_delta: Callable[[Delta], None] | None = None) -> ModelResponse:
        def record(delta: Delta) -> None:
            self.deltas.append(delta)
            if on_delta is not None:
                on_delta(delta)

        return self.model.respond(request, record, self.cancel)

    def error(self) -> str:
        with pytest.raises(ModelError) as caught:
            self.ask()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    @property
    def counts(self) -> list[int]:
        return [len(server.requests) for server in self.servers]

    @property
    def statuses(self) -> list[str]:
        return [delta.text for delta in self.deltas if delta.kind == "status"]


@pytest.fixture
def chain() -> Iterator[Callable[..., Chain]]:
    with ExitStack() as stack:

        def start(*scripts: Any, **tables: dict[str, Any]) -> Chain:
            names = ["one", "two", "three"][: len(scripts)]
            servers = [stack.enter_context(ModelServer(script)) for script in scripts]
            saved = {
                name: {"model": f"openai/{name}", "api_base": server.base_url, **tables.get(name, {})}
                for name, server in zip(names, servers, strict=True)
            }
            for name, after in pairwise(names):
                saved[name].setdefault("fallback_models", [after])
            made = Chain(servers, saved)
            stack.callback(made.model.close)
            return made

        yield start


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


FAULTS = {
    "429": (Fault(429, headers=SOON), 5, "one is limited in its rate"),
    "429 for an hour": (Fault(429, headers={"retry-after": "3600"}), 1, "one is limited in its rate"),
    "503": (Fault(503, headers=SOON), 5, "one is overloaded"),
    "529": (Fault(529, headers=SOON), 5, "one is overloaded"),
    "500": (Fault(500, headers=SOON), 5, "one is failing (HTTP 500)"),
    "502": (Fault(502, headers=SOON), 5, "one is failing (HTTP 502)"),
    "quota": (Fault(429, "You exceeded your current quota", "insufficient_quota"), 1, "one has no credit left"),
    "402": (Fault(402, "pay first"), 1, "one has no credit left"),
    "filter": (Fault(400, "blocked", "content_filter"), 1, "one refused the request (content filter)"),
    "filtered": (Turn(finish="content_filter"), 1, "one refused the request (content filter)"),
}


@pytest.mark.parametrize(("fault", "tries", "reason"), FAULTS.values(), ids=FAULTS)
def test_another_model_answers_after_the_usual_retries(chain, fault, tries, reason):
    both = chain([fault] * 5, [Turn("Here I am.")])
    response = both.ask()
    assert (response.text, response.fallback, response.fallback_reason) == ("Here I am.", "two", reason)
    assert both.counts == [tries, 1]
    assert both.statuses[-1] == f"{reason}; asking two"
    assert "".join(delta.text for delta in both.deltas if delta.kind == "text") == "Here I am."


def test_a_server_that_is_not_there_is_replaced_at_once(chain, closed_port):
    both = chain([], [Turn("Here I am.")], one={"api_base": closed_port})
    response = both.ask()
    assert (response.text, response.fallback_reason) == ("Here I am.", "one cannot be reached")
    assert both.counts == [0, 1]


def of_patience(first: ModelServer, second: ModelServer, **patience: Any) -> FallbackModel:
    """Return a model whose first server is given up soon."""
    one = ProviderModel("openai/one", api_base=first.base_url, patience=Patience(**patience))
    return FallbackModel(("one", one), {"two": lambda: ProviderModel("openai/two", api_base=second.base_url)}, Rests())


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("silent", "one stopped answering"), ("hang up", "one cannot be reached")],
    ids=["silent", "reset"],
)
def test_a_server_that_sends_nothing_is_replaced(kind, reason):
    with ModelServer([Fault(kind=kind)] * 2) as first, ModelServer([Turn("Here I am.")]) as second:
        model = of_patience(first, second, idle=0.3, tries=2, first_wait=0.01)
        response = model.respond(HELLO, lambda delta: None, Cancel())
        model.close()
    assert (response.text, response.fallback, response.fallback_reason) == ("Here I am.", "two", reason)


OTHERS = {
    "401": (Fault(401, "wrong key"), "rejected the API key"),
    "403": (Fault(403, "not allowed"), "rejected the API key"),
    "404": (Fault(404, "no such model"), "does not know the model"),
    "400": (Fault(400, "what is this?"), "what is this?"),
    "422": (Fault(422, "no field x"), "no field x"),
    "context": (Fault(400, "maximum context length exceeded"), "no longer fits"),
    "413": (Fault(413, "request too large"), "no longer fits"),
    "redirect": (Fault(307, headers={"location": "http://127.0.0.1:1/v1"}), "redirects the conversation"),
}


@pytest.mark.parametrize(("fault", "message"), OTHERS.values(), ids=OTHERS)
def test_errors_of_the_settings_or_the_request_ask_no_other_model(chain, fault, message):
    both = chain([fault], [Turn("not asked")])
    error = both.error()
    assert message in error
    assert "two" not in error
    assert both.counts == [1, 0]


def test_a_full_context_window_is_condensed_for_either_model(chain):
    full = Fault(400, "maximum context length exceeded")
    for scripts in ([full], [Turn("not asked")]), ([Fault(402)], [full]):
        with pytest.raises(ContextOverflow):
            chain(*scripts).ask()


LOOK = Called("look", {"path": "a" * 40})
PARTS = {
    "text": Turn("A few words before the end", piece=4, cut_after=3),
    "reasoning": Turn(reasoning="Let me see what this is", piece=4, cut_after=3),
}


@pytest.mark.parametrize("then", ["hang up", "stall"])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_once_a_part_arrived_the_answer_is_kept_as_it_is(part, then):
    cut = Turn(**{**part.__dict__, "then": then})
    with ModelServer([cut]) as first, ModelServer([Turn("not asked")]) as second:
        model = of_patience(first, second, idle=0.3)
        response = model.respond(HELLO, lambda delta: None, Cancel())
        model.close()
        assert response.incomplete
        assert response.fallback == ""
        assert second.requests == []


@pytest.mark.parametrize(("then", "tries"), [("hang up", 2), ("stall", 1)])
def test_once_a_part_of_a_call_arrived_no_other_model_is_asked(then, tries):
    cut = Turn(calls=[LOOK], piece=4, cut_after=3, then=then)
    with ModelServer([cut] * 2) as first, ModelServer([Turn("not asked")]) as second:
        model = of_patience(first, second, idle=0.3, tries=2, first_wait=0.01)
        with pytest.raises(ModelError):
            model.respond(ModelRequest(HELLO.messages, [TOOL]), lambda delta: None, Cancel())
        model.close()
        assert (len(first.requests), second.requests) == (tries, [])


def test_the_error_names_all_models_that_failed(chain, closed_port):
    all_down = chain([Fault(503, headers=SOON)] * 5, [Fault(402, "broke " * 100)], [], three={"api_base": closed_port})
    error = all_down.error()
    assert error.startswith("no model answered. one: ")
    assert " · two: the account at " in error
    assert " · three: nothing is listening at " in error
    assert len(error) < 500


def test_a_fallback_model_with_a_wrong_key_ends_the_call_with_both_errors(chain):
    three = chain([Fault(402)], [Fault(401)], [Turn("not asked")])
    error = three.error()
    assert "one: the account at" in error
    assert "two: http" in error
    assert "rejected the API key" in error
    assert three.counts == [1, 1, 0]


@pytest.mark.parametrize(
    ("faults", "tables", "model"),
    [
        ([Fault(401), Fault(500)], {}, ""),
        ([Fault(402), Fault(401)], {}, "two"),
        ([Fault(402), Fault(500)], {"two": {"api_key_env": "NO_SUCH_KEY"}}, "two"),
    ],
    ids=["first", "second", "no-key"],
)
def test_error_says_which_models_key_was_missing_or_rejected(chain, faults, tables, model):
    with pytest.raises(ModelError) as caught:
        chain(*([fault] for fault in faults), **tables).ask()
    assert (caught.value.kind, caught.value.model) == ("key", model)


def test_a_fallback_model_without_its_key_is_named(chain):
    both = chain([Fault(402)], [Turn("not asked")], two={"api_key_env": "NO_SUCH_KEY"})
    assert "two: no key for two: set the variable NO_SUCH_KEY" in both.error()
    assert both.counts == [1, 0]


def test_fallback_models_of_a_fallback_model_come_after_it(chain):
    response = chain([Fault(402)], [Fault(402)], [Turn("Third.")]).ask()
    assert (response.text, response.fallback) == ("Third.", "three")
    assert response.fallback_reason == "one has no credit left; two has no credit left"


@pytest.mark.parametrize("moment", ["waiting", "switching", "asking"])
def test_a_cancel_asks_no_further_model(chain, moment):
    fault = Fault(503, headers={"retry-after": "30"}) if moment == "waiting" else Fault(402)
    both = chain([fault], [Fault(kind="silent")])
    until = {"waiting": "in 30s", "switching": "asking two", "asking": ""}[moment]

    def stop(delta: Delta) -> None:
        if until and until in delta.text:
            both.cancel.set()

    if moment == "asking":
        threading.Thread(target=lambda: both.servers[1].arrived.wait(30) and both.cancel.set(), daemon=True).start()
    response = both.ask(on_delta=stop)
    assert (response.incomplete, response.text) == (True, "")
    assert both.counts == [1, int(moment == "asking")]


def test_for_a_minute_the_first_model_is_tried_once_without_a_wait(chain):
    busy = Fault(503, headers=SOON)
    both = chain([busy] * 6 + [Turn("Back.")] + [busy] * 5, [Turn("Two.")] * 3)
    assert [both.ask().fallback for _ in range(3)] == ["two", "two", ""]
    assert both.counts == [7, 2]
    assert both.ask().text == "Two."
    assert both.counts == [12, 3]


def test_after_a_minute_the_first_model_has_all_its_tries_again(chain, monkeypatch):
    both = chain([Fault(503, headers=SOON)] * 10, [Turn("Two.")] * 2)
    both.ask()
    monkeypatch.setattr(fallback, "REST", 0.0)
    both.ask()
    assert both.counts == [10, 2]


def test_the_last_model_has_all_its_tries(chain):
    busy = Fault(503, headers=SOON)
    both = chain([busy] * 6, [busy] * 10)
    assert "one: " in both.error()
    assert "two: " in both.error()
    assert both.counts == [6, 10]


def test_sessions_of_one_process_wait_once(chain):
    both = chain([Fault(503, headers=SOON)] * 6, [Turn("Two.")] * 2)
    both.ask()
    again = both.models.open("one")
    assert again.respond(HELLO, lambda delta: None, Cancel()).fallback == "two"
    again.close()
    assert both.counts == [6, 2]


def test_a_model_that_timed_out_is_asked_last_for_a_minute():
    second_turns = [Turn("Two."), Turn("Two."), Fault(402)]
    with ModelServer([Fault(kind="silent"), Turn("Back.")]) as first, ModelServer(second_turns) as second:
        model = of_patience(first, second, idle=0.3)
        deltas: list[Delta] = []
        responses = [model.respond(HELLO, deltas.append, Cancel()) for _ in range(3)]
        model.close()
    assert [(each.text, each.fallback) for each in responses] == [("Two.", "two"), ("Two.", "two"), ("Back.", "")]
    assert responses[1].fallback_reason == "one stopped answering"
    statuses = [delta.text for delta in deltas if delta.kind == "status"]
    assert statuses == ["one stopped answering; asking two"] * 3 + ["two has no credit left; asking one"]


def test_a_refused_request_does_not_keep_the_first_model_from_the_next(chain):
    both = chain([Fault(400, "blocked", "content_filter"), Fault(503, headers=SOON), Turn("Served.")], [Turn("Two.")])
    assert [both.ask().text, both.ask().text] == ["Two.", "Served."]
    assert both.counts == [3, 1]


def test_the_fallback_model_has_its_own_key_options_and_prices(chain):
    own = {"api_key_env": "TWO_KEY", "temperature": 0.25, "price": {"input": 1, "output": 10}}
    both = chain([Fault(402)], [Turn("Two.")], two=own)
    response = both.ask()
    (sent,) = both.servers[1].requests
    assert (sent.headers["Authorization"], sent.body["temperature"]) == ("Bearer sk-of-the-second", 0.25)
    assert response.cost == pytest.approx(100e-6 + 20 * 10e-6)
    assert "sk-of-the-second" not in str(both.servers[0].requests)


def test_the_cost_of_a_withheld_answer_is_counted(chain):
    price = {"price": {"input": 1, "output": 1}}
    both = chain([Turn(finish="content_filter")], [Turn("Two.")], one=price, two=price)
    assert both.ask().cost == pytest.approx(2 * 120e-6)


def test_an_answer_withheld_by_the_last_model_is_returned(chain):
    response = chain([Fault(402)], [Turn(finish="content_filter")]).ask()
    assert (response.finish_reason, response.fallback) == ("content_filter", "two")


SIGNED = {
    "role": "assistant",
    "content": None,
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "signed-by-one"}],
    "tool_calls": [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
            "provider_specific_fields": {"thought_signature": "signed-by-one"},
        }
    ],
}


@pytest.mark.parametrize("calls", ["native", "text"])
def test_reasoning_is_sent_to_no_other_model(chain, calls):
    both = chain([Fault(402)], [Turn("Two.")], two={"calls": calls})
    messages = [*HELLO.messages, SIGNED, {"role": "tool", "tool_call_id": "c1", "content": "seen"}]
    assert both.ask(ModelRequest(messages, [TOOL])).text == "Two."
    assert "signed-by-one" not in json.dumps(both.servers[1].requests[0].body)
    assert "seen" in json.dumps(both.servers[1].requests[0].body)


class Signing:
    """A model that signs its reasoning, and records its requests."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._fails = fails

    def respond(self, request: ModelRequest, *_: object) -> ModelResponse:
        self.requests.append(request)
        if self._fails:
            raise ModelError("no credit", kind="quota", fallback_reason="has no credit left")
        return ModelResponse(
            "r", self.name, thinking=({"type": "thinking", "thinking": "Hm.", "signature": self.name},)
        )

    def close(self) -> None:
        """Do nothing."""


def test_each_model_gets_the_reasoning_back_that_it_signed():
    one, two = Signing("one", fails=True), Signing("two")
    model = FallbackModel(("one", one), {"two": lambda: two}, Rests())
    by_two = {**SIGNED, "signed_by": "two", "thinking_blocks": [{"type": "thinking", "signature": "signed-by-two"}]}
    response = model.respond(ModelRequest([*HELLO.messages, SIGNED, by_two]), lambda delta: None, Cancel())
    assert response.thinking[0]["signature"] == "two"
    for requests, own, other in ((one.requests, "by-one", "by-two"), (two.requests, "by-two", "by-one")):
        (request,) = requests
        assert "signed_by" not in json.dumps(request.messages)
        signed = [message for message in request.messages if "thinking_blocks" in message]
        assert [own in json.dumps(message["thinking_blocks"]) for message in signed] == [True]
        assert other not in json.dumps([message["thinking_blocks"] for message in signed])


def test_tools_are_described_to_the_model_that_is_asked(chain):
    both = chain([Fault(402)], [Turn("Two.")])
    described = {"openai/two": [{**TOOL, "function": {**TOOL["function"], "description": "for two"}}]}
    both.ask(ModelRequest(HELLO.messages, [TOOL], tools_for=described.__getitem__))
    assert both.servers[0].requests[0].body["tools"] == [TOOL]
    assert both.servers[1].requests[0].body["tools"] == described["openai/two"]


def test_a_provider_model_needs_no_saved_model(monkeypatch):
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0")
    with ModelServer([Fault(402)]) as server:
        one = {"model": "openai/one", "api_base": server.base_url, "fallback_models": ["scripted/demo"]}
        model = SessionModels(Settings(models={"one": one}), {}).open("one")
        assert model.respond(HELLO, lambda delta: None, Cancel()).fallback == "scripted/demo"
        model.close()


def test_a_closed_model_opens_no_other():
    opened: list[ProviderModel] = []
    with ModelServer([Fault(402)]) as first, ModelServer([Turn("not asked")]) as second:
        one = ProviderModel("openai/one", api_base=first.base_url)

        def two() -> ProviderModel:
            model.close()
            opened.append(ProviderModel("openai/two", api_base=second.base_url))
            return opened[-1]

        model = FallbackModel(("one", one), {"two": two}, Rests())
        with pytest.raises(ModelError, match=r"one: .* two: "):
            model.respond(HELLO, lambda delta: None, Cancel())
    assert second.requests == []
