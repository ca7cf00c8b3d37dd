"""The panel of a question at the bottom of the screen: title, reasons, what will run, its diff, note, key hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widgets import Input, Static

from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.dock import LEAST_ROWS, LOW, LOWEST_DOCKED, SIDES, DockedPanel, docked_rows, hint_line
from workbench.tui.widgets.inline_editor import InlineEditor
from workbench.tui.widgets.question_text import QuestionText
from workbench.tui.widgets.strips import as_content, update_content
from workbench.view.approval.proposal import Proposal
from workbench.view.approval.questions import Asked
from workbench.view.diff.document import CONTEXT
from workbench.view.formatting.approval import StyledLine, risk_badge
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.formatting.question import (
    NEWS,
    batch_lines,
    body_rows,
    is_titled,
    reason_lines,
    styled_rows,
    title_facts,
    title_words,
)
from workbench.view.state import ActionItem
from workbench.view.wrapping import Line, clip, wrapped

_AGENT_ROWS: Final = 2
_SMALLEST_DIFF: Final = 4
_LEAST_CONTEXT: Final = 1
_ROWS_FOR_BOTH: Final = 14
"""Number of free rows needed to keep the text being edited in sight above the editor."""


class QuestionDiff(DiffView):
    """The diff of a question: hunks have numbers and states, one is always chosen, and a skipped one takes one line."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(proposal.edited_files(), wrapped=True, id="diff")
        self.can_focus = False
        self._proposal = proposal
        self.page.is_numbered = True
        self.page.skipped = frozenset(proposal.out)
        self.current = 0 if proposal.count else -1

    def on_mount(self) -> None:
        """Name the user's own keys in the diff."""
        expand, include = key_of(self.app, "approval.fold", "enter"), key_of(self.app, "approval.take", "space")
        self.marks = replace(
            self.marks,
            edited=self._proposal.edited,
            expand=f"{expand.capitalize()} expand",
            include=f"{include.capitalize()} includes it",
        )

    def show_skipped(self) -> None:
        """Show which hunks are skipped now."""
        self._change(lambda: setattr(self.page, "skipped", frozenset(self._proposal.out)))

    def show_proposal(self) -> None:
        """Show which hunks are skipped, and the texts that the user edited."""
        self.marks = replace(self.marks, edited=self._proposal.edited)
        self.page.skipped = frozenset(self._proposal.out)
        self.show_edited(self._proposal.edited_files())

    def set_context(self, lines: int) -> None:
        """Set how many unchanged lines are shown around a hunk; the layout changes with the next call of `lay_out`."""
        if self.page.context != lines:
            self.page.context = lines
            self.page.restart(rows_changed=False)
            self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Choose a hunk in sight if the chosen one is not, so that no key concerns one that the user cannot see."""
        super().watch_scroll_y(old_value, new_value)
        geometry, top = self.geometry, int(new_value)
        rows = {geometry.at(y)[0] for y in range(top, min(top + self.size.height, geometry.height))}
        visible_hunks = {geometry.hunk_at(row) for row in rows} - {-1}
        if visible_hunks and self.current not in visible_hunks:
            self.current = min(visible_hunks, key=lambda hunk: abs(hunk - self.current))
            self.refresh()
            self.post_message(self.Stepped(self.current, geometry.hunk_count))


class ReadingProgress:
    """Records which parts of a question the user has seen to their end, by id."""

    def __init__(self) -> None:
        self._done: set[str] = set()
        self._unread: set[int] = set()
        """The hunks that were skipped before their lines had been seen."""
        self._skipped: frozenset[int] = frozenset()

    def check(self, scrollers: Sequence[ScrollView], rows: Mapping[str, int]) -> bool:
        """Record which parts have been seen to their end; return whether all have. `rows` are their heights."""
        for scroller in scrollers:
            name, height = scroller.id or "", scroller.size.height
            is_settled = 0 < height <= rows.get(name, 0) and scroller.virtual_size.height > 0
            if is_settled and scroller.scroll_offset.y + height >= scroller.virtual_size.height:
                self._done.add(name)
        return all(scroller.id in self._done for scroller in scrollers)

    def note_skipped(self, skipped: frozenset[int]) -> None:
        """Require the diff to be read again if a hunk is included that was skipped before its lines had been seen."""
        if "diff" not in self._done:
            self._unread |= skipped
        if included := self._unread & (self._skipped - skipped):
            self._unread -= included
            self._done.discard("diff")
        self._skipped = skipped


class QuestionBox(DockedPanel):
    """Shows one waiting action in full, with parts that scroll if they do not fit. It decides nothing itself."""

    DEFAULT_CSS = ""

    def __init__(
        self, asked: Asked, proposal: Proposal, reserve_rows: Callable[[int], None] = lambda rows: None
    ) -> None:
        """`reserve_rows` is called with the number of rows that the panel covers."""
        action = asked.action
        super().__init__(classes=f"-{action.risk.lower()}")
        self.reserve_rows = reserve_rows
        self._asked = asked
        self._action = action
        self._proposal = proposal
        self._waiting = tuple(asked.waiting)
        self._at, self._total = asked.position, asked.total
        self._is_titled = is_titled(action)
        self._agent, self._title, self._batch = Static(id="agent"), Static(id="title"), Static(id="batch")
        self._why = QuestionText(self._why_rows, id="why")
        self._what = QuestionText(self._what_rows, id="what")
        self.diff = QuestionDiff(proposal) if action.preview else None
        """The diff of the files to be written, or None if the action writes none."""
        self._keys = Static(id="keys")
        self._hints: tuple[KeyHint, ...] = ()
        self._context_for: tuple[Size, bool] | None = None
        self._inner = 4
        self._rows: dict[str, int] = {}
        self._progress = ReadingProgress()
        self.is_full = False
        """Whether the panel takes the whole screen."""
        self.note = asked.note
        """The current note for the model."""

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self._agent
        yield self._title
        yield self._why
        yield self._batch
        yield self._what
        if self.diff is not None:
            yield self.diff
        yield Static(id="note-said")
        yield self._keys

    def on_mount(self) -> None:
        """Lay out before the first frame, with the final sizes."""
        self.fit(self.app.size)

    @property
    def is_writing(self) -> bool:
        """Whether the input line for the note is open."""
        return any(note.display for note in self.query("#note"))

    async def open_note(self, placeholder: str) -> None:
        """Open the input line for the note, which receives the keys as text from then on."""
        note = next(iter(self.query("#note").results(Input)), None)
        if note is None:  # created when needed: a question must not wait for parts that it does not show
            note = Input(id="note", select_on_focus=False)
            await self.mount(note, before=self._keys)
        note.placeholder = placeholder
        note.value = self.note
        note.display = True
        self.screen.set_focus(note)
        self.fit(self.screen.size)

    def close_note(self, note: str | None) -> None:
        """Go back to the question, with a new note or, for None, the old one."""
        if note is not None:
            self.note = note
        self.query("#note").set(display=False)
        self.screen.set_focus(None)
        self.fit(self.screen.size)

    @property
    def editor(self) -> InlineEditor | None:
        """The open editor of a hunk or of the arguments, or None."""
        return next((editor for editor in self.query(InlineEditor) if editor.display), None)

    async def open_editor(self, text: str, title: str) -> None:
        """Open the editor on a text inside the question."""
        editor = next(iter(self.query(InlineEditor)), None)
        if editor is None:  # created with the first edit and only hidden after it
            editor = InlineEditor()
            await self.mount(editor, before=self.query_one("#note-said"))
        editor.open(text, title)
        self.fit(self.screen.size)

    def close_editor(self) -> None:
        """Go back to the question."""
        self.query(InlineEditor).set(display=False)
        self.screen.set_focus(None)
        self.fit(self.screen.size)

    def show_proposal(self) -> None:
        """Show the proposal as the user changed it."""
        self._what.forget()
        if self.diff is not None:
            self.diff.show_proposal()
        self.fit(self.screen.size)

    def show_batch(self, waiting: Sequence[ActionItem]) -> None:
        """Show the actions that are waiting now."""
        self._waiting, self._total = tuple(waiting), len(waiting)
        self._at = [item.action_id for item in waiting].index(self._action.action_id) + 1
        self.fit(self.screen.size)

    def show_keys(self, hints: tuple[KeyHint, ...]) -> None:
        """Show the active keys."""
        if hints != self._hints:
            self._hints = hints
            if self.is_mounted:
                update_content(self._keys, hint_line(self.app, hints, self._inner))

    @property
    def may_grow(self) -> bool:
        """Whether the whole screen would show more of the question."""
        return self.is_full or self.diff is not None or self._what.rows_at(self._inner) > self._rows.get("what", 0)

    def toggle_full(self) -> None:
        """Take the whole screen, or only its lower part again."""
        self.is_full = not self.is_full
        self.fit(self.screen.size)

    def fit(self, screen: Size) -> None:
        """Resize the panel to its content, at most to the rows that it may cover."""
        inner = self._inner = max(4, screen.width - SIDES)
        self._progress.note_skipped(frozenset(self._proposal.out))
        update_content(self._keys, hint_line(self.app, self._hints, inner))
        update_content(self.query_one("#note-said", Static), Content(f"Note: {visible(self.note, lines=False)}"))
        self.query_one("#note-said").display = bool(self.note) and not self.is_writing
        self._show_title(screen.width - 1)
        fixed = 2 + int(bool(self.note) or self.is_writing) + self._show_agent(screen, inner)
        fixed += self._show_batch(screen, inner)
        rows_free = max(3, docked_rows(screen.height, is_full=self.is_full) - fixed)
        is_editing = self.editor is not None
        self._why.display = not is_editing
        self._what.display = not is_editing and self._what.rows_at(inner) > 0
        if self.diff is not None:
            self.diff.display = not is_editing
        used = self._share_with_editor(rows_free, inner) if is_editing else self._share(rows_free, inner, screen)
        used = _fill(self._keys, used, rows_free if self.is_full else LEAST_ROWS - fixed)
        self.reserve_rows(min(screen.height, fixed + used))

    def _show_title(self, width: int) -> None:
        """Show the title; if it cuts off the path, the text below it has the whole path."""
        position = f"{self._at} of {self._total}  " if self._total > 1 else ""
        line, is_whole = title_line(self._action, self._proposal, position, width)
        if self._is_titled != (is_titled(self._action) and is_whole):
            self._is_titled = not self._is_titled
            self._what.forget()
        update_content(self._title, line)

    def _show_agent(self, screen: Size, width: int) -> int:
        """Show the agent's words if the conversation is covered; return the rows that they take."""
        is_covered = (
            docked_rows(screen.height, is_full=self.is_full) == screen.height and screen.height >= 2 * _AGENT_ROWS + 6
        )
        rows = agent_rows(self._action, width) if is_covered else []
        self._agent.display = bool(rows)
        update_content(self._agent, Content("\n".join(rows)))
        return len(rows)

    def _show_batch(self, screen: Size, width: int) -> int:
        """Show the waiting actions if there are several; return the rows that this takes."""
        self._batch.display = len(self._waiting) > 1 and self.editor is None and screen.height >= LOWEST_DOCKED
        if not self._batch.display:
            return 0
        lines = batch_lines(self._waiting, self._at - 1, width)
        gap = int(screen.height > LOW)
        self._batch.styles.margin = (gap, 1, 0, 1)
        update_content(self._batch, as_content(lines))
        return len(lines) + gap

    def _why_rows(self, width: int) -> list[Line]:
        directory, workspace = self._action.working_dir, self._asked.workspace
        return reason_lines(
            self._action, self._asked.mode, width, directory=directory if directory != workspace else ""
        )

    def _what_rows(self, width: int) -> list[Line]:
        news = styled_rows([StyledLine(line, NEWS) for line in self._asked.news.splitlines()], width)
        path: list[Line] = []
        if is_titled(self._action) and not self._is_titled:
            path = styled_rows([StyledLine(title_words(self._action), "command")], width)
        titled = is_titled(self._action)
        return [*news, *path, *body_rows(self._action, self._proposal.arguments, width, is_titled=titled)]

    def _share_with_editor(self, rows_free: int, inner: int) -> int:
        """Share the rows between the editor and, if both fit, the text being edited above it; return their number."""
        editor, above = self.editor, self.diff or self._what
        if editor is None:
            return 0
        above.display = rows_free >= _ROWS_FOR_BOTH
        rows = max(1, min(rows_free // 2, above.rows_at(inner))) if above.display else 0
        above.styles.height = max(1, rows)
        editor_rows = min(rows_free - rows, max(5, editor.document.line_count + 3))
        editor.styles.height = editor_rows
        return rows + editor_rows

    def _share(self, rows_free: int, inner: int, screen: Size) -> int:
        """Share the rows between the reasons, the command and the diff; return how many they take."""
        gap = int(screen.height > LOW)
        why, what = self._why.rows_at(inner), self._what.rows_at(inner)
        why = min(why, max(1, rows_free // 3))
        gaps = gap * (1 + int(what > 0) + int(self.diff is not None))
        rest = max(1, rows_free - why - gaps)
        what_rows = min(what, rest if self.diff is None else max(1, rest - _SMALLEST_DIFF))
        _set_rows(self._why, why, inner)
        _set_rows(self._what, what_rows, inner)
        self._why.styles.margin = (0, 1)
        self._what.styles.margin = (gap, 1, 0, 1)
        self._keys.styles.margin = (gap, 1, 0, 1)
        self._rows = {"what": what_rows}
        used = why + what_rows + gaps
        if self.diff is not None:
            self.diff.styles.margin = (gap, 1, 0, 1)
            used += self._share_diff(self.diff, max(_SMALLEST_DIFF, rest - what_rows), inner + 1, screen)
        return used

    def _share_diff(self, diff: QuestionDiff, most: int, width: int, screen: Size) -> int:
        """Give the diff its rows, with fewer unchanged lines if it does not fit; return the rows that it takes."""
        if self._context_for != (screen, self.is_full):  # the lines stay when a hunk is skipped
            self._context_for = (screen, self.is_full)
            diff.set_context(CONTEXT)
            if diff.page.is_longer(most, width, screen.width):
                diff.set_context(_LEAST_CONTEXT)
        self._rows["diff"] = diff.foresee(width, most)
        diff.styles.height = self._rows["diff"]
        return self._rows["diff"]

    def scrollers(self) -> Iterator[ScrollView]:
        """Yield the parts that the user must have seen to their end, from top to bottom."""
        if self._what.rows_at(self._inner):
            yield self._what
        if self.diff is not None:
            yield self.diff

    def check_read(self) -> bool:
        """Record which parts have been seen to their end; return whether all have."""
        return self._progress.check(list(self.scrollers()), self._rows)

    def scroll_on(self, lines: int) -> None:
        """Scroll down the first part that is not at its end, or up the last one that is not at its top."""
        _scroll(list(self.scrollers()), lines)


def title_line(action: ActionItem, proposal: Proposal, position: str, width: int) -> tuple[Content, bool]:
    """Return `2 of 3  Edit src/pricing.py     +6 −3 · 3 hunks   ◆ MEDIUM`, and whether it is complete."""
    badge = f" {risk_badge(action.risk)} "
    title = title_words(action)
    free = width - 3 - len(position) - len(badge)
    facts = _facts_beside(title_facts(action, proposal), free - cell_len(title) - 2)
    cut = clip(title, max(4, free - cell_len(facts) - 2))
    start = Content.assemble((position, "$dim"), (cut, "bold"))
    end = Content.assemble((facts, "$dim"), "  ", (badge, f"bold $background on $risk-{action.risk.lower()}"))
    gap = " " * max(1, width - 2 - start.cell_length - end.cell_length)
    return Content.assemble(start, gap, end), cut == title


def _facts_beside(facts: str, free: int) -> str:
    """Return as many of the facts as fit beside the title, the first ones first."""
    while facts and cell_len(facts) > free:
        facts = facts.rpartition(" · ")[0]
    return facts


def agent_rows(action: ActionItem, width: int) -> list[str]:
    """Return the first lines of what the agent wrote before the action."""
    thought = visible(" ".join(action.thought.split()), lines=False)
    rows = wrapped(thought[: width * (_AGENT_ROWS + 1)], width) if thought else []
    first = [row.rstrip() for row in rows[:_AGENT_ROWS]]
    return [*first[:-1], clip(f"{first[-1]} …", width)] if len(rows) > _AGENT_ROWS else first


def _fill(keys: Static, used: int, least: int) -> int:
    """Leave rows blank above the key hints if fewer than `least` are used; return how many are used then."""
    margin = keys.styles.margin
    keys.styles.margin = (margin.top + max(0, least - used), *margin[1:])
    return max(used, least)


def _set_rows(text: QuestionText, rows: int, width: int) -> None:
    text.styles.height = rows
    text.lay_out(width)


def _scroll(scrollers: Sequence[ScrollView], lines: int) -> None:
    for scroller in scrollers if lines > 0 else scrollers[::-1]:
        y = scroller.scroll_offset.y
        if (y < scroller.max_scroll_y) if lines > 0 else y > 0:
            scroller.scroll_to(y=y + lines, animate=False)
            return
