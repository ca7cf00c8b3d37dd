"""Names are the standard terms of the field, and each name of a public class stands for one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.contracts.source import Function, Module, modules

WORDS = {
    *("person", "fold", "story", "manners", "keeping", "keeper", "guardian", "below", "beneath"),
    *("acting", "readying", "recalling", "stacking", "partly", "bounds", "allowance", "lane", "equipment"),
    *("journal", "ledger", "thinking", "room", "middle", "told", "sayings", "losses", "net"),
    *("links", "orders", "texts", "signs", "place", "places", "blank", "address", "addresses", "folder", "folders"),
    *("said", "found", "given", "made", "wanted", "kept", "left", "seen", "shown", "known", "whose"),
    *("give", "take", "settle", "look", "tell", "say", "reckoning", "anew", "mend", "wish", "wishes"),
}
"""The words of the left column of the glossary."""

STORED = "a field of session files, and of the lines that front ends read"
RESULT = "a field of a tool's result, in session files too"
FOLDING = "folding lines away, as in editors"
THINKING = "the blocks that providers call thinking"
TERMS = {
    "workbench.llm.model": ({"thinking"}, THINKING),
    "workbench.llm.signatures": ({"ThinkingBlocks"}, THINKING),
    "workbench.llm.stream": ({"thinking"}, THINKING),
    "workbench.protocol.commands": ({"seen"}, STORED),
    "workbench.protocol.events": ({"known", "seen", "thinking"}, STORED),
    "workbench.protocol.stale_file": ({"seen", "wanted"}, STORED),
    "workbench.protocol.live": ({"address"}, STORED),
    "workbench.rules.rule": ({"folder"}, "a key of rules.toml"),
    "workbench.text": ({"_RIGHT_TO_LEFT", "cut_middle"}, "the direction of a script; the middle of a text"),
    "workbench.tools.find_tools.definition": ({"found"}, RESULT),
    "workbench.tools.glob.definition": ({"found"}, RESULT),
    "workbench.tools.web_read.definition": ({"kept"}, RESULT),
    "workbench.tui.widgets.annotated_diff": ({"_open_fold", "action_fold"}, FOLDING),
    "workbench.tui.widgets.card": ({"action_fold"}, FOLDING),
    "workbench.tui.widgets.conversation": ({"action_fold_all"}, FOLDING),
    "workbench.tui.widgets.conversation_messages": ({"action_fold"}, FOLDING),
    "workbench.tui.widgets.diff_layout": ({"open_fold"}, FOLDING),
    "workbench.tui.widgets.diff_painter": ({"_fold_text"}, FOLDING),
    "workbench.tui.widgets.diff_view": ({"action_fold"}, FOLDING),
    "workbench.view.diff.rows": ({"FoldId"}, FOLDING),
    "workbench.view.wrapping": ({"left"}, "the opposite of right"),
}
"""The names in which such a word is the standard term, by module, and why."""


def defined(module: Module) -> Iterator[str]:
    """Yield the names that a module defines: its own, and those of classes, functions, parameters and variables."""
    yield module.name.rpartition(".")[2]
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | Function):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words_of(name: str) -> set[str]:
    """Return the words of a name in any case style."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_names_use_the_words_of_the_glossary():
    used = {(module.name, name) for module in modules().values() for name in defined(module) if words_of(name) & WORDS}
    terms = {(module, name) for module, (names, _) in TERMS.items() for name in names}
    assert sorted(used - terms) == [], "use the word of the right column"
    assert sorted(terms - used) == [], "no longer used: remove the entry"


def test_public_class_names_are_unique():
    where = defaultdict(list)
    for module in modules().values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(module.name)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}
