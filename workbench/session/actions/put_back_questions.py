"""Asks the user whether to put back protected files that appeared while a command ran and were moved aside.

The question is a step of the call that has just run, like a question about a host; while it waits, the files stay moved
aside. It is asked in every mode but "Don't ask"; in that mode, and without a user, the files stay where they are.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from workbench.config.modes import NEVER
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionEvent,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Verdict,
)
from workbench.protocol.presentation import Presentation
from workbench.sandbox.set_aside import SetAside
from workbench.session.actions.call_questions import CallQuestion
from workbench.session.actions.decide import CommandError
from workbench.session.actions.host_questions import HostQuestions
from workbench.session.actions.run import CallContext
from workbench.session.results import answered, not_run
from workbench.session.state import State
from workbench.text import counted, cut_middle, first_line, visible_path, well_formed
from workbench.tools.ask_human.question import PUT_BACK, SANDBOX

_MOST_CHARACTERS: Final = 20_000
"""The most characters of the files' content that a question shows."""
_MOST_NAMES: Final = 200
_LONGEST: Final = 200
_INTERVAL: Final = 0.25
"""Seconds between two checks whether the run was interrupted."""
_RULE: Final = "a new protected file"
_PRESENTATION: Final = Presentation(
    icon="±",
    noun="protected files",
    activity="waiting",
    headline="put back {files:exact}",
    title="Put back {files:exact}[, which appeared while {command:exact} ran]",
    subject="files",
    result="head",
)


class PutBackQuestion(CallQuestion):
    """A question about files that were moved aside, which waits for the user."""

    def __init__(self, assessed: ActionAssessed) -> None:
        super().__init__(assessed.action_id)
        self.note = ""
        self._fingerprint = assessed.fingerprint

    def decide(
        self, action_id: str, verdict: Verdict, *, fingerprint: str, note: str = "", always: Any = None, **fields: Any
    ) -> None:
        """Accept the user's decision. Raises CommandError."""
        if verdict == "edited" or always is not None:
            raise CommandError("files are put back as they are, or not at all, each time")
        if fingerprint != self._fingerprint and verdict != "rejected":
            raise CommandError("the action has changed since it was shown; look at it again")
        self.note = well_formed(note).strip()
        self._finish(verdict)


class PutBackQuestions:
    """Asks these questions for one session; those of a sub-agent are asked in the session that front ends show."""

    def __init__(self, hosts: HostQuestions, state: State) -> None:
        self._hosts = hosts
        self._state = state

    def ask(
        self, proposed: ActionProposed, moved: Sequence[SetAside], call: CallContext, cancel: Cancel
    ) -> bool | None:
        """Return whether the user wants the files back; None if no user is asked, or if the run is interrupted
        first.
        """
        if not self._hosts.has_user or self._state.mode == NEVER or cancel.is_set:
            return None
        context = self._hosts.context(call)
        step, assessed = put_back_steps(proposed, moved, self._state.workspace)
        question, waiting = PutBackQuestion(assessed), self._hosts.root()
        waiting.open(question)  # before it is shown, because the answer may come immediately
        try:
            _report(context, step, assessed)
            while question.verdict is None and not cancel.is_set:
                question.wait(_INTERVAL)
        finally:
            waiting.closed(question)
        _report(context, *_decision(question))
        return None if question.verdict is None else question.verdict == "approved"


def put_back_steps(
    proposed: ActionProposed, moved: Sequence[SetAside], workspace: str
) -> tuple[ActionProposed, ActionAssessed]:
    """Return the step in which the files `moved` would be put back, and the question about it."""
    action_id = f"put-back-{uuid.uuid4().hex[:12]}"
    content, is_whole = _content(moved)
    arguments = {
        "files": ", ".join(os.path.relpath(each.path, workspace) for each in moved),
        "command": cut_middle(first_line(str(proposed.arguments.get("command", "")).strip(), _LONGEST), _LONGEST),
        "directory": str(Path(moved[0].saved).parent),
        "content": content,
    }
    step = ActionProposed(
        action_id=action_id,
        response_id="",
        call_id=action_id,
        tool=PUT_BACK,
        arguments={name: value for name, value in arguments.items() if value},
        presentation=_PRESENTATION,
    )
    more = () if is_whole else ("not all of their content is shown here",)
    assessed = ActionAssessed(
        action_id=action_id,
        risk="HIGH",
        reasons=(
            "protected files appeared that no question showed; they decide what programs run",
            "approve to put them back, reject to let them stay where they are now",
            *more,
        ),
        rule=_RULE,
        fingerprint=uuid.uuid4().hex,
        no_always="each such file is asked about",
    )
    return step, assessed


def _decision(question: PutBackQuestion) -> Iterator[ActionEvent]:
    """Yield the user's decision and its result."""
    name, verdict = question.action_id, question.verdict
    if verdict is not None:
        yield ActionDecided(
            action_id=name, verdict=verdict, by="person", note=question.note, fingerprint=question._fingerprint
        )
    if verdict == "approved":
        yield ActionStarted(action_id=name)
        yield answered(name, "They are put back.")
    else:
        yield not_run(name, "They were not put back.")


def _report(context: CallContext, *events: ActionEvent) -> None:
    for event in events:
        context.report(DelegateStep(action_id=context.action_id, agent=SANDBOX, session="", event=event))


def _content(moved: Sequence[SetAside]) -> tuple[str, bool]:
    """Return a text with the names and sizes of the files, then their contents; and whether nothing is omitted."""
    files = [file for each in moved for file in _files(each)]
    # All names come first, so that a long file cannot push another one out of the question.
    names = [_entry(name, path) for name, path in files[:_MOST_NAMES]]
    names += [f"and {counted(len(files) - _MOST_NAMES, 'more file')}"] if len(files) > _MOST_NAMES else []
    text = ""
    for name, path in files:
        text += "" if path.is_symlink() else f"\n{name}:\n{_text(path)}\n"
        if len(text) > _MOST_CHARACTERS:
            break
    is_whole = len(files) <= _MOST_NAMES and len(text) <= _MOST_CHARACTERS
    return "\n".join((*names, text[:_MOST_CHARACTERS])).rstrip(), is_whole


def _files(moved: SetAside) -> list[tuple[str, Path]]:
    """Return the files and links that were moved from one path, each with its name relative to that path's
    directory.
    """
    saved, top = Path(moved.saved), Path(moved.path).name
    if saved.is_symlink() or not saved.is_dir():
        return [(visible_path(top), saved)]
    paths = [path for path in sorted(saved.rglob("*")) if path.is_symlink() or not path.is_dir()]
    return [(visible_path(f"{top}/{path.relative_to(saved)}"), path) for path in paths]


def _entry(name: str, path: Path) -> str:
    """Return the name of a file with its size, or of a link with its target."""
    try:
        more = f" → {visible_path(str(path.readlink()))}" if path.is_symlink() else ""
        more = more or f" · {counted(path.lstat().st_size, 'byte')}"
    except OSError:
        more = ""
    return f"{cut_middle(name, _LONGEST)}{cut_middle(more, _LONGEST)}"


def _text(path: Path) -> str:
    try:
        return _beginning(path).removesuffix("\n")
    except OSError:
        return "it cannot be read"


def _beginning(path: Path) -> str:
    """Return the beginning of a regular file. Raises OSError for anything else: reading a pipe might never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ESTALE, "It is not a regular file", str(path))
        return file.read(_MOST_CHARACTERS + 1)
