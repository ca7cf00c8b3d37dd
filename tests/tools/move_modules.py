"""Move, merge and rename modules: `python -m tests.tools.move_modules PLAN`.

A plan has one step per line; blank lines and lines that begin with `#` are ignored:

    workbench.a.b -> workbench.c.d                    move a module
    workbench.a.* -> workbench.c.*                    move a package with all that is in it
    workbench.a.b + workbench.a.c -> workbench.a.d    merge modules; the docstring is that of the first
    workbench.a.b:name -> other                       rename a top-level name in every file, before any merge

Imports, dotted names in strings, guides and `pyproject.toml`, and paths such as `workbench/a/b.py` are rewritten in
every tracked file. `from package import module` keeps the local name it had. A conflict (two merged modules that define
or import one name differently) stops the script before anything is written.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_QUOTED_TYPE = re.compile(r'"[\w\[\], |.]+"')
_DONE = "\x00"
"""Marks a new name until all old ones are replaced, because a new name may be the old name of another module."""
SUFFIXES = {".py", ".md", ".toml", ".tcss", ".yaml", ".yml"}


@dataclass
class Plan:
    """Where each module goes: `moves` by dotted name; `merges` by target, with its sources in order."""

    moves: dict[str, str] = field(default_factory=dict)
    merges: dict[str, list[str]] = field(default_factory=dict)
    renames: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))


def tracked() -> list[Path]:
    """Return the tracked text files that may name a module."""
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for name in names if (path := Path(name)).suffix in SUFFIXES and path.is_file()]


def dotted(path: Path) -> str:
    """Return the dotted name of the module in a file."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def file_of(module: str, packages: set[str]) -> Path:
    """Return the file of a module; `packages` are those that are directories."""
    base = Path(*module.split("."))
    return base / "__init__.py" if module in packages else base.with_suffix(".py")


def read_plan(text: str, modules: set[str]) -> Plan:
    """Parse a plan; raises SystemExit for a module that does not exist."""
    plan = Plan()
    for line in text.splitlines():
        if not (line := line.split("#")[0].strip()):
            continue
        left, _, right = (part.strip() for part in line.partition("->"))
        if ":" in left:
            module, _, name = left.partition(":")
            plan.renames[module][name] = right
        elif "+" in left:
            sources = [part.strip() for part in left.split("+")]
            plan.merges[right] = sources
            plan.moves |= dict.fromkeys(sources, right)
        elif left.endswith(".*"):
            old, new = left[:-2], right[:-2]
            plan.moves |= {m: new + m[len(old) :] for m in modules if m == old or m.startswith(old + ".")}
        else:
            plan.moves[left] = right
    if unknown := sorted((set(plan.moves) | set(plan.renames)) - modules):
        raise SystemExit(f"no such module: {', '.join(unknown)}")
    return plan


class Rewriter:
    """Rewrites the names of modules in one text."""

    def __init__(self, moves: dict[str, str], packages: set[str]) -> None:
        self._moves = {old: new for old, new in moves.items() if old != new}
        names = sorted(self._moves, key=len, reverse=True)
        self._dotted = re.compile(r"(?<![\w./\x00])(" + "|".join(map(re.escape, names)) + r")(?!\w)") if names else None
        paths = {file_of(old, packages).as_posix(): new for old, new in self._moves.items() if old not in packages}
        self._paths = {path: file_of(new, set()).as_posix() for path, new in paths.items()}

    def text(self, source: str, is_python: bool) -> str:
        """Return the text with every module and path in its new place."""
        if is_python:
            source = self._imports_of_modules(source)
        if self._dotted is not None:
            source = self._dotted.sub(lambda match: self._moves[match[1]], source).replace(_DONE, "")
        for old, new in self._paths.items():
            if old in source:
                source = source.replace(old, new)
        return source

    def _imports_of_modules(self, source: str) -> str:
        """Rewrite `from package import module` where the module moves, one statement for each such name."""
        lines = source.splitlines(keepends=True)
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and not node.level]
        for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):
            moving = [a for a in node.names if f"{node.module}.{a.name}" in self._moves]
            if not moving:
                continue
            indent = " " * node.col_offset
            statements = []
            if rest := [a for a in node.names if a not in moving]:
                names = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in rest)
                statements.append(f"{indent}from {node.module} import {names}\n")
            for each in moving:
                package, _, name = self._moves[f"{node.module}.{each.name}"].rpartition(".")
                local = each.asname or each.name
                statements.append(
                    f"{indent}from {_DONE}{package} import {name}{f' as {local}' if local != name else ''}\n"
                )
            lines[node.lineno - 1 : node.end_lineno] = statements
        return "".join(lines)


