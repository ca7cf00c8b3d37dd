"""Whatever a hook prints has a meaning or is a failure; nothing that it prints raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.hooks import answer, claude
from workbench.hooks.occurrence import Occurrence
from workbench.hooks.runner import HookRun
from workbench.protocol.events import ActionProposed

CALL = ActionProposed(action_id="a", response_id="r", call_id="a", tool="execute_bash", arguments={"command": "ls"})
ABOUT = Occurrence("before_action", "s", "/w", "medium", CALL, CALL)
NAMES = st.sampled_from([
    *("decision", "reason", "arguments", "context", "message", "continue", "stopReason", "systemMessage"),
    *("hookSpecificOutput", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"),
    *("behavior", "command", "x"),
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["approve", "allow", "deny"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def answers(output: str, status: int = 0) -> list:
    run = HookRun(status, output, "on stderr")
    return [answer.answer_of(run), claude.answer_of(run, ABOUT)]


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_object_is_an_answer_or_a_failure(values):
    for each in answers(json.dumps(values)):
        assert each.decision in ("", "approve", "ask", "deny", "change")
        assert not (each.failure and each.decision)
        assert each.arguments is None or isinstance(each.arguments, dict)


@given(st.text(), st.integers(-64, 255))
def test_any_output_and_exit_code_is_an_answer_or_a_failure(output, status):
    for each in answers(output, status):
        assert (each.decision == "deny") == (status == 2)
        assert bool(each.failure) or status in (0, 2)


@pytest.mark.parametrize("depth", [60, 900, 100_000])
def test_arguments_that_are_nested_too_deeply_are_a_failure(depth):
    deep = '{"arguments": {"command": ' + '{"a":' * depth + "1" + "}" * depth + "}}"
    each = answers(deep)[0]
    assert each.failure
    assert each.arguments is None
