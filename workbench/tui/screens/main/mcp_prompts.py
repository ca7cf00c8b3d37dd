"""Prompts of MCP servers: requested like commands, and inserted into the prompt for the user to read and send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.client.client import Client
from workbench.text import visible
from workbench.tui.focus import focus_now
from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.completion import ServerOffers
from workbench.view.prompt.mcp_prompt_line import get_prompt, written
from workbench.view.state import Changed

if TYPE_CHECKING:
    from workbench.mcp.mentions import ServerPrompt


class PromptRequests:
    """Requests prompts from MCP servers and inserts them into the prompt of one main screen."""

    def __init__(
        self, client: Client, offers: ServerOffers, prompt: Callable[[], Prompt], notify: Callable[..., None]
    ) -> None:
        self._client = client
        self._offers = offers
        self._prompt = prompt
        self._notify = notify

    @property
    def available(self) -> Sequence[ServerPrompt]:
        """The prompts that servers offer."""
        return self._offers.prompts

    def request(self, text: str) -> bool:
        """Request the server prompt that a line names; return False if it names none.

        A line with wrong arguments is put back into the prompt, with a notification.
        """
        line = written(text)
        prompt = self._offers.prompt(line.name) if line is not None else None
        if line is None or prompt is None:
            return False
        try:
            self._client.send(get_prompt(prompt, line.words))
        except ValueError as error:
            self._prompt().restore_text(text)
            self._notify(str(error), severity="warning", markup=False)
        else:
            self._notify(f"Asking {visible(prompt.server, lines=False)} for it", markup=False, timeout=2)
        return True

    def choose(self, name: str) -> None:
        """Request a server prompt by name; if it needs arguments, put the command into the prompt to be completed."""
        server_prompt = self._offers.prompt(name)
        if server_prompt is None:
            return
        required = [each.name for each in server_prompt.arguments if each.required]
        if not required:
            self.request(f"/{name}")
            return
        prompt = self._prompt()
        prompt.restore_text(" ".join([f"/{name}", *(f"{argument}=" for argument in required)]))
        focus_now(prompt)

    def insert(self, changed: Changed | None) -> None:
        """Insert a prompt that a server has sent into the user's prompt, to be checked and sent."""
        if changed is not None and changed.prompt:
            prompt = self._prompt()
            focus_now(prompt)
            prompt.bring(visible(changed.prompt))
            self._notify("The server's prompt: check it, then send it.", timeout=5)
