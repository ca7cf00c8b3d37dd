"""Help on F1: the keys that work where the person is, and the guides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Markdown, OptionList, TextArea
from textual.widgets.option_list import Option

from workbench.tui.key_names import key_name, key_of

GUIDES = Path(__file__).parents[2] / "guide"
_FIRST = ("start", "keys", "approving", "reviewing", "models", "settings", "sessions", "rules", "tools", "safety")
"""Topics in this order; any other guide stands behind them."""


def topics() -> dict[str, str]:
    """The title of each guide, by the name of its file."""
    found = {path.stem: _title(path) for path in sorted(GUIDES.glob("*.md"))}
    return {name: found[name] for name in (*_FIRST, *found) if name in found}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


class HelpScreen(ModalScreen[None]):
    """Topics on the left, text on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,question_mark", "dismiss", "Close", id="help.close"),
        Binding("tab,right,left", "app.focus_next", "Other side", id="help.side", show=False),
    ]

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__(id="help-screen")
        self._keys = keys_of(below)

    def compose(self) -> ComposeResult:
        """A box in the middle."""
        rows = [Option(Content("Keys here"), id="here")]
        rows += [Option(Content(title), id=name) for name, title in topics().items()]
        with Horizontal(id="help-box") as box:
            box.border_title = "Help"
            side, close = key_of(self.app, "help.side", "tab"), key_of(self.app, "help.close", "escape")
            box.border_subtitle = f"↑↓ topic · {side} text · {close} close"
            yield OptionList(*rows, id="help-topics")
            with VerticalScroll(id="help-text"):
                yield Markdown(self._keys)

    @on(OptionList.OptionHighlighted)
    async def on_topic(self, chosen: OptionList.OptionHighlighted) -> None:
        """Show the topic under the cursor."""
        name = chosen.option.id or "here"
        text = self._keys if name == "here" else (GUIDES / f"{name}.md").read_text(encoding="utf-8")
        await self.query_one(Markdown).update(text)
        self.query_one("#help-text").scroll_home(animate=False)


def keys_of(screen: Screen[Any]) -> str:
    """A list of the keys in force on a screen, those of the focused widget first."""
    focused = screen.focused
    rows: dict[str, list[str]] = {}
    actives = sorted(
        screen.active_bindings.values(), key=lambda each: (each.node is not focused, not each.binding.show)
    )
    for active in actives:
        words = active.binding.description
        is_told = active.binding.id or (active.node is focused and not isinstance(focused, Input | TextArea))
        if words and active.enabled and is_told:
            rows.setdefault(words, []).append(key_name(active.binding.key))
    where = f"in {focused.id or type(focused).__name__.lower()}" if focused is not None else "here"
    lines = [f"- `{' '.join(dict.fromkeys(keys))}` {words}" for words, keys in rows.items()]
    return "\n".join([f"## Keys {where}", "", *lines])
