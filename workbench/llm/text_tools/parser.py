r"""Writes and parses the plain-text form of a tool call; `text_tools.calls` converts conversations with it.

    <function=NAME>
    <parameter=ONE>value</parameter>
    </function>

The format comes from OpenHands (CodeAct). One newline after an opening tag and one before a closing tag belong to the
tag. Such tags inside a value, and in the text around a call, are escaped with a backslash (`<\/parameter`).

Mistakes of models are accepted if they can mean only one thing: other spellings of a tag, closing tags that are missing
or that repeat the name of the opening one, JSON in place of parameters. All patterns are bounded, so that parsing takes
linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.text_tools.ignored_text import (
    CLOSING_TAG,
    ESCAPABLE,
    IGNORED,
    examples_in,
    has_fence,
    has_other_brackets,
    is_closing_tag,
    is_quoted,
    span_end,
)
from workbench.llm.text_tools.json_calls import OPENING as JSON_OPENING
from workbench.llm.text_tools.json_calls import is_json_call, json_at, json_call_at
from workbench.llm.text_tools.values import FunctionCallConversionError, Parameters, Table, ToolParameter, as_json
from workbench.protocol.tool_names import current_name

_NAME: Final = r"[^<>\s\"'=]{1,128}"
_LT: Final = r"<\s{0,9}"
_LT_END: Final = r"<\s{0,9}/\s{0,9}"
_OPENING: Final = (
    rf"<function=[^<>\n]{{1,128}}>|{_LT}function\s{{0,9}}[=:]\s{{0,9}}[\"']?{_NAME}[\"']?\s{{0,9}}(?:>|(?=\n\s{{0,9}}{_LT}parameter\b))"
    rf"|{_LT}(?:function|invoke)\s{{1,9}}name\s{{0,9}}=\s{{0,9}}[\"']?{_NAME}[\"']?\s{{0,9}}>"
)
_STRICT: Final = lazy_pattern(r"<function=([^<>\n]+)>")
_OPENED_NAME: Final = lazy_pattern(rf"(?:[=:])\s{{0,9}}[\"']?({_NAME}|[^<>\n]{{1,128}})[\"']?\s{{0,9}}>?\Z")
_CALL_OR_IGNORED: Final = lazy_pattern(rf"(?P<call>{_OPENING}|{JSON_OPENING})|{IGNORED}", re.IGNORECASE)
"""Matches the start of a call, or the start or end of ignored text."""
_REGULAR_NAME: Final = r"[^<>\n\"'=:]{1,128}"
_REGULAR: Final = lazy_pattern(
    rf"<function=({_REGULAR_NAME})>\n((?:<parameter={_REGULAR_NAME}>[^<]*</parameter>\n)*)</function>(?![^\n])"
)
_REGULAR_PARAMETER: Final = lazy_pattern(rf"<parameter=({_REGULAR_NAME})>([^<]*)</parameter>")
"""With `_REGULAR`: a call exactly as `write_call` writes it, without `<` in its values; most calls have this form."""
_PARAMETER_TAG: Final = (
    r"<\s{0,9}parameter(?:\s{0,9}[=:]\s{0,9}|\s{1,9}name\s{0,9}=\s{0,9})"
    r"(?:\"(?P<quoted>(?:[^\"\\\n]|\\.)*)\"|'(?P<single>[^'<>\n]{1,200})'|(?P<plain>[^<>\n\"']{1,500}))\s{0,9}>"
)
_PARAMETER: Final = lazy_pattern(_PARAMETER_TAG, re.IGNORECASE)
_UNCLOSED_TAG: Final = lazy_pattern(r"<parameter\s{0,9}=\s{0,9}(?P<plain>[^<>\n\"'=]{1,200}?)\s{0,9}=", re.IGNORECASE)
_SPACE: Final = lazy_pattern(r"\s*")
_END_OF_PARAMETER: Final = r"<\s{0,9}/\s{0,9}parameter(?:\s{0,9}=[^<>\n]{0,200})?\s{0,9}>"
_ENDED: Final = lazy_pattern(_END_OF_PARAMETER, re.IGNORECASE)
_BROKEN_END: Final = lazy_pattern(r"</([^<>\n]{1,200}?)\s{0,99}>?\s{0,99}\Z")
"""A wrong closing tag in place of `</parameter>` at the end of a value: without its `>`, or with another name."""
_END_OF_VALUE: Final = lazy_pattern(
    rf"{_END_OF_PARAMETER}(?=\s*(?:{_LT}(?:parameter|function|invoke)\b|{_LT_END}(?:function|invoke)|</?tool_call>|</?\Z|\Z))",
    re.IGNORECASE,
)
_INNER_TAG: Final = lazy_pattern(rf"{_PARAMETER_TAG}|(?P<end>{_END_OF_PARAMETER})", re.IGNORECASE)
_END_OF_CALL: Final = lazy_pattern(
    r"\s*(?:<\s{0,9}/\s{0,9}(?:function|invoke)(?!_)(?:\s{0,9}=[^<>\n]{0,200})?\s{0,9}>?|(?=</tool_call>|</function_calls>)"
    r"|(?=<\s{0,9}(?:function|invoke)\b|<tool_call>)|</?\Z|\Z)",
    re.IGNORECASE,
)
_END_OF_OPEN_VALUE: Final = lazy_pattern(
    r"<\s{0,9}/\s{0,9}(?:function(?!_)(?:\s{0,9}=[^<>\n]{0,200})?|invoke)\s{0,9}>?|(?=</tool_call>\s*\Z)", re.IGNORECASE
)
_BOUNDARY: Final = lazy_pattern(
    r"(?P<end><\s{0,9}/\s{0,9}(?:function|invoke)\s{0,9}>)\s{0,99}(?:</?tool_call>\s{0,99}){0,2}"
    r"<\s{0,9}(?:function|invoke)\b",
    re.IGNORECASE,
)
"""The end of a call that is followed by another one."""
_WRAPPER: Final = lazy_pattern(r"\s*</?(?:tool_call|function_calls)>\s*", re.IGNORECASE)
_WRAPPERS_BEFORE: Final = lazy_pattern(r"(?:<(?:tool_call|function_calls)>\s{0,9}){1,9}\Z", re.IGNORECASE)
_FENCE_BEFORE: Final = lazy_pattern(r"(?:\A|\n)```[\w-]{0,20}[ \t]{0,9}\n?\Z")
_FENCE_AFTER: Final = lazy_pattern(r"\s{0,99}```[ \t]{0,9}(?:\n|\Z)")
_FORM: Final = r"\s{0,9}/?\s{0,9}(?:parameter|function|invoke|tool_call)"
_TAG: Final = lazy_pattern(rf"<(\\*{_FORM})", re.IGNORECASE)
_ESCAPED_TAG: Final = lazy_pattern(rf"<\\(\\*{_FORM})", re.IGNORECASE)
_WORD_TAG: Final = lazy_pattern(rf"[<◁](?=\\*(?:{_FORM}|{ESCAPABLE}))|\[(?=\\*/?THINK\])", re.IGNORECASE)
_ESCAPED_WORD_TAG: Final = lazy_pattern(
    rf"([<◁])\\(?=\\*(?:{_FORM}|{ESCAPABLE}))|(\[)\\(?=\\*/?THINK\])", re.IGNORECASE
)
_PLAIN_NAME: Final = lazy_pattern(r"[^<>\n\"'=:\s](?:[^<>\n\"'=]{0,200}[^<>\n\"'=\s])?")


class TextCall(msgspec.Struct):
    """A parsed call: values as text, repairs, and its positions; `is_cut` is set if the text ended inside the call."""

    name: str
    values: dict[str, str] = msgspec.field(default_factory=dict)
    is_cut: bool = False
    repairs: list[str] = msgspec.field(default_factory=list)
    start: int = 0
    end: int = 0


def write_call(name: str, arguments: Mapping[str, Any], parameters: Parameters) -> str:
    """Return the call as text, with the tags in its values escaped."""
    lines = [f"<function={name}>"]
    for key, value in arguments.items():
        text = _written(parameters.parameter(key), value)
        text = _TAG.sub(r"<\\\1", text) if "<" in text else text
        end = "\n" if "\n" in text else ""
        lines.append(f"<parameter={_name_text(key)}>{end}{text}{end}</parameter>")
    return "\n".join([*lines, "</function>"])


def _written(parameter: ToolParameter | None, value: Any) -> str:
    if parameter is not None:
        return parameter.write(value)
    return value if isinstance(value, str) else as_json(value)


@lru_cache(maxsize=512)
def _name_text(name: str) -> str:
    """Return the name of a parameter as it is written in a tag: as JSON if it has quotes, brackets or line ends."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return json.dumps(name).replace("<", "\\u003c").replace(">", "\\u003e")


