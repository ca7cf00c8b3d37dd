"""A tool's own requests to the model are logged and count towards tokens, cost, limits and the list of sessions."""

from contextlib import ExitStack

import pytest

from tests.session.fake_agent import calls, says
from tests.session.long_run import NAME, locations
from workbench.config.settings import Settings
from workbench.protocol.events import ActionObserved, ActionProposed, ModelAsked, RunEnded
from workbench.protocol.usage import Usage
from workbench.session import model_keys
from workbench.session.session_factory import start_session
from workbench.session.storage.session_list import list_sessions

MERGED = "<merged>\ndef g():\n    return 3\n</merged>"
END = calls(("finish", {"message": "Done."}), cost=0.0)


class Played:
    name = "fake/one"

    def __init__(self, *answers):
        self.answers = list(answers)

    def respond(self, request, on_delta, cancel):
        return self.answers.pop(0)

    def close(self):
        """Do nothing: no resource is open."""


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """The log of a run in which a draft is merged by the model."""
    with ExitStack() as stack:

        def run(merge, *later, **limits):
            (tmp_path / "a.py").write_text("def g():\n    return 2\n")
            arguments = {"path": str(tmp_path / "a.py"), "content": "return 3"}
            edit = calls(("edit_file", arguments), usage=Usage(input=10, output=5), cost=0.25)
            model = Played(edit, merge, *later, END)
            monkeypatch.setattr(model_keys, "open_profile", lambda profile, key: model)
            settings = Settings(model="fake/one", mode="never", tools={"edit_file": True}, **limits)
            quiet = {"on_event": lambda event: None, "on_live": lambda event: None}
            made = start_session(locations(tmp_path), settings, tmp_path, NAME, **quiet)
            stack.callback(made.close)
            made.session.send("go")
            while made.session.step():
                pass
            return list(made.events())

        yield run


def merge(text=MERGED, **more):
    return says(text, **{"usage": Usage(input=400, output=30), "cost": 0.5, **more})


def asked(log):
    return [event for event in log if isinstance(event, ModelAsked)]


def test_model_call_is_logged_with_its_action(ran):
    log = ran(merge(latency=1.5))
    (event,) = asked(log)
    (edit, _) = (event for event in log if isinstance(event, ActionProposed))
    assert (event.action_id, event.model, event.cost, event.latency) == (edit.action_id, "fake/one", 0.5, 1.5)
    assert (event.usage.input, event.usage.output) == (400, 30)


def test_incomplete_response_is_charged_too(ran):
    log = ran(merge(finish_reason="length"))
    assert [event.cost for event in asked(log)] == [0.5]
    assert next(event for event in log if isinstance(event, ActionObserved)).observation["is_error"]


def test_session_list_includes_the_cost_of_such_calls(ran, tmp_path):
    ran(merge())
    (entry,) = list_sessions(locations(tmp_path))
    assert entry.cost == pytest.approx(0.75)


def test_unknown_price_makes_the_total_unknown(ran, tmp_path):
    ran(merge(cost=None))
    (entry,) = list_sessions(locations(tmp_path))
    assert entry.cost is None


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_cost": 0.6}, "$0.75 (max_cost $0.60)"),
        ({"token_limit": 400}, "445 tokens (token_limit 400)"),
    ],
)
def test_run_limit_includes_calls_by_tools(ran, limit, message):
    end = ran(merge(), **limit)[-1]
    assert isinstance(end, RunEnded)
    assert end.reason == "limit"
    assert message in end.detail
