"""The offline model: its scripts are checked when loaded, and its answers depend on the messages alone."""

import time
from pathlib import Path

import pytest

from workbench.agent.summary import summary_request
from workbench.llm.factory import open_model
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse

SCRIPT = """
[[turn]]
name = "look"
text = "I look into {workspace}."
reasoning = "First a look."
usage = { input = 7, output = 3 }
[[turn.call]]
tool = "execute_bash"
risk = "HIGH"
summary = "List"
arguments = { command = "ls {workspace}" }

[[turn]]
name = "refused"
when = { rejected = true, note = "tests" }
after = "look"
text = "You say: {note}"

[[turn]]
name = "broken"
after = "look"
when = { result = "No such FILE" }
text = "It is not there."

[[turn]]
name = "seen"
after = "look"
when = { rejected = false, waiting = false }
text = "I saw it."

[[turn]]
name = "told"
after = "any"
when = { user = "again", waiting = true }
text = "You wrote {user}."
"""
START = [{"role": "system", "content": "Rules.\nWorking directory: /the/place\n"}, {"role": "user", "content": "go"}]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0")


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "some.toml"
    path.write_text(SCRIPT)
    return f"scripted/{path}"


def ask(name: str, messages: list[dict[str, object]]) -> ModelResponse:
    return open_model(name).respond(ModelRequest(messages), lambda delta: None, Cancel())


def after_look(response: ModelResponse, result: str) -> list[dict[str, object]]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in response.tool_calls
    ]
    answer = {"role": "assistant", "content": response.text, "tool_calls": calls}
    return [*START, answer, {"role": "tool", "tool_call_id": response.tool_calls[0].id, "content": result}]


def test_turn_is_streamed_with_its_placeholders_filled(script):
    deltas: list[Delta] = []
    response = open_model(script).respond(ModelRequest(START), deltas.append, Cancel())
    assert response.text == "I look into /the/place."
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == response.text
    assert "".join(delta.text for delta in deltas if delta.kind == "reasoning") == response.reasoning == "First a look."
    (call,) = response.tool_calls
    assert call.arguments == '{"security_risk": "HIGH", "summary": "List", "command": "ls /the/place"}'
    assert (response.usage.input, response.usage.output, response.cost) == (7, 3, 0.0)
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("a file", "I saw it."),
        ("ls: no such file", "It is not there."),
        ("The user rejected this action; it was not run. The user's note: leave the tests", "You say: leave the"),
        ("The user rejected this action; it was not run.", "My script is over"),
    ],
)
def test_next_turn_depends_on_events_even_in_a_new_process(script, result, text):
    first = ask(script, START)
    messages = after_look(first, result)
    assert text in ask(script, messages).text
    assert ask(script, messages).id == ask(script, messages).id


def test_users_message_can_select_the_turn(script):
    messages = [*after_look(ask(script, START), "a file"), {"role": "user", "content": "And AGAIN"}]
    assert ask(script, messages).text == "You wrote And AGAIN."


def test_finished_script_says_so_and_waits(script):
    messages = [*after_look(ask(script, START), "a file"), {"role": "assistant", "content": "I saw it."}]
    response = ask(script, [*messages, {"role": "user", "content": "thanks"}])
    assert "My script is over" in response.text
    assert (response.tool_calls, response.finish_reason) == ((), "stop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no [[turn]]"),
        ("[[turn]\n", "not usable"),
        ('[[turn]]\ntext = "x"', "a turn needs a name"),
        ('[[turn]]\nname = "two words"', "a turn needs a name"),
        ('[[turn]]\nname = "any"', "a turn needs a name"),
        ('[[turn]]\nname = "a"\n[[turn]]\nname = "a"', "two turns are named 'a'"),
        ('[[turn]]\nname = "a"\nafter = "b"', "turn 'a' comes after 'b', which does not exist"),
        ('[[turn]]\nname = "a"\ntxt = "x"', "turn 'a' has 'txt'; allowed are after, call,"),
        ('[[turn]]\nname = "a"\nwhen = { reject = true }', "`when` of turn 'a' has 'reject'"),
        ('[[turn]]\nname = "a"\nwhen = { rejected = "yes" }', "`rejected` of turn 'a' must be true or false"),
        ('[[turn]]\nname = "a"\nwhen = { note = 3 }', "`note` of turn 'a' must be a text"),
        ('[[turn]]\nname = "a"\nwhen = 3', "`when` of turn 'a' must be a table"),
        ('[[turn]]\nname = "a"\nafter = 3', "`after` of turn 'a' must be a name or a list of names"),
        ('[[turn]]\nname = "a"\nusage = { input = "many" }', "`input` of turn 'a' must be a whole number"),
        ('[[turn]]\nname = "a"\ncall = 3', "`call` of turn 'a' must be a list of tables"),
        ('[[turn]]\nname = "a"\n[[turn.call]]\nrisk = "LOW"', "a call of turn 'a' names no tool"),
        ('[[turn]]\nname = "a"\n[[turn.call]]\ntool = "t"\narguments = 3', "the arguments of 't' in turn 'a'"),
        ("turn = 3", "`turn` of the script must be a list of tables"),
        ("turn = [3]", "a turn must be a table"),
    ],
)
def test_error_in_a_script_is_one_line_that_names_it(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        open_model(f"scripted/{path}")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["scripted/nobody", "scripted//no/such/file.toml", "scripted/", "scripted/../demo"])
def test_missing_script_is_reported(name):
    with pytest.raises(ModelError, match="script") as caught:
        open_model(name)
    assert "\n" not in str(caught.value)


def test_pace_comes_from_the_environment(script, monkeypatch):
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0.5")
    began = time.monotonic()
    ask(script, START)
    assert time.monotonic() - began >= 0.3


def test_invalid_pace_is_the_default_and_a_cancel_ends_a_turn(script, monkeypatch):
    monkeypatch.setenv("OHW_SCRIPT_PACE", "quick")
    cancel = Cancel()
    cancel.set()
    response = open_model(script).respond(ModelRequest(START), lambda delta: None, cancel)
    assert (response.text, response.tool_calls, response.finish_reason) == ("", (), "interrupted")
    assert response.incomplete


def summed_up(script_name: str) -> str:
    middle = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "I look."}]
    return open_model(script_name).respond(summary_request(middle, 1_000), lambda delta: None, Cancel()).text


def test_script_has_a_separate_turn_for_the_summary(tmp_path):
    path = tmp_path / "sums.toml"
    path.write_text(SCRIPT + '[[turn]]\nname = "sum"\nafter = "summary"\ntext = "GOAL: to look"')
    assert summed_up(f"scripted/{path}") == "GOAL: to look"


def test_script_without_a_summary_turn_says_so_and_plays_no_other(script):
    assert "no summary" in summed_up(script)


def test_response_numbers_continue_after_a_summary(script):
    calls = [{"id": "s41-look-1", "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}]
    later = [{"role": "assistant", "content": None, "tool_calls": calls}, {"role": "tool", "content": "x"}]
    request = ModelRequest([*START, *later], tools=[{"type": "function"}])
    response = open_model(script).respond(request, lambda delta: None, Cancel())
    assert response.id == "scripted-42-seen"
