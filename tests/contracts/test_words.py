"""The interface, the guides and the README use one term for each thing, and words that users know from their tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contracts.source import ROOT, modules

REJECTED = {
    "mend": (r"mend(s|ed|ing)?", "fix"),
    "take back": (r"t(ake|akes|aken|aking|ook) (it |this |that |them )?back", "revert, undo, remove"),
    "bring back": (r"br(ing|ings|inging|ought) (it |this |that |them )?(back|again)", "restore"),
    "changed back": (r"chang(e|es|ed|ing) back", "revert"),
    "hunks taken": (
        r"hunks?( \S+)?( is| are)? (taken|left out|taken in)|(take|leave) (a |the )?hunks?",
        "accept, skip",
    ),
    "left out": (r"(leave|leaves|left|leaving) (it |them )?out|(take|takes|taken) in", "omit, ignore, include"),
    "usual": (r"usual", "default"),
    "counts": (r"(does|do|did|would) not count|counts? (at once|from the|for|if|when|only)", "applies, takes effect"),
    "holds": (r"holds|held|hold", "contains, is saved in"),
    "stands": (r"(stands?|stood|standing)(?! for\b)(?!-in)", "is"),
    "told": (r"tells|told", "shows, reports, is notified"),
    "sum up": (r"sum(s|med|ming)? (\w+ )?up|condens(e|es|ed|ing|ations?)", "compact"),
    "put off": (r"puts? (it |them )?off", "not now"),
    "go on": (r"go(es|ing)? on|went on", "continue, resume"),
    "begin": (r"begins?|began|begun|beginnings?", "start"),
    "anew": (r"anew", "again"),
    "blank": (r"blanks?(?! (line|page|screen|row)s?\b)", "space"),
    "wishes": (r"wish(es)?", "instructions"),
    "profile": (r"profiles?|model of the settings", "saved model"),
    "mistake": (r"mistakes?", "problem"),
    "leave": (r"(esc|q|quit|exit|ctrl\+\w) leaves|leaves? (ohw|the (program|workbench|screen|list))", "quit, close"),
    "from MEDIUM": (r"asks? from medium(?! up)", "Ask (medium+)"),
    "what waits": (
        r"what waits|(questions?|actions?|approvals?) that waits?|questions? waits?|waiting (questions?|actions?)",
        "pending approvals",
    ),
    "brings": (r"(directory|directories|one|ones) that brings?", "contains"),
    "place": (r"places? (only known|that (is|are) not)", "source, destination, remote"),
    "person": (r"persons?", "user"),
    "folder": (r"folders?", "directory"),
    "nobody": (r"nobody knows|nobody", "no user, no one"),
    "stands behind": (r"behind (it|them|that)", "after"),
    "to be had": (r"to be had|goes without saying", "available"),
    "in words": (r"in words", "as text"),
    "mistyped": (r"misspell?t", "misspelled"),
    "British": (
        r"\w*(colour|behaviour|favour)\w*|cancell(ed|ing)|gr[e]y(s|ed)?|centre[ds]?|(recogn|organ|summar|real)is(e|es|ed|ing)",
        "color, behavior, canceled, gray, -ize",
    ),
    "unit": (r"\d+ %", "80%"),
}
"""Terms that no user may read: a pattern, and what to write instead."""

DOCUMENTS = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("workbench/guide/*.md")),
]

DOMAIN = {
    "workbench/llm/scripted/model.py": ({"person"}, "reads notes of recorded conversations"),
    "workbench/llm/text_tools/descriptions.py": ({"begin"}, "the marks of a format"),
    "workbench/risk/actions.py": ({"folder"}, "names of arguments of other tools"),
    "workbench/risk/executed_files/programs.py": ({"profile", "wishes"}, "names of programs"),
    "workbench/risk/home_files.py": ({"profile"}, "names of files"),
    "workbench/risk/protected_names.py": ({"profile"}, "names of files"),
    "workbench/risk/programs/interpreters.py": ({"profile", "wishes"}, "names of programs"),
    "workbench/risk/programs/text.py": ({"blank"}, "the name of a group in a pattern"),
    "workbench/risk/shell/written_files.py": ({"wishes"}, "names of programs"),
    "workbench/session/storage/paging.py": ({"person"}, "a value in the log"),
    "workbench/session/storage/session_list.py": ({"person"}, "a value in the log"),
    "workbench/session/storage/store.py": ({"begin"}, "SQL"),
}
"""The files that use a rejected word as a term of another domain, with those words and the reason."""


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings with their lines, without docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a Markdown text with their numbers, without code."""
    text = re.sub(r"^( *)```.*?^\1```", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", "``", line)


def _rejected(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the words of each rejected term in a text."""
    for name, (pattern, _) in REJECTED.items():
        for match in re.finditer(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE) if " " in text else ():
            yield name, match[0]


@cache
def _used() -> dict[str, list[tuple[int, str, str, str]]]:
    """Return the rejected terms by file: line, name, the words, and what to write instead."""
    texts = {module.path: _strings(module.tree) for module in modules().values()}
    texts |= {name: _prose((ROOT / name).read_text()) for name in DOCUMENTS}
    return {
        path: [(line, name, words, REJECTED[name][1]) for line, text in lines for name, words in _rejected(text)]
        for path, lines in texts.items()
    }


def test_no_string_and_no_guide_uses_a_rejected_term():
    used = {
        path: [each for each in terms if each[1] not in DOMAIN.get(path, ((), ""))[0]]
        for path, terms in _used().items()
    }
    assert {path: terms for path, terms in used.items() if terms} == {}


KEY = r"(?:[A-Za-z/?.]|↑↓|Esc|Enter|Tab|Home|End|F\d+|(?:Ctrl|Shift|Alt)\+\S+)"
HINT = re.compile(
    rf"·\s+(?:{KEY}\s(?:to |for )?|\{{\}}\s(?:to |for ))[a-z]+(?=$| ·|   )"
    r"|·\s+\{\} (?:close|cancel|open|save|search)\b|·\s+(?:[Ee]nter|[Ee]sc)(?: opens)?$|↑↓ [a-z]"
)
"""A key and what it does in another form than `y Approve`: in lower case, with "to" or "for", or the key alone."""


def _whole_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings with their lines; a value in an f-string becomes `{}`."""
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(value) for value in node.values}
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def test_key_hints_have_one_form():
    screens = [module for name, module in modules().items() if name.startswith(("workbench.tui", "workbench.view"))]
    others = [
        (each.path, line, text) for each in screens for line, text in _whole_strings(each.tree) if HINT.search(text)
    ]
    assert others == []


@pytest.mark.parametrize(
    ("text", "is_other"),
    [
        ("{} unsent · {} to send", True),
        ("n N next, previous · home end page up, down · q close", True),
        ("{} · u to undo", True),
        ("! {} (ignored) · {} for details", True),
        ("↑↓ choose · {} close", True),
        ("reasoning · {} · enter", True),
        ("{} {} · Enter opens", True),
        ("{} unsent comments   {} Send", False),
        ("↑↓ Choose   {} Close", False),
        ("{} file{} · {} more", False),
    ],
)
def test_hints_in_other_forms_are_recognized(text, is_other):
    assert bool(HINT.search(text)) is is_other


def test_every_exception_is_still_needed():
    used = {path: {name for _, name, _, _ in terms} for path, terms in _used().items()}
    assert {path: names - used[path] for path, (names, _) in DOMAIN.items() if names - used[path]} == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The agent mends it", "mend"),
        ("x takes it back", "take back"),
        ("2 of 3 hunks taken", "hunks taken"),
        ("the usual value", "usual"),
        ("a rule counts for this directory", "counts"),
        ("a version holds it", "holds"),
        ("3 questions wait", "what waits"),
        ("2 waiting actions", "what waits"),
        ("a directory that brings tools", "brings"),
        ("sends to a place that is not configured", "place"),
        ("behind a blank", "blank"),
        ("esc leaves it", "leave"),
        ("another colour", "British"),
        ("about 80 % of it", "unit"),
    ],
)
def test_rejected_terms_are_recognized(text, name):
    assert name in {each for each, _ in _rejected(text)}


@pytest.mark.parametrize(
    "text",
    ["a threshold", "`**` stands for any path", "5 blank lines", "unusual", "asks from MEDIUM up", "recommended"],
)
def test_words_of_another_meaning_are_accepted(text):
    assert list(_rejected(text)) == []
