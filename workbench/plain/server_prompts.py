"""Prompts of MCP servers in plain mode: asked for like a command, told, and sent only when the person says so."""

from __future__ import annotations

from collections.abc import Callable

from workbench.client.client import Client
from workbench.view.prompt.completion import ServerOffers
from workbench.view.prompt.server_prompts import get_prompt, written


class ServerPrompts:
    """The one that was asked for last; `send` is told of a message."""

    def __init__(
        self, link: Client, offers: ServerOffers, say: Callable[..., None], send: Callable[[str], None]
    ) -> None:
        self._link = link
        self._offers = offers
        self._say = say
        self._send = send
        self._said = ""

    def asks(self, line: str) -> bool:
        """Whether the line has the form of a prompt; then it is asked for, or it is told why not."""
        wanted = written(line)
        if wanted is None:
            return False
        self._offers.look()
        prompt = self._offers.prompt(wanted.name)
        if prompt is None:
            known = ", ".join(f"/{each.server}:{each.name}" for each in self._offers.prompts)
            self._say(f"There is no prompt {wanted.name}. {f'There are {known}.' if known else 'No server has any.'}")
            return True
        try:
            self._link.send(get_prompt(prompt, wanted.words))
        except ValueError as error:
            self._say(f"Not asked: {error}.")
        else:
            self._say(f"Asking {prompt.server} for it.")
        return True

    def take(self, said: str) -> None:
        """What a prompt says has come; nothing of it is sent by itself."""
        if said:
            self._said = said
            self._say("The prompt says:", *said.splitlines(), "End of the prompt. /send sends it as a message.")

    def send(self) -> None:
        """Send it, once."""
        text, self._said = self._said, ""
        if text:
            self._send(text)
        else:
            self._say("There is no prompt to send; /SERVER:PROMPT asks for one.")
