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
_KEYS: Final = "↑↓ Topic   {help.side=tab} Text   {help.close=escape} Close"
_FIRST = (
    "start",
    "keys",
    "approving",
    "reviewing",
    "models",
    "settings",
    "sessions",
    "rules",
    "tools",
    "safety",
    "sandbox",
)
"""The guides that come first, in this order; the others follow."""


def topics() -> dict[str, str]:
    """Return the titles of the guides by file name without suffix, in the order of the help."""
    titles = {path.stem: _title(path) for path in sorted(GUIDES.glob("*.md"))}
    return {name: titles[name] for name in (*_FIRST, *titles) if name in titles}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def guide_summaries() -> dict[str, str]:
    """Return the first sentence of each guide, by title."""
    return {title: _begins(GUIDES / f"{name}.md") for name, title in topics().items()}


def _begins(path: Path) -> str:
    paragraphs = path.read_text(encoding="utf-8").split("\n\n")
    first = next((each for each in paragraphs if each[:1] not in ("#", "|", "-", "`")), "")
    plain = " ".join(first.replace("`", "").replace("**", "").split())
    return plain.split(". ")[0].split(": ")[0].rstrip(".:")


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
