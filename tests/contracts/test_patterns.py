"""Patterns of modules are compiled at their first use, so that no start waits for them; every one of them compiles."""

from __future__ import annotations

import ast
import copy
import importlib
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from tests.contracts.source import modules
from workbench.lazy_pattern import _LazyPattern, lazy_pattern


def test_no_module_compiles_a_pattern_while_it_is_imported():
    compiled = [
        f"{module.path}:{call.lineno}"
        for module in modules().values()
        if module.name != "workbench.lazy_pattern"
        for call in _calls_at_import(module.tree)
        if ast.unparse(call.func) == "re.compile"
    ]
    assert compiled == []


def test_every_pattern_of_a_module_compiles():
    patterns = {
        id(pattern): pattern
        for name, module in modules().items()
        if "lazy_pattern(" in module.text
        for pattern in _patterns(vars(importlib.import_module(name)).values())
    }
    written = sum(module.text.count("lazy_pattern(") for module in modules().values())
    assert len(patterns) > written * 0.9  # those that a function makes for each call are not among them
    assert all(pattern.groups >= 0 for pattern in patterns.values())  # what reads an attribute compiles the pattern


def test_a_lazy_pattern_has_what_a_pattern_has():
    words, pairs = lazy_pattern(r"\w+"), lazy_pattern(rb"(?P<name>\w)=(\w)", re.IGNORECASE)
    assert words.findall("two words") == ["two", "words"]
    assert words.sub("-", "two words") == "- -"
    assert (pairs.groups, pairs.pattern) == (2, rb"(?P<name>\w)=(\w)")
    assert pairs.fullmatch(b"A=b")["name"] == b"A"
    assert copy.copy(lazy_pattern("a+")).fullmatch("aa")
    assert pickle.loads(pickle.dumps(lazy_pattern("a+"))).fullmatch("aa")
    with pytest.raises(re.error):
        lazy_pattern("(").match("")


def _calls_at_import(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            if isinstance(child, ast.Call):
                yield child
            yield from _calls_at_import(child)


def _patterns(values: Iterable[Any]) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, _LazyPattern):
            yield value
        elif isinstance(value, Mapping):
            yield from _patterns(value.values())
        elif isinstance(value, tuple | list | set | frozenset):
            yield from _patterns(value)
        elif isinstance(value, msgspec.Struct):
            yield from _patterns(msgspec.structs.astuple(value))
