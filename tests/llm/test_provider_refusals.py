"""Errors of providers about a full window or withheld content, each in its own words, in a whole session."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.model_turns import Fault, Turn
from tests.llm.test_fault_catalogue import Trial, check_usable, note, trial
from workbench.llm.errors import Fault as CallFault
from workbench.llm.errors import fault_from_text
from workbench.llm.model import Cancel, ContextOverflow
from workbench.llm.retry import with_retries

__all__ = ["trial"]

FULL = {
    "openai": "This model's maximum context length is 8192 tokens. Your messages have 9000 tokens.",
    "openai responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "anthropic output": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "gemini": "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    "vertex": "Unable to submit: the input token count is 1200000 but model only supports up to 1048576.",
    "bedrock": "Input is too long for requested model.",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "vllm": "The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that "
    "`max_model_len` is no smaller than the number of text tokens.",
    "vllm v1": "This model's maximum context length is 4096 tokens and your request has 5000 input tokens.",
    "sglang": "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
    "moonshot": "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
    "zhipu": "Prompt exceeds max length",
    "zhipu chinese": "Prompt 超长",
    "zhipu tokens": "tokens in request more than max tokens allowed, request tokens: 140000, max tokens: 128000",
    "dashscope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    "copilot": "prompt token count of 136064 exceeds the limit of 128000",
    "copilot code": "too much (model_max_prompt_tokens_exceeded)",
    "tgi": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens "
    "and 100 `max_new_tokens`",
    "tgi inputs": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",
    "ollama": "the input length exceeds the context length",
    "llama.cpp": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "llama.cpp older": "the request exceeds the available context size. try increasing the context size or enable "
    "context shift",
    "lm studio": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with "
    "context length of only 4096 tokens, which is not enough.",
    "lm studio newer": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "mistral": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "cohere": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
    "deepseek": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
    "groq": "Please reduce the length of the messages or completion.",
    "cerebras": "Please reduce the length of the messages or completion. Current length is 8300 while limit is 8192",
    "together": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.",
    "fireworks": "The prompt is too long: 140000, model maximum context length: 131071",
    "openrouter": "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens",
    "minimax": "invalid params, context window exceeds limit (2013)",
    "watsonx": "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
    "volcengine": "Input length 140000 exceeds the maximum length 131072",
    "github": "Request body too large for gpt-4o model. Max size: 8000 tokens. (tokens_limit_reached)",
}


@pytest.mark.parametrize("status", [400, 413, 422, 500, None])
@pytest.mark.parametrize("words", FULL.values(), ids=FULL)
def test_error_texts_of_a_full_window_are_recognized(words, status):
    assert fault_from_text(words, status).kind == "context"


@pytest.mark.parametrize(
    ("words", "status", "kind"),
    [
        ("Rate limit reached: tokens per minute (TPM): Limit 30000, Requested 31000.", 429, "rate"),
        ("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", 400, "other"),
        ("Invalid value for temperature: exceeds 2", 400, "other"),
        ("The server had an error while processing your request", 500, "busy"),
        ("tool description exceeds limit of 1024 characters", 400, "other"),
    ],
)
def test_other_limits_are_not_taken_for_a_full_window(words, status, kind):
    assert fault_from_text(words, status).kind == kind


@dataclass(frozen=True)
class PlainError(Fault):
    """An error whose body is not OpenAI's: a bare sentence, as Ollama and TGI send it."""

    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def error(self) -> Any:
        return self.message


WORDS = ["xai", "vllm", "moonshot", "zhipu", "dashscope", "copilot", "tgi", "llama.cpp"]


def full(words: str, shape: type[Fault]) -> Fault:
    return shape(422 if words == "tgi" else 400, FULL[words])


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("shape", [Fault, PlainError])
def test_full_window_is_recognized_on_every_route(serve, words, shape):
    with pytest.raises(ContextOverflow):
        serve(full(words, shape)).ask()


@pytest.mark.parametrize("shape", [Fault, PlainError])
def test_full_window_triggers_condensing(trial, shape):
    steps = [Turn(calls=(note(f"n{number}"),)) for number in range(8)]
    turns = (*steps, full("vllm", shape), Turn("a summary of it all"), Turn("and on it goes"))
    d: Trial = trial(*turns).ask()
    assert d.kinds().count("history_condensed") == 1
    assert d.answers[-1].text == "and on it goes"
    check_usable(d)


def test_response_withheld_before_its_start_is_reported_and_not_retried(trial):
    d = trial(Turn("", finish="content_filter")).ask()
    assert d.end[0] == "error"
    assert "the provider's content filter ended the answer before its first word" in d.end[1]
    assert len(d.server.requests) == 1
    check_usable(d)


def test_response_withheld_in_the_middle_keeps_its_text_and_is_reported(trial):
    d = trial(Turn("The first half and", finish="content_filter")).ask()
    assert d.answers[0].text == "The first half and"
    assert d.end[0] == "waiting"
    assert "content filter ended the answer before it was complete" in d.end[1]
    check_usable(d)


def test_call_in_a_withheld_response_does_not_run(trial):
    d = trial(Turn(calls=(note("one"), note("two")), finish="content_filter")).ask()
    assert d.notes == ["one"]
    assert "content filter" in json.dumps([result.observation for result in d.results_by_id.values()])
    check_usable(d)


@pytest.mark.parametrize(
    "words",
    [
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "Input data may contain inappropriate content. (data_inspection_failed)",
        "The request was rejected because it was considered high risk",
    ],
)
def test_conversation_refused_by_a_filter_is_explained(trial, words):
    d = trial(Fault(400, words)).ask()
    assert "does not take this conversation (content filter)" in d.end[1]
    assert "other words, or choose another model" in d.end[1]
    assert len(d.server.requests) == 1
    check_usable(d)


class Clock:
    """A clock that advances only while somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.cancel = Cancel()
        monkeypatch.setattr("workbench.llm.retry.time.monotonic", lambda: self.now)
        monkeypatch.setattr(self.cancel, "wait", self.wait)

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False


@pytest.mark.parametrize(("took", "asked", "limit"), [(0, None, 30), (12, None, 30), (40, None, 30), (0, 25, 120)])
def test_retries_end_in_time_however_long_each_takes(monkeypatch, took, asked, limit):
    clock, begun = Clock(monkeypatch), []

    def call() -> None:
        begun.append(clock.now)
        clock.now += took
        raise CallFault("busy", 503, retry_after=asked)

    with pytest.raises(CallFault):
        with_retries(call, lambda delta: None, clock.cancel, tries=50)
    first_failure = begun[0] + took
    assert begun[-1] - first_failure <= limit
    assert len(begun) > 1 or took > 30


def test_requested_wait_is_counted_down_in_seconds(monkeypatch):
    clock, notices = Clock(monkeypatch), []
    faults = iter([CallFault("rate", 429, retry_after=7), None])

    def call() -> str:
        fault = next(faults)
        if fault:
            raise fault
        return "here"

    assert with_retries(call, lambda delta: notices.append(delta.text), clock.cancel) == "here"
    assert clock.now == 7
    assert [text.rpartition(" in ")[2] for text in notices] == [f"{left}s" for left in range(7, 0, -1)]


def test_excessive_wait_is_reported_at_once(trial):
    d = trial(Fault(429, headers={"retry-after": "600"})).ask()
    assert "try again in 600 s" in d.end[1]
    assert len(d.server.requests) == 1
    check_usable(d)