def write_words(text: str) -> str:
    """Escape the text around calls, so that none of it parses as a call."""
    return _WORD_TAG.sub(r"\g<0>\\", text) if "<" in text or has_other_brackets(text) else text


def read_words(text: str) -> str:
    """Undo `write_words`."""
    return _ESCAPED_WORD_TAG.sub(r"\1\2", text) if "\\" in text else text


def read_calls(text: str, table: Table | None = None) -> tuple[str, list[TextCall]]:
    """Return the text of a message without its calls, and the calls. Raises FunctionCallConversionError if a call is
    malformed. With a `table` of tools, mistakes are accepted too that can be corrected because the names of tools and
    parameters are known.

    The model's thinking, comments and examples contain no calls. Thinking is the text between its tags, before a
    closing tag without an opening one, and after an opening tag that is never closed.
    """
    calls = find_calls(text, table)
    return (without_calls(text, calls) if calls else read_words(text)), calls


def find_calls(text: str, table: Table | None = None) -> list[TextCall]:
    """Return the calls in a text, with their positions. Raises FunctionCallConversionError if one is malformed."""
    # Most texts have one call in the form in which calls are written, and nothing that may hide it.
    regular = _REGULAR.match(text, max(0, text.find("<")))
    if regular and text.find("<", regular.end()) < 0 and not has_other_brackets(text) and not has_fence(text):
        return [_regular_call(regular, table or ())]
    return _Parser(text, table).calls()


