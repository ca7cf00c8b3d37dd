"""Whatever the log holds, even a damaged one, the requests are valid for strict providers, in either form."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.request_checks import anthropic_faults, openai_faults
from tests.session.random_logs import damaged_logs, logs
from workbench.llm.call import has_calls, in_words
from workbench.llm.litellm_setup import load_litellm
from workbench.session.turn.message_history import MessageHistory, messages

SYSTEM = {"role": "system", "content": "the rules"}
ANY_LOG = st.one_of(logs, damaged_logs())


def as_anthropic(messages: list[dict]) -> list[dict]:
    """Return the messages in the form in which litellm sends them to Anthropic."""
    load_litellm()
    from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt

    return anthropic_messages_pt([dict(message) for message in messages], "claude-sonnet-4-5", "anthropic")


@settings(max_examples=500, deadline=None)
@given(ANY_LOG)
def test_openai_and_strict_compatible_servers_accept_any_log(log):
    assert openai_faults([SYSTEM, *messages(log)]) == []


@settings(max_examples=300, deadline=None)
@given(ANY_LOG)
def test_anthropic_accepts_any_log(log):
    assert anthropic_faults(as_anthropic(messages(log))) == []


@settings(max_examples=200, deadline=None)
@given(ANY_LOG, st.sets(st.integers(0, 25)))
def test_requests_are_valid_after_every_event(log, asked):
    history = MessageHistory()
    for number, event in enumerate(log):
        history.apply(event)
        if number in asked:
            assert openai_faults([SYSTEM, *history.request()]) == []
    assert openai_faults([SYSTEM, *history.request()]) == []


@settings(max_examples=200, deadline=None)
@given(ANY_LOG)
def test_history_as_text_is_valid_and_contains_no_call(log):
    summary = in_words([SYSTEM, *messages(log)])
    assert not has_calls(summary)
    assert openai_faults(summary) == []
    assert summary[0] == SYSTEM


def test_validators_reject_what_providers_reject():
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "user", "content": "go"}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "a", "content": "seen"}
    assert openai_faults([SYSTEM, asked, called, result]) == []
    for bad in (
        [],
        [called, result],
        [asked, called],
        [asked, result],
        [asked, called, asked],
        [asked, called, asked, result],
        [asked, called, result, result],
        [asked, called, result, called, result],
        [asked, {"role": "assistant", "content": " "}, asked],
        [asked, {"role": "assistant", "content": "words"}],
        [{**asked, "content": ""}],
    ):
        assert openai_faults(bad), bad
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}
    seen = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "seen"}]}
    assert anthropic_faults([asked, use, seen]) == []
    for bad in ([asked, use], [asked, seen], [asked, use, asked], [asked, asked], [use, seen], [asked, use, seen, use]):
        assert anthropic_faults(bad), bad
