"""Prompts of MCP servers on the main screen: asked for like a command, put where one writes, not sent by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.text import visible
from workbench.tui.focusing import give_keys
from workbench.tui.screens.queueing import Queueing
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.writing import Writing
from workbench.view.prompt.server_prompts import get_prompt, written
from workbench.view.state import Changed, SessionState, UserItem

if TYPE_CHECKING:
    from workbench.mcp.mentions import ServerPrompt as Offered


class ServerPrompts(Queueing):
    """The part of the main screen that gets them."""

    @property
    def prompts(self) -> Sequence[Offered]:
        """Those there are."""
        return self.query_one(Writing).offers.prompts

    def asks_prompt(self, text: str) -> bool:
        """Whether the line asks for a prompt that there is; then it is on its way, or the line is back."""
        wanted = written(text)
        prompt = self.query_one(Writing).offers.prompt(wanted.name) if wanted is not None else None
        if wanted is None or prompt is None:
            return False
        try:
            self.link.send(get_prompt(prompt, wanted.words))
        except ValueError as error:
            self.query_one(Prompt).give_back(text)
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.notify(f"asking {visible(prompt.server, lines=False)} for it", markup=False, timeout=2)
        return True

    def action_server_prompt(self, name: str) -> None:
        """Get the prompt, or write down what it wants to be told."""
        prompt = self.query_one(Writing).offers.prompt(name)
        if prompt is None:
            return
        if not any(each.required for each in prompt.arguments):
            self.asks_prompt(f"/{name}")
            return
        box = self.query_one(Prompt)
        box.give_back(" ".join([f"/{name}", *(f"{each.name}=" for each in prompt.arguments if each.required)]))
        give_keys(box)

    def take_back(self, changed: Changed | None) -> None:
        """What comes to the prompt: messages that were not taken, and a server's, which the person looks at first."""
        self.outbox.take_back(self.query_one(Prompt), self.state, changed)
        if changed is not None and changed.prompt:
            box = self.query_one(Prompt)
            give_keys(box)
            box.bring(visible(changed.prompt))
            self.notify("This is what the server's prompt says: look at it, then send it.", timeout=5)


def said_below(state: SessionState, count: int, *, is_foreign: bool) -> str:
    """What stands below the prompt; `count` messages are not in the log yet."""
    sent = count if state.work == "starting" else 0
    return "a server's words: sent as a message" if is_foreign else f"{sent} on the way" if sent else ""


def sent_before(state: SessionState) -> list[str]:
    """Messages of the session to be called back; what only a server can have begun as a command is none of them."""
    texts = (item.text for item in state.items if isinstance(item, UserItem))
    return [text for text in texts if not text.lstrip().startswith(("!", "/"))]
