"""The help screen (F1): a search field, the keys active at the current focus, and the guides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input, Markdown, OptionList
from textual.widgets.option_list import Option

from workbench.tui.key_names import Group, hint_content, key_groups, keys_lines

GUIDES = Path(__file__).parents[2] / "guide"
_WITH_TOPICS: Final = 60
"""Columns of the screen from which the list of topics is shown."""
_KEYS: Final = "↑↓ Topic   {help.side=tab} Text   {help.close=escape} Close"
SUMMARIES: Final = {
    "start": "The first start, the demo, one task from start to end",
    "keys": "The keys of the prompt, the timeline and the diff, and how to change them",
    "approving": "Modes, questions about actions, and what Always saves",
    "reviewing": "The diff viewer: comments, staging, reverting",
    "models": "Choose and save models; API keys, failed calls, fallbacks",
    "settings": "Every setting, where it is saved, and themes",
    "sessions": "Resume, search, fork and export sessions",
    "rules": "Allow, ask about or deny all actions of one kind",
    "tools": "Built-in tools, sub-agents, and tools of your own",
    "safety": "What is guaranteed, and what is not",
    "sandbox": "What the agent's commands can change, read and reach",
    "api": "Run the agent from a Python program",
    "batch": "Run many tasks with several models and attempts",
    "browser": "Let the agent use pages in a headless browser",
    "containers": "Run the agent's commands in a container",
    "editors": "Use the agent in an editor (Agent Client Protocol)",
    "extending": "Add instructions, commands and skills",
    "hooks": "Run programs of your own at events of a session",
    "mcp": "Add tools of MCP servers",
    "openapi": "Make the operations of a web service tools",
    "python": "Let the agent run Python code",
    "serve": "Show a session in a browser tab",
    "shell": "Completion, the manual page, updates",
    "ssh": "Work in a directory of another machine",
    "telemetry": "Send traces of runs to OpenTelemetry",
    "terminals": "Plain mode, and what the terminal's window shows",
    "time": "Look back, compare sessions, find who wrote a line",
    "versions": "Go back to an earlier state of the files",
    "web": "Let the agent read web pages",
}
"""One line about each guide, by its file name without suffix: the guides that come first, then the others by name."""


def topics() -> dict[str, str]:
    """Return the titles of the guides by file name without suffix, in the order of the help."""
    titles = {path.stem: _title(path) for path in GUIDES.glob("*.md")}
    return {name: titles[name] for name in SUMMARIES if name in titles}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def guide_summaries() -> dict[str, str]:
    """Return one line about each guide, by title."""
    return {title: SUMMARIES[name] for name, title in topics().items()}


class KeyList(Widget):
    """The list of keys and guides, fitted to the width."""

    def __init__(self, groups: Sequence[Group]) -> None:
        super().__init__(id="help-keys")
        self._all = self._groups = groups
        self._guides = guide_summaries()

    def search(self, query: str) -> bool:
        """Show only the keys and guides with every word of the query; return whether there are any."""
        words = query.lower().split()

        def matches(*parts: str) -> bool:
            return all(word in " ".join(parts).lower() for word in words)

        self._groups = [Group(each.title, [row for row in each.rows if matches(*row)]) for each in self._all]
        self._guides = {title: text for title, text in guide_summaries().items() if matches(title, text)}
        self.refresh(layout=True)
        return bool(self._guides) or any(group.rows for group in self._groups)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines at this width."""
        return len(keys_lines(self._groups, self._guides, width))

    def render(self) -> Content:
        """Return all lines of the list."""
        return Content("\n").join(keys_lines(self._groups, self._guides, self.size.width))


class HelpScreen(ModalScreen[None]):
    """Shows a search field, below it a list of topics on the left and the text of the current one on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "leave", "Close", id="help.close"),
        Binding("tab", "app.focus_next", "Other side", id="help.side", show=False),
        Binding("down", "topic(1)", "Next topic", id="help.next", show=False),
        Binding("up", "topic(-1)", "Previous topic", id="help.previous", show=False),
        Binding("pagedown", "page(1)", "Page down", id="help.page-down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="help.page-up", show=False),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__(id="help-screen")
        self.groups = key_groups(screen)

    def compose(self) -> ComposeResult:
        """Yield the topics and the text."""
        with Vertical(id="help-box", classes="page-box") as box:
            box.border_title = "Help"
            box.border_subtitle = hint_content(self.app, _KEYS)
            yield Input(placeholder="Search keys and guides", id="help-search", compact=True)
            with Horizontal():
                topics_list = OptionList(*self._topics(""), id="help-topics")
                topics_list.can_focus = False
                yield topics_list
                with VerticalScroll(id="help-text"):
                    yield KeyList(self.groups)
                    yield Markdown("")

    def on_resize(self) -> None:
        """Give the text the whole width if there is little; the keys of the topics still work."""
        self.query_one("#help-topics").display = self.size.width >= _WITH_TOPICS

    def _topics(self, query: str) -> Iterator[Option]:
        """Yield the keys, and the guides that contain every word of the query."""
        yield Option(Content("Keys here"), id="here")
        words = query.lower().split()
        for name, title in topics().items():
            if not words or all(word in (GUIDES / f"{name}.md").read_text(encoding="utf-8").lower() for word in words):
                yield Option(Content(title), id=name)

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Show what contains the words: the keys, or the first guide if no key does."""
        rows, keys = self.query_one(OptionList), self.query_one(KeyList)
        has_keys = keys.search(event.value)
        rows.clear_options()
        rows.add_options(self._topics(event.value))
        rows.highlighted = 0 if has_keys or rows.option_count == 1 else 1

    @on(Input.Submitted)
    def on_submitted(self) -> None:
        """Focus the text."""
        self.query_one("#help-text").focus()

    def action_topic(self, by: int) -> None:
        """Show the next or previous topic."""
        rows = self.query_one(OptionList)
        rows.highlighted = max(0, min((rows.highlighted or 0) + by, rows.option_count - 1))

    def action_page(self, by: int) -> None:
        """Scroll the text by a page."""
        text = self.query_one("#help-text", VerticalScroll)
        (text.scroll_page_down if by > 0 else text.scroll_page_up)(animate=False)

    def action_leave(self) -> None:
        """Clear the search first, then close."""
        line = self.query_one(Input)
        if line.value:
            line.value = ""
            line.focus()
        else:
            self.dismiss(None)

    @on(OptionList.OptionHighlighted)
    async def on_topic(self, chosen: OptionList.OptionHighlighted) -> None:
        """Show the topic under the cursor."""
        name = chosen.option.id or "here"
        page = self.query_one(Markdown)
        self.query_one("#help-keys").display = name == "here"
        page.display = name != "here"
        if name != "here":
            await page.update((GUIDES / f"{name}.md").read_text(encoding="utf-8"))
        self.query_one("#help-text").scroll_home(animate=False)
