"""Elicitation: a server asks the user to fill in a form, field by field, or to open a URL.

Each field is a separate question, with options to choose from. If the answer does not match the field's schema, the
question is asked again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from workbench.errors import WorkbenchError
from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import MASKER
from workbench.secrets.secret_names import holds_secret
from workbench.text import cut_middle, first_line, well_formed

if TYPE_CHECKING:
    from mcp import types as t

    from workbench.mcp.requests import RequestHandler

_MOST_FIELDS, _MOST_CHOICES = 20, 100
_YES, _NO = ("yes", "y", "true", "1"), ("no", "n", "false", "0")
_PLAIN = ("string", "integer", "number", "boolean")
_SECRET = lazy_pattern(
    r"pass ?(?:word|phrase|code)|api[ _-]?key|secret|private key|credential|card number|\bcvv?\b", re.I
)
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "format": "as {}",
    "pattern": "of the form {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


class WrongAnswer(ValueError):
    """The answer does not match the schema; the message says why."""


class OddForm(WorkbenchError):
    """The form cannot be presented as questions."""


@dataclass(frozen=True)
class FormField:
    """One field of a form. `words` is the server's description, `kind` a JSON schema type; `choices` are pairs of a
    value and its label.
    """

    name: str
    label: str
    words: str
    kind: str
    required: bool
    choices: tuple[tuple[str, str], ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """The answers to offer the user, with the default first."""
        default = self.schema.get("default")
        if self.kind == "boolean":
            return ("Yes", "No") if default is not False else ("No", "Yes")
        if self.kind == "array":
            return ()
        if not self.choices:
            return (str(default),) if default not in (None, "") else ()
        labels = [label for _, label in self.choices]
        default_labels = [label for value, label in self.choices if value == default]
        return tuple(dict.fromkeys([*default_labels, *labels]))

    def describe(self, *, listed: bool) -> str:
        """Return the field's description for the user; if `listed` is true, it includes the choices."""
        facts = [text.format(self.schema[name]) for name, text in _LIMITS.items() if name in self.schema]
        kind = {"integer": "a whole number", "number": "a number", "boolean": "yes or no"}.get(self.kind, "")
        lines = [self.words, ", ".join(part for part in (kind, *facts) if part)]
        if self.choices and listed:
            lines += [f"One of: {', '.join(label for _, label in self.choices)}"] if self.kind != "array" else []
        if self.kind == "array":
            lines.append(f"Any of these, with commas between: {', '.join(label for _, label in self.choices)}")
        return "\n".join(_masked(line, 2_000) for line in lines if line)

    def show(self, value: Any) -> str:
        """Return a value as text, as it is shown to the user before it is sent."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        called = dict(self.choices)
        values = value if isinstance(value, list) else [value]
        return ", ".join(called.get(each, str(each)) for each in values)

    def value(self, answer: str) -> Any:
        """Return the answer, converted to the schema's type. Raises WrongAnswer if it does not match the schema."""
        value = self._read(answer.strip())
        from jsonschema import Draft202012Validator, FormatChecker, SchemaError

        try:
            # Only the server checks the pattern: matching a hostile one here could take forever.
            schema = {name: part for name, part in self.schema.items() if name != "pattern"}
            errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value)
            first = next(iter(errors), None)
        except (SchemaError, re.error, TypeError, AttributeError):
            # The schema itself is invalid: the server has to check the answer.
            first = None
        if first is not None:
            raise WrongAnswer(_masked(first.message, 200))
        return value

    def _read(self, answer: str) -> Any:
        if self.kind == "boolean":
            if answer.lower() not in (*_YES, *_NO):
                raise WrongAnswer("answer yes or no")
            return answer.lower() in _YES
        if self.kind in ("integer", "number"):
            return self._number(answer)
        if self.kind == "array":
            return [self._chosen(part.strip()) for part in answer.split(",") if part.strip()]
        return self._chosen(answer) if self.choices else answer

    def _number(self, answer: str) -> float:
        try:
            value = json.loads(answer)
        except ValueError:
            value = None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise WrongAnswer("answer with a number")
        if self.kind == "integer" and value != int(value):
            raise WrongAnswer("answer with a whole number")
        return int(value) if self.kind == "integer" else value

    def _chosen(self, answer: str) -> str:
        for value, label in self.choices:
            if answer in (value, label):
                return value
        for value, label in self.choices:
            if answer.lower() in (value.lower(), label.lower()):
                return value
        raise WrongAnswer(f"{_masked(answer, 60)} is not one of the choices")


def fields_of(server: str, schema: Any) -> tuple[FormField, ...]:
    """Return the fields of a form. Raises OddForm if the form cannot be presented as questions."""
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(properties) > _MOST_FIELDS:
        raise OddForm(f"the MCP server {server} asked with a form that cannot be shown: refused")
    required = schema.get("required") if isinstance(schema.get("required"), list) else ()
    return tuple(_field(server, str(name), part, name in (required or ())) for name, part in properties.items())


def asks_secret(message: str, fields: Sequence[FormField]) -> str:
    """Return the label of the field, or the words in `message`, that ask for a secret; empty if there are none."""
    for each in fields:
        parts = (each.name, each.label, each.words)
        if each.schema.get("format") == "password" or holds_secret(each.name) or any(map(_SECRET.search, parts)):
            return each.label
    match = _SECRET.search(message) if any(each.kind == "string" and not each.choices for each in fields) else None
    return match[0] if match else ""


