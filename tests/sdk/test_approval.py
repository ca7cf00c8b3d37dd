"""Approval by functions of the caller: they decide what the session asks about, and nothing else."""

import asyncio

import pytest

from tests.sdk.fake_model import FakeModel, calls, says
from workbench import tool
from workbench.protocol.events import ActionDecided
from workbench.session.actions.decide import CommandError


@tool
def note(text: str) -> str:
    """Take a note."""
    return f"noted {text}"


@tool(read_only=True)
def peek() -> str:
    """Look without changing anything."""
    return "all is well"


def asked(agent_with, approval, **options):
    """Return an agent that takes a note, the approval requests, and the agent's model."""
    requests = []

    def approve(request):
        requests.append(request)
        if isinstance(approval, Exception):
            raise approval
        return approval(request) if callable(approval) else approval

    model = FakeModel(calls(("peek", {}), ("note", {"text": "a"})), says("ok"), says("later"))
    return agent_with(model, [note, peek], approve=approve, **options), requests, model


def test_a_request_has_what_the_screen_would_show(agent_with):
    agent, requests, model = asked(agent_with, True)
    assert agent.run_sync("go").text == "ok"
    (request,) = requests
    assert (request.tool, request.arguments, request.agent) == ("note", {"text": "a"}, "")
    assert (request.risk, request.reasons) == ("HIGH", ("the tool is marked as destructive",))
    assert "medium" in request.rule
    assert request.fingerprint
    assert model.results == ["all is well", "noted a"]


async def _later(request):
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize(
    ("approval", "result"),
    [
        (True, "noted a"),
        (_later, "noted a"),
        ({"text": "b"}, "noted b"),
        ({"text": "a"}, "noted a"),
        (False, "rejected"),
        ("Ask me first.", "Ask me first."),
    ],
    ids=["yes", "async", "edited", "same", "no", "reason"],
)
def test_the_answer_of_the_function_decides(agent_with, approval, result):
    agent, requests, model = asked(agent_with, approval)
    assert agent.run_sync("go").text == "ok"
    assert result in model.results[1]
    is_changed = approval == {"text": "b"}  # a change that is HIGH is shown again
    assert [request.arguments for request in requests] == [{"text": "a"}, *([{"text": "b"}] if is_changed else [])]


@pytest.mark.parametrize("approval", [None, ...], ids=["none", "no function"])
def test_without_an_answer_the_question_stays_open(agent_with, approval):
    agent, _, model = asked(agent_with, None)
    if approval is ...:
        agent = agent_with(model, [note, peek])
    result = agent.run_sync("go")
    assert (result.reason, result.is_done, len(model.requests)) == ("question", False, 1)
    assert str(result) == '[question] HIGH: note {"text": "a"} waits for an approval'
    assert agent.run_sync().reason == "question"


@pytest.mark.parametrize("approval", [LookupError("no"), 3, ["yes"]], ids=["raises", "number", "list"])
def test_a_function_that_fails_approves_nothing(agent_with, approval):
    agent, _, model = asked(agent_with, approval)
    with pytest.raises((LookupError, TypeError)):
        agent.run_sync("go")
    assert not [event for event in agent.events() if isinstance(event, ActionDecided) and event.by == "person"]
    assert len(model.requests) == 1


def test_a_question_that_stayed_open_is_asked_again(agent_with):
    answers = [None, True]
    agent, requests, _ = asked(agent_with, lambda request: answers.pop(0))
    assert agent.run_sync("go").reason == "question"
    assert agent.run_sync().text == "ok"
    assert [request.action_id for request in requests] == [requests[0].action_id] * 2


def test_arguments_that_do_not_fit_are_refused(agent_with):
    agent, _, _ = asked(agent_with, {"colour": "red"})
    with pytest.raises(CommandError, match="do not fit"):
        agent.run_sync("go")


def test_a_rule_that_denies_is_stronger_than_the_function(agent_with, local_sandbox):
    local_sandbox.locations.config.mkdir(parents=True)
    local_sandbox.locations.rules_file.write_text('[[deny]]\ntool = "note"\n')
    agent, requests, model = asked(agent_with, True)
    agent.run_sync("go")
    assert requests == []
    assert "noted" not in model.results[1]


@pytest.mark.parametrize(("mode", "count"), [("ask", 1), ("medium", 1), ("high", 1), ("never", 0)])
def test_the_mode_says_what_is_asked_about(agent_with, mode, count):
    agent, requests, _ = asked(agent_with, True, mode=mode)
    agent.run_sync("go")
    assert len(requests) == count


def test_files_are_approved_with_their_change_in_view(agent_with, local_sandbox):
    path = local_sandbox.project / "a.txt"
    requests = []

    def approve(request):
        requests.append(request)
        return True

    create = {"command": "create", "path": str(path), "file_text": "hello\n", "security_risk": "MEDIUM"}
    agent = agent_with(
        FakeModel(calls(("str_replace_editor", create)), says("ok")),
        ["str_replace_editor"],
        approve=approve,
        mode="ask",
    )
    agent.run_sync("go")
    ((delta,),) = [request.preview for request in requests]
    assert (delta.before, delta.after) == (None, "hello\n")
    assert path.read_text() == "hello\n"


def test_questions_of_the_agent_go_to_the_other_function(agent_with):
    question = {"question": "Which one?", "options": ["red", "blue"]}
    model = FakeModel(calls(("ask_human", question)), says("ok"))
    agent = agent_with(model, ["ask_human"], answer=lambda text, options: f"{text} {options[1]}")
    assert agent.run_sync("go").text == "ok"
    assert "Which one? blue" in model.results[0]
    open_agent = agent_with(FakeModel(calls(("ask_human", question))), ["ask_human"])
    result = open_agent.run_sync("go")
    assert (result.reason, str(result)) == ("question", "[question] the agent asks: Which one?")


@pytest.mark.parametrize("approval", [True, None], ids=["yes", "open"])
def test_a_sub_agent_asks_the_same_function(agent_with, approval):
    requests = []

    def approve(request):
        requests.append(request)
        return True if request.tool == "delegate" else approval

    task = {"agent": "helper", "inputs": "Take a note."}
    model = FakeModel(calls(("delegate", task)), calls(("note", {"text": "a"})), says("noted"), says("ok"))
    agent = agent_with(model, [note, "delegate"], approve=approve)
    result = agent.run_sync("go")
    assert ("note", "helper") in [(request.tool, request.agent) for request in requests]
    assert result.reason == ("waiting" if approval else "question")
    if not approval:
        assert str(result) == "[question] a sub-agent waits for an approval"
        approval = True
        assert agent.run_sync().text == "ok"
