"""Markdown blocks that create the styles for bold, code and so on only on demand; used by `widgets.markdown_stream`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from textual.content import Content
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownBulletList,
    MarkdownOrderedList,
    MarkdownParagraph,
    MarkdownTD,
    MarkdownTH,
    MarkdownTR,
)

from workbench.tui.textual_seam.layout import SingleLayoutPass


class SlimBlock(MarkdownBlock):
    """A mixin for Markdown blocks that creates each inline style when it is first requested.

    It must be the second base of a block: the style sheet takes the type names of a widget from its first bases only.

    Reason: Textual 8.2.8 gives each block four nodes for bold, italics, code and struck text, which take longer to
    style, and more memory, than the paragraph itself.
    Upstream: `DOMNode._get_component_classes`, `_component_styles` and `_attach`; the block classes of
    `textual.widgets._markdown`, most of which `textual.widgets.markdown` does not export.
    Without it: the override is not called, and Textual makes all four nodes.
    """

    @classmethod
    @cache
    def _get_component_classes(cls) -> frozenset[str]:
        """Return no names, so that no style is created before it is needed."""
        return frozenset()

    def get_component_styles(self, *names: str) -> RenderStyles:
        """Return the styles of these component classes, creating those that were not requested before."""
        for name in names:
            if name in MarkdownBlock.COMPONENT_CLASSES and name not in self._component_styles:
                node = DOMNode(classes=name)
                node._attach(self)
                self.app.stylesheet.apply(node, animate=False)
                self._component_styles[name] = node.styles
        return super().get_component_styles(*names)

    def notify_style_update(self) -> None:
        """Drop the styles made so far, because the theme has changed."""
        self._component_styles.clear()
        super().notify_style_update()


class Paragraph(MarkdownParagraph, SlimBlock, SingleLayoutPass):
    """A paragraph that is laid out once when it is mounted.

    Reason: Textual 8.2.8 asks for a layout with the first text of a paragraph, though mounting causes one anyway.
    Upstream: `MarkdownBlock._content`, which `set_content` assigns and lists and tables read.
    Without it: the assigned attribute is not read.
    """

    def set_content(self, content: Content) -> None:
        """Show this text; ask for a layout only if the paragraph is mounted."""
        self._content = content
        self.update(content, layout=self.is_attached)


class TableBlock(SlimBlock):
    """A table whose cells can be read; a subclass shows them.

    Reason: Textual 8.2.8 shows each cell as a widget of its own in a grid, and loses cells where they do not fit.
    Upstream: `MarkdownBlock._blocks`, `_content` and `_token`, and the classes of the cells in
    `textual.widgets._markdown`.
    Without it: the tables of Textual are shown.
    """

    def cells(self) -> tuple[list[Content], list[list[Content]], list[str]]:
        """Return the headers, the cells of each row, as many as there are headers, and the alignment of the columns."""
        headers: list[Content] = []
        aligns: list[str] = []
        rows: list[list[Content]] = []
        for block in _inner_blocks(self):
            if isinstance(block, MarkdownTH):
                headers.append(block._content)
                aligns.append(_alignment(block))
            elif isinstance(block, MarkdownTD) and rows:
                rows[-1].append(block._content)
            elif isinstance(block, MarkdownTR):
                rows.append([])
        count = len(headers)
        whole = [[*row, *[Content("")] * count][:count] for row in rows if row]
        return headers, whole, aligns


def _inner_blocks(block: MarkdownBlock) -> Iterator[MarkdownBlock]:
    """Yield the blocks inside a block, each before those inside it."""
    for inner in block._blocks:
        yield inner
        yield from _inner_blocks(inner)


def _alignment(block: MarkdownBlock) -> str:
    style = str(block._token.attrs.get("style", ""))
    return next((name for name in ("right", "center") if f"text-align:{name}" in style), "left")


class BulletList(MarkdownBulletList, SlimBlock):
    """A bulleted list."""


class OrderedList(MarkdownOrderedList, SlimBlock):
    """A numbered list."""
