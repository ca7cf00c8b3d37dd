"""Modules, functions and whole classes, inherited parts included, stay small enough to be understood as a whole."""

import ast

from tests.contracts.source import Function, classes, lineage, lines_of, methods_of, modules

MODULE_LINES, CLASS_LINES, CLASS_METHODS, FUNCTION_LINES, MAIN_SCREEN_METHODS = 500, 250, 30, 40, 45
MAIN_SCREEN = "MainScreen"
"""May have more methods, because Textual looks up the actions of its keys and the handlers of its messages on the
screen itself; most of them only call one of its parts.
"""


def test_modules_and_functions_are_short():
    long_modules = {m.name: m.text.count("\n") for m in modules().values() if m.text.count("\n") > MODULE_LINES}
    long_functions = {
        f"{module.name}:{node.name}": lines_of(node)
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, Function) and lines_of(node) > FUNCTION_LINES
    }
    assert long_modules | long_functions == {}


def test_classes_are_small_including_inherited_members():
    known = classes()
    large = {}
    for key in known:
        parts = [known[each] for each in lineage(key, known)]
        lines = sum(lines_of(each) for each in parts)
        methods = len({name for each in parts for name in methods_of(each)})
        most = MAIN_SCREEN_METHODS if key.endswith(f":{MAIN_SCREEN}") else CLASS_METHODS
        if lines > CLASS_LINES or methods > most:
            large[key] = f"{methods} methods, {lines} lines"
    assert large == {}


def test_everything_public_has_a_docstring():
    silent = [module.name for module in modules().values() if module.tree.body and not ast.get_docstring(module.tree)]
    for module in modules().values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
                silent += [] if ast.get_docstring(node) else [f"{module.name}:{node.name}"]
    assert silent == []
