"""Markdown that streams: settled blocks in a Markdown widget, the live tail as plain text, at most 10 times a second.

Text is shown as it is: no link can be followed, no HTML is hidden, no image is loaded, nothing is Textual markup.
"""

from __future__ import annotations

import asyncio
import time
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock

from workbench.text import visible
from workbench.tui import pressed
from workbench.tui.widgets.laid_out import LaidOut
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.paragraph import Paragraph
from workbench.tui.window import LONGEST, head_of, markdown_nodes
from workbench.tui.wording.markdown_cut import MarkdownCut

FRAMES_A_SECOND: Final = 10
WHILE_TYPING: Final = 0.5
"""Least seconds between two frames while a person types; each is made right behind that of a key."""
LONGEST_WAIT: Final = 1.0
"""Seconds that the text waits for the frames of keys before it is painted all the same."""
LONGEST_TAIL: Final = 1.0
"""Seconds in which a person who types sees whole blocks as plain text: to make them takes longer than a frame."""
TAIL_LINES: Final = 40
_LOOK: Final = 0.02


@cache
def plain_parser() -> MarkdownIt:
    """Markdown without links, images and HTML: what the agent writes of these is shown as it wrote it.

    All texts share one parser, which keeps nothing between two of them: Textual asks for one with each piece, and each
    is 0.3 MB of reference cycles. Threads may share it once its chains of rules are compiled, which parsing does.
    """
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    parser.disable(["link", "image", "autolink", "linkify", "reference"], ignoreInvalid=True)
    parser.parse("x")
    return parser


class SettledText(Markdown, LaidOut):
    """The blocks that are whole."""

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Our own for what there is most of."""
        return Paragraph if block_name == "paragraph_open" else super().get_block_class(block_name)


class TailText(Static, LaidOut):
    """What may still become another block."""


class MarkdownStream(Vertical, LaidOut):
    """One text of the agent; `grow` while it streams, `finish` when it is whole."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, text: str = "", *, streaming: bool = False) -> None:
        super().__init__()
        self._cut = MarkdownCut()
        self._text = "" if streaming else text
        self._markdown = SettledText(
            visible(head_of(self._text)) or None, parser_factory=plain_parser, open_links=False, classes="settled"
        )
        self._tail = TailText(classes="tail")
        self._tail.display = False
        self._is_streaming = streaming
        self._settled = ""
        self._weight = 0
        self._timer: Timer | None = None
        self._painted = self._settled_at = 0.0
        self._painting = asyncio.Lock()  # a frame that was cut off would lose its piece of the text
        if streaming:
            self.grow(text)

    def compose(self) -> ComposeResult:
        """The settled part and the tail."""
        yield self._markdown
        if self._is_streaming:
            yield self._tail

    @property
    def text(self) -> str:
        """All of it."""
        return self._text

    def grow(self, whole: str) -> None:
        """The text so far; painted with the next frame."""
        if not whole.startswith(self._text):
            return
        self._cut.feed(whole[len(self._text) :])
        self._text = whole
        if self._timer is None and self.is_mounted:
            self._timer = self.set_timer(1 / FRAMES_A_SECOND, self._frame)

    def on_mount(self) -> None:
        """What came before there was a screen."""
        if self._text and not self._markdown.source:
            self._timer = self.set_timer(1 / FRAMES_A_SECOND, self._frame)

    def on_unmount(self) -> None:
        """Nothing is painted any more."""
        self._stop_timer()

    def finish(self, whole: str) -> None:
        """The stream has ended with this text."""
        self._stop_timer()
        self._text = whole
        self.run_worker(self._paint_whole(), group="markdown")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _frame(self) -> None:
        self._timer = None
        if self._painting.locked() or not _may_paint(time.monotonic() - self._painted):
            self._timer = self.set_timer(_LOOK, self._frame)
            return
        self.run_worker(self._paint(), group="markdown")

    async def _paint(self) -> None:
        async with self._painting:
            self._painted = time.monotonic()
            with self.app.batch_update():  # laid out once
                if not pressed.types_on() or self._painted - self._settled_at > LONGEST_TAIL:
                    self._settled_at = self._painted
                    await self._settle(self._cut.take())
                lines = self._cut.tail.splitlines()[-TAIL_LINES:]
                self._tail.update(Content(visible("\n".join(lines))))
                self._tail.display = bool(lines)

    async def _settle(self, piece: str) -> None:
        """Blocks beyond what one message may show stay out; the pager has them."""
        self._weight += markdown_nodes(piece)
        if piece and self._weight <= LONGEST:
            self._settled += piece
            await self._markdown.append(visible(piece))

    async def _paint_whole(self) -> None:
        async with self._painting:
            shown = head_of(self._text)
            if shown.startswith(self._settled) and self._settled:
                rest = shown[len(self._settled) :]
                if rest.strip():
                    await self._markdown.append(visible(rest))
            else:
                await self._markdown.update(visible(shown))
            self._settled = shown
            self._tail.display = False


def _may_paint(waited: float) -> bool:
    """Whether no key is kept waiting by a frame now, or the text has waited long enough."""
    if not pressed.types_on() or waited > LONGEST_WAIT:
        return True
    return waited > WHILE_TYPING and pressed.is_between()
