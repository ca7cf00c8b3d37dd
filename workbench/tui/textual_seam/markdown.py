"""Blocks of Markdown that have styles for bold, code and so on only where they use them; for `markdown_stream`.

Textual gives each block four nodes for these, which take longer to style, and more memory, than the paragraph itself.
"""

from __future__ import annotations

from functools import cache

from textual.content import Content
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.widgets._markdown import MarkdownBlock, MarkdownBulletList, MarkdownOrderedList, MarkdownParagraph

from workbench.tui.textual_seam.layout import SingleLayoutPass


class SlimBlock(MarkdownBlock):
    """As Textual's, and its styles within a line are made when they are asked for; the second base of a block.

    The style sheet takes the names of a widget from its first base alone.
    """

    @classmethod
    @cache
    def _get_component_classes(cls) -> frozenset[str]:
        """None are made before they are needed."""
        return frozenset()

    def get_component_styles(self, *names: str) -> RenderStyles:
        """As ever."""
        for name in names:
            if name in MarkdownBlock.COMPONENT_CLASSES and name not in self._component_styles:
                node = DOMNode(classes=name)
                node._attach(self)
                self.app.stylesheet.apply(node, animate=False)
                self._component_styles[name] = node.styles
        return super().get_component_styles(*names)

    def notify_style_update(self) -> None:
        """Another theme: they are made again."""
        self._component_styles.clear()
        super().notify_style_update()


class Paragraph(MarkdownParagraph, SlimBlock, SingleLayoutPass):
    """A paragraph."""

    def set_content(self, content: Content) -> None:
        """Its first text needs no layout of its own: it is laid out when it is mounted."""
        self._content = content
        self.update(content, layout=self.is_attached)


class BulletList(MarkdownBulletList, SlimBlock):
    """A list with signs."""


class OrderedList(MarkdownOrderedList, SlimBlock):
    """A list with numbers."""
