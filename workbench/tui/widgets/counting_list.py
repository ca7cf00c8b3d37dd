"""A list of lines that also grows at its top, when the person goes there; base of the timeline."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from workbench.tui.key_names import key_of
from workbench.tui.widgets.line_list import LineList


class UpwardList(LineList):
    """Subclasses bring older lines with `shift` when `top_reached` asks for them."""

    is_filtered = False
    _stays_first = False
    """The person went to the very first line: the cursor stays on what is the first one."""

    def top_reached(self, *, all_of_it: bool = False) -> None:
        """The lines before the first one are wanted, or all there are."""

    @property
    def can_lose_lines(self) -> bool:
        """Whether the lines at the beginning are not wanted: the end is followed, and all are shown."""
        return self._at_end and not self.is_filtered

    def shift(self, count: int) -> None:
        """So many lines were put before the first, or taken away: what is in sight stays, the cursor too."""
        at_end, stays = self._at_end, self._stays_first and self.cursor == 0
        self._strips.clear()
        self._count += count
        self.virtual_size = Size(self.size.width, self._count)
        if stays and count > 0:
            self.refresh()
            return
        self.cursor += count
        self.scroll_to(y=self.scroll_y + count, animate=False, force=True, immediate=True)
        self._at_end = at_end

    def action_first(self) -> None:
        """To the first line of all."""
        super().action_first()
        self._stays_first = True
        self.top_reached(all_of_it=True)

    def action_move(self, by: int) -> None:
        """Up from the first line there may be more."""
        self._stays_first = False
        if self.cursor + by < 0:
            self.top_reached()
        super().action_move(by)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolled to the top."""
        super().watch_scroll_y(old_value, new_value)
        if new_value <= 0 < old_value:
            self.top_reached()


_STYLE: Final = "bold $sign-running"


def say_below(panel: Widget, words: str, action: str) -> None:
    """Show the words behind an arrow; a click on them runs the action. No words: the end is in sight."""
    hint = Content("")
    if words:
        hint = Content.styled(f"↓ {words}", _STYLE).stylize(Style.from_meta({"@click": action}))
    if hint.markup != (panel.border_subtitle or ""):
        panel.border_subtitle = hint


class CountingList(UpwardList):
    """Counts the lines below those in sight."""

    def set_count(self, count: int) -> None:
        """So many lines there are now."""
        super().set_count(count)
        self._say_below()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other lines are below."""
        super().watch_scroll_y(old_value, new_value)
        self._say_below()

    def on_resize(self) -> None:
        """More or fewer lines are in sight."""
        super().on_resize()
        self._say_below()

    def _say_below(self) -> None:
        below = self._count - self.scroll_offset.y - self.size.height
        is_said = below > 0 and self.size.height and not self._at_end
        say_below(self, f"{below} more · {key_of(self.app, 'list.last', 'end')}" if is_said else "", "last")


class FilteredList(CountingList):
    """`is_filtered` while not all lines are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", id="timeline.filter"),
        Binding("escape", "show_all", "Every row again", id="timeline.all"),
    ]

    class FilterAsked(Message):
        """The person wants to filter the rows."""

    class ShowAllAsked(Message):
        """The person wants every row again."""

    def filter(self, text: str) -> None:
        """Show only the lines that fit; an empty text shows all."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to show again where all is shown."""
        return self.is_filtered if action == "show_all" else super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Ask for the line to write the filter in."""
        self.post_message(self.FilterAsked())

    def action_show_all(self) -> None:
        """No filter any more, at once: what is pressed behind it goes where it would without one."""
        self.filter("")
        self.post_message(self.ShowAllAsked())
