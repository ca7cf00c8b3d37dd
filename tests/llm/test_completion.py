"""One question to a model outside of the conversation, over HTTP; and a whole session that edits by drafts."""

import threading
from pathlib import Path

import pytest

from tests.fakes.model_turns import Called, Fault, Turn, finish
from tests.llm.conftest import KEY
from workbench.agent.agent import Agent
from workbench.agent.model_query import ModelCompletion
from workbench.protocol.events import SessionStarted
from workbench.session.session import Session, SessionParts
from workbench.session.storage.store import Store
from workbench.tools import CompletionError
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools


def test_answer_includes_its_cost_and_tokens(serve):
    caller = serve(Turn("the whole answer"))
    answer = ModelCompletion(lambda: caller.model)("the question")
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("the whole answer", 100, 20)
    (request,) = caller.server.requests
    assert [(message["role"], message["content"]) for message in request.messages] == [("user", "the question")]
    assert not request.body.get("tools")


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (Turn("half of it", finish="length"), "length limit"),
        (Turn("half of it, and the connection is gone", cut_after=2), "broke off"),
        (Fault(401, f"Incorrect API key provided: {KEY}"), "could not be asked"),
    ],
)
def test_incomplete_answer_raises_an_error(serve, turn, message):
    caller = serve(turn, tries=1)
    with pytest.raises(CompletionError, match=message) as raised:
        ModelCompletion(lambda: caller.model)("the question")
    assert "Nothing was changed" in str(raised.value)
    assert KEY not in str(raised.value)


def test_no_model_means_no_answer():
    with pytest.raises(CompletionError, match="no model"):
        ModelCompletion()("the question")


def test_interrupt_ends_the_call(serve):
    caller = serve(Turn("ready"), Turn("x" * 400, cut_after=3, then="stall"))
    complete, errors = ModelCompletion(lambda: caller.model), []
    assert complete("what the first call of all loads is loaded now").text == "ready"
    caller.server.arrived.clear()

    def ask() -> None:
        try:
            complete("the question")
        except CompletionError as error:
            errors.append(str(error))

    worker = threading.Thread(target=ask)
    worker.start()
    assert caller.server.arrived.wait(60)
    complete.interrupt()
    worker.join(60)
    assert not worker.is_alive()
    assert "broke off" in errors[0]
    assert caller.server.gone.wait(60)


def test_session_edits_by_draft_and_undoes_the_edit(serve, tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text("def g():\n    return 2\n")
    draft = {"security_risk": "MEDIUM", "summary": "Draft", "path": str(path), "content": "return 3"}
    undo = {"security_risk": "LOW", "summary": "Undo", "command": "undo_edit", "path": str(path)}
    caller = serve(
        Turn(calls=(Called("edit_file", draft),)),
        Turn("<merged>\ndef g():\n    return 3\n</merged>"),
        Turn(calls=(Called("str_replace_editor", undo),)),
        finish(),
    )
    tools = open_tools(
        ToolContext(str(tmp_path), tmp_path / "state", ModelCompletion(lambda: caller.model)),
        ("edit_file", "str_replace_editor", "finish"),
    )
    with Store.create(tmp_path / "one.ohw") as store:
        store.append(SessionStarted(id="one", workspace=str(tmp_path), model="openai/fake", mode="never"))
        session = Session(SessionParts(store, Agent(caller.model, tools, tmp_path), tools))
        session.send("go")
        while session.step():
            pass
        session.close()
        edited, undone, _ = [event for event in store.events() if event.kind == "action_observed"]
    assert (edited.observation["input_tokens"], edited.files_changed[0].after) == (100, "def g():\n    return 3\n")
    assert undone.files_changed[0].after == path.read_text() == "def g():\n    return 2\n"
    assert len(caller.server.requests) == 4
