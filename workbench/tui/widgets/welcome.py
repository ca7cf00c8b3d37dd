"""The text shown before the first message: where the agent works and how, examples, recent sessions, or how to set up
a model.

A first message that is being sent is shown as it will look in the conversation. The directory and the stored sessions
are read in a thread after the first frame, and only once it is known that the session is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from workbench.client.threads import in_daemon
from workbench.config.modes import MODE_NAMES
from workbench.config.settings import NO_MODEL
from workbench.text import first_line, visible, visible_path
from workbench.tui.key_names import hint_content, key_of
from workbench.tui.widgets.prompt import Prompt
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.state import SessionState
from workbench.view.wrapping import clip

_MOST_SENT = 4_000
"""Maximum number of characters of a message that are shown."""
_MOST_SESSIONS = 3
_ROWS_WITHOUT_ENTRIES = 7
_LEAST_TITLE = 20
_ROWS_OF_A_GROUP = 2
"""The heading of a group of entries and the blank line before it."""


class WelcomeEntry(NamedTuple):
    """An example task, or a recent session with its id, and when and where it was used."""

    title: str
    session_id: str = ""
    facts: str = ""


class Welcome(Widget):
    """Shows how to start this session, or the messages that are being sent; a chosen example is inserted into the
    prompt.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, id="welcome.up"),
        Binding("down", "move(1)", "Down", show=False, id="welcome.down"),
        Binding("enter", "choose", "Use it", id="welcome.choose"),
    ]

    def __init__(self, state: SessionState, has_model: bool, directory: Path) -> None:
        super().__init__(id="welcome")
        self._state = state
        self._has_model = has_model
        self._directory = directory
        self._sent: Sequence[str] = ()
        self._entries: Sequence[WelcomeEntry] = ()
        self._at = 0
        self._has_searched = False

    def show(self, sent: Sequence[str], *, is_needed: bool) -> None:
        """Show the advice, or the messages in `sent` that are being sent; hide the widget if it is not needed."""
        self.display = is_needed
        if is_needed:
            self._sent = tuple(sent)
            self.can_focus = bool(self._entries) and not sent
            self.set_class(bool(sent), "-sent")
            self.refresh(layout=True)  # the session may have brought another directory and mode
            # Not while the engine starts: the history of a resumed session is read then, and replaces this text.
            if self._has_model and not self._has_searched and self._state.work == "idle":
                self._has_searched = True
                self.run_worker(self._search())

    async def _search(self) -> None:
        """Read the directory and the stored sessions in threads."""
        from workbench.view.example_tasks import example_tasks

        tasks = await in_daemon(lambda: example_tasks(self._directory))
        sources = getattr(getattr(self.app, "switcher", None), "sources", None)
        list_sessions = sources.sessions if sources is not None else None
        past = await in_daemon(list_sessions) if list_sessions is not None else ()
        recent = [each for each in past if each.id != self._state.session_id][:_MOST_SESSIONS]
        self._entries = [
            *(WelcomeEntry(task) for task in tasks),
            *(WelcomeEntry(first_line(each.title, 60) or each.id, each.id, each.words) for each in recent),
        ]
        self.can_focus = bool(self._entries) and not self._sent
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return few enough lines for a small screen."""
        if self._sent:
            return Content("\n\n").join(map(_on_the_way, self._sent))
        lines = self._ready() if self._has_model else _advice(key_of(self.app, "demo", "f9"))
        return Content("\n").join(line.truncate(max(1, self.size.width), ellipsis=True) for line in lines)

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Use the entry that was clicked."""
        if (number := event.style.meta.get("entry")) is not None:
            await self.action_choose(number)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._at = max(0, min(len(self._visible_entries) - 1, self._at + by))
        self.refresh()

    async def action_choose(self, at: int = -1) -> None:
        """Put an example into the prompt, or resume a session: the one at the cursor unless `at` is given."""
        entries = self._visible_entries
        if not entries:
            return
        entry = entries[min(self._at if at < 0 else at, len(entries) - 1)]
        if entry.session_id:
            await self.app.run_action(f"app.session({entry.session_id!r})")
        else:
            self.screen.query_one(Prompt).type_in(entry.title)

    @property
    def _visible_entries(self) -> Sequence[WelcomeEntry]:
        """The entries for which there are rows."""
        tasks = [entry for entry in self._entries if not entry.session_id]
        rows = self.size.height - _ROWS_WITHOUT_ENTRIES
        visible_entries: list[WelcomeEntry] = []
        for group in (tasks, self._entries[len(tasks) :]):
            rows -= _ROWS_OF_A_GROUP + len(group)
            visible_entries += group if rows >= 0 else ()
        return visible_entries

    def _ready(self) -> list[Content]:
        mode = MODE_NAMES.get(self._state.mode, self._state.mode)
        model = self._state.model if self._state.model != NO_MODEL else ""
        facts = (
            ("Directory", visible_path(from_home(Path(self._state.workspace or self._directory)))),
            ("Model", visible(model, lines=False)),
            ("Mode", mode),
        )
        lines = [Content.styled("What should we work on?", "bold $primary"), Content("")]
        lines += [Content.assemble((f"{name:<11}", "$dim"), value) for name, value in facts if value]
        lines += self._offers()
        hints = Content("") if self.has_focus else hint_content(self.app, "   ".join(self._hints()))
        return [*lines, Content(""), hints]

    def _hints(self) -> list[str]:
        """Return the keys that the last line of the screen does not show."""
        has_last_line = not self.screen.has_class("-flat")
        hints = [] if has_last_line else ["{send=enter} Send", "{mode=shift+tab} Mode", "{help=f1} Help"]
        return [*hints, "Tab Examples"] if self._visible_entries else hints

    def _offers(self) -> list[Content]:
        lines: list[Content] = []
        kind: bool | None = None
        titles = max((cell_len(entry.title) for entry in self._visible_entries if entry.session_id), default=0)
        for number, entry in enumerate(self._visible_entries):
            if kind is not bool(entry.session_id):
                kind = bool(entry.session_id)
                lines += [Content(""), Content.styled("Recent sessions" if kind else "Example tasks", "$dim")]
            is_current = self.has_focus and number == self._at
            facts = visible(entry.facts, lines=False)
            available = self.size.width - 2 - (cell_len(facts) + 3 if facts else 0)
            title = clip(entry.title, max(_LEAST_TITLE, min(available, titles) if facts else available))
            line = Content.assemble(
                ("› " if is_current else "  ", "$primary"),
                (title, "bold $primary" if is_current else "$foreground"),
                (f"{' ' * max(0, min(titles, available) - cell_len(title))}   {facts}" if facts else "", "$dim"),
            )
            lines.append(line.stylize(Style.from_meta({"entry": number})))
        return lines


def _on_the_way(text: str) -> Content:
    words = visible(text[:_MOST_SENT].rstrip())
    return Content.assemble(("You", "bold $primary"), (" · sending", "$sign-waiting"), "\n", words)


def _advice(demo: str) -> list[Content]:
    ways = (
        (("/setup",), "find API keys and local servers, test and save one"),
        (("/model PROVIDER/NAME",), "choose a model, e.g. anthropic/claude-sonnet-4-5"),
        (("ohw --model PROVIDER/NAME",), "choose a model at the start"),
        ((demo, "/demo"), "no model needed: watch a scripted agent fix a bug"),
    )
    lines = [Content.styled("No model configured.", "bold $warning")]
    for names, words in ways:
        lines += [Content(""), Content(" or ").join(Content.styled(name, "bold $primary") for name in names)]
        lines.append(Content.styled(f"  {words}", "$dim"))
    return lines
