"""The container of a session on the first line and on the page `/sandbox`: it is named only as what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.protocol.live import EngineState
from workbench.tui.widgets.status_line import status_text
from workbench.view.reducer import apply
from workbench.view.sandbox import sandbox_text
from workbench.view.state import SessionState


def state_of(phase: str, failure: str = "", image: str = "python:3.12") -> SessionState:
    state = SessionState(model="acme/large", sandbox="off")
    event = EngineState(state="idle", container=image, container_phase=phase, container_failure=failure)
    apply(state, event)
    return state


def first_line(state: SessionState) -> str:
    return status_text(state, Path("/srv/shop"), "main", 120).plain


@pytest.mark.parametrize(
    ("phase", "says"),
    [("starting", "container python:3.12 starting"), ("up", "container python:3.12 "), ("failed", "no container")],
)
def test_the_first_line_names_the_container_and_whether_it_is_up(phase: str, says: str):
    line = first_line(state_of(phase)) + " "
    assert says in line
    assert "sandbox" not in line


def test_a_state_without_a_container_leaves_it_as_it_is():
    state = state_of("up")
    apply(state, EngineState(state="thinking"))
    assert "container python:3.12" in first_line(state)


def test_the_name_of_an_image_is_cut_and_cannot_deceive():
    line = first_line(state_of("up", image="registry.example/" + "x" * 200 + "\u202eevil:2"))
    assert "\u202e" not in line
    assert "evil:2" in line
    assert len(line) == 120


def test_the_page_says_why_there_is_no_container():
    page = sandbox_text(state_of("failed", "the image x has no bash, which commands need"))
    assert "could not be started" in page
    assert "no command runs without it" in page
    assert "The reason: the image x has no bash, which commands need." in page


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ("ask", "only hosts that you allow"),
        ("none", "Network: none."),
        ("open", "every host unasked"),
        ("", "`network`"),
    ],
)
def test_the_page_says_what_commands_reach(network: str, says: str):
    state = state_of("up")
    apply(state, EngineState(state="idle", container="x", container_phase="up", container_network=network))
    assert says in sandbox_text(state)


def test_the_shell_is_not_said_to_be_in_the_sandbox_of_python_code():
    state = state_of("up")
    state.sandbox = "workspace-write"
    assert "the shell" not in sandbox_text(state)


def test_the_page_tells_the_container_of_commands_from_the_sandbox_of_python_code():
    page = sandbox_text(state_of("up"))
    assert page.startswith("Commands run in a container of python:3.12, which is up.")
    assert "do not run in the container.\n\nThere is no sandbox" in page