def _field(server: str, name: str, part: Any, required: bool) -> FormField:
    part = part if isinstance(part, Mapping) else {}
    choices = _choices(part.get("items") if part.get("type") == "array" else part)
    kind = part.get("type", "string")
    if kind not in (*_PLAIN, "array") or (kind == "array" and not choices) or len(choices) > _MOST_CHOICES:
        raise OddForm(f"the MCP server {server} asked for {_masked(name, 60)}, which no form can show: refused")
    label = _masked(str(part.get("title") or name), 120)
    return FormField(name, label, _masked(str(part.get("description") or ""), 600), kind, required, choices, part)


def _choices(part: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(part, Mapping):
        return ()
    for word in ("oneOf", "anyOf"):
        listed = part.get(word)
        if isinstance(listed, list):
            pairs = [each for each in listed if isinstance(each, Mapping) and "const" in each]
            return tuple((str(each["const"]), _masked(str(each.get("title") or each["const"]), 80)) for each in pairs)
    values = part.get("enum")
    if not isinstance(values, list):
        return ()
    names = part.get("enumNames")
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple((str(value), _masked(str(label), 80)) for value, label in zip(values, labels, strict=True))


def _masked(text: str, width: int) -> str:
    return MASKER.masked(first_line(well_formed(text), width))


NOTHING = "Answer nothing"
LEAVE_OUT = "Omit it"
_OPEN, _SEND, _AGAIN = "I open it myself", "Send these", "Answer again"
_MOST_OPTIONS = 6
_LONGEST = 4_000


class NoForm(WorkbenchError):
    """The request is refused without asking the user; the message says why."""


class _NotAnswered(Exception):
    """The user did not answer; the server gets `action` instead."""

    def __init__(self, action: Literal["decline", "cancel"]) -> None:
        super().__init__(action)
        self.action = action


def elicit(server: str, params: Any, handler: RequestHandler, seconds: float) -> t.ElicitResult:
    """Return the user's answer to a server's request; each question waits `seconds`.

    Raises WorkbenchError if the request is refused or the user cannot be asked.
    """
    from mcp import types as t

    asking = _Asking(server, MASKER.masked(cut_middle(well_formed(params.message), _LONGEST)), handler, seconds)
    try:
        if params.mode == "url":
            asking.open_url(str(params.url))
            return t.ElicitResult(action="accept")
        return t.ElicitResult(action="accept", content=asking.form(params.requested_schema))
    except _NotAnswered as unanswered:
        return t.ElicitResult(action=unanswered.action)


class _Asking:
    """Asks the user to fill in one form or to open one URL for a server."""

    def __init__(self, server: str, message: str, handler: RequestHandler, seconds: float) -> None:
        self._server = server
        self._message = message.strip() or "It does not say why."
        self._handler = handler
        self._seconds = seconds

    def open_url(self, url: str) -> None:
        """Ask the user to open the URL; the program never opens it. Raises NoForm if it is not a web page's URL."""
        host = urlsplit(url).hostname if url.startswith(("http://", "https://")) else None
        if not host or len(url) > _LONGEST:
            raise NoForm(f"the MCP server {self._server} asked to open a URL that is not a web page: refused")
        request = f"It wants you to open this URL in a browser, on the host {host}:\n{url}"
        if self._asked(f"{self._message}\n\n{request}", (_OPEN, NOTHING)) != _OPEN:
            raise _NotAnswered("decline")

    def form(self, schema: Any) -> dict[str, Any]:
        """Return the user's answers by field name. Raises NoForm if the form asks for a secret."""
        fields = fields_of(self._server, schema)
        secret = asks_secret(self._message, fields)
        if secret:
            raise NoForm(
                f"the MCP server {self._server} asked for a secret in a form ({secret}), which would be sent as "
                "plain text: refused; put the secret into its env or headers"
            )
        while True:
            answers = self._answers(fields)
            if len(fields) < 2 or self._is_whole(fields, answers):
                return answers

    def _answers(self, fields: tuple[FormField, ...]) -> dict[str, Any]:
        if not fields:
            if self._asked(f"{self._message}\n\nYes or no?", ("Yes", NOTHING)) != "Yes":
                raise _NotAnswered("decline")
            return {}
        answers = {}
        for number, each in enumerate(fields, 1):
            position = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
            is_answered, value = self._field(each, position)
            if is_answered:
                answers[each.name] = value
        return answers

    def _field(self, field: FormField, position: str) -> tuple[bool, Any]:
        """Return whether the user answered the field, and the value (None if not)."""
        wrong = ""
        own = field.options[: _MOST_OPTIONS - 2] if len(field.options) <= _MOST_OPTIONS - 2 else ()
        options = (*own, *(() if field.required else (LEAVE_OUT,)), NOTHING)
        about = f"{field.label}{position}{'' if field.required else ', optional'}"
        goes = f"Your answer goes to the MCP server {self._server}."
        asked = "\n".join((*filter(None, (about, field.describe(listed=not own))), "", self._message, goes))
        while True:
            answer = self._asked(f"{wrong}{asked}", options)
            if answer == LEAVE_OUT and not field.required:
                return False, None
            try:
                return True, field.value(answer)
            except WrongAnswer as error:
                wrong = f"That does not fit: {error}\n"

    def _is_whole(self, fields: tuple[FormField, ...], answers: dict[str, Any]) -> bool:
        """Show the user all answers; return whether to send them."""
        lines = [f"{field.label}: {field.show(answers[field.name])}" for field in fields if field.name in answers]
        summary = "\n".join(lines) or "(nothing is filled in)"
        answer = self._asked(f"Send this to the MCP server {self._server}?\n{summary}", (_SEND, _AGAIN, NOTHING))
        return answer == _SEND

    def _asked(self, text: str, options: tuple[str, ...]) -> str:
        answer = self._handler.ask(text, options, self._seconds)
        if answer is None:
            raise _NotAnswered("cancel")
        if answer == NOTHING:
            raise _NotAnswered("decline")
        return answer
