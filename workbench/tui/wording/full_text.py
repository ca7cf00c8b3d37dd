"""The whole of a question as plain text that can be searched, with what the person made of it; for the pager."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from workbench.tui.approving.proposal import Proposal
from workbench.tui.diff.standing import dotted
from workbench.tui.fold.state import ActionItem
from workbench.tui.wording.explain import argument_lines, one_line, what_runs
from workbench.tui.wording.stale import changed_by_others, wanted_by_agent
from workbench.tui.wording.summaries import short_path

_YOURS = "As you changed it, this is written:"
_PROPOSED = "As the agent proposed it:"


def full_text(action: ActionItem, proposal: Proposal | None = None) -> str:
    """What runs, what the model thought and said; what the person changed stands before what was proposed."""
    return "\n".join(_lines(action, proposal))


def _lines(action: ActionItem, proposal: Proposal | None) -> Iterator[str]:
    if proposal is not None and proposal.arguments is not None:
        yield from (line.text for line in what_runs(action, proposal.arguments))
        yield from ("", _PROPOSED)
    yield from (line.text for line in what_runs(action))
    if action.preview:
        yield from _changed_by_person(action, proposal)
        yield from ("", *(line.text for line in argument_lines(action.arguments)))
    if action.stale:
        both = (*changed_by_others(action, None), *wanted_by_agent(action))
        yield from ("", *(f"{sign}{one_line(text)}" for sign, text, _ in both))
    for label, text in (("Summary", action.summary), ("Thought", action.thought)):
        if text:
            yield from ("", f"{label}:", *(one_line(line) for line in text.split("\n")))


def _changed_by_person(action: ActionItem, proposal: Proposal | None) -> Iterator[str]:
    """What is written with the person's choice of hunks and their own text; nothing where that is the proposal."""
    if proposal is None or not (proposal.out or proposal.edited):
        return
    yield from ("", _YOURS)
    before = {delta.path: delta.before for delta in action.preview}
    for path, text in proposal.written():
        if text == before[path]:
            yield f"{one_line(short_path(path, action.working_dir))}: stays as it is"
            continue
        old, new = ((side or "").splitlines() for side in (before[path], text))
        name = short_path(path, action.working_dir)
        lines = difflib.unified_diff(old, new, name, name, lineterm="")
        yield from (one_line(line if line.startswith("+") else dotted(line)) for line in lines)
    yield from ("", _PROPOSED)
