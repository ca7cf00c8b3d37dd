"""While a fallback model answers, the state of the engine names that model and its server, not the session's own."""

from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.live import EngineState, TextDelta
from workbench.session.session_factory import start_session

BUSY = Fault(529, headers={"retry-after-ms": "1"})


def host(server: ModelServer) -> str:
    return server.base_url.split("/")[2]


@pytest.mark.parametrize("is_user_writing", [False, True], ids=["quiet", "message meanwhile"])
def test_state_names_the_model_that_is_asked_and_its_server(tmp_path, is_user_writing):
    states: list[EngineState] = []
    opened: Any = None

    def on_live(event: Any) -> None:
        if isinstance(event, EngineState):
            states.append(event)
        if isinstance(event, TextDelta) and is_user_writing and opened.session.state.queued == 0:
            opened.session.send("and this")
            states.append(opened.session.state)

    with ModelServer([BUSY] * 5) as first, ModelServer([Turn("Hello from two."), Turn("Again.")]) as second:
        models = {
            "one": {"model": "openai/one", "api_base": first.base_url, "fallback_models": ["two"]},
            "two": {"model": "openai/two", "api_base": second.base_url},
        }
        where = Locations(*(tmp_path / name for name in ("c", "d", "s", "r")))
        project = tmp_path / "project"
        project.mkdir()
        settings = Settings(model="one", models=models)
        opened = start_session(
            where, settings, project, "20260101-a-1111", on_event=lambda event: None, on_live=on_live
        )
        try:
            opened.session.send("go")
            while opened.session.step():
                pass
            thinking = [(state.model, state.address) for state in states if state.state == "thinking"]
            after = opened.session.state
        finally:
            opened.close()
    assert set(thinking) == {("", host(first)), ("two", host(second))}
    assert thinking[0] == ("", host(first))
    assert thinking[-1] == ("two", host(second))
    assert (after.state, after.model, after.address) == ("idle", "", host(first))
