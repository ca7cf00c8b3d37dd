"""Prepare and parse the text of a command line, and correct the parser where it differs from bash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part, shortened
from workbench.risk.reason import CANNOT_READ, Reason, Trait
from workbench.risk.word import Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

    from workbench.risk.shell.scan import Scan

LONGEST = 10_000
"""The maximum number of characters of a command line that are analyzed."""
MOST_PIPES = 400
"""The maximum number of pipes, because the parser's time grows with their square."""
MOST_NODES = 600
"""The maximum number of nodes in the syntax tree; more would take too long to analyze."""
MOST_WORDS = 400
"""The maximum number of arguments of one command."""
MOST_PATHS = 200
"""The maximum number of words that are checked as paths, because each is looked up on disk."""
MOST_GUESSES = 24
"""The maximum number of words and strings that are rated because some program may run them as commands."""
_MOST_HEREDOCS = 60
_MOST_SPLITS = 8
"""If a command has at least this many words that may become several, all of these are treated as unknown."""
_MOST_STRINGS = MOST_NODES // 3
"""The maximum number of double-quoted strings, each of which has at least three nodes."""

_TESTS = lazy_pattern(r"\[\[(?<![^\s;|&({!]\[\[)(?=\s)|\(\((?<![^\s;|&{!]\(\()")
"""Matches the start of `[[` or `((`; the text before it is checked last, because that is far quicker."""
_MOST_TESTS, _LONGEST_TEST = 200, 800