def _regular_call(match: re.Match[str], tools: Collection[str]) -> TextCall:
    parts = _REGULAR_PARAMETER.findall(match[2])
    values = {name.strip(): _value(value) for name, value in parts}
    name = current_name(match[1].strip(), tools)
    if len(values) < len(parts):
        names = [each.strip() for each, _ in parts]
        raise _twice(name, next(each for each in names if names.count(each) > 1))
    return TextCall(name, values, start=match.start(), end=match.end())


def _twice(call: str, parameter: str) -> FunctionCallConversionError:
    return FunctionCallConversionError(
        f"The call of `{call}` gives the parameter `{parameter[:80]}` more than once. Send the call again with each "
        "parameter once, or one call for each value."
    )


def without_calls(text: str, calls: Sequence[TextCall], offset: int = 0) -> str:
    """Return the text without the calls; `offset` is its position in the message, to which the calls' spans refer."""
    if len(calls) == 1 and not offset and calls[0].end == len(text):
        return read_words(_before(text[: calls[0].start], "")[0])
    spans = [(max(0, call.start - offset), min(len(text), call.end - offset)) for call in calls]
    spans = [(start, end) for start, end in spans if start < len(text) and end > 0]
    if not spans:
        return read_words(text)
    before, has_fence = _before(text[: spans[0][0]], text[spans[-1][1] :])
    edges = [*(start for start, _ in spans[1:]), len(text)]
    between = [text[end:edge] for (_, end), edge in zip(spans, edges, strict=True)]
    if has_fence:
        between[-1] = _FENCE_AFTER.sub("", between[-1], count=1)
    rest = [_WRAPPER.sub("\n", part.strip()).strip() for part in between]
    return read_words("\n".join(filter(None, [before, *rest])))


