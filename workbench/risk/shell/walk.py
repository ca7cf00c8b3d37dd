"""Visit the nodes of a syntax tree: one function for each node type that matters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.assessment import Part, not_plain, shortened
from workbench.risk.paths import within
from workbench.risk.reason import READS_SOMEWHERE, Reason, Trait
from workbench.risk.shell import endless
from workbench.risk.shell.assignments import arithmetic, assigned, declared, expanded, names_of_loop
from workbench.risk.shell.control import branches, chain, moves_caller, tested
from workbench.risk.shell.parser import (
    LEAVES,
    MOST_WORDS,
    TooMuch,
    ansi_string,
    between,
    last_command,
    leaf,
    lines_behind,
    live_backticks,
    without_errors,
    words_of,
)
from workbench.risk.shell.redirects import plain_redirects
from workbench.risk.shell.words import is_open, spread
from workbench.risk.shell.written_files import note_emptied, note_written
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_INERT = frozenset({"comment", "raw_string"})
_SETS = frozenset({"variable_assignment", "declaration_command", "unset_command", "for_statement"})
_NEAR = 200
"""The number of bytes before a redirect that are searched for the place where its descriptor was opened."""
_MAY_SET = lazy_pattern(r"\b(?:read|eval|source|let|getopts|mapfile|readarray|printf)\b|(?:^|[\s;{])\.\s")
_DESCRIPTOR = lazy_pattern(r"\{[A-Za-z_]\w*\}")
_RUNS_MORE = lazy_pattern(r"\b(?:source|eval)\b|(?:^|[\s;{])\.\s")
_COUNTING = frozenset({"for_statement", "c_style_for_statement"})


def visit(scan: Scan, node: Node) -> None:
    """Rate a node of the syntax tree and the nodes below it."""
    kind = node.type
    scan.sets |= kind in _SETS
    if kind in _VISITS:
        _VISITS[kind](scan, node)
    elif kind in LEAVES:
        leaf(scan, node)
    elif kind not in _INERT:
        for child in node.named_children:  # the others are tokens such as `;`
            visit(scan, child)


def _command(scan: Scan, node: Node, redirects: Sequence[Node] = ()) -> None:
    at = len(scan.parts)
    scan.arrive()
    redirects = (*redirects, *scan.behind.pop(node.id, ()))
    name_node, operands, settings, outside = _pieces(node)
    outside = [*redirects, *outside]
    for child in operands if name_node is None else (name_node, *operands):
        visit(scan, child)
    name = scan.reader.word(name_node) if name_node is not None else None
    words = words_of(scan, operands)
    for setting in settings:
        assigned(scan, setting, name.text if name else "")
    redirected = [_redirect(scan, each) for each in outside]
    words += [word for more, _ in redirected for word in more]
    written = [*([name] if name is not None else ()), *words]
    _forget_descriptors(scan, words if outside else ())
    if any(is_open(word) for word in written):
        name, words = None, spread(written, scan.reader.home().text)
    if name is None and words:
        name = words.pop(0)
    if name is None:
        return
    call = scan.call(name, words, node)
    call.piped = scan.piped
    to_files = plain_redirects(scan, outside)
    is_literal = not (settings or scan.depth) and to_files is not None and _is_plain(scan, written)
    call.plain = is_literal and not (outside or scan.piped)
    for (_, text), each in zip(redirected, outside, strict=True):
        if _is_input(scan, each):
            call.has_input, call.stdin = True, text
    call.redirects = tuple(scan.reader.raw(each) for each in outside)
    scan.programs.judge(call, name)
    scan.parts += call.inner
    already = len(call.inner)
    note_written(scan, call, at)
    scan.parts += call.inner[already:]
    scan.parts.insert(at, call.part(is_literal=is_literal, redirects=to_files or (), is_piped=call.piped))
    _go_on(scan)


def _forget_descriptors(scan: Scan, words: Sequence[Word]) -> None:
    """Forget the variables that redirects set to the number of a descriptor, as in `{x}>file`."""
    for word in words:
        if _DESCRIPTOR.fullmatch(word.raw):
            scan.values.pop(word.raw[1:-1], None)


def _pieces(node: Node) -> tuple[Node | None, list[Node], list[Node], list[Node]]:
    """Return a command's name, its operands, the assignments before it, and its redirects.

    Raises TooMuch if it has too many operands.
    """
    name: Node | None = None
    operands: list[Node] = []
    settings: list[Node] = []
    redirects: list[Node] = []
    for child in node.children:
        kind = child.type  # looked up once: each access goes through the parser's binding
        if kind in _REDIRECTS:
            redirects.append(child)
        elif kind == "variable_assignment":
            settings.append(child)
        elif kind == "command_name" and name is None:
            name = child
        else:
            operands.append(child)
    if len(operands) > MOST_WORDS:
        raise TooMuch
    return name, operands, settings, redirects


def _is_plain(scan: Scan, words: Sequence[Word]) -> bool:
    """Return whether the shell expands no word, no function is defined, and the command runs in the workspace."""
    if scan.functions or scan.directory is None or not all(word.is_literal and not word.runs for word in words):
        return False
    workspace = scan.context.workspace
    return scan.directory == workspace or within(scan.context.resolved(scan.directory), workspace)


def _is_input(scan: Scan, node: Node) -> bool:
    return node.type != "file_redirect" or "<" in scan.reader.raw(node)[:3]


def _redirected(scan: Scan, node: Node) -> None:
    body, *redirects = node.children
    last = last_command(body)
    if last is not None:
        scan.behind[last.id] = redirects
        visit(scan, body)
        return
    if body.type in _REDIRECTS:
        redirects.insert(0, body)
    else:
        _beside(scan, lambda: visit(scan, body), piped=any(_is_input(scan, each) for each in redirects))
    at = len(scan.parts)
    words = [word for redirect in redirects for word in _redirect(scan, redirect)[0]]
    if body.type in _REDIRECTS and not words:
        note_emptied(scan, at)
    if words:  # words after an assignment and a redirect: `x=1 > out command`
        call = scan.call(words[0], words[1:], node)
        scan.programs.judge(call, words[0])
        scan.parts += [*call.inner, call.part()]
    _go_on(scan)


def _go_on(scan: Scan) -> None:
    """Rate the commands after a heredoc's delimiter on its line; they run after the command that reads the heredoc."""
    while scan.waiting:
        node, piped = scan.waiting.pop(0)
        _beside(scan, lambda node=node: visit(scan, node), piped=piped)  # type: ignore[misc]


