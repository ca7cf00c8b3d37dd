r"""The parts of a response that are not searched for calls: the model's thinking, HTML comments, `<details>`, examples.

Thinking is between tags whose names vary, or in the channel `analysis` of the gpt-oss models. All patterns are bounded,
so that the search takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from workbench.lazy_pattern import lazy_pattern

_REASONING: Final = (
    r"(?:\w{1,12}:)?(?:(?:ant)?think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|scratch_?pad|analysis|cot|"
    r"(?:inner|internal)[_-]?(?:monologue|thoughts?|dialogue|reasoning)|chain[_-]of[_-]thoughts?)"
    r"(?:_(?:process|block|step|content))?\b(?![-.:])"
)
"""The names that models give to the tags around their thinking, also with the prefix of a model (`seed:think`)."""
_TOKEN_END: Final = r"(?:/|end_(?:of_)?)"
_TOKEN: Final = rf"\|{_TOKEN_END}?(?:(?:begin|start)_(?:of_)?)?{_REASONING}\|>"
"""A pattern for special tokens that start or end thinking, without their `<`."""
_CHANNEL: Final = r"\|channel\|?>\s{0,9}(?:analysis|thought)\b"
_SPAN: Final = rf"<!--|(?<![^\n>])<details\b[^<>\n]{{0,200}}>|<{_CHANNEL}"
IGNORED: Final = (
    rf"(?P<span>{_SPAN})|[<◁](?P<closing>\s{{0,9}}/?)\s{{0,9}}{_REASONING}[^<>◁▷\n]*[>▷]"
    rf"|<(?=\|(?P<ending>{_TOKEN_END})?){_TOKEN}|\[(?P<bracket>/?)THINK\]"
)
"""A pattern for the beginning of ignored text (a `span`, whose end `span_end` finds), or a tag around thinking."""
CLOSING_TAG: Final = lazy_pattern(
    rf"[<◁]\s{{0,9}}/\s{{0,9}}{_REASONING}|<\|{_TOKEN_END}{_REASONING}|\[/THINK\]", re.IGNORECASE
)
ESCAPABLE: Final = (
    rf"\s{{0,9}}/?\s{{0,9}}{_REASONING}|{_TOKEN}|{_CHANNEL}|\|start\|>assistant|\|channel\|>commentary|!--|details\b"
)
"""A pattern for tags of ignored text, without their `<`."""
_COMMENT_END: Final = lazy_pattern("-->")
_MESSAGE_END: Final = lazy_pattern(r"(?=<\|(?:end|return|call|start|channel)\|>)|<channel\|>", re.IGNORECASE)
_DETAILS: Final = lazy_pattern(r"<(/?)details\b[^<>\n]{0,200}>", re.IGNORECASE)
_BRACKETS: Final = lazy_pattern(r"◁|\[/?THINK\]", re.IGNORECASE)
_FENCE: Final = lazy_pattern(r"(?:(?<=\n)|\A)[ \t]{0,3}(```|~~~)[^\n]{0,200}")
_WRAPPERS: Final = lazy_pattern(r"(?:\s{0,99}</?(?:tool_call|function_calls)>)*\s{0,99}", re.IGNORECASE)


def has_other_brackets(text: str) -> bool:
    """Return whether the text may contain tags of thinking that start with another bracket than `<`."""
    return ("[" in text or "◁" in text) and _BRACKETS.search(text) is not None


def has_fence(text: str) -> bool:
    """Return whether the text may contain a fenced code block."""
    return "```" in text or "~~~" in text


def is_closing_tag(tag: re.Match[str]) -> bool:
    """Return whether a match of `IGNORED` that is a tag around thinking is a closing tag."""
    return "/" in (tag["closing"] or "") or bool(tag["ending"] or tag["bracket"])


def is_quoted(before: str, after: str) -> bool:
    """Return whether the characters before and after a tag are the same kind of quote, or backquotes."""
    return before == after and before in ("`", '"', "'")


def span_end(text: str, opening: re.Match[str]) -> int:
    """Return the position after the ignored text that a `span` of `IGNORED` opens, or -1 if it is not closed."""
    start, kind = opening.end(), opening["span"][:2]
    if kind == "<!":
        end = _COMMENT_END.search(text, start)
    elif kind == "<|":
        end = _MESSAGE_END.search(text, start)
    else:
        return _details_end(text, start)
    return end.end() if end else -1


def _details_end(text: str, at: int) -> int:
    depth = 1
    for tag in _DETAILS.finditer(text, at):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return -1


def examples_in(text: str, calls: Sequence[tuple[int, int]]) -> set[int]:
    """Return the indexes of the calls that are only examples; `calls` are the start and end positions of calls.

    An example is a call in quotes or backquotes, or in a code block that contains other text too. A code block that
    contains only calls, or that is never closed, is no example: some models write calls like this.
    """
    edges = [(text[max(0, start - 1) : start], text[end : end + 1]) for start, end in calls]
    quoted = {index for index, (before, after) in enumerate(edges) if is_quoted(before, after)}
    if not has_fence(text):
        return quoted
    fence, has_words, inside, at = "", False, set[int](), 0
    for index, (start, end) in enumerate([*calls, (len(text), len(text))]):
        for line in _FENCE.finditer(text, at, start):
            has_words = has_words or _WRAPPERS.fullmatch(text, at, line.start()) is None
            if not fence:
                fence, has_words, inside = line[1], False, set()
            elif line[1] == fence:
                quoted |= inside if has_words else set()
                fence = ""
            at = line.end()
        has_words = has_words or _WRAPPERS.fullmatch(text, at, start) is None
        inside.add(index)
        at = end
    return quoted