def rename(source: str, names: dict[str, str]) -> str:
    """Rename top-level names of a module: every NAME token that is not an attribute, those in f-strings too."""
    lines = source.splitlines(keepends=True)
    tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    word = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")\b(?!=)")
    for before, token in reversed([*itertools.pairwise(tokens)]):
        if token.type == tokenize.NAME and token.string in names and before.string != ".":
            new = names[token.string]
        elif token.type == tokenize.STRING and "f" in token.string[:2].lower() and word.search(token.string):
            new = re.sub(r"\{[^{}]*\}", lambda part: word.sub(lambda m: names[m[1]], part[0]), token.string)
        elif token.type == tokenize.STRING and _QUOTED_TYPE.fullmatch(token.string) and word.search(token.string):
            new = word.sub(lambda m: names[m[1]] if m[1][0].isupper() else m[1], token.string)
        else:
            continue
        (row, column), (last, end) = token.start, token.end
        new = lines[row - 1][:column] + new + lines[last - 1][end:]
        lines[row - 1 : last] = [*new.splitlines(keepends=True), *[""] * (last - row + 1 - new.count("\n"))]
    return "".join(lines)


@dataclass
class Parts:
    """A module in parts: docstring, imports, imports for types alone, and the rest."""

    docstring: str
    imports: list[str] = field(default_factory=list)
    typing_imports: list[str] = field(default_factory=list)
    body: str = ""
    defines: set[str] = field(default_factory=set)
    bound: dict[str, str] = field(default_factory=dict)
    """Each imported local name, with what it stands for."""
    needs: set[str] = field(default_factory=set)
    """Modules merged with it that are imported at the top."""
    aliases: set[str] = field(default_factory=set)
    """The names under which it uses whole modules that are merged with it."""


def rename_uses(source: str, module: str, names: dict[str, str]) -> str:
    """Rename what another module imports of `module`, by name or through the module."""
    package, _, last = module.rpartition(".")
    mine: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            mine |= {a.name: names[a.name] for a in node.names if a.name in names}
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            for alias in [a.asname or a.name for a in node.names if a.name == last]:
                for old, new in names.items():
                    source = re.sub(rf"(?<![\w.]){alias}\.{old}\b", f"{alias}.{new}", source)
    return rename(source, mine) if mine else source


def is_type_checking(node: ast.stmt) -> bool:
    """Whether this is an `if TYPE_CHECKING:` block of imports alone."""
    if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse):
        return False
    return all(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)