def _beside(scan: Scan, work: Callable[[], None], *, piped: bool) -> None:
    before, scan.piped = scan.piped, scan.piped or piped
    try:
        work()
    finally:
        scan.piped = before


def _redirect(scan: Scan, node: Node) -> tuple[list[Word], str | None]:
    """Rate a redirect; return the words after it that are arguments, and the input text if it is known."""
    if node.type == "heredoc_redirect":
        return _heredoc(scan, node)
    if node.type == "herestring_redirect":
        word = scan.reader.word(node.children[-1])
        visit(scan, node.children[-1])
        return [], None if UNKNOWN in word.text else word.text
    if node.type != "file_redirect":
        visit(scan, node)
        return [], None
    operator = "".join(child.type for child in node.children if not child.is_named)
    targets = [child for child in without_errors(node) if child.is_named and child.type != "file_descriptor"]
    for target in targets:
        visit(scan, target)
    words = words_of(scan, targets)
    if operator.endswith("&-"):  # closing a descriptor has no target, so all words that follow are arguments
        return words, None
    if words:
        _rate_redirect(scan, scan.reader.raw(node), operator, words[0])
        if "&" in operator and _stays_open(scan, node, words[0].text.rstrip("-")):
            scan.parts.append(Part(shortened(scan.reader.raw(node)), "MEDIUM", "uses what an earlier command opened"))
    return words[1:], None


