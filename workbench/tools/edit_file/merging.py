"""What the model is asked to merge, and its answer read with suspicion; pure, used by the executor."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from workbench.files.text_file import EditorError
from workbench.text import well_formed
from workbench.tools.edit_file.definition import MAX_LINES, EditFileAction
from workbench.tools.str_replace_editor.edits import Edited, line_count, replace_lines

_OPEN, _CLOSE = "<merged>", "</merged>"
_FENCED = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)
_COMMENT = r"^\s*(?:#|//|/\*|<!--|--|;|%|\{/\*|\(\*|\"|')+\s*"
_LEFT_OUT = re.compile(
    _COMMENT + r"(?:(?:\.\.\.|…)|.*\b(?:existing|unchanged|remaining|rest of|stays?|same)\b.*(?:\.\.\.|…))",
    re.IGNORECASE,
)
_NOTHING = "Nothing was changed. Call again with a smaller range, or use str_replace."

_PROMPT = """Merge a draft into a part of the file {path}. Be exact: add no comments of your own and no improvements.

The part as it is:
<part>
{original}
</part>

The draft of how it should read:
<draft>
{draft}
</draft>

Where the draft has a comment that stands for lines it leaves out (such as "... existing code ..."), put those lines of
the part, word for word. Everything else becomes what the draft says. Lines of the part before and behind what the draft
speaks of stay. Keep the indentation of the part. Leave nothing out and shorten nothing.

Answer with the whole new part between <merged> and </merged>, each of them on a line of its own, and nothing else."""


@dataclass(frozen=True)
class Question:
    """The lines that a draft stands for, and what the model is asked about them."""

    first: int
    last: int
    original: str
    draft: str
    prompt: str

    @classmethod
    def about(cls, action: EditFileAction, text: str) -> Question:
        """The question that the action asks of this text; raises EditorError for a range that is none or too long."""
        first, last = _range(action, line_count(text))
        original = "\n".join(text.replace("\r\n", "\n").split("\n")[first - 1 : last])
        prompt = _PROMPT.format(path=action.path, original=original, draft=action.content)
        return cls(first, last, original, action.content, well_formed(prompt))

    def applied(self, text: str, answer: str) -> Edited:
        """The text with the answer in it; raises EditorError for an answer that cannot be trusted to be whole."""
        return replace_lines(text, self.first, self.last, self._merged(answer))

    def _merged(self, answer: str) -> str:
        """The new lines, without the last newline."""
        body = _body(answer)
        fenced = _FENCED.match(body)
        if fenced and not _FENCED.match(self.original) and not _FENCED.match(self.draft):
            body = fenced.group(2)
        if not body.strip():
            raise EditorError(f"The model that merges drafts answered with nothing. {_NOTHING}")
        _check_whole(body, self.original)
        return body


def check_complete(draft: str) -> None:
    """Raise EditorError for a text that is to be taken as it is, but leaves lines out behind a comment."""
    _check_whole(draft, "")


def _range(action: EditFileAction, count: int) -> tuple[int, int]:
    """The first and the last line; raises EditorError for a range that is none or too long."""
    first, last = action.start, count if action.end == -1 else min(action.end, count)
    if not 1 <= first <= max(count, 1):
        raise EditorError(f"`start` is {first}, but the file has {count} lines: use 1 to {count}, or -1 to add to it.")
    if action.end != -1 and action.end < first:
        raise EditorError(f"`end` is {action.end}, before `start` ({first}). Use -1 for the end of the file.")
    if last - first + 1 > MAX_LINES:
        raise EditorError(
            f"Lines {first} to {last} are {last - first + 1} lines; at most {MAX_LINES} can be rewritten at once. View "
            "the file, then give `start` and `end` around the part that changes, in several calls where it must be."
        )
    return first, last


def _body(answer: str) -> str:
    start = answer.find(_OPEN)
    if start < 0:
        if _FENCED.match(answer):
            return answer
        raise EditorError(f"The model that merges drafts gave no merged text. {_NOTHING}")
    end = answer.rfind(_CLOSE)
    if end < start:
        raise EditorError(f"The answer of the model that merges drafts broke off. {_NOTHING}")
    body = answer[start + len(_OPEN) : end]
    return body.removeprefix("\n").removesuffix("\n")


def _check_whole(text: str, original: str) -> None:
    """Lines that stand for others may be in the new text only where they were in the old one."""
    left = _placeholders(text) - _placeholders(original)
    if left:
        line = next(iter(left))
        raise EditorError(f"Left out lines were not filled in: the new text still says {line!r}. {_NOTHING}")


def _placeholders(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if _LEFT_OUT.match(line))
