"""All that is known about one action, in a pager; a copy that was kept before it began comes back by a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.protocol.commands import Command, RestoreCopy
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.text_lines import IllustratedLines


class ActionPage(PagerScreen):
    """Opened from cards and the timeline; `b` brings the copy back, where there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "restore", "Bring the copy back", id="action.restore")]

    def __init__(
        self,
        title: Content,
        text: str,
        copy_id: str,
        send: Callable[[Command], None],
        *,
        words: str = "",
        pictures: Mapping[int, str] | None = None,
    ) -> None:
        """`pictures` (base64) stand below the lines of these numbers."""
        lines = IllustratedLines(text, pictures, headings=True, id="pager-text") if pictures else None
        super().__init__(title, text, headings=True, words=words, lines=lines)
        self._copy_id = copy_id
        self._send = send
        self.own_keys = "b bring the copy back · " if copy_id else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The key is there only where there is a copy."""
        return bool(self._copy_id) if action == "restore" else True

    def action_restore(self) -> None:
        """Have the engine bring the copy back; what came of it is said in the conversation."""
        self._send(RestoreCopy(copy_id=self._copy_id))
        self.dismiss(None)
