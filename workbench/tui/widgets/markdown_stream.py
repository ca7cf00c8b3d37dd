"""Markdown that streams: complete blocks as Markdown, the growing tail as plain text, at most 10 frames a second.

Text is shown as it is: no link can be followed, no HTML is hidden, no image is loaded, nothing is Textual markup.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from pygments.lexers import LEXERS, get_lexer_by_name
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from workbench.text import visible
from workbench.tui import keystrokes
from workbench.tui.textual_seam.layout import SingleLayoutPass
from workbench.tui.textual_seam.markdown import BulletList, OrderedList, Paragraph, SlimBlock
from workbench.tui.widgets.markdown_table import MarkdownTable
from workbench.tui.widgets.strips import css_beside
from workbench.view.conversation_window import LONGEST, head_of, markdown_nodes
from workbench.view.wrapping import MarkdownCut

FRAMES_A_SECOND: Final = 10
WHILE_TYPING: Final = 0.5
"""Minimum seconds between two frames while the user types; each is painted right after a key's frame."""
LONGEST_WAIT: Final = 1.0
"""Maximum seconds that the text waits for the frames of keys."""
LONGEST_TAIL: Final = 1.0
"""Maximum seconds that complete blocks stay plain text while the user types: mounting them takes more than a frame."""
TAIL_LINES: Final = 40
_RETRY: Final = 0.02
"""Seconds until a frame that had to wait is tried again."""
GUESSED: Final = ("python", "bash", "diff")
"""Languages that code without a named language is checked for."""


@cache
def plain_parser() -> MarkdownIt:
    """Return the shared parser for Markdown without links, images and HTML, which are shown as the agent wrote them.

    It keeps no state between texts. Textual requests a parser for each piece of text, and each new one would be 0.3 MB
    of reference cycles. Threads may share it once its rule chains are compiled, which the first parse does.
    """
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    parser.disable(["link", "image", "autolink", "linkify", "reference"], ignoreInvalid=True)
    parser.parse("x")
    return parser


class Fence(MarkdownFence, SlimBlock):
    """A block of code; only the lexer of its own language is ever loaded.

    For code without a language, Textual tries every lexer, and for an unknown language the plugins of all packages:
    that loads 230 modules (12 MB, never freed) while the screen is frozen.
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Highlight code whose language is named or can be guessed; other code stays plain text."""
        return super().highlight(code, _lexer_name(code, language), ansi, dark)


def _lexer_name(code: str, language: str) -> str:
    if language:
        name = language.lower()
        return name if any(name in aliases for _, _, aliases, _, _ in LEXERS.values()) else "text"
    weights = {name: get_lexer_by_name(name).analyse_text(code) for name in GUESSED}
    best = max(weights, key=weights.__getitem__)
    return best if weights[best] else "text"


_OWN_BLOCKS: Final[dict[str, type[MarkdownBlock]]] = {
    "paragraph_open": Paragraph,
    "bullet_list_open": BulletList,
    "ordered_list_open": OrderedList,
    "fence": Fence,
    "code_block": Fence,
    "table_open": MarkdownTable,
}


class SettledText(Markdown, SingleLayoutPass):
    """The complete blocks of a text."""

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Return our own classes for the most frequent blocks and for code."""
        return _OWN_BLOCKS.get(block_name) or super().get_block_class(block_name)


class TailText(Static, SingleLayoutPass):
    """The end of a text that is still streaming; more text may turn it into another kind of block."""


class MarkdownStream(Vertical, SingleLayoutPass):
    """One text from the agent; call `grow` while it streams, `finish` when it is complete."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, text: str = "", *, streaming: bool = False) -> None:
        super().__init__()
        self._cut = MarkdownCut()
        self._text = "" if streaming else text
        self._markdown = SettledText(
            visible(head_of(self._text)) or None, parser_factory=plain_parser, open_links=False, classes="settled"
        )
        self._tail: TailText | None = None
        if streaming:
            self._tail = TailText(classes="tail")
            self._tail.display = False
        self._is_streaming = streaming
        self._settled = ""
        self._weight = 0
        self._timer: Timer | None = None
        self._painted = self._settled_at = 0.0
        self._painting = asyncio.Lock()  # a cancelled frame would lose its piece of the text
        if streaming:
            self.grow(text)

    def compose(self) -> ComposeResult:
        """Mount the complete blocks and the tail."""
        yield self._markdown
        if self._tail is not None:
            yield self._tail

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text

    def grow(self, whole: str) -> None:
        """Set the text so far, to be painted with the next frame; ignored after the end, or if `whole` does not extend
        the text.
        """
        if not self._is_streaming or not whole.startswith(self._text):
            return
        self._cut.feed(whole[len(self._text) :])
        self._text = whole
        if self._timer is None and self.is_mounted:
            self._timer = self.set_timer(1 / FRAMES_A_SECOND, self._frame)

    def on_mount(self) -> None:
        """Paint the text that arrived before the widget was mounted."""
        if self._is_streaming and self._text and not self._markdown.source:
            self._timer = self.set_timer(1 / FRAMES_A_SECOND, self._frame)

    def on_unmount(self) -> None:
        """Stop painting."""
        self._stop_timer()

    def finish(self, whole: str) -> None:
        """End the stream with the complete text."""
        self._is_streaming = False
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
            self._timer = self.set_timer(_RETRY, self._frame)
            return
        self.run_worker(self._paint(), group="markdown")

    async def _paint(self) -> None:
        async with self._painting:
            if not self._is_streaming:
                return  # this tick was under way when the stream ended
            self._painted = time.monotonic()
            with self.app.batch_update():  # lays out only once
                if not keystrokes.is_typing() or self._painted - self._settled_at > LONGEST_TAIL:
                    self._settled_at = self._painted
                    await self._mount_blocks(self._cut.pop_finished())
                self._show_tail(self._cut.tail.splitlines()[-TAIL_LINES:])

    def _show_tail(self, lines: Sequence[str]) -> None:
        if self._tail is not None:
            self._tail.update(Content(visible("\n".join(lines))))
            self._tail.display = bool(lines)

    async def _mount_blocks(self, piece: str) -> None:
        """Mount complete blocks, up to the limit for one message; the pager shows the rest."""
        self._weight += markdown_nodes(piece)
        if piece and self._weight <= LONGEST:
            self._settled += piece
            await self._markdown.append(visible(piece))

    async def _paint_whole(self) -> None:
        async with self._painting:
            head = head_of(self._text)
            if head.startswith(self._settled) and self._settled:
                rest = head[len(self._settled) :]
                if rest.strip():
                    await self._markdown.append(visible(rest))
            else:
                await self._markdown.update(visible(head))
            self._settled = head
            if self._tail is not None:
                self._tail.display = False
                self._tail.remove()
                self._tail = None


def _may_paint(waited: float) -> bool:
    """Return whether a frame now would delay no key, or the text has waited long enough."""
    if not keystrokes.is_typing() or waited > LONGEST_WAIT:
        return True
    return waited > WHILE_TYPING and keystrokes.is_between_keys()