def _before(text: str, after: str) -> tuple[str, bool]:
    """Return the text before a call without the start of a wrapper, and whether that is a code fence.

    A code fence is only removed if it is closed in `after`, the text after the last call.
    """
    has_fence, end = False, text[-120:]
    if ">" in end and (wrappers := _WRAPPERS_BEFORE.search(text, max(0, len(text) - 99))):
        text = text[: wrappers.start()]
    if "```" in end and (fence := _FENCE_BEFORE.search(text, max(0, len(text) - 40))):
        has_fence = bool(_FENCE_AFTER.match(after)) and text.count("\n```", 0, fence.start()) % 2 == 0
        text = text[: fence.start()] if has_fence else text
    return (text.removesuffix("\n\n") if text.endswith("\n\n") else text.removesuffix("\n")), has_fence


def _tags(pattern: re.Pattern[str], text: str, at: int, stop: int, first: str = "<") -> Iterator[re.Match[str]]:
    """Yield the pattern's matches from `at` to `stop`, all of which start with the character `first`.

    Finding this character first is much faster than searching for the pattern.
    """
    while (at := text.find(first, at, stop)) >= 0:
        match = pattern.match(text, at, stop)
        if match:
            yield match
        at = max(match.end(), at + 1) if match else at + 1


class _Parser:
    """Finds the calls in one text."""

    def __init__(self, text: str, table: Table | None) -> None:
        self._text = text
        self._table = table
        self._unclosed: set[str] = set()
        self._has_other_brackets = has_other_brackets(text)

    def _openings(self, at: int) -> Iterator[re.Match[str]]:
        """Yield the beginnings of calls and of ignored text from `at` on."""
        if self._has_other_brackets:
            return _CALL_OR_IGNORED.finditer(self._text, at)
        return _tags(_CALL_OR_IGNORED, self._text, at, len(self._text))

    def calls(self) -> list[TextCall]:
        """Return the calls outside ignored text or examples. Raises FunctionCallConversionError if one is malformed."""
        calls: list[TextCall] = []
        call = self._next_call(self._end_of_reasoning())
        while call is not None:
            calls.append(call)
            call = self._next_call(call.end) if call.end < len(self._text) else None
        examples = examples_in(self._text, [(call.start, call.end) for call in calls])
        return [call for at, call in enumerate(calls) if at not in examples]

    def _next_call(self, at: int) -> TextCall | None:
        """Return the next call from `at` on that is not inside ignored text."""
        depth = skipped = 0
        for match in self._openings(at):
            if match.start() < skipped:
                continue
            if match["call"] is None:
                if match["span"] is None:
                    depth = self._depth_after(match, depth)
                elif not depth and not self._is_quoted(match):
                    end = self._span_end(match)
                    skipped = end if end >= 0 else len(self._text)
            elif not depth and (call := self._call_at(match)) is not None:
                return call
        return None

    def _span_end(self, opening: re.Match[str]) -> int:
        """Return the position after an ignored span, or -1 if it is not closed; then no later one of its kind is closed
        either.
        """
        kind = opening["span"][:2]
        end = -1 if kind in self._unclosed else span_end(self._text, opening)
        if end < 0:
            self._unclosed.add(kind)
        return end

    def _depth_after(self, tag: re.Match[str], depth: int) -> int:
        """Return how many tags of thinking are open after this tag; `depth` is their number before it."""
        if self._is_quoted(tag):
            return depth
        return max(0, depth - 1) if is_closing_tag(tag) else depth + 1

    def _end_of_reasoning(self) -> int:
        """Return the end of the last closing tag of thinking without an opening tag, outside calls; 0 if there is none.

        Responses contain such a tag if the model's template puts the opening tag into the prompt.
        """
        text = self._text
        if not CLOSING_TAG.search(text):
            return 0
        end = at = depth = 0
        while match := next(self._openings(at), None):
            at = match.end()
            if match["call"] is not None:
                at = at if depth else self._end_of_call(match)
            elif match["span"] is not None:
                at = at if depth or self._is_quoted(match) else max(at, self._span_end(match))
            elif not depth and is_closing_tag(match) and not self._is_quoted(match):
                end = at
            else:
                depth = self._depth_after(match, depth)
        return end

    def _is_quoted(self, tag: re.Match[str]) -> bool:
        """Return whether a tag is only mentioned: enclosed in quotes or backquotes."""
        return is_quoted(self._text[max(0, tag.start() - 1) : tag.start()], self._text[tag.end() : tag.end() + 1])

    def _end_of_call(self, opening: re.Match[str]) -> int:
        try:
            call = self._call_at(opening)
        except FunctionCallConversionError:
            return opening.end()
        return call.end if call is not None else opening.end()

    def _call_at(self, opening: re.Match[str]) -> TextCall | None:
        """Return the call that starts with this tag; None if it is not a call, but text.

        Raises FunctionCallConversionError if the call is malformed.
        """
        regular = _REGULAR.match(self._text, opening.start())
        if regular:
            return _regular_call(regular, self._table or ())
        tag = opening["call"]
        if is_json_call(tag):
            return self._json_call(opening)
        strict = _STRICT.fullmatch(tag)
        named = None if strict else _OPENED_NAME.search(tag)
        name = strict[1].strip() if strict else named[1].strip() if named else ""
        if strict and name.strip("\"'") != name and name not in (self._table or ()):
            strict, name = None, name.strip("\"'")
        name = current_name(name, self._table or ())
        if strict is None and self._table is not None and name not in self._table:
            return None
        call = TextCall(name, start=opening.start())
        if strict is None:
            call.repairs.append(f"the tag {tag.strip()[:60]} as <function={name}>")
        self._read_parameters(call, opening.end())
        return call

    def _json_call(self, opening: re.Match[str]) -> TextCall | None:
        read = json_call_at(self._text, opening, self._table) if self._table is not None else None
        if read is None or self._table is None:
            return None
        values = _strings_of(read.arguments, self._table[read.name])
        repairs = ["JSON in place of <function=NAME>"]
        return TextCall(read.name, values, repairs=repairs, start=opening.start(), end=read.end)

    def _read_parameters(self, call: TextCall, at: int) -> None:
        """Read the parameters from position `at` on, and set the call's values and end. Raises
        FunctionCallConversionError for text that belongs to no value.
        """
        parameters = (self._table or {}).get(call.name)
        while opening := self._parameter_at(call, parameters, at):
            name, start = opening
            if name in call.values:
                raise _twice(call.name, name)
            end = next(_tags(_END_OF_VALUE, self._text, start, len(self._text)), None)
            stop, at = (end.start(), end.end()) if end else (len(self._text), -1)
            slip = self._missing_end(call, parameters, name, start, stop)
            if slip >= 0:
                stop = at = slip
            elif end is None:
                call.end = self._open_value(call, name, start)
                return
            value = self._text[start:stop]
            call.values[name] = _value(value if slip < 0 else value[: _end_of_broken(value, name)])
        at = self._json_body(call, parameters, at)
        closed = _END_OF_CALL.match(self._text, at)
        if closed is None:
            stray = self._text[at : at + 200].partition("</function")[0].strip()[:80]
            raise FunctionCallConversionError(
                f"The call of `{call.name}` contains text outside its parameters: `{stray}`. Write each value inside "
                "<parameter=NAME>value</parameter>, and nothing between."
            )
        call.end = closed.end()
        if not closed[0].strip().startswith("</") and call.end < len(self._text):
            call.repairs.append("a missing </function>")

    def _parameter_at(self, call: TextCall, parameters: Parameters | None, at: int) -> tuple[str, int] | None:
        """Return the name of the parameter at position `at` and the position of its value; None if there is none."""
        spaces = _SPACE.match(self._text, at)
        at = spaces.end() if spaces else at
        tag, unclosed = _PARAMETER.match(self._text, at), _UNCLOSED_TAG.match(self._text, at)
        name = _name_of(tag) if tag else ""
        is_parameter = bool(tag) and (parameters is None or name in parameters)
        if unclosed and not is_parameter and (parameters is None or unclosed["plain"] in parameters):
            name, tag = unclosed["plain"], unclosed
            call.repairs.append(f"a missing > after <parameter={name}")
        return (name, tag.end()) if tag else None

    def _missing_end(self, call: TextCall, parameters: Parameters | None, name: str, start: int, stop: int) -> int:
        """Return the end of a value without closing tag, which therefore seems to contain the next parameter; -1 if its
        closing tag is not missing.

        Raises FunctionCallConversionError if the tag of the next parameter may be a part of the value.
        """
        if self._text.find("<", start, stop) < 0:
            return -1
        boundary = next(_tags(_BOUNDARY, self._text, start, stop), None)
        if boundary and not next(_tags(_ENDED, self._text, start, boundary.start()), None):
            call.repairs.append(f"a missing </parameter> after `{name}`")
            return boundary.start()
        openings, count = [], 0
        for tag in _tags(_INNER_TAG, self._text, start, stop):
            if tag["end"]:
                count -= 1
            elif (other := _name_of(tag)) in (parameters or ()) and other != name and other not in call.values:
                openings.append(tag.start())
                count += 1
        if not openings or count <= 0:
            return -1
        first = openings[0]
        if not self._text[max(start, first - 40) : first].rstrip(" \t").endswith("\n"):
            raise FunctionCallConversionError(
                f"The value of `{name}` contains the tag of another parameter. Close each value with </parameter>; "
                r"a tag that belongs to the value is written <\parameter."
            )
        call.repairs.append(f"a missing </parameter> after `{name}`")
        return first

    def _open_value(self, call: TextCall, name: str, start: int) -> int:
        """Add the last value, which has no closing tag, and return the end of the call.

        If the call is not closed either, it is marked as cut off.
        """
        end = next(_tags(_END_OF_OPEN_VALUE, self._text, start, len(self._text)), None)
        value = self._text[start : end.start() if end else len(self._text)]
        length = _end_of_broken(value, name)
        rest = value[length:]
        # Providers omit the stop word, which ends a call: a line end after the closing tag shows that it was complete.
        call.is_cut = end is None and not (rest.lower().startswith("</parameter") and rest.endswith("\n"))
        call.values[name] = _value(value if call.is_cut else value[:length])
        if not call.is_cut:
            call.repairs.append(f"a missing </parameter> after `{name}`")
        return end.end() if end else len(self._text)

    def _json_body(self, call: TextCall, parameters: Parameters | None, at: int) -> int:
        """Read one JSON object in place of parameters; return the position after it, or `at` if there is none."""
        spaces = _SPACE.match(self._text, at)
        start = spaces.end() if spaces else at
        if call.values or parameters is None or self._text[start : start + 1] != "{":
            return at
        arguments, end = json_at(self._text, start, dict)
        if arguments is None:
            return at
        call.values = _strings_of(arguments, parameters)
        call.repairs.append("JSON in place of parameters")
        return end


def _name_of(tag: re.Match[str]) -> str:
    """Return the name of a parameter from its tag; a name in double quotes is decoded as JSON."""
    quoted = tag["quoted"]
    if quoted is None:
        return str(tag["single"] or tag["plain"]).strip()
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return quoted


def _end_of_broken(value: str, name: str) -> int:
    """Return the length of the value without a wrong closing tag at its end: one without `>` or with another name."""
    broken = _BROKEN_END.search(value, max(0, len(value) - 300))
    word = broken[1].lower() if broken else ""
    is_end = word in ("parameter", "param") or (word == name.lower() and f"<{name}" not in value)
    return broken.start() if broken and is_end else len(value)


def _strings_of(arguments: Mapping[str, Any], parameters: Parameters) -> dict[str, str]:
    return {name: _written(parameters.parameter(name), value) for name, value in arguments.items()}


def _value(text: str) -> str:
    text = text.removeprefix("\n").removesuffix("\n")
    return _ESCAPED_TAG.sub(r"<\1", text) if "<\\" in text else text
