"""The Tools screen (/tools): where each tool comes from, what it may do, and whether it is on; Space switches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.key_names import page_hints, with_keys
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view.tools import ToolRow, about_tool, by_origin, counted_tools, name_width, tool_line, why_no_switch

_SWITCH: Final = "   {tools.switch=space} On or off"
_KEYS: Final = "↑↓ Choose%s   {tools.close=escape} Close"
_CHANGES: Final = "{tools.switch=space} switches it on or off for new sessions; [tools] in your settings has more"


class ToolsScreen(ModalScreen[None]):
    """Shows the tools that `find_tools` returns; called in a thread, because third-party tools may be slow to load."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="tools.close"),
        Binding("space", "switch", "Switch on or off", id="tools.switch"),
    ]

    def __init__(
        self, find_tools: Callable[[], Sequence[ToolRow]], switch: Callable[[str, bool], None] | None = None
    ) -> None:
        """`switch` saves whether new sessions have a tool, and raises WorkbenchError; None if nothing can be saved."""
        super().__init__(id="tools")
        self._find_tools = find_tools
        self._switch = switch
        self._rows: list[ToolRow | None] = []
        """The tool of each line of the list; None for a heading, which names an origin."""

    def compose(self) -> ComposeResult:
        """Yield the list, and below it the details of the tool under the cursor."""
        with Vertical(id="tools-box", classes="page-box") as box:
            box.border_title = "Tools"
            box.border_subtitle = page_hints(self.app, _KEYS % "", self.size.width)
            yield OptionList(id="tools-list")
            with VerticalScroll(id="tools-about"):
                yield Static("looking …", id="tools-told")

    def on_mount(self) -> None:
        """Start reading the tools in a thread."""
        self.query_one(OptionList).focus()
        self.run_worker(self._load())

    async def _load(self) -> None:
        try:
            tools = await in_daemon(self._find_tools)
        except WorkbenchError as error:
            if self.is_attached:
                self.query_one("#tools-told", Static).update(Content(visible(str(error))))
            return
        if not self.is_attached:
            return
        self.query_one("#tools-box").border_title = f"Tools · {counted_tools(tools)}"
        at, self._rows, names = self._list.highlighted, [], name_width(tools)
        self._list.clear_options()
        for origin, rows in by_origin(tools):
            self._rows += [None, *rows]
            heading = visible(origin[:1].upper() + origin[1:], lines=False)
            self._list.add_option(Option(Content.styled(heading, "bold $primary"), disabled=True))
            self._list.add_options(Option(as_content([tool_line(row, self._width, names)])) for row in rows)
        self._list.highlighted = (at or 1) if tools else None

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _width(self) -> int:
        return max(40, self._list.size.width - 2)

    @on(OptionList.OptionHighlighted)
    def on_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the details of the tool under the cursor."""
        row = self._rows[event.option_index]
        self.query_one("#tools-box").border_subtitle = page_hints(
            self.app, _KEYS % (_SWITCH if row is not None and row.has_switch else ""), self.size.width
        )
        if row is not None:
            details = as_content(about_tool(row))
            words = with_keys(self.app, _CHANGES) if row.has_switch else why_no_switch(row)
            note = Content.styled(visible(words, lines=False), "$dim")
            self.query_one("#tools-told", Static).update(Content("\n").join([details, Content(""), note]))
            self.query_one("#tools-about").scroll_home(animate=False)

    async def action_switch(self) -> None:
        """Switch the tool under the cursor on or off for new sessions."""
        row = self._rows[self._list.highlighted or 0] if self._rows else None
        if row is None or self._switch is None:
            return
        if not row.has_switch:
            self.notify(visible(why_no_switch(row), lines=False), markup=False)
            return
        try:
            self._switch(row.name, not row.is_on)
        except WorkbenchError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
            return
        await self._load()
        if any(each is not None and each.name == row.name and each.is_on == row.is_on for each in self._rows):
            self.notify(f"{visible(row.name, lines=False)} cannot be switched", severity="warning", markup=False)
