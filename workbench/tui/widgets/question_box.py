"""The box of a question: title, what will run, its diff, why it is asked, a line for a note, the current keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widgets import Input, Static

from workbench.text import visible
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.inline_editor import InlineEditor
from workbench.tui.widgets.question_text import BatchList, HunkLine, QuestionText
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.approval.proposal import Proposal
from workbench.view.approval.questions import Asked
from workbench.view.formatting.approval import RISK_ICONS, Hint, StyledLine, what_runs, why_asked
from workbench.view.state import ActionItem

# Columns of border, padding and scrollbar. A diff counts its own scrollbar, so it is laid out `_SPARE` columns wider
# than a text.
_SIDES = 6
_SPARE = 2
_WIDEST_TEXT = 104
_WIDEST_DIFF = 190
_SMALLEST_DIFF = 4
_ROWS_FOR_BOTH = 14
"""Number of free rows needed to keep the text being edited in sight above the editor."""


class QuestionDiff(DiffView):
    """The diff of a question: the first step goes to the first or last hunk, wherever the diff was scrolled to."""

    def action_step(self, by: int) -> None:
        """Go to the next or previous hunk."""
        if self.current < 0 and self.geometry.hunk_count:
            self.current, by = (0 if by > 0 else self.geometry.hunk_count - 1), 0
        super().action_step(by)

    def choose_in_view(self) -> None:
        """Make the hunk in view the current one, unless there is a current one."""
        if self.current < 0:
            super().action_step(1)


class QuestionBox(Vertical):
    """Shows one waiting action in full, with parts that scroll if they do not fit. It decides nothing itself."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, asked: Asked, proposal: Proposal) -> None:
        action = asked.action
        super().__init__(classes=f"-{action.risk.lower()}")
        self._action = action
        self._proposal = proposal
        self._position = _position(asked.position, asked.total)
        self._batch = BatchList(asked.waiting, asked.position - 1)
        self._hunks = HunkLine(proposal)
        self._news = [StyledLine(line, "command") for line in asked.news.splitlines()]
        self._what = QuestionText(self._what_lines(), id="what")
        self._why = QuestionText(why_asked(action, asked.mode), by_word=True, id="why")
        self._files = proposal.edited_files()
        self._keys = Static(id="keys")
        self._hints: tuple[Hint, ...] = ()
        self._titled = 0
        self._rows: dict[str, int] = {}
        self._done: set[str] = set()
        self.note = asked.note
        """The current note for the model."""

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self._batch
        yield self._what
        if self._files:
            diff = QuestionDiff(self._files, wrapped=True, id="diff")
            diff.can_focus = False
            diff.excluded = self._proposal.out
            yield diff
            yield self._hunks
        yield self._why
        yield Static(id="note-said")
        yield self._keys

    def on_mount(self) -> None:
        """Lay out before the first frame, with the final sizes."""
        self.fit(self.app.size)

    @property
    def diff(self) -> QuestionDiff | None:
        """The diff of the files to be written, or None if the action writes none."""
        try:
            return self.query_one("#diff", QuestionDiff)
        except NoMatches:
            return None

    @property
    def is_writing(self) -> bool:
        """Whether the line for the note is open."""
        return any(note.display for note in self.query("#note"))

    async def open_note(self, placeholder: str) -> None:
        """Open the line for the note, which receives the keys as text from then on."""
        note = next(iter(self.query("#note").results(Input)), None)
        if note is None:  # created when needed: a question must not wait for what it does not show
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
        self._what.set_lines(self._what_lines())
        if self.diff is not None:
            self.diff.show_edited(self._proposal.edited_files())
        self.fit(self.screen.size)

    def _what_lines(self) -> list[StyledLine]:
        return [*self._news, *what_runs(self._action, self._proposal.arguments)]

    def show_batch(self, waiting: Sequence[ActionItem]) -> None:
        """Show the actions that are waiting now."""
        at = [item.action_id for item in waiting].index(self._action.action_id)
        self._batch.show_waiting(waiting, at)
        self._position, self._titled = _position(at + 1, len(waiting)), 0
        self.fit(self.screen.size)

    def show_keys(self, hints: tuple[Hint, ...]) -> None:
        """Show the active keys."""
        if hints != self._hints:
            self._hints = hints
            if self.is_mounted:
                self.fit(self.screen.size)

    def fit(self, screen: Size) -> None:
        """Resize the box to its content, at most to the size of the screen."""
        widest = _WIDEST_DIFF if self._files else _WIDEST_TEXT
        width = min(screen.width - (2 if screen.width < 100 else 8), widest)
        inner = width - _SIDES
        lines = packed(self._hints, inner)
        update_content(self._keys, Content("\n").join(lines))
        update_content(self.query_one("#note-said", Static), Content(f"Note: {visible(self.note, lines=False)}"))
        self.query_one("#note-said").display = bool(self.note) and not self.is_writing
        fixed = 2 + len(lines) + 1 + int(bool(self.note) or self.is_writing)
        fixed += self._batch.lay_out(inner) + (self._hunks.lay_out(self.diff.current) if self.diff else 0)
        rows_free = max(6, screen.height - (2 if screen.height > 24 else 0) - fixed)
        self.styles.width = width
        if width != self._titled:
            self._titled = width
            self.border_title = _title(self._action.risk, self._position, width)
        is_editing = self.editor is not None
        self._why.display = not is_editing
        for part in (self._what, *([self.diff] if self.diff else [])):
            part.display = not is_editing
        if is_editing:
            self._share_with_editor(rows_free, inner)
        else:
            self._share(rows_free, inner)

    def _share_with_editor(self, rows_free: int, inner: int) -> None:
        """Share the rows between the editor and, if both fit, the text being edited above it."""
        editor, above = self.editor, self.diff or self._what
        if editor is None:
            return
        above.display = rows_free >= _ROWS_FOR_BOTH
        rows = min(rows_free // 2, above.rows_at(inner)) if above.display else 0
        above.styles.height = max(1, rows)
        editor.styles.height = min(rows_free - rows, max(5, editor.document.line_count + 3))

    def _share(self, rows_free: int, inner: int) -> None:
        """Share the rows between the command, the diff and the reasons."""
        why = min(self._why.rows_at(inner), max(2, rows_free // 3))
        what = self._what.rows_at(inner)
        gaps = 1 + int(bool(self._files) and rows_free > 12)
        diff = self.diff
        rest = rows_free - why - gaps
        what_rows = min(what, rest if diff is None else max(1, rest - _SMALLEST_DIFF))
        self._set_rows(self._what, what_rows, inner)
        self._set_rows(self._why, why, inner)
        self._why.styles.margin = (1, 0, 1 if rows_free > 8 else 0, 0)
        self._what.styles.margin = (0, 0, gaps - 1, 0)
        self._rows = {"what": what_rows}
        if diff is not None:
            self._rows["diff"] = diff.foresee(inner + _SPARE, max(_SMALLEST_DIFF, rest - what_rows))
            diff.styles.height = self._rows["diff"]

    def _set_rows(self, text: QuestionText, rows: int, width: int) -> None:
        text.styles.height = rows
        text.lay_out(width)

    def scrollers(self) -> Iterator[ScrollView]:
        """Yield the parts that the user must have seen to their end, from top to bottom."""
        yield self._what
        if self.diff is not None:
            yield self.diff

    def check_read(self) -> bool:
        """Record which parts have been seen to their end; return whether all have."""
        scrollers = list(self.scrollers())
        for scroller in scrollers:
            name, height = scroller.id or "", scroller.size.height
            is_settled = 0 < height <= self._rows.get(name, 0) and scroller.virtual_size.height > 0
            if is_settled and scroller.scroll_offset.y + height >= scroller.virtual_size.height:
                self._done.add(name)
        return all(scroller.id in self._done for scroller in scrollers)

    def scroll_on(self, lines: int) -> None:
        """Scroll down the first part that is not at its end, or up the last one that is not at its top."""
        _scroll(list(self.scrollers()), lines)


def _scroll(scrollers: Sequence[ScrollView], lines: int) -> None:
    for scroller in scrollers if lines > 0 else scrollers[::-1]:
        y = scroller.scroll_offset.y
        if (y < scroller.max_scroll_y) if lines > 0 else y > 0:
            scroller.scroll_to(y=y + lines, animate=False)
            return


def packed(hints: tuple[Hint, ...], width: int) -> list[Content]:
    """Return the hints on as few lines as possible, without splitting any of them."""
    lines = [Content("")]
    for key, words in hints:
        part = Content.assemble((key, "bold $primary"), f" {words}") if key else Content.styled(words, "$sign-waiting")
        if lines[-1].cell_length and lines[-1].cell_length + 3 + part.cell_length > width:
            lines.append(part)
        else:
            lines[-1] = Content("   ").join([lines[-1], part]) if lines[-1].cell_length else part
    return lines


def _position(number: int, total: int) -> str:
    return f"{number} of {total}" if total > 1 else ""


def _title(risk: str, position: str, width: int) -> Content:
    """Return `Approve? ──── 1 of 3 ── ▲ HIGH`, as wide as the box."""
    end = f" {RISK_ICONS[risk]} {risk}"
    position = f" {position} ──" if position else ""
    fill = "─" * max(1, width - 8 - len("Approve? ") - len(position) - len(end))
    return Content.assemble(
        ("Approve? ", "bold"), (fill, f"$risk-{risk.lower()}"), position, (end, f"bold $risk-{risk.lower()}")
    )