_CONTINUED = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\\n")
_CONTINUED_COMMENT = lazy_pattern(r"(?:^|[\s;|&(){}])#[^\n]*\\\n")
_ESCAPED_START = lazy_pattern(r"((?:\n|\r)[ \t]*)\\(?=[\w./-])")
_ESCAPED_SPACE = lazy_pattern(r"\\[ \t\v\f\n]")
_LONE_DASH = lazy_pattern(r"-(?<=\s-)\s")
_LONE_DOLLAR = lazy_pattern(r"((?:=|<<<[ \t]*)(?:\"\"|'')?)\$(?=[ \t])")
_CLOSED = lazy_pattern(r"(?<![\w'\"$\\}`)-])\d*[<>]&-(?=[\s;|&)]|\Z)")
_MISLEADS = lazy_pattern(r"\$\$[({`]")
_ESCAPED_END = lazy_pattern(r"(?<!\\)(?:\\\\)*\\\Z")
_BACKTICKS = lazy_pattern(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_SUBSCRIPTS = lazy_pattern(r"\w\[\$?\w*(?=\[)")
_MOST_SUBSCRIPTS, _MOST_BRACKETS = 40, 1_500
_WORDS = lazy_pattern(r"[^\s;&|(){}<>`\"'$=,\\]+")
_MARK = r"""(?:[\w.+@%:,/-]|\\.|'[^'\n]*'|"[^"\n]*")+"""
_HEREDOC = lazy_pattern(rf"(?<!<)<<(?!<)(-?)[ \t]*({_MARK})")
_PLAIN_MARK = lazy_pattern(r"""\w+|'\w+'|"\w+\"""")
_GLUED_MARK = lazy_pattern(rf"((?<!<)<<(?!<)-?[ \t]*{_MARK})(?=[;&|()<>])")
_NOT_QUOTED = lazy_pattern(r"""(?:[^'"#<\\]|<(?!<))*""")
_STRING = r"""'[^'\n]*'|"[^"\n\\$`]*\""""
_PLAIN_STRING = lazy_pattern(_STRING)
_PLAIN_START = lazy_pattern(rf"""(?:[^'"#<\\]++|<(?!<)|{_STRING})*+""")
"""Matches the start of a line, as far as its strings can be told from the rest without parsing it."""
_STRINGS = lazy_pattern(r"""\\.|'[^']*'|("(?:[^"\\]|\\.)*")""", re.DOTALL)
_GOES_ON = lazy_pattern(r"[ \t]*(?:\|\|?|&&?|;)&?(.*)")


class TooMuch(Exception):
    """A limit was exceeded; the rest of the line is not analyzed."""


def is_too_dense(text: str) -> bool:
    """Return whether the syntax tree would have too many nodes, estimated by counting characters."""
    if text.count("|") > MOST_PIPES or text.count("<<") > _MOST_HEREDOCS:
        return True
    if len(text) < MOST_NODES:
        return False
    if _takes_long(text):
        return True
    if (
        '"' in text
        and "<<" not in text
        and sum(1 for result in islice(_STRINGS.finditer(text), MOST_NODES) if result[1]) > _MOST_STRINGS
    ):
        return True
    plain = _PLAIN_START.match(text)
    head, strings = _PLAIN_STRING.subn("", plain[0] if plain else "")
    nodes = strings + len(head.split()) + sum(map(head.count, ";(){}[$")) + sum(map(head.count, "<>&`")) // 2
    return nodes > MOST_NODES


def _takes_long(text: str) -> bool:
    """Return whether parsing would take too long, for example because of nested subscripts; quotes are ignored."""
    if text.count("[") > MOST_NODES or text.count("{") + text.count("(") > _MOST_BRACKETS or _is_open_ended(text):
        return True
    if _tests_too_long(text) or _expands_too_often(text):
        return True
    if "((" in text and sum(map(text.count, "+-*/%&|^,")) > MOST_NODES:
        return True
    return "[" in text and sum(1 for _ in islice(_SUBSCRIPTS.finditer(text), _MOST_SUBSCRIPTS + 1)) > _MOST_SUBSCRIPTS


def _tests_too_long(text: str) -> bool:
    """Return whether a `[[` or `((` ends far away or nowhere, where the parser tries to recover at each word."""
    plain = text.partition("<<")[0]
    for start in islice(_TESTS.finditer(plain), _MOST_TESTS):
        end = plain.find("]]" if start[0].endswith("[") else "))", start.end())
        if (end if end >= 0 else len(plain)) - start.end() > _LONGEST_TEST:
            return True
    return False


def _expands_too_often(text: str) -> bool:
    """Return whether the body of a heredoc, in which quotes do not count, may have too many expansions."""
    if "<<" not in text or text.count("$") + text.count("`") <= _MOST_STRINGS:
        return False
    return any(match[2].isalnum() for match in _HEREDOC.finditer(text))


def _is_open_ended(text: str) -> bool:
    """Return whether a heredoc has no end, which the parser takes a long time to detect."""
    marks = (match[2].replace("\\", "").strip("'\"") for match in _HEREDOC.finditer(text))
    return "<<" in text and any(not re.search(rf"^\t*{re.escape(mark)}$", text, re.M) for mark in marks)


def joined(text: str) -> str:
    """Return the text, changed so that the parser reads it correctly.

    Continued lines are joined. An escape at the start of a line is removed, because the parser would attach it to the
    previous line; so are closed descriptors, whose number it would read as a command. A lone dollar is escaped, because
    the parser would read it as the start of a variable in the next word. A heredoc's delimiter is followed by a space.
    """
    if "\\\n" in text:
        text = _CONTINUED.sub(r"\1", text) if "\\\\" in text else text.replace("\\\n", "")
    text = _ESCAPED_START.sub(r"\1", text) if "\\" in text else text
    text = _LONE_DOLLAR.sub(r"\1\\$", text) if "$ " in text or "$\t" in text else text
    text = _CLOSED.sub(" ", text) if "&-" in text else text
    return _GLUED_MARK.sub(r"\1 ", text) if "<<" in text else text


def apart(text: str) -> str:
    """Return the text with continued lines kept apart if one may be a comment; otherwise an empty string."""
    may = "#" in text and "\\\n" in text
    return text.replace("\\\n", "\n") if may and _CONTINUED_COMMENT.search(text) else ""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parsed(source: bytes) -> Node:
    """Return the root of the syntax tree; tree-sitter builds one for any text."""
    return _parser().parse(source).root_node


def passes_over(root: Node, text: str) -> bool:
    """Return whether the parser skipped more than spaces between two nodes, as it may at an escaped space."""
    if not _ESCAPED_SPACE.search(text) and not _LONE_DASH.search(text):
        return text.endswith("\\") and bool(_ESCAPED_END.search(text))
    source, at = root.text or b"", 0
    for leaf in _leaves(root):
        if source[at : leaf.start_byte - root.start_byte].strip():
            return True
        at = leaf.end_byte - root.start_byte
    return bool(source[at:].strip())


def misleads(text: str) -> bool:
    """Return whether the parser may end `$$(`, or an expansion with an escaped brace, at a different place than bash
    does.
    """
    return ("$$" in text and bool(_MISLEADS.search(text))) or ("\\}" in text and "${" in text)


def _leaves(node: Node) -> Iterator[Node]:
    if not node.child_count or node.type == "string":
        yield node
        return
    for child in node.children:
        yield from _leaves(child)


def backticked(raw: str) -> list[str] | None:
    """Return the commands in the unescaped backticks of a text, or None if the backticks do not pair up."""
    result = [re.sub(r"\\([`$\\])", r"\1", inner) for inner in _BACKTICKS.findall(raw)]
    rest = _BACKTICKS.sub("", raw)
    return None if re.search(r"(?<!\\)`", rest) else result


def bare_words(text: str) -> set[str]:
    """Return all words that may be command names in a text that does not parse."""
    return {word.rsplit("/", 1)[-1] for word in _WORDS.findall(text)}


def lines_of_heredocs(text: str) -> list[str]:
    """Return lines that may be commands if the parser misplaces a heredoc's end or the rest of its first line."""
    if "<<" not in text:
        return []
    match = list(_HEREDOC.finditer(text))
    behind = (text[mark.end() : _end_of_line(text, mark.end())] for mark in match)
    lines = [goes_on[1] for rest in behind if (goes_on := _GOES_ON.fullmatch(rest)) and goes_on[1].strip()]
    odd = next((mark for mark in match if mark[1] or not _PLAIN_MARK.fullmatch(mark[2])), None)
    return lines + (text[odd.end() :].split("\n")[1:] if odd else [])


def lines_behind(text: str, *, is_certain: bool) -> list[str]:
    """Return the lines of a substitution after the first one, which may be commands.

    If the parser `is_certain`, the body of a heredoc is omitted if its plain delimiter ends the first line.
    """
    first, *rest = text.split("\n")
    marks = list(_HEREDOC.finditer(first))
    if not is_certain or len(marks) != 1 or _NOT_QUOTED.sub("", first[: marks[0].start()]):
        return rest
    mark = marks[0][2]
    plain = not marks[0][1] and _PLAIN_MARK.fullmatch(mark) and not first[marks[0].end() :].strip()
    end = mark.strip("'\"")
    return rest[rest.index(end) + 1 :] if plain and end in rest else rest


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


LEAVES = frozenset({"word", "string_content", "heredoc_content", "regex", "extglob_pattern", "number"})
_ANSI_STRING = lazy_pattern(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)

_PLAIN_LEAF = lazy_pattern(r"[\w./:=@,%+-]+\Z", re.ASCII)
_CUT_OFF = lazy_pattern(r"\A(?:\d|\w+)")


def leaf(scan: Scan, node: Node) -> None:
    """Rate a substitution in text that the parser treats as plain text."""
    raw = scan.reader.raw(node)
    if _PLAIN_LEAF.match(raw):
        return
    if raw[:1] in {"\n", "\r"} and node.type == "word":
        scan.parts.append(Part(shortened(raw), "HIGH", CANNOT_READ))
    live_backticks(scan, raw)
    if "$(" in raw.replace("\\$", ""):
        scan.parts.append(
            Part(shortened(raw), "HIGH", Reason("contains a substitution that cannot be parsed", Trait.RUNS))
        )


def ansi_string(scan: Scan, node: Node) -> None:
    """Rate `$'…'` as HIGH if the parser, which does not know all its escapes, may have misplaced its end."""
    raw = scan.reader.raw(node)
    if not _ANSI_STRING.fullmatch(raw):
        scan.parts.append(Part(shortened(raw), "HIGH", CANNOT_READ))


def live_backticks(scan: Scan, raw: str) -> None:
    """Rate the commands in the backticks of a text."""
    if "`" not in raw:
        return
    inside = backticked(raw)
    for text in inside or ():
        scan.parts += scan.inner(text).parts
    if inside is None:
        scan.parts.append(
            Part(shortened(raw), "HIGH", Reason("contains a substitution that cannot be parsed", Trait.RUNS))
        )


def words_of(scan: Scan, nodes: Sequence[Node]) -> list[Word]:
    """Return the words of nodes; adjacent nodes without a space between them form one word."""
    words: list[Word] = []
    alone: list[Node | None] = []
    end, several = -1, 0
    for node in nodes:
        word = scan.reader.word(node)
        several += word.splits
        if node.start_byte == end and words:
            before = words.pop()
            alone.pop()
            before = before._replace(text="~") if before.raw == "~" else before
            if before.raw.endswith("$"):  # the parser has separated the dollar from the variable's name
                word = word._replace(text=_CUT_OFF.sub("", word.text))
            parts = zip(before, word, strict=True)
            word = Word(*(one + other if isinstance(one, str) else one or other for one, other in parts))  # type: ignore[arg-type, operator]
            alone.append(None)
        else:
            alone.append(node)
        words.append(word)
        end = node.end_byte
    if not 0 < several < _MOST_SPLITS:
        return words
    pairs = zip(words, alone, strict=True)
    return [each for word, node in pairs for each in (scan.reader.split(node, word) if node is not None else (word,))]


def without_errors(node: Node) -> Iterator[Node]:
    """Yield the children of a node, with error nodes replaced with their children."""
    for child in node.children:
        yield from child.children if child.type == "ERROR" else (child,)


def last_command(body: Node) -> Node | None:
    """Return the command to which redirects after a list or pipeline belong, or None if they belong to a group."""
    while body.type in {"list", "pipeline", "negated_command"} and body.children:
        body = body.children[-1]
    return body if body.type == "command" else None


def between(scan: Scan, body: Node) -> str:
    """Return the text of a heredoc without its expansions; its first piece has no node."""
    pieces, at = [], body.start_byte
    for child in body.children:
        if child.type not in LEAVES:
            pieces.append(scan.reader.source[at : child.start_byte])
            at = child.end_byte
    pieces.append(scan.reader.source[at : body.end_byte])
    return b" ".join(pieces).decode(errors="replace")
