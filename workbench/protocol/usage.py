"""Tokens of model calls, as events record them."""

from __future__ import annotations

from workbench.protocol.codec import Data

CHARACTERS_PER_TOKEN = 4
"""Used to estimate tokens where a provider reports none."""


class Usage(Data):
    """The tokens of one model call; a field is `None` if the provider does not report it."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    """Input tokens written to the provider's cache, which are charged."""
    reasoning: int | None = None
    window: int | None = None
    """The size of the model's context window in tokens."""


class ContextParts(Data):
    """An estimate of the tokens of each part of a request; the sum is the provider's count, if it reports one."""

    system: int = 0
    tools: int = 0
    messages: int = 0
    files: int = 0
    """Files and resources that the user's messages mention."""
    tool_output: int = 0
