"""Names are the standard terms of the field, and each name of a public class stands for one thing."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.contracts.offenders import differences
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


def defined(module: Module) -> Iterator[str]:
    """The names that a module gives: itself, classes, functions, parameters and variables."""
    yield module.name.rpartition(".")[2]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef | Function):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words_of(name: str) -> set[str]:
    """The words of a name in any case style."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_new_names_use_words_from_the_glossary():
    count = Counter(
        f"{module.name}" for module in modules().values() for name in defined(module) if words_of(name) & WORDS
    )
    assert differences("private_words", count) == []


def test_public_class_names_are_unique():
    where = defaultdict(list)
    for module in modules().values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(module.name)
    assert (
        differences("class_names_used_twice", {name: len(places) for name, places in where.items() if len(places) > 1})
        == []
    )
