"""What stands in the conversation before anything was said: how to begin, or how to set up a model.

A first message that is on its way stands there as it will in the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from workbench.security.policy import MODE_NAMES
from workbench.text import visible
from workbench.tui.fold.state import SessionState
from workbench.tui.key_names import key_of

_SETUP = (
    ("Name one when you start:", "ohw --model anthropic/claude-sonnet-4-5"),
    ("A server on this machine:", "ohw --model openai/NAME --api-base http://127.0.0.1:8080/v1"),
    ("Or for good, in settings.toml (ohw locate says where it is):", 'model = "anthropic/claude-sonnet-4-5"'),
)
_MOST_FOUND = 4
_MOST_SENT = 4_000
"""Characters of a message that are shown."""


class Welcome(Widget):
    """Advice that is true for this session."""

    def __init__(self, state: SessionState, has_model: bool) -> None:
        super().__init__(id="welcome")
        self._state = state
        self._has_model = has_model
        self._found: Sequence[tuple[str, str]] = ()
        self._sent: Sequence[str] = ()

    def show(self, sent: Sequence[str], *, is_needed: bool) -> None:
        """Nothing was said yet; `sent` is on its way."""
        self.display = is_needed
        if is_needed:
            self._sent = tuple(sent)
            self.set_class(bool(sent), "-sent")
            self.border_title = "Conversation" if sent else None
            self.refresh(layout=True)  # the session may have come with its own folder and mode

    def tell(self, found: Sequence[tuple[str, str]]) -> None:
        """Models there are to use: what was found, and how to use it."""
        self._found = found[:_MOST_FOUND]
        self.refresh(layout=True)

    def render(self) -> Content:
        """A few lines; never more than a small screen holds."""
        if self._sent:
            return Content("\n\n").join(map(_on_the_way, self._sent))
        lines = self._ready() if self._has_model else _advice(self._found, key_of(self.app, "demo", "f9"))
        return Content("\n").join(lines)

    def _ready(self) -> list[Content]:
        mode = MODE_NAMES.get(self._state.mode, self._state.mode)
        send = key_of(self.app, "send", "enter")
        folder = visible(self._state.workspace, lines=False)
        return [
            Content.styled("What shall we work on?", "bold $primary"),
            Content(""),
            Content.assemble("The agent works in ", (folder or "this folder", "bold"), "."),
            Content.assemble(
                "You see everything it does. Mode: ",
                (mode, "bold $accent"),
                f" ({key_of(self.app, 'mode', 'shift+tab')} changes it).",
            ),
            Content(""),
            Content.styled(f"Write below and press {send}. {key_of(self.app, 'help', 'f1')} shows the keys.", "$dim"),
        ]


def _on_the_way(text: str) -> Content:
    said = visible(text[:_MOST_SENT].rstrip())
    return Content.assemble(("You", "bold $primary"), (" · on its way", "$sign-waiting"), "\n", said)


def _advice(found: Sequence[tuple[str, str]], demo: str) -> list[Content]:
    lines = [Content.styled("No model is set up yet.", "bold $warning"), Content("")]
    if found:
        lines.append(Content("What was found here, and what to write to use it:"))
    for what, how in [*found, _SETUP[-1]] if found else _SETUP:
        lines += [Content.styled(visible(what, lines=False), "$dim"), _command(how)]
    if not found:
        said = "Keys are read from the provider's usual variable, such as ANTHROPIC_API_KEY."
        lines.append(Content.styled(said, "$dim"))
    lines += [
        Content(""),
        Content.assemble(
            "Or try it without one: ", (demo, "bold $primary"), " or ", ("/demo", "bold $primary"), " starts the demo."
        ),
    ]
    return lines


def _command(how: str) -> Content:
    return Content.styled(f"  {visible(how, lines=False)}", "bold")