_TOUCHES_SOMEWHERE = Reason("reads or writes a path only known at run time", Trait.UNCERTAIN)


def _rate_redirect(scan: Scan, raw: str, operator: str, target: Word) -> None:
    if "&" in operator and operator[0] != "&" and re.fullmatch(r"\d+-?|-", target.text):
        return
    path = scan.absolute(target)
    scan.arrive()
    text = shortened(raw)
    if path is None:
        takes = (operator == "<" or "&" in operator) and not scan.names_secret(target)
        rating: tuple[Risk, str] = ("MEDIUM", READS_SOMEWHERE) if takes else ("HIGH", _TOUCHES_SOMEWHERE)
        lost = () if takes else (scan.paths_inside(target),)
        scan.parts.append(Part(text, *rating, changes=lost, unplaced=True, is_redirect=True))
        return
    reads = operator.startswith("<") and ">" not in raw[:4]
    risk, reason = scan.rating(path, "read" if reads else "write")
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        risk, reason = "HIGH", "opens a network connection"
    if path != "/dev/null":
        written = () if reads else (path,)
        guarded = tuple(each for each in written if scan.context.protects(each) or scan.context.shares(each))
        scan.parts.append(Part(text, risk, reason, (path,), changes=written, protected=guarded, is_redirect=True))


def _stays_open(scan: Scan, node: Node, number: str) -> bool:
    """Return whether a redirect uses a descriptor other than 0, 1 and 2 that was not opened just before."""
    if not number.isdecimal() or number in {"0", "1", "2"}:
        return False
    before = scan.reader.source[max(node.start_byte - _NEAR, 0) : node.start_byte].decode(errors="replace")
    return not re.search(rf"(?<!\w){number}[<>]", before)


def _heredoc(scan: Scan, node: Node) -> tuple[list[Word], str | None]:
    words: list[Word] = []
    body = ""
    quoted = False
    for child in node.children:
        kind = child.type
        if kind == "heredoc_start":
            quoted = any(sign in scan.reader.raw(child) for sign in "'\"\\")
        elif kind == "heredoc_body":
            body = scan.reader.raw(child)
            if not quoted:
                visit(scan, child)
                live_backticks(scan, between(scan, child))
        elif kind in _REDIRECTS:
            words += _redirect(scan, child)[0]
        elif kind in {"pipeline", "list", "command"}:
            scan.waiting.append((child, kind == "pipeline"))
        elif child.is_named and kind not in {"heredoc_end", "file_descriptor"}:
            visit(scan, child)
            words += [scan.reader.word(child)] if kind in {"word", "string", "concatenation", "raw_string"} else []
    return words, body


def _pipeline(scan: Scan, node: Node) -> None:
    first, certain, directory, stack = True, dict(scan.origins.certain), scan.directory, list(scan.stack)
    values = dict(scan.values)
    if not scan.piped:
        scan.printed = ""
    stages = [child for child in node.children if child.is_named]
    sources = [(child.type, scan.reader.raw(child)) for child in stages]
    outer = scan.is_cut
    for number, child in enumerate(stages, 1):
        scan.is_cut = (outer or endless.is_cut(sources[number:])) and not _goes_to_a_file(scan, child)
        _beside(scan, lambda child=child: visit(scan, child), piped=not first)  # type: ignore[misc]
        first = False
    scan.is_cut = outer
    scan.directory, scan.stack = directory, stack
    scan.origins.certain = certain
    if scan.values != values:
        scan.keep_values(values)


def _goes_to_a_file(scan: Scan, node: Node) -> bool:
    return node.type == "redirected_statement" and any(
        child.type == "file_redirect" and scan.reader.raw(child)[:1] in {">", "1", "&"} for child in node.children
    )


