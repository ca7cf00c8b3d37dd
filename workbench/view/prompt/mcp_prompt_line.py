"""Parses a server prompt as the user writes it: `/server:prompt name=value other="two words"`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.commands import GetPrompt
from workbench.text import visible

if TYPE_CHECKING:
    from workbench.mcp.mentions import ServerPrompt

_WRITTEN = lazy_pattern(r"/([\w.-]+:\S+)(?:\s+(.*))?", re.DOTALL)


class PromptCall(NamedTuple):
    """A prompt as written: its name, and the words after it."""

    name: str
    words: str


def written(text: str) -> PromptCall | None:
    """Return the prompt that a line asks for, or None if the line does not have that form."""
    match = _WRITTEN.fullmatch(text.strip())
    return PromptCall(match[1], match[2] or "") if match else None


def get_prompt(prompt: ServerPrompt, words: str) -> GetPrompt:
    """Return the command that fetches the prompt with these words. Raises ValueError with a one-line message."""
    return GetPrompt(server=prompt.server, name=prompt.name, arguments=arguments_of(prompt, words))


def arguments_of(prompt: ServerPrompt, words: str) -> dict[str, str]:
    """Return the arguments by name; unnamed words fill the remaining ones in order.

    Raises ValueError with a one-line message.
    """
    names = {each.name for each in prompt.arguments}
    arguments: dict[str, str] = {}
    loose = []
    for word in _split(words):
        name, sign, value = word.partition("=")
        if sign and name in names:
            arguments[name] = value
        else:
            loose.append(word)
    remaining = [each.name for each in prompt.arguments if each.name not in arguments]
    if len(loose) > len(remaining):
        if len(remaining) != 1:
            raise ValueError(f"unexpected argument {visible(loose[-1], lines=False)}; {_usage(prompt)}")
        loose = [" ".join(loose)]
    arguments |= dict(zip(remaining, loose, strict=False))
    missing = [each for each in prompt.arguments if each.required and not arguments.get(each.name)]
    if missing:
        first = missing[0]
        raise ValueError(
            f"{_name(first.name)} is required{f': {first.words}' if first.words else ''}; {_usage(prompt)}"
        )
    return arguments


def _split(words: str) -> list[str]:
    import shlex

    try:
        return shlex.split(words)
    except ValueError:  # an unmatched quote is treated as an ordinary character
        return words.split()


def _usage(prompt: ServerPrompt) -> str:
    named = [f"{_name(each.name)}=…" if each.required else f"[{_name(each.name)}=…]" for each in prompt.arguments]
    return f"write /{_name(prompt.server)}:{_name(prompt.name)} {' '.join(named)}".rstrip()


def _name(text: str) -> str:
    return visible(text, lines=False)
