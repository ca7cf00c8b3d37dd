"""Actions that are prepared before the user can be asked about them: a draft is merged by the session's model.

Agent, session and tools are the real ones; the model plays its answers. tests/llm has the same over HTTP.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.session.fake_agent import calls, says
from workbench.agent.agent import Agent
from workbench.agent.model_query import ModelCompletion
from workbench.llm.factory import open_model
from workbench.llm.model import Cancel, Model, ModelError, ModelRequest, ModelResponse
from workbench.protocol.events import SessionStarted
from workbench.session.actions.decide import CommandError
from workbench.session.session import Session, SessionParts
from workbench.session.storage.store import Store
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools

TEXT = "def g():\n    return 2\n"
NEW = "def g():\n    return 3\n"
MERGED = says("<merged>\ndef g():\n    return 3\n</merged>")
END = calls(("finish", {"message": "Done."}))
TOOLS = ("edit_file", "str_replace_editor", "finish")


class PlayedModel:
    """Plays its answers: a response, an error, or a function of the request's cancel flag."""

    name = "fake/one"

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers
        self.requests: list[ModelRequest] = []

    def respond(self, request: ModelRequest, on_delta: Any, cancel: Cancel) -> ModelResponse:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return answer(cancel) if callable(answer) else answer

    def close(self) -> None:
        """Do nothing: no resource is open."""


class Bench:
    """A session with a real agent on a directory with one file."""

    def __init__(self, directory: Path, model: Callable[[], Model], mode: str) -> None:
        self.directory, self.open_one, self.file = directory, model, directory / "a.py"
        if not self.file.exists():
            self.file.write_text(TEXT)
            with Store.create(directory / "one.ohw") as store:
                store.append(SessionStarted(id="one", workspace=str(directory), model="m", mode=mode))  # type: ignore[arg-type]
        self.open()

    def open(self) -> None:
        self.model = self.open_one()
        context = ToolContext(str(self.directory), self.directory / "state", ModelCompletion(lambda: self.model))
        self.tools = open_tools(context, TOOLS)
        self.store = Store.open(self.directory / "one.ohw")
        self.session = Session(SessionParts(self.store, Agent(self.model, self.tools, self.directory), self.tools))
        self.session.recover()

    def close(self) -> None:
        self.session.close()
        self.store.close()
        self.model.close()
        for tool in self.tools.values():
            tool.close()

    def run(self) -> None:
        for _ in range(50):
            if not self.session.step():
                return
        raise AssertionError("the session never comes to rest")

    def decide(self, verdict: str = "approved", **more: Any) -> None:
        question = self.session.question
        assert question is not None
        more.setdefault("fingerprint", question.assessed.fingerprint)
        self.session.decide(question.proposed.action_id, verdict, **more)  # type: ignore[arg-type]
        self.run()

    def kinds(self) -> list[str]:
        return [event.kind for event in self.store.events()]

    def results(self) -> list[Any]:
        return [event for event in self.store.events() if event.kind == "action_observed"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., tuple[Bench, PlayedModel]]]:
    with ExitStack() as stack:

        def start(*answers: Any, mode: str = "ask") -> tuple[Bench, PlayedModel]:
            model = PlayedModel(list(answers))
            one = Bench(tmp_path, lambda: model, mode)
            stack.callback(one.close)
            return one, model

        yield start


def draft(*paths: Path, **more: Any) -> ModelResponse:
    return calls(*(("edit_file", {"path": str(path), "content": "return 3", **more}, "MEDIUM") for path in paths))


def test_shown_draft_is_written_and_merged_by_the_model_once(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), MERGED, END)
    one.session.send("go")
    one.run()
    question = one.session.question
    (change,) = question.assessed.preview
    assert (change.path, change.before, change.after) == (str(one.file), TEXT, NEW)
    assert one.file.read_text() == TEXT
    one.decide()
    assert one.file.read_text() == NEW
    assert len(model.requests) == 3  # the call, the merge, the end
    asked = model.requests[1]
    assert [message["role"] for message in asked.messages] == ["user"]
    assert not asked.tools
    assert one.results()[0].observation["model"] == "fake/one"
    assert one.results()[0].files_changed[0].after == NEW


def test_draft_allowed_by_the_mode_is_merged_and_written(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), MERGED, END, mode="never")
    one.session.send("go")
    one.run()
    assert one.file.read_text() == NEW
    assert len(model.requests) == 3


def test_rejected_draft_writes_nothing(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), MERGED, END)
    one.session.send("go")
    one.run()
    one.decide("rejected", note="not so")
    assert one.file.read_text() == TEXT
    assert "not so" in str(model.requests[2].messages)


def test_plan_mode_asks_no_model_for_a_draft(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), END, mode="plan")
    one.session.send("go")
    one.run()
    assert one.file.read_text() == TEXT
    assert len(model.requests) == 2


