"""Sub-agents that are other programs, inside the sandbox: what it lets them do, and how they ask about hosts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.outside_agents import OutsidePlace
from tests.session.test_outside_agents import ask, ended, write
from tests.system_packages import found_or_installed

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's, which runs on Linux"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OutsidePlace]:
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    made = OutsidePlace(home)
    yield made
    made.close()


def test_start_inside_the_sandbox_is_medium_and_it_writes_only_the_workspace(place):
    outside = place.directory.parent / "outside"
    steps = [{"shell": f"touch inside; touch {outside}"}, {"say": "Fine."}]
    place.play(steps, mode="medium", sandbox="auto")
    assert place.result == ("Fine.", False)
    (started,) = place.steps("action_assessed", "start_agent")
    assert (started.risk, started.rule) == ("MEDIUM", 'mode "Ask (medium+)", inside the sandbox')
    assert (place.directory / "inside").exists()
    assert not outside.exists()


def test_rule_of_the_user_allows_a_command_inside_the_sandbox(place):
    steps = [ask(rawInput={"command": "touch made"}), ended(), {"say": "Fine."}]
    place.play(steps, mode="medium", sandbox="auto", rules=("allow $ touch made",))
    assert place.result == ("Fine.", False)
    (decided,) = place.steps("action_decided", "execute_bash")
    assert (decided.verdict, decided.by) == ("approved", "rule")


def test_kind_that_only_reads_cannot_write_through_us_either(place):
    steps = [{"shell": "touch inside"}, {"write": write(place.directory / "new", "x")}, {"say": "I have looked."}]
    place.play(steps, mode="never", sandbox="auto", table={"read_only": True})
    assert place.result == ("I have looked.", False)
    assert list(place.directory.glob("*")) == []
    (observed,) = place.steps("action_observed", "str_replace_editor")
    assert observed.observation["is_error"]


def test_program_that_only_reads_cannot_write_even_without_asking(place):
    place.play(
        [{"shell": "touch inside"}, {"write": write(place.directory / "new", "x")}, {"say": "I have looked."}],
        mode="plan",
        sandbox="auto",
    )
    assert place.result == ("I have looked.", False)
    assert list(place.directory.glob("*")) == []
    (observed,) = place.steps("action_observed", "str_replace_editor")
    assert "in plan mode only calls that change nothing" in observed.observation["content"][0]["text"]


def request(url: str) -> dict:
    """Return a step that sends a request through the proxy of the sandbox."""
    script = (
        f'import http.client as h;c = h.HTTPConnection("127.0.0.1", 3128); c.request("GET", "{url}"); c.getresponse()'
    )
    return {"shell": f"{sys.executable} -c '{script}'"}


def test_host_that_it_wants_is_a_step_of_the_call_that_delegated(place):
    place.play([request("http://registry.example/"), {"say": "Fine."}], mode="high", sandbox="auto")
    question = place.question()
    (proposed,) = place.steps("action_proposed", "network")
    assert (proposed.arguments["host"], proposed.arguments["command"]) == ("registry.example:80", "agent helper")
    place.decide_host(question, "rejected")
    assert place.result == ("Fine.", False)


def test_private_address_that_the_settings_allow_is_asked_about(place):
    private = {"web_read": {"private": ["10.1.2.3"]}}
    steps = [request("http://10.1.2.4/"), request("http://10.1.2.3/"), {"say": "Fine."}]
    place.play(steps, mode="high", sandbox="auto", tools=private)
    question = place.question()
    (proposed,) = place.steps("action_proposed", "network")
    assert proposed.arguments["host"] == "10.1.2.3:80"
    place.decide_host(question, "rejected")
    assert place.result == ("Fine.", False)
