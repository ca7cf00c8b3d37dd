"""Documents and docstrings name files and modules that exist, and the documented checks are those of `.ci/run`."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from tests.contracts.source import ROOT, modules
from tests.contracts.test_sizes import (
    CLASS_LINES,
    CLASS_METHODS,
    FUNCTION_LINES,
    MAIN_SCREEN_METHODS,
    MODULE_LINES,
)
from workbench.config.setting_kinds import declared
from workbench.config.terminal_settings import TerminalSettings

DOCUMENTS = ["CONTRIBUTING.md", "ARCHITECTURE.md"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_documents_mention_exists(document):
    text = (ROOT / document).read_text()
    named = set(re.findall(r"`((?:workbench|tests|snapshots)/[\w/.]*)`", text))
    assert len(named) > 5
    assert [path for path in sorted(named) if "NAME" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_in_documents_is_valid(document):
    text = (ROOT / document).read_text()
    targets = [target.partition("#") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert [path for path, _, _ in targets if not (ROOT / path).exists()] == []
    for path, _, anchor in targets:
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def _top_level_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _names_in_packages() -> dict[str, set[str]]:
    """Return the last part of each package's name, with its modules and what they define at their top level."""
    names: dict[str, set[str]] = {"terminal": set(declared(TerminalSettings))}  # `terminal.bell` is a setting
    for module in modules().values():
        head, last = module.package.rpartition(".")[2], module.name.rpartition(".")[2]
        names.setdefault(head, set()).update([last, *_top_level_names(module.tree)])
        parent = module.package.rpartition(".")[0].rpartition(".")[2]
        if module.path.endswith("__init__.py") and parent:
            names.setdefault(parent, set()).add(last)
    return names


def _stale_names(text: str, packages: dict[str, set[str]]) -> list[str]:
    """Return the `package.name`s in a docstring whose package has no module, function or class of that name."""
    files = {"md", "toml", "c", "py", "json"}
    dotted = [name.split(".") for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text)]
    own = [parts[-2:] for parts in dotted if parts[0] in packages and parts[-1] not in files]
    return [f"{head}.{name}" for head, name in own if name not in packages.get(head, {name})]


def test_every_module_that_a_docstring_names_exists():
    packages = _names_in_packages()
    assert _stale_names("`view.no_such`, `view.reducer`, `textual.widgets.none`", packages) == ["view.no_such"]
    stale = {
        (module.path, name)
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        for name in _stale_names(ast.get_docstring(node) or "", packages)
    }
    assert stale == set()


def test_documented_layers_match_the_import_contract():
    _, _, layers_text = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Layers\n")
    layers = [set(re.findall(r"\w+", line[:24])) for line in layers_text.split("```")[1].strip().splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (enforced,) = [each["layers"] for each in contracts if "workbench.cli" in each.get("layers", ())]
    assert [set(re.findall(r"workbench\.(\w+)", line)) for line in enforced] == layers
    assert {path.parent.name for path in (ROOT / "workbench").glob("*/__init__.py")} <= set.union(*layers)


def test_architecture_says_where_to_start_in_each_larger_package():
    _, _, table = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Where to start\n")
    sizes = Counter(path.parent.name for path in (ROOT / "workbench").glob("*/*.py"))
    larger = {name for name, count in sizes.items() if count > 10}
    assert larger - set(re.findall(r"`workbench/(\w+)/", table)) == set()


def test_contributing_names_the_enforced_sizes():
    _, _, sizes = " ".join(CONTRIBUTING.split()).partition("Modules have at most ")
    numbers = [int(number) for number in re.findall(r"\d+", sizes.partition(". ")[0])]
    assert numbers == [MODULE_LINES, CLASS_LINES, CLASS_METHODS, MAIN_SCREEN_METHODS, FUNCTION_LINES]


def test_contributing_shows_a_command_and_a_setting_that_are_where_it_says():
    (command,) = re.findall(r"class (\w+)\(Command\):", CONTRIBUTING)
    assert f"class {command}(Command):" in (ROOT / "tests/engine/test_commands.py").read_text()
    (name,) = re.findall(r"^    (\w+): \w+ = setting\($", CONTRIBUTING, re.MULTILINE)
    assert f"    {name}: " in (ROOT / "workbench/config/table.py").read_text()


def test_contributing_explains_every_directory_of_golden_files():
    areas = {path.name for path in (ROOT / "snapshots").iterdir()}
    others = {area for area in areas if not (ROOT / f"tests/tui/test_pictures_{area}.py").exists()}
    assert others - set(re.findall(r"`snapshots/(\w+)`", CONTRIBUTING)) == set()


def test_pre_commit_checks_match_those_of_ci():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = [hook["entry"] for hook in hooks]
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    server = [line for line in lines if line.startswith("uv run ") and not line.endswith("|| true")]  # reports
    assert len(server) >= 4
    assert [line for line in server if line not in entries] == []