def split(source: str, siblings: set[str]) -> Parts:
    """Take a module apart; imports among `siblings`, which are merged with it, are left out."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    docstring = ast.get_docstring(tree, clean=False) or ""
    parts = Parts(docstring)
    cut: list[tuple[int, int]] = []
    for index, node in enumerate(tree.body):
        if index == 0 and docstring:
            cut.append((node.lineno, node.end_lineno or 0))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            cut.append((node.lineno, node.end_lineno or 0))
            _take_import(node, siblings, parts, parts.imports)
        elif is_type_checking(node):
            cut.append((node.lineno, node.end_lineno or 0))
            for each in node.body:  # type: ignore[attr-defined]
                _take_import(each, siblings, parts, parts.typing_imports)
        else:
            parts.defines |= _defined(node)
    for first, last in reversed(cut):
        del lines[first - 1 : last]
    body = "".join(lines).strip("\n") + "\n"
    for alias in parts.aliases:
        body = re.sub(rf"(?<![\w.]){alias}\.(?=\w)", "", body)
    parts.body = body
    return parts


def _take_import(node: ast.Import | ast.ImportFrom, siblings: set[str], parts: Parts, into: list[str]) -> None:
    origin = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    if origin == "__future__":
        return
    if origin in siblings:
        parts.needs.add(origin)
        if aliased := [a for a in node.names if a.asname and a.asname != a.name]:
            raise SystemExit(f"imported under another name: {ast.unparse(aliased[0])} of {origin}")
        return
    for each in [each for each in node.names if f"{origin}.{each.name}" in siblings]:
        parts.needs.add(f"{origin}.{each.name}")
        parts.aliases.add(each.asname or each.name)
        node.names.remove(each)
    for each in node.names:
        local = each.asname or each.name.split(".")[0]
        parts.bound[local] = f"{origin}:{each.name}" if origin else each.name.split(".")[0]
    if node.names:
        into.append(ast.unparse(node))


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    stores = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return {each.id for each in stores} if not isinstance(node, ast.Expr) else set()


def in_order(sources: list[str], parts: dict[str, Parts]) -> list[str]:
    """Return merged modules so that each stands after those it imports, unless they import each other."""
    done: list[str] = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in done or module in path:
            return
        for each in sources:
            if each in parts[module].needs:
                visit(each, (*path, module))
        done.append(module)

    for module in sources:
        visit(module, ())
    return done


def conflicts(sources: list[str], parts: dict[str, Parts]) -> list[str]:
    """Return a line for each name that would mean two things in the merged module."""
    bound: dict[str, str] = {}
    defined: dict[str, str] = {}
    problems = []
    for module in sources:
        for name in sorted(parts[module].defines):
            if defined.setdefault(name, module) != module:
                problems.append(f"{name}: in {defined[name]} and {module}")
        for name, origin in parts[module].bound.items():
            if bound.setdefault(name, origin) != origin:
                problems.append(f"{name}: imported as {bound[name]} and {origin} ({module})")
    return problems + [f"{name}: imported and defined in {defined[name]}" for name in sorted(set(bound) & set(defined))]


def merged(sources: list[str], texts: dict[str, str]) -> str:
    """Return the text of several modules as one. Raises SystemExit where a name would mean two things."""
    parts = {module: split(texts[module], set(sources)) for module in sources}
    if problems := conflicts(sources, parts):
        raise SystemExit("cannot merge " + " + ".join(sources) + ":\n  " + "\n  ".join(problems))
    imports = sorted({line for module in sources for line in parts[module].imports})
    typing_imports = sorted({line for module in sources for line in parts[module].typing_imports} - set(imports))
    if typing_imports:
        typing_imports = ["if TYPE_CHECKING:", *("    " + line for line in typing_imports)]
    docstring = parts[sources[0]].docstring.strip()
    head = [f'"""{docstring}\n"""' if "\n" in docstring else f'"""{docstring}"""', "from __future__ import annotations"]
    bodies = [parts[module].body for module in in_order(sources, parts)]
    return "\n\n".join([*head, "\n".join(imports), "\n".join(typing_imports), *bodies])


def move_files(plan: Plan, modules: dict[str, Path], packages: set[str]) -> None:
    """Move the files of a plan and print the packages that still need an `__init__`."""
    missing = set()
    for old, new in plan.moves.items():
        if old in modules and old != new:
            place = file_of(new, {new} if old in packages else set())
            place.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", "-f", modules[old].as_posix(), place.as_posix()], check=True)
            if (style := modules[old].with_suffix(".tcss")).exists():
                subprocess.run(["git", "mv", "-f", style.as_posix(), place.with_suffix(".tcss").as_posix()], check=True)
            missing |= {each for each in [*place.parents][:-1] if each.parts[0] == "workbench"}
    for directory in sorted(each for each in missing if not (each / "__init__.py").exists()):
        sys.stderr.write(f"write {directory}/__init__.py\n")


def rename_everywhere(plan: Plan, modules: dict[str, Path], texts: dict[str, str]) -> None:
    """Rename the names of a plan where they are defined and wherever they are used; `texts` is kept up to date."""
    for module, names in plan.renames.items():
        for other, path in modules.items():
            before = texts.get(other) or path.read_text()
            if other == module:
                after = rename(before, names)
            elif module in before or f"from {module.rpartition('.')[0]} import" in before:
                after = rename_uses(before, module, names)
            else:
                continue
            if after != before:
                path.write_text(after)
                if other in texts:
                    texts[other] = after


def carry_out(plan: Plan, modules: dict[str, Path]) -> None:
    """Write all of a plan: renames, merges, moves, then every reference."""
    packages = {module for module, path in modules.items() if path.name == "__init__.py"}
    texts = {module: modules[module].read_text() for module in set(plan.moves) | set(plan.renames)}
    rename_everywhere(plan, modules, texts)
    problems, whole = [], {}
    for target, sources in plan.merges.items():
        try:
            whole[target] = merged(sources, texts)
        except SystemExit as error:
            problems.append(str(error))
    if problems:
        raise SystemExit("\n".join(problems))
    for target, sources in plan.merges.items():
        first = sources[0] if target not in sources else target
        modules[first].write_text(whole[target])
        for each in set(sources) - {first}:
            subprocess.run(["git", "rm", "-qf", modules[each].as_posix()], check=True)
            del modules[each]
    move_files(plan, modules, packages)
    rewriter = Rewriter(plan.moves, packages)
    for path in tracked():
        before = path.read_text()
        after = rewriter.text(before, path.suffix == ".py" and "demo/project" not in path.as_posix())
        if after != before:
            path.write_text(after)


def main() -> None:
    """Carry out the plan named on the command line, then let ruff sort imports and lay the code out."""
    files = [path for path in tracked() if path.suffix == ".py" and path.parts[0] in ("workbench", "tests")]
    modules = {dotted(path): path for path in files}
    carry_out(read_plan(Path(sys.argv[1]).read_text(), set(modules)), modules)
    subprocess.run(["ruff", "check", "-q", "--fix", "--select", "I,F401,F811", "workbench", "tests"], check=False)
    subprocess.run(["ruff", "format", "-q", "workbench", "tests"], check=True)


if __name__ == "__main__":
    main()
