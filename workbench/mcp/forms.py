"""A server's questions to the person: the fields of its form one after the other, or an address; used by `requests`.

Each field is a question of its own, so that it is asked where all questions are: with answers to choose from, later, or
not at all. What does not fit the field's schema is asked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from workbench.errors import WorkbenchError
from workbench.mcp.form_fields import Field, WrongAnswer, asks_secret, fields_of
from workbench.secrets.masker import KNOWN
from workbench.text import cut_middle, well_formed

if TYPE_CHECKING:
    from mcp import types as t

    from workbench.mcp.requests import Asker

NOTHING = "Answer nothing"
LEAVE_OUT = "Leave it out"
_OPEN, _SEND, _AGAIN = "I open it myself", "Send these", "Answer anew"
_MOST_OPTIONS = 6
_LONGEST = 4_000


class NoForm(WorkbenchError):
    """The person is not asked that; one line that says why."""


class _Left(Exception):
    """The person does not answer: `action` is what the server is told."""

    def __init__(self, action: Literal["decline", "cancel"]) -> None:
        super().__init__(action)
        self.action = action


def elicit(server: str, params: Any, asker: Asker, seconds: float) -> t.ElicitResult:
    """What the person answers, as the server wants it told; raises WorkbenchError where they are not asked."""
    from mcp import types as t

    asking = _Asking(server, KNOWN.masked(cut_middle(well_formed(params.message), _LONGEST)), asker, seconds)
    try:
        if params.mode == "url":
            asking.address(str(params.url))
            return t.ElicitResult(action="accept")
        return t.ElicitResult(action="accept", content=asking.form(params.requested_schema))
    except _Left as left:
        return t.ElicitResult(action=left.action)


class _Asking:
    """One form or address of a server."""

    def __init__(self, server: str, message: str, asker: Asker, seconds: float) -> None:
        self._server = server
        self._message = message.strip() or "It does not say why."
        self._asker = asker
        self._seconds = seconds

    def address(self, url: str) -> None:
        """Have the person open it, which nobody does for them."""
        host = urlsplit(url).hostname if url.startswith(("http://", "https://")) else None
        if not host or len(url) > _LONGEST:
            raise NoForm(f"the MCP server {self._server} wanted an address opened that is none of the web: refused")
        told = f"It wants you to open this address in a browser, on the host {host}:\n{url}"
        if self._asked(f"{self._message}\n\n{told}", (_OPEN, NOTHING)) != _OPEN:
            raise _Left("decline")

    def form(self, schema: Any) -> dict[str, Any]:
        """The answers by the names of the fields."""
        fields = fields_of(self._server, schema)
        secret = asks_secret(self._message, fields)
        if secret:
            raise NoForm(
                f"the MCP server {self._server} wanted a secret in a form ({secret}), which would go through it as "
                "plain text: refused; give it the secret in its env or headers"
            )
        while True:
            answers = self._answers(fields)
            if len(fields) < 2 or self._is_whole(fields, answers):
                return answers

    def _answers(self, fields: tuple[Field, ...]) -> dict[str, Any]:
        if not fields:
            if self._asked(f"{self._message}\n\nYes or no?", ("Yes", NOTHING)) != "Yes":
                raise _Left("decline")
            return {}
        answers = {}
        for number, field in enumerate(fields, 1):
            place = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
            said, value = self._field(field, place)
            if said:
                answers[field.name] = value
        return answers

    def _field(self, field: Field, place: str) -> tuple[bool, Any]:
        """Whether it was answered, and with what."""
        wrong = ""
        own = field.options[: _MOST_OPTIONS - 2] if len(field.options) <= _MOST_OPTIONS - 2 else ()
        options = (*own, *(() if field.required else (LEAVE_OUT,)), NOTHING)
        about = f"{field.label}{place}{'' if field.required else ', may be left out'}"
        goes = f"Your answer goes to the MCP server {self._server}."
        asked = "\n".join((*filter(None, (about, field.told(listed=not own))), "", self._message, goes))
        while True:
            answer = self._asked(f"{wrong}{asked}", options)
            if answer == LEAVE_OUT and not field.required:
                return False, None
            try:
                return True, field.value(answer)
            except WrongAnswer as error:
                wrong = f"That does not fit: {error}\n"

    def _is_whole(self, fields: tuple[Field, ...], answers: dict[str, Any]) -> bool:
        """Whether all of it may go, as it is shown once more."""
        lines = [f"{field.label}: {field.said(answers[field.name])}" for field in fields if field.name in answers]
        told = "\n".join(lines) or "(nothing is filled in)"
        answer = self._asked(f"Send this to the MCP server {self._server}?\n{told}", (_SEND, _AGAIN, NOTHING))
        return answer == _SEND

    def _asked(self, text: str, options: tuple[str, ...]) -> str:
        answer = self._asker.ask(text, options, self._seconds)
        if answer is None:
            raise _Left("cancel")
        if answer == NOTHING:
            raise _Left("decline")
        return answer
