"""When a question may open, and from when on it accepts an answer."""

from __future__ import annotations

import time

import pytest
from textual import events
from textual.timer import Timer
from textual.widget import Widget

from workbench.tui.screens.question_base import QuietTime
from workbench.view.approval.questions import QuestionQueue
from workbench.view.approval.quiet_time import QUIET, Arming


def opens(queue: QuestionQueue, waiting: list[str], text: str = "", covered: bool = False) -> str | None:
    return queue.next_to_open(waiting, prompt_text=text, is_covered=covered)


def test_question_opens_if_nothing_prevents_it() -> None:
    queue = QuestionQueue()
    assert opens(queue, []) is None
    assert opens(queue, ["a", "b"]) == "a"


def test_text_in_the_prompt_or_another_screen_prevents_opening() -> None:
    queue = QuestionQueue()
    assert opens(queue, ["a"], text="stop, do not") is None
    assert opens(queue, ["a"], covered=True) is None
    assert opens(queue, ["a"]) == "a"


def test_escape_postpones_until_f8() -> None:
    queue = QuestionQueue()
    queue.postpone(["a", "b"])
    assert opens(queue, ["a", "b"]) is None
    queue.call()
    assert opens(queue, ["a", "b"], text="half a sentence") == "a"


def test_f8_never_opens_over_another_screen_but_waits_for_it_to_close() -> None:
    queue = QuestionQueue()
    queue.postpone(["a"])
    queue.call()
    assert opens(queue, ["a"], covered=True) is None
    assert opens(queue, ["a"]) == "a"


def test_f8_applies_only_to_questions_waiting_at_the_time() -> None:
    queue = QuestionQueue()
    queue.call()
    assert opens(queue, []) is None
    assert opens(queue, ["a"], text="typing") is None


def test_new_question_opens_although_older_ones_were_postponed() -> None:
    queue = QuestionQueue()
    queue.postpone(["a"])
    assert opens(queue, ["a", "b"]) == "b"


def test_next_question_of_a_batch_opens_after_the_answer() -> None:
    queue = QuestionQueue()
    assert opens(queue, ["a", "b"]) == "a"
    queue.answered("a")
    assert opens(queue, ["b"]) == "b"


def test_bell_rings_once_per_question() -> None:
    queue = QuestionQueue()
    assert queue.rings(["a"])
    assert not queue.rings(["a"])
    assert queue.rings(["a", "b"])
    assert not queue.rings([])


def test_question_accepts_answers_after_half_a_second_without_keys() -> None:
    arming = Arming()
    arming.start(10.0)
    assert not arming.key(10.0 + QUIET - 0.01)
    assert arming.key(10.0 + 2 * QUIET)


def test_each_key_restarts_the_quiet_time() -> None:
    arming = Arming()
    arming.start(10.0)
    for step in range(1, 400):
        assert not arming.key(10.0 + step * 0.005)
    assert not arming.is_armed(12.0 + QUIET - 0.1)
    assert arming.is_armed(12.0 + QUIET)


def test_checking_the_quiet_time_does_not_accept_earlier_keys() -> None:
    """After a stall the hint is drawn again before the keys of that time are handled."""
    arming = Arming()
    arming.start(10.0)
    assert arming.is_armed(12.0)
    for step in range(1, 20):
        assert not arming.key(10.0 + step * 0.05)
    assert arming.key(11.0 + QUIET)


def test_later_keys_do_not_restart_a_finished_quiet_time_but_showing_again_does() -> None:
    arming = Arming()
    arming.start(10.0)
    assert arming.key(11.0)
    assert arming.key(11.01)
    arming.start(12.0)
    assert not arming.key(12.1)


def test_invisible_question_accepts_nothing() -> None:
    assert not Arming().key(1e9)


def test_quiet_time_starts_when_visible_despite_an_earlier_key() -> None:
    arming = Arming()
    arming.start(10.0)
    assert not arming.key(9.0)
    assert not arming.is_armed(10.0 + QUIET - 0.01)


@pytest.mark.parametrize("was_shown", [True, False])
def test_keys_after_a_stall_count_only_if_they_were_shown_before(
    was_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 10.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    quiet = QuietTime(time.monotonic, lambda seconds, tick: Timer(Widget(), seconds), lambda: None)
    quiet.begin()
    for step in range(1, 6 if was_shown else 5):
        now = 10.0 + QUIET * step / 5
        warning = quiet.check()
    assert warning is was_shown
    now += 3.0
    assert quiet.accepts(events.Key("y", "y")) is was_shown


class TickRecorder:
    """A repeating timer that ticks only when a test says so, and knows whether it is paused."""

    def __init__(self) -> None:
        self.is_paused = False

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


def test_open_question_ticks_only_during_its_quiet_time() -> None:
    """An idle question costs no processor time; whatever starts the quiet time again also starts the ticks."""
    now, timer, ticks, hints = 10.0, TickRecorder(), [], []

    def every(seconds, tick):
        ticks.append(tick)
        return timer

    quiet = QuietTime(lambda: now, every, lambda: hints.append(quiet.check()))
    quiet.begin()
    for start_again in (lambda: None, quiet.begin, quiet.restart):
        start_again()
        ticks[0]()
        assert not timer.is_paused
        now += QUIET
        ticks[0]()
        assert (timer.is_paused, hints[-1]) == (True, True)
    assert len(ticks) == 1


def test_key_that_comes_too_early_keeps_the_ticks() -> None:
    now, timer = 10.0, TickRecorder()
    quiet = QuietTime(lambda: now, lambda seconds, tick: timer, lambda: None)
    quiet.begin()
    timer.pause()
    assert not quiet.accepts(events.Key("y", "y"))
    assert not timer.is_paused
