"""The text shown before the first message: how to begin, or how to set up a model.

A first message that is being sent is shown as it will look in the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from workbench.config.modes import MODE_NAMES
from workbench.text import visible, visible_path
from workbench.tui.key_names import key_of
from workbench.view.state import SessionState

_MOST_SENT = 4_000
"""Maximum number of characters of a message that are shown."""


class Welcome(Widget):
    """Shows how to begin this session, or messages that are being sent."""

    def __init__(self, state: SessionState, has_model: bool) -> None:
        super().__init__(id="welcome")
        self._state = state
        self._has_model = has_model
        self._sent: Sequence[str] = ()

    def show(self, sent: Sequence[str], *, is_needed: bool) -> None:
        """Show the advice, or the messages in `sent` that are being sent; hide the widget if it is not needed."""
        self.display = is_needed
        if is_needed:
            self._sent = tuple(sent)
            self.set_class(bool(sent), "-sent")
            self.refresh(layout=True)  # the session may have brought another directory and mode

    def render(self) -> Content:
        """Return a few lines, which fit a small screen."""
        if self._sent:
            return Content("\n\n").join(map(_on_the_way, self._sent))
        lines = self._ready() if self._has_model else _advice(key_of(self.app, "demo", "f9"))
        return Content("\n").join(lines)

    def _ready(self) -> list[Content]:
        mode = MODE_NAMES.get(self._state.mode, self._state.mode)
        send = key_of(self.app, "send", "enter")
        directory = visible_path(self._state.workspace)
        return [
            Content.styled("What should we work on?", "bold $primary"),
            Content(""),
            Content.assemble("The agent works in ", (directory or "this directory", "bold"), "."),
            Content.assemble(
                "Approval mode: ",
                (mode, "bold $accent"),
                f" ({key_of(self.app, 'mode', 'shift+tab')} to change)",
            ),
            Content(""),
            Content.styled(f"Type a task below and press {send}. {key_of(self.app, 'help', 'f1')} for help.", "$dim"),
        ]


def _on_the_way(text: str) -> Content:
    words = visible(text[:_MOST_SENT].rstrip())
    return Content.assemble(("You", "bold $primary"), (" · sending", "$sign-waiting"), "\n", words)


def _advice(demo: str) -> list[Content]:
    ways = (
        (("/setup",), "find API keys and local servers, test and save one"),
        (("/model PROVIDER/NAME",), "choose a model, e.g. anthropic/claude-sonnet-4-5"),
        (("ohw --model PROVIDER/NAME",), "choose a model at the start"),
        ((demo, "/demo"), "no model needed: watch a scripted agent fix a bug"),
    )
    lines = [Content.styled("No model configured.", "bold $warning")]
    for names, words in ways:
        lines += [Content(""), Content(" or ").join(Content.styled(name, "bold $primary") for name in names)]
        lines.append(Content.styled(f"  {words}", "$dim"))
    return lines
