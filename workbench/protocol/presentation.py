"""How front ends present the calls of a tool, as plain data."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from workbench.protocol.codec import Data, to_plain, without_surrogates

ResultView: TypeAlias = Literal["tail", "head", "changes", "subject", "none"]
"""What a card shows below its first line: the last or the first lines of the output, the changed lines of the files,
the main argument itself, or nothing.
"""


class Presentation(Data):
    """The icon, the texts and the result view that front ends show for a tool's calls.

    It is plain data, so that the log can store it: a session looks the same in every front end, even after its tool was
    uninstalled.

    `headline`, `title`, `question` and `outcome` are templates. `{name}` stands for an argument of the call (in
    `outcome`: for a field of the result). A part in square brackets is omitted if one of its fields is missing or
    empty: `{pattern}[ in {path:path}]`. After a colon comes the format of the value: `path` (relative to the
    workspace), `lines` (first and last of a range), `exact` (look-alike letters escaped, for executed text) or a number
    (the maximum length in characters). In `outcome`, the word after the colon is the noun to count: `{found:file}` is
    "1 file" or "3 files".
    """

    icon: str = "◆"
    """The icon, one terminal cell wide."""
    ascii_icon: str = ""
    """The icon in a terminal without Unicode, one cell wide; if empty, a similar ASCII character, if there is one."""
    noun: str = ""
    """The noun for a call in plain mode, such as "command" or "sub-agent"; if empty, the tool's name."""
    activity: str = ""
    """The activity while the call runs, such as "searching"; if empty, "running" and the tool's name."""
    headline: str = ""
    """The call on one line; if empty, the tool's name and the arguments."""
    title: str = ""
    """The title of the call on the screen, like `headline` but starting with a verb; if empty, the headline."""
    question: str = ""
    """The title of the approval question about the call, in a few words; if empty, "Call" and the tool's name."""
    subject: str = "path"
    """The name of the main argument: what the call is about, and what is copied to the clipboard."""
    outcome: str = ""
    """The result in a few words."""
    result: ResultView = "tail"
    agent: str = ""
    """The other agent that makes the call itself once it is allowed; empty for calls that the workbench makes."""
    note: str = ""
    """A remark below the title of the question, such as who makes the call."""


_MOST_CHARACTERS = 1_000


def checked_presentation(presentation: object) -> Presentation:
    """Return a presentation from a third party, checked so that it can be stored.

    Raises TypeError if it is not a `Presentation`, ValueError if it is invalid or too long.
    """
    if not isinstance(presentation, Presentation):
        raise TypeError(f"a Presentation belongs here, not a {type(presentation).__name__}")
    checked = without_surrogates(msgspec.convert(to_plain(presentation), Presentation))
    if sum(map(len, to_plain(checked).values())) > _MOST_CHARACTERS:
        raise ValueError(f"the presentation is longer than {_MOST_CHARACTERS:,} characters")
    return checked
