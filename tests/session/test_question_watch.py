"""A question whose file changes while it is open is asked again; no decision on the old content applies to the new."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, says
from workbench.llm.model import Cancel
from workbench.session.actions import question_watch
from workbench.session.session import CommandError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("old\n")
    return path


class Watched:
    """A session with one open question about a file, stepped whenever its watch wakes it, as by an engine."""

    def __init__(self, harness: Callable[..., Harness], file: Path) -> None:
        self.woken = threading.Event()
        self.d = harness(calls(("write", {"path": str(file), "text": "new\n"}, "HIGH")), says("ok"))
        self.d.session.watch.start(self.woken.set)
        self.d.session.send("go")
        self.d.run()
        assert self.d.session.phase == "deciding"

    def step_until(self, condition: Callable[[], object], seconds: float = 20) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "the question does not change"
            if self.woken.wait(0.05):
                self.woken.clear()
                self.d.session.step()

    @property
    def shown(self) -> str | None:
        (action,) = self.d.waiting()
        return action.assessed.preview[0].before

    def times_asked(self) -> int:
        return sum(event.kind == "action_assessed" for event in self.d.log())


@pytest.fixture
def watched(harness: Callable[..., Harness], file: Path) -> Watched:
    return Watched(harness, file)


def write(file: Path) -> None:
    file.write_text("mine\n")


def replace(file: Path) -> None:
    file.with_name("other").write_text("mine\n")
    file.with_name("other").replace(file)


def same_size_and_time(file: Path) -> None:
    info = file.stat()
    file.write_text("mIn\n")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


def link(file: Path) -> None:
    file.with_name("target").write_text("mine\n")
    file.unlink()
    file.symlink_to("target")


CHANGES = [write, replace, same_size_and_time, link]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changed_file_is_asked_about_again_and_the_old_decision_is_refused(watched, file, change):
    (old,) = watched.d.waiting()
    fingerprint = old.assessed.fingerprint
    change(file)
    watched.step_until(lambda: watched.shown != "old\n")
    assert watched.shown == file.read_text()
    (new,) = watched.d.waiting()
    assert any("notes.txt has changed since this was shown" in reason for reason in new.assessed.reasons)
    with pytest.raises(CommandError, match="changed since it was shown"):
        watched.d.session.decide(old.proposed.action_id, "approved", fingerprint=fingerprint)
    assert file.read_text() != "new\n"
    watched.d.decide(new)
    watched.d.run()
    assert file.read_text() == "new\n"


def test_deleted_file_is_asked_about_as_a_new_one(watched, file):
    file.unlink()
    watched.step_until(lambda: watched.shown is None)
    watched.d.answer()
    assert file.read_text() == "new\n"


def test_decision_at_the_moment_of_the_change_asks_again_before_anything_runs(watched, file):
    (old,) = watched.d.waiting()
    file.write_text("mine\n")
    watched.d.decide(old)  # the watch has not noticed yet
    watched.d.run()
    assert file.read_text() == "mine\n"
    (again,) = watched.d.waiting()
    assert again.assessed.preview[0].before == "mine\n"
    assert "approved" in again.assessed.reasons[0]


@pytest.mark.parametrize("touch", ["read", "touched", "beside", "mode_of_directory"])
def test_question_stays_as_it_is_while_its_file_has_the_same_content(watched, file, touch):
    asked = watched.times_asked()
    if touch == "read":
        file.read_text()
    elif touch == "touched":
        os.utime(file)
    elif touch == "beside":
        file.with_name("beside.txt").write_text("x")
    else:
        file.parent.chmod(0o700)
    watched.d.session.open_questions.advance(Cancel(), after_a_run=True)
    assert watched.times_asked() == asked


def test_change_between_the_assessment_and_the_first_look_is_noticed(harness, file, monkeypatch):
    """The file changes after its content was read and before the watch has looked at it."""
    follow = question_watch.QuestionWatch.follow
    changes = [lambda: file.write_text("between\n")]

    def changed_before(watch, waiting):
        if waiting and changes:
            changes.pop()()
        follow(watch, waiting)

    monkeypatch.setattr(question_watch.QuestionWatch, "follow", changed_before)
    watched = Watched(harness, file)
    watched.step_until(lambda: watched.shown == "between\n")
    assert watched.times_asked() == 2


def test_file_that_never_rests_is_asked_about_ever_less_often(file):
    """The pause doubles with each new question, and the number of questions is limited."""
    watched = question_watch._Watched("print", (str(file),), ())
    assert not watched.is_changed(0.0)
    assert watched.is_changed(0.0)
    assert not watched.is_changed(0.0)
    watched.renewals = question_watch._MOST_RENEWALS
    file.write_text("changed again\n")
    assert [watched.is_changed(0.0) for _ in range(3)] == [False] * 3


def test_thread_ends_with_the_last_question(watched, file):
    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "question-watch"]

    watched.step_until(threads)
    watched.d.answer("rejected")
    watched.step_until(lambda: not threads())
    assert file.read_text() == "old\n"
