"""Keys typed right behind the one that opens a text to write: they are that text's, also before it has the focus."""

from __future__ import annotations

from textual import events
from textual.widget import Widget
from textual.widgets import Input

from workbench.tui.widgets.question_box import QuestionBox


class EarlyKeys:
    """Holds such keys for one question, in order."""

    def __init__(self) -> None:
        self._held: list[events.Key] | None = None

    def begin(self) -> None:
        """A text is about to open."""
        self._held = []

    def take(self, event: events.Key, text: Widget | None) -> bool:
        """Whether the key is for the text that opens, or is open but had no focus when the key was pressed."""
        if self._held is not None:
            self._held.append(event)
        elif text is not None and event.is_printable:  # a text that has the focus lets no such key pass
            pass_on(event, text)
        else:
            return False
        return True

    def end(self, text: Widget | None) -> None:
        """It is open, or will not be."""
        held, self._held = self._held or [], None
        if text is not None:
            for event in held:
                pass_on(event, text)


def open_text(box: QuestionBox) -> Widget | None:
    """Where keys are text in a question: the note or the editor, while one is open."""
    return box.query_one("#note", Input) if box.is_writing else box.editor


def pass_on(event: events.Key, text: Widget) -> None:
    """Press the key there."""
    text.post_message(events.Key(event.key, event.character))
