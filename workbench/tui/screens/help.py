"""The help screen (F1): the keys active at the current focus, and the guides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Markdown, OptionList
from textual.widgets.option_list import Option

from workbench.tui.key_names import Group, key_groups, key_of, keys_lines

GUIDES = Path(__file__).parents[2] / "guide"
_FIRST = ("start", "keys", "approving", "reviewing", "models", "settings", "sessions", "rules", "tools", "safety")
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
        self._groups = groups
        self._guides = guide_summaries()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines at this width."""
        return len(keys_lines(self._groups, self._guides, width))

    def render(self) -> Content:
        """Return all lines of the list."""
        return Content("\n").join(keys_lines(self._groups, self._guides, self.size.width))


class HelpScreen(ModalScreen[None]):
    """Shows a list of topics on the left and the text of the current one on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,question_mark", "dismiss", "Close", id="help.close"),
        Binding("tab,right,left", "app.focus_next", "Other side", id="help.side", show=False),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__(id="help-screen")
        self.groups = key_groups(screen)

    def compose(self) -> ComposeResult:
        """Yield the topics and the text."""
        rows = [Option(Content("Keys here"), id="here")]
        rows += [Option(Content(title), id=name) for name, title in topics().items()]
        with Horizontal(id="help-box") as box:
            box.border_title = "Help"
            side, close = key_of(self.app, "help.side", "tab"), key_of(self.app, "help.close", "escape")
            box.border_subtitle = f"↑↓ Topic   {side} Text   {close} Close"
            yield OptionList(*rows, id="help-topics")
            with VerticalScroll(id="help-text"):
                yield KeyList(self.groups)
                yield Markdown("")

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
