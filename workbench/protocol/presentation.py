"""The presentation of a tool's calls in front ends, as plain data."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from workbench.protocol.codec import Data, to_plain, without_surrogates

ResultView: TypeAlias = Literal["tail", "head", "changes", "subject", "none"]
"""The content of a card below its first line: the last or the first lines of the output, the changed lines of the
files, the main argument itself, or nothing.
"""


class Presentation(Data):
    """The icon, the words and the result view of a tool's calls.

    It is plain data, so that the log can store it: a session looks the same in every front end, also after its tool was
    uninstalled.

    `headline`, `title`, `question` and `outcome` are templates. `{name}` stands for an argument (in `outcome`: for a
    field of the result). A part in square brackets is omitted if one of its fields is missing or empty: `{pattern}[ in
    {path:path}]`. After a colon, a headline says how to show the value: `path` (relative to the workspace), `lines`
    (first and last of a range), `exact` (look-alike letters escaped, for executed text) or a number (the most
    characters). In an outcome, the word after the colon is the noun to count: `{found:file}` is "1 file" or "3 files".
    """

    icon: str = "◆"
    """One cell."""
    ascii_icon: str = ""
    """The icon in a terminal without Unicode, one cell; empty for a similar character, if there is one."""
    noun: str = ""
    """The noun for a step in plain mode: "command", "sub-agent"; if empty, the tool's name."""
    activity: str = ""
    """The activity while it runs: "searching"; if empty, "running" and the tool's name."""
    headline: str = ""
    """The call on one line; if empty, the name and the arguments."""
    title: str = ""
    """The title of the call on the screen, as a headline that begins with a verb; if empty, the headline."""
    question: str = ""
    """The title of the question about the call, in a few words; if empty, "Call" and the tool's name."""
    subject: str = "path"
    """The argument that the call is about, and that is copied."""
    outcome: str = ""
    """The result in a few words."""
    result: ResultView = "tail"
    agent: str = ""
    """The other agent that makes the call itself if it is allowed to; empty for calls that the workbench makes."""
    note: str = ""
    """A remark below the title of the question, such as who makes the call."""


_MOST_CHARACTERS = 1_000


def checked_presentation(presentation: object) -> Presentation:
    """Return a presentation from a third party, checked so that it can be stored. Raises TypeError or ValueError."""
    if not isinstance(presentation, Presentation):
        raise TypeError(f"a Presentation belongs here, not a {type(presentation).__name__}")
    checked = without_surrogates(msgspec.convert(to_plain(presentation), Presentation))
    if sum(map(len, to_plain(checked).values())) > _MOST_CHARACTERS:
        raise ValueError(f"the presentation is longer than {_MOST_CHARACTERS:,} characters")
    return checked
