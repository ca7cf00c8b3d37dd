"""A streaming text: it ends with its own end, and its code loads no more than it needs."""

from __future__ import annotations

import pygments.lexers
import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Label, Markdown
from textual.widgets.markdown import MarkdownFence

from tests.tui.waiting import until
from workbench.tui.widgets.markdown_stream import MarkdownStream

_TEXT = "Begins **here**:\n\n- one\n- two\n\n```python\nx = 1\n```\n"


class _Streams(App[None]):
    """An app with one text, streaming or complete."""

    def __init__(self, text: str = "", *, streaming: bool = False) -> None:
        super().__init__()
        self.stream = MarkdownStream(text, streaming=streaming)

    def compose(self) -> ComposeResult:
        yield self.stream


@pytest.mark.parametrize("late", ["tick", "growth"])
async def test_text_after_the_end_of_a_stream_is_not_shown_twice(late: str):
    app = _Streams(streaming=True)
    async with app.run_test(size=(100, 40)) as pilot:
        app.stream.grow(_TEXT)
        app.stream.finish(_TEXT)
        await until(pilot, lambda: app.query_one(Markdown).source == _TEXT)
        if late == "tick":
            app.stream._frame()  # the timer was stopped while its tick was in the queue of messages
        else:
            app.stream.grow(_TEXT)
        await pilot.pause(0.3)
        assert app.query_one(Markdown).source == _TEXT
        assert not app.query(".tail")
        assert [each.lexer for each in app.query(MarkdownFence)] == ["python"]


@pytest.mark.parametrize(
    ("text", "is_coloured"),
    [
        ("```python\nx = 1\n```", True),
        ("```Python\nx = 1\n```", True),
        ("```\nimport os\n```", True),
        ("```\n#!/bin/sh\nfor x in 1; do echo; done\n```", True),
        ("```\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```", True),
        ("```\nsrc/\n  app.py\n```", False),
        ("```no-such-language\nx = 1\n```", False),
        ("```\n```", False),
        ("    indented code", False),
    ],
)
async def test_code_loads_only_the_lexer_of_its_own_language(
    text: str, is_coloured: bool, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("this loads all lexers, or all packages")

    monkeypatch.setattr(pygments.lexers, "guess_lexer", refuse)
    monkeypatch.setattr(pygments.lexers, "find_plugin_lexers", refuse)
    app = _Streams(text)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.query("MarkdownFence Label"))
        content = app.query_one("MarkdownFence Label", Label).content
        assert isinstance(content, Content)
        assert content.plain == "\n".join(line.removeprefix("    ") for line in text.split("\n") if "```" not in line)
        assert (len({span.style for span in content.spans}) > 1) == is_coloured
