"""`--svg` and `--cast`: pictures and recordings of the real screen at any event of a session."""

import json
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tests.terminal.allowed_output import strange
from tests.terminal.screen import Screen
from tests.tui.picture_sessions import finished
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.tui.screen_export import cast, picture
from workbench.view import clock

EVIL = "\x1b]0;owned\x07 \x9b31m <b>&amp;</b> \u202egnp.exe"


@pytest.fixture(autouse=True)
def _time_goes_on():
    yield
    clock._standing.clear()


def stored(events):
    return [event for event in events if getattr(event, "seq", 0)]


def words_of(svg: str) -> str:
    return re.sub(r"\s+", " ", " ".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " "))


def test_picture_shows_the_session_at_the_given_event():
    events = stored(finished())
    early = picture(events[:12], (80, 24), "ohw-light")
    late = picture(events, (120, 40), "ohw-dark")
    assert "I look at the project" in words_of(early)
    assert "keep their sign now" not in words_of(early)
    assert "keep their sign now" in words_of(late)
    assert "url(http" not in late
    assert "@font-face" not in late


def test_picture_after_a_rewind_shows_what_counts_and_how_much_was_left():
    script = Script().start().user("Look around.")
    script.run("execute_bash", "300 files", command="ls | wc -l")
    target = script.events[-1].seq
    script.answer("There are many.").add(ev.RunEnded, reason="finished")
    script.user("Count again.").answer("As many as before.").add(ev.RunEnded, reason="finished")
    script.add(ev.Rewound, target=target)
    words = words_of(picture(script.events, (100, 30), "ohw-dark"))
    assert "300 files" in words
    assert "As many as before" not in words
    assert "1 message" in words
    assert "Enter Send" in words


def test_picture_shows_a_waiting_question():
    script = Script().start().user("clean up")
    script.ask("execute_bash", command="rm -rf build")
    words = words_of(picture(script.events, (100, 30), "ohw-dark"))
    assert "Esc Not now" in words
    assert "rm -rf build" in words


def test_recording_is_valid_and_replays_what_the_screen_showed():
    script = Script().start().user("Look around.").answer("I look **around**.")
    script.run("execute_bash", "300 files", command="ls | wc -l")
    script.run("finish", "", message="There are many.")
    events = script.events
    header, *frames = [json.loads(line) for line in cast(events, (100, 30), "ohw-dark", "A <title>")]
    assert header["version"] == 2
    assert (header["width"], header["height"], header["title"]) == (100, 30, "A <title>")
    assert isinstance(header["timestamp"], int)
    times = [at for at, _, _ in frames]
    assert times == sorted(times)
    assert all(kind == "o" and isinstance(text, str) for _, kind, text in frames)
    assert all(later - before <= 2.0 for before, later in pairwise(times))
    assert strange("".join(text for _, _, text in frames).encode()) == []
    terminal, seen = Screen(100, 30), []
    for _, _, text in frames:
        terminal.feed(text)
        seen.append(terminal.text)
    assert "What should we work on?" in seen[0]
    assert any("300 files" in each and "There are many" not in each for each in seen)
    assert "There are many." in seen[-1]


def test_recordings_and_pictures_contain_no_raw_bytes_of_a_session():
    script = Script().start(model=EVIL).user(EVIL)
    script.answer(EVIL, reasoning=EVIL)
    script.run("execute_bash", EVIL, command=EVIL)
    svg = picture(script.events, (100, 30), "ohw-dark")
    assert {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(svg).iter()} <= {
        *("svg", "style", "defs", "clipPath", "rect", "g", "circle", "text")
    }
    frames = [json.loads(line)[2] for line in list(cast(script.events, (100, 30), "ohw-dark", "x"))[1:]]
    assert strange("".join(frames).encode()) == []
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", svg)