def _own_surroundings(scan: Scan, node: Node) -> None:
    """Visit a subshell or a substitution, and undo its changes of state afterwards."""
    directory, values, at, unsure = scan.directory, dict(scan.values), len(scan.parts), scan.unsure
    certain, stack = dict(scan.origins.certain), list(scan.stack)
    text = scan.reader.raw(node)
    if text.startswith("`") and "\\" in text:
        live_backticks(scan, text)
    if "<<" in text and node.type == "command_substitution":
        scan.rescan(lines_behind(text, is_certain=not node.has_error))
    is_cut, scan.is_cut = scan.is_cut, scan.is_cut and node.type == "subshell"
    for child in node.children:
        visit(scan, child)
    scan.is_cut = is_cut
    scan.return_to(directory, values)
    scan.unsure, scan.origins.certain, scan.stack = unsure, certain, stack
    if node.type != "subshell":
        scan.parts[at:] = [part._replace(is_substituted=True) for part in not_plain(scan.parts[at:])]


def _if(scan: Scan, node: Node) -> None:
    certain = dict(scan.origins.certain)
    branches(scan, node)
    scan.origins.keep_only(certain)


def _loop(scan: Scan, node: Node) -> None:
    """Visit a loop, which may run several times or not at all, so no earlier value stays certain."""
    scan.forget()
    endless.loop(scan, node)
    if node.type in _COUNTING:
        names_of_loop(scan, node)
    certain = dict(scan.origins.certain)
    if re.search(r"\b(?:cd|pushd|popd)\b", scan.reader.raw(node)):
        scan.directory = None
    for child in node.children:
        visit(scan, child)
    scan.origins.keep_only(certain)
    scan.forget()


def _function(scan: Scan, node: Node) -> None:
    name_node = node.child_by_field_name("name")
    name = scan.reader.raw(name_node) if name_node else ""
    text = scan.reader.raw(node)
    called = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)) if name else 2
    risk, reason = "MEDIUM", "defines a function for later commands"
    if scan.programs.recognizes(name) or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        risk, reason = "HIGH", Reason("replaces a command with a function", Trait.RUNS)
    elif called > 1:
        risk, reason = "HIGH", "a function that calls itself"
    moves = {moves_caller(child) for child in node.children if child != name_node}
    if "away" in moves:
        risk, reason = "HIGH", "a function that changes the directory of later commands"
    if moves != {""}:
        scan.movers.add(name)
    scan.parts.append(Part(shortened(text), "HIGH" if risk == "HIGH" else "MEDIUM", reason))
    scan.functions.add(name)
    directory, scan.directory = scan.directory, None
    certain, scan.origins.certain = scan.origins.certain, {}
    scan.forget()
    sets, scan.sets, changes = scan.sets, False, scan.moves
    for child in node.children:
        if child != name_node:
            visit(scan, child)
    if scan.sets or _MAY_SET.search(text):
        scan.setters.add(name)
        scan.movers |= {name} if scan.moves > changes and _RUNS_MORE.search(text) else set()
    scan.sets |= sets
    scan.directory, scan.origins.certain = directory, certain


def _read_into(scan: Scan, node: Node) -> None:
    """Visit `$(< file)`, a redirect without a command."""
    _redirect(scan, node)


_VISITS: dict[str, Callable[[Scan, Node], None]] = {
    "command": _command,
    "ansi_c_string": ansi_string,
    "redirected_statement": _redirected,
    "file_redirect": _read_into,
    "pipeline": _pipeline,
    "subshell": _own_surroundings,
    "command_substitution": _own_surroundings,
    "process_substitution": _own_surroundings,
    "for_statement": _loop,
    "c_style_for_statement": _loop,
    "while_statement": _loop,
    "if_statement": _if,
    "case_statement": _loop,
    "function_definition": _function,
    "list": chain,
    "variable_assignment": assigned,
    "declaration_command": declared,
    "unset_command": declared,
    "expansion": expanded,
    "subscript": arithmetic,
    "arithmetic_expansion": arithmetic,
    "compound_statement": arithmetic,
    "test_command": tested,
}
