"""Rate a piece of Python: one part for each effect on files, programs and other machines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from workbench.risk.assessment import ANY, Part, hides, losing, shortened
from workbench.risk.code import rated_code
from workbench.risk.protected_names import code_reason
from workbench.risk.python import table
from workbench.risk.python.calls import POWERS, SECRET, judge_call
from workbench.risk.python.methods import sets_variable
from workbench.risk.python.rate import Judge, names_secret
from workbench.risk.python.rate import Surroundings as Surroundings
from workbench.risk.python.resolver import Reading
from workbench.risk.python.source import Lines, Nodes, TooMuchCode, parsed
from workbench.risk.python.values import strings
from workbench.risk.reason import Reason, Trait, failed

_DEEPEST: Final = 3
_DANGEROUS: Final = frozenset(
    {*table.SHELLS, *table.RUNS, *table.RUNS_WORDS, *table.SPAWNS, *table.SENDS, *table.ALWAYS_HIGH, "eval", "exec"}
    | {"__import__", "open.__code__", "importlib.import_module", "builtins.compile"}
    | {name for name, uses in table.FILES.items() if uses[0].kind in {"delete", "rmtree", "move", "code"}}
)
_QUIET: Final = frozenset(
    {"print", "len", "repr", "str", "logging.info", "logging.warning", "ValueError", "RuntimeError"}
)
_LOOKS: Final = frozenset(
    {"startswith", "endswith", "append_text", "info", "warning", "error", "debug", "exception", "assertEqual"}
)


def parts_of(code: str, around: Surroundings, tree: ast.Module | None = None) -> list[Part]:
    """Return a part for each effect of the code; none if it only computes. Never raises.

    `tree` is the code's syntax tree, if it has already been parsed.
    """
    if around.depth > _DEEPEST:
        return [Part(shortened(code), "HIGH", "too deeply nested to be analyzed", opaque="*")]
    hidden = hides(code)
    if hidden:
        return [Part(shortened(code), "HIGH", hidden, opaque="*")]
    try:
        return _read(tree or parsed(code), code, around)
    except SyntaxError:
        return [losing(_by_words(code), code, around.context.workspace)]
    except Exception as error:  # noqa: BLE001 - no error here may let code through
        return [_not_read(code, _why(error), around)]


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "too deeply nested to be analyzed"
    return str(error) if isinstance(error, TooMuchCode) else failed(error)


def _not_read(code: str, why: str, around: Surroundings) -> Part:
    """Rate code that is not analyzed: HIGH, and as if it might delete any file in the workspace."""
    return Part(shortened(code), "HIGH", why, deletes=(f"{around.context.workspace}{ANY}",), opaque="*")


def _by_words(code: str) -> Part:
    """Rate code that does not parse, perhaps because it is for another version of Python, by its words."""
    risk, reason = rated_code(code)
    return Part(
        shortened(code.strip()),
        risk,
        reason if risk == "HIGH" else Reason("runs code that cannot be read here", Trait.RUNS),
    )


def _read(tree: ast.Module, code: str, around: Surroundings) -> list[Part]:
    every = Nodes(tree)
    reading = Reading(every, around.context.home)
    judge = Judge(reading, Lines(code), replace(around, depth=around.depth + 1))
    for call in every.of(ast.Call):
        if call.args and "os.chdir" in reading.names(call.func):
            judge.enters(strings(reading.values(call.args[0])))
    for call in every.of(ast.Call):
        judge_call(judge, call)
    _References(judge, every).rate()
    _secrets(judge, every)
    return judge.parts


class _References:
    """Rates references to powerful functions and modules that are passed on, replaced, or reached by a trick."""

    def __init__(self, judge: Judge, every: Nodes) -> None:
        self._judge = judge
        self._every = every
        self._fine: set[int] = set(judge.reading.bindings.called)

    def rate(self) -> None:
        """Rate all references in the code."""
        self._allow()
        for node in self._every.either(ast.Attribute, ast.Name):
            self._reference(node)
        for item in self._every.of(ast.Subscript):
            self._subscript(item)

    def _allow(self) -> None:
        """Collect the references that are harmless because they are not passed on."""
        every, fine = self._every, self._fine
        fine.update(id(attribute.value) for attribute in every.of(ast.Attribute))
        fine.update(id(item.value) for item in every.of(ast.Subscript))
        fine.update(id(statement.value) for statement in every.of(ast.Expr))
        for compared in every.of(ast.Compare):
            fine.update(map(id, (compared.left, *compared.comparators)))
        for assigned in every.of(ast.Assign):
            if all(isinstance(target, ast.Name) for target in assigned.targets):
                fine.add(id(assigned.value))
        for deleted in every.of(ast.Delete):
            fine.update(map(id, deleted.targets))
        for call in every.of(ast.Call):
            if table.TAKES_MODULES.intersection(self._judge.reading.names(call.func)):
                fine.update(map(id, call.args))
        for held in every.of(ast.ClassDef):  # operators call the attributes of a class without naming them
            fine.difference_update(id(each.value) for each in held.body if isinstance(each, ast.Assign))

    def _reference(self, node: ast.Name | ast.Attribute) -> None:
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if name in table.TRICKS:
            self._judge.report(node, "HIGH", Reason(f"reaches what it does not name, by {name}", Trait.RUNS))
        if isinstance(node.ctx, ast.Store):
            self._replaced(node)
        elif id(node) not in self._fine:
            for name in self._judge.reading.names(node):
                if name in _DANGEROUS or name in POWERS:
                    self._judge.report(node, "HIGH", Reason(f"hands {name} on, to whatever calls it", Trait.RUNS))

    def _replaced(self, node: ast.Name | ast.Attribute) -> None:
        if isinstance(node, ast.Attribute):
            for base in self._judge.reading.names(node.value):
                if (base in POWERS and base != "sys") or (
                    base == "sys" and node.attr in {"modules", "meta_path", "path"}
                ):
                    self._judge.report(
                        node, "HIGH", Reason(f"replaces {node.attr} of {base} for all later code", Trait.RUNS)
                    )

    def _subscript(self, node: ast.Subscript) -> None:
        for name in self._judge.reading.names(node.value):
            key = self._judge.reading.text(node.slice)
            if name == "os.environ" and isinstance(node.ctx, ast.Store):
                value = next((each.value for each in self._every.of(ast.Assign) if node in each.targets), None)
                sets_variable(self._judge, node, key, self._judge.reading.text(value))
            elif name == "os.environ" and SECRET.search(key):
                self._judge.report(node, "HIGH", "exposes a secret")
            elif name == "sys.modules" and isinstance(node.ctx, ast.Store):
                self._judge.report(node, "HIGH", Reason("replaces a module for all later code", Trait.RUNS))


def _secrets(judge: Judge, every: Nodes) -> None:
    """Rate string literals that are secret or protected paths, unless their use in the code is known."""
    visited = set(_only_printed(judge, every))
    for node in every.of(ast.Constant):
        text = node.value
        if not isinstance(text, str) or not 2 < len(text) < 300 or id(node) in visited:
            continue
        if text in judge.used or not re.search(r"[/.~]", text) or re.search(r"\s", text):
            continue
        if names_secret(text):
            judge.report(
                node, "HIGH", "names a file that may contain secrets", paths=(text,) if text.startswith("/") else ()
            )
        elif code_reason(text):
            judge.report(
                node,
                "HIGH",
                Reason("may change a protected path", Trait.RUNS),
                protected=tuple(filter(None, judge.paths_of(text))),
            )


def _only_printed(judge: Judge, every: Nodes) -> Iterator[int]:
    """Yield the ids of expressions that are only printed, compared or left unused."""
    yield from (id(node.value) for node in every.of(ast.Expr))
    for compared in every.of(ast.Compare):
        yield from map(id, (compared.left, *compared.comparators))
        yield from (id(each) for one in compared.comparators for each in getattr(one, "elts", ()))
    for call in every.of(ast.Call):
        verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if verb in _LOOKS or _QUIET.intersection(judge.reading.names(call.func)):
            yield from map(id, call.args)