def test_draft_that_cannot_be_merged_is_not_asked_about(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), says("no."), draft(tmp_path / "a.py", start=9), END)
    one.session.send("go")
    one.run()
    assert one.session.ended == "finished"
    first, second, _ = one.results()
    assert "gave no merged text" in first.observation["content"][0]["text"]
    assert "`start` is 9" in second.observation["content"][0]["text"]
    assert not first.ran
    assert "action_started" not in one.kinds()[: one.kinds().index("action_observed")]
    assert one.file.read_text() == TEXT
    assert len(model.requests) == 4


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ModelError("the key is wrong."), "could not be asked: the key is wrong."),
        (says("<merged>\ndef g():", finish_reason="length"), "length limit"),
        (says("<merged>\ndef g():\n    return 3\n</merged>", incomplete=True), "broke off"),
    ],
)
def test_failed_model_call_for_a_draft_is_a_result_with_the_reason(bench, tmp_path, answer, message):
    one, _ = bench(draft(tmp_path / "a.py"), answer, END, mode="never")
    one.session.send("go")
    one.run()
    assert message in one.results()[0].observation["content"][0]["text"]
    assert "Nothing was changed" in one.results()[0].observation["content"][0]["text"]
    assert one.file.read_text() == TEXT


def test_interrupt_ends_the_model_call_for_a_draft(bench, tmp_path):
    began = threading.Event()

    def stall(cancel: Cancel) -> ModelResponse:
        began.set()
        assert cancel.wait(60)
        return says("<merged>", incomplete=True)

    one, _ = bench(draft(tmp_path / "a.py"), stall, END)
    one.session.send("go")
    assert one.session.step()
    worker = threading.Thread(target=one.session.step)
    worker.start()
    assert began.wait(30)
    one.session.set(mode="high")  # commands of the user never wait for the draft
    one.session.interrupt()
    worker.join(30)
    assert not worker.is_alive()
    assert one.file.read_text() == TEXT
    assert one.kinds()[-2:] == ["action_observed", "run_ended"]
    assert "action_started" not in one.kinds()
    assert one.session.phase == "idle"


def test_open_question_is_decided_after_a_restart_without_a_new_draft(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), MERGED, END)
    one.session.send("go")
    one.run()
    one.close()
    one.open()
    one.decide()
    assert one.file.read_text() == NEW
    assert len(model.requests) == 3


def test_file_changed_during_the_question_is_merged_and_asked_again(bench, tmp_path):
    other = says("<merged>\ndef g():\n    return 33\n</merged>")
    one, model = bench(draft(tmp_path / "a.py"), MERGED, other, END)
    one.session.send("go")
    one.run()
    one.file.write_text(TEXT.replace("2", "22"))
    one.decide()
    (change,) = one.session.question.assessed.preview
    assert (change.before, change.after) == (TEXT.replace("2", "22"), TEXT.replace("2", "33"))
    assert one.file.read_text() == TEXT.replace("2", "22")
    one.decide()
    assert one.file.read_text() == TEXT.replace("2", "33")
    assert len(model.requests) == 4


def test_draft_rewritten_by_the_user_cannot_be_approved_unseen(bench, tmp_path):
    one, model = bench(draft(tmp_path / "a.py"), MERGED, END)
    one.session.send("go")
    one.run()
    with pytest.raises(CommandError, match="not known yet"):
        one.decide("edited", edited={"path": str(one.file), "content": "return 4"})
    assert one.session.question is not None
    assert len(model.requests) == 2


def test_two_drafts_of_one_response_are_merged_and_asked_in_turn(bench, tmp_path):
    (tmp_path / "b.py").write_text("x = 1\n")
    both = draft(tmp_path / "a.py", tmp_path / "b.py")
    one, model = bench(both, MERGED, says("<merged>\nx = 2\n</merged>"), END)
    one.session.send("go")
    one.run()
    assert len(model.requests) == 2
    one.decide()
    assert len(model.requests) == 3
    one.decide()
    assert (one.file.read_text(), (tmp_path / "b.py").read_text()) == (NEW, "x = 2\n")


def test_offline_model_merges_drafts_too(tmp_path, monkeypatch):
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0")
    script = tmp_path / "script.toml"
    script.write_text(f"""
        [[turn]]
        name = "merge"
        after = "any"
        when = {{ user = "<draft>" }}
        text = "<merged>\\ndef g():\\n    return 3\\n</merged>"
        [[turn]]
        name = "edit"
        after = "start"
        [[turn.call]]
        tool = "edit_file"
        risk = "LOW"
        arguments = {{ path = "{tmp_path}/a.py", content = "return 3" }}
        [[turn]]
        name = "undo"
        [[turn.call]]
        tool = "str_replace_editor"
        risk = "LOW"
        arguments = {{ command = "undo_edit", path = "{tmp_path}/a.py" }}
        [[turn]]
        name = "end"
        [[turn.call]]
        tool = "finish"
        arguments = {{ message = "Done." }}
    """)
    one = Bench(tmp_path, lambda: open_model(f"scripted/{script}"), "never")
    try:
        one.session.send("go")
        one.run()
        edited, undone, _ = one.results()
        assert edited.files_changed[0].after == NEW
        assert undone.files_changed[0].after == TEXT
        assert one.file.read_text() == TEXT
    finally:
        one.close()
