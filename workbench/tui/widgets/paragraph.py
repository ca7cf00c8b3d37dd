"""A paragraph of Markdown that has styles for bold, code and so on only where it uses them; for `markdown_stream`.

Textual gives each block four nodes for these, which take longer to style, and more memory, than the paragraph itself.
"""

from __future__ import annotations

from functools import cache

from textual.content import Content
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.widgets._markdown import MarkdownBlock, MarkdownParagraph

from workbench.tui.widgets.laid_out import LaidOut


class Paragraph(MarkdownParagraph, LaidOut):
    """As Textual's, and its styles within a line are made when they are asked for."""

    def set_content(self, content: Content) -> None:
        """Its first text needs no layout of its own: it is laid out when it is mounted."""
        self._content = content
        self.update(content, layout=self.is_attached)

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
