"""The choices of "always allow" for an action: rules from the narrowest to the broadest, or why none is offered."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from workbench.config.modes import MODE_NAMES
from workbench.errors import WorkbenchError
from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Mode, Risk
from workbench.risk.assessment import Part
from workbench.risk.paths import within, words
from workbench.risk.reason import Trait
from workbench.rules.patterns import escaped, is_url
from workbench.rules.rule import Rule, slips_by
from workbench.rules.rule_files import RUNS_ANY, too_wide
from workbench.rules.rule_matching import changes_later_commands, covers, writes_input
from workbench.rules.rule_set import deciding
from workbench.rules.script_content import content_hash, script_index, script_of, wrapper_length
from workbench.rules.subject import EDITS, Subject
from workbench.text import revealed
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import ToolKind, kind_of

_LONGEST: Final = 400
_MOST_COMMANDS: Final = 4
_NEVER: Final[frozenset[ToolKind]] = frozenset({"code", "pages", "sub_agent", "question", "final", "thought"})
"""Kinds of tools without rules to offer: only their arguments decide what they do, or they need no approval."""
_PLAIN_TOOL: Final = lazy_pattern(r"[\w.-]+/[\w.-]+", re.ASCII)
_VERSION: Final = lazy_pattern(r"[\d.]+\Z")
_RUNS_NAMED: Final = words("exec x dlx")
"""Verbs that run a package, which may have to be downloaded first."""
_MODULES: Final = words("unittest compileall py_compile pytest mypy ruff black isort coverage pyflakes pylint doctest")
"""Modules that `python -m` may be allowed to run with any arguments, besides those that the analysis treats as
commands.
"""
_BY_VERB: Final[Mapping[str, frozenset[str]]] = {
    "git": words("add commit mv switch fetch stage"),
    **dict.fromkeys(words("npm pnpm yarn bun"), words("test run t")),
    "cargo": words("build check test clippy fmt doc bench run"),
    "go": words("build test vet fmt run"),
    **dict.fromkeys(words("make gmake just task"), frozenset()),
    **dict.fromkeys(words("dotnet swift mix gradle mvn flutter dart"), words("build test compile check format")),
    **dict.fromkeys(
        words("docker podman kubectl terraform tofu gh glab pip pip3 gem bundle composer brew"), words("-")
    ),
}
"""Programs that do many different things, with the verbs for which a rule may allow any arguments (an empty set: any
verb).
"""
_ONLY_EXACT: Final = words(
    "rm rmdir mv dd truncate shred kill pkill killall chmod chown ln crontab curl wget ssh scp sftp rsync psql mysql "
    "sqlite3 find xargs tee tar unzip"
)
"""Programs that delete, connect or start others; only the exact command is offered for them."""


class AlwaysOffer(msgspec.Struct, frozen=True):
    """Rules that together allow an action, and a description of what they allow."""

    label: str
    rules: tuple[Rule, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The rules, one line each."""
        return tuple(rule.text for rule in self.rules)


class NoOffer(WorkbenchError):
    """No rule can be offered; the message is the reason, for the user."""


def offers(subject: Subject, risk: Risk, mode: Mode, rules: Sequence[Rule] = ()) -> tuple[tuple[AlwaysOffer, ...], str]:
    """Return the choices of "always allow", the narrowest first, and why there are none (or an empty string).

    Each offer covers the action. `rules` are those in effect; if one of them asks about or denies the action, there are
    no offers.
    """
    try:
        return tuple(_usable(subject, risk, mode, rules)), ""
    except NoOffer as error:
        return (), str(error)


def _usable(subject: Subject, risk: Risk, mode: Mode, rules: Sequence[Rule]) -> list[AlwaysOffer]:
    _check_call(subject, risk, mode)
    against = deciding(rules, subject)
    if against is not None and against.verdict != "allow":
        raise NoOffer(f"a rule asks about it each time: {against.reason or against.text}")
    candidates = _for_line(subject) if subject.is_shell else _for_call(subject)
    usable: list[AlwaysOffer] = []
    for offer in candidates:
        if _is_sound(offer, subject) and offer.lines not in [each.lines for each in usable]:
            usable.append(offer)
    if not usable:
        raise NoOffer("no rule describes exactly this")
    return usable


def _check_call(subject: Subject, risk: Risk, mode: Mode) -> None:
    """Raise NoOffer if no rule can allow the action, regardless of the rules in effect."""
    if risk == "HIGH":
        raise NoOffer("HIGH risk is asked about each time")
    if mode in ("ask", "plan"):
        raise NoOffer(f"the mode {MODE_NAMES[mode]} ignores rules that allow")
    if kind_of(subject.tool) in _NEVER:
        raise NoOffer(f"what {subject.tool} does depends on its arguments, which differ each time")
    if any(Trait.STARTS_AGENT in part.traits for part in subject.parts):
        raise NoOffer("a rule would allow the program of any agent, also of one that a project defines")
    if any(Trait.SELF_DESCRIBED in part.traits for part in subject.parts):
        raise NoOffer("only the agent's own words say what it would do, and they could be the same for something else")


def _is_sound(offer: AlwaysOffer, subject: Subject) -> bool:
    """Return whether the rules may be saved, look the same when shown, and cover the action."""
    if any(too_wide(rule) or len(rule.text) > _LONGEST for rule in offer.rules):
        return False
    if any(revealed(rule.text, lines=False) != rule.text for rule in offer.rules):
        return False
    return covers(offer.rules, subject) is not None


def _for_call(subject: Subject) -> Iterator[AlwaysOffer]:
    """Yield the offers for a tool call: with its file, directory or URL, or with any arguments.

    For a tool of an MCP server, the rules name the server too.
    """
    tool = subject.server_tool or subject.tool
    if subject.server_tool and not _PLAIN_TOOL.fullmatch(tool):
        raise NoOffer("the names of the server or the tool contain unusual characters")
    if not subject.paths and kind_of(subject.tool) != "edit":
        yield AlwaysOffer(f"{tool} with any arguments", (Rule("allow", tool),))
    elif len(subject.paths) != 1:
        raise NoOffer("it names several files" if subject.paths else "it names no file")
    elif is_url(subject.paths[0]):
        host = "/".join(subject.paths[0].split("/")[:3])
        yield AlwaysOffer(f"Everything on {host.partition('//')[2]}", (Rule("allow", tool, path=f"{host}/**"),))
    else:
        yield from _for_path(subject, tool, subject.paths[0])


def _for_path(subject: Subject, tool: str, path: str) -> Iterator[AlwaysOffer]:
    if any(sign in path for sign in "*?'\"\\") or real_path(path) != path:
        raise NoOffer("the path is a link or contains characters of a pattern")
    inside = _relative(path, subject)
    if kind_of(subject.tool) != "edit":
        yield AlwaysOffer("This file", (Rule("allow", tool, path=inside or path),))
    elif not inside:
        raise NoOffer("the file is outside the workspace")
    else:
        yield from _edit_offers([inside])


def _relative(path: str, subject: Subject) -> str:
    """Return the path relative to the workspace; empty if it is not inside it."""
    is_inside = within(path, subject.workspace) and path != subject.workspace
    return path[len(subject.workspace) + 1 :] if is_inside else ""


def _edit_offers(names: Sequence[str]) -> Iterator[AlwaysOffer]:
    """Yield the offers for writing these workspace files: the files, their directories, all files."""
    label = "This file" if len(names) == 1 else "These files"
    yield AlwaysOffer(label, tuple(Rule("allow", EDITS, path=name) for name in names))
    directories = dict.fromkeys(name.rpartition("/")[0] for name in names)
    if "" not in directories:
        scope = "This directory" if len(directories) == 1 else "These directories"
        yield AlwaysOffer(scope, tuple(Rule("allow", EDITS, path=f"{each}/**") for each in directories))
    yield AlwaysOffer("All edits in the workspace", (Rule("allow", EDITS, path="**"),))


def _for_line(subject: Subject) -> Iterator[AlwaysOffer]:
    """Yield the offers for a command line: the exact commands, then the programs with any arguments, or the written
    files.
    """
    _check_line(subject)
    commands = list(_commands(subject))
    if len(commands) > _MOST_COMMANDS:
        raise NoOffer(f"it runs more than {_MOST_COMMANDS} commands that need a rule")
    for command in commands:
        command.check()
    yield from _exact_offers(commands)
    needing = [command for command in commands if command.needs_rule]
    files = list(dict.fromkeys(name for command in commands for name in command.files))
    wide = [command.with_any_arguments() for command in needing]
    if not needing:
        yield from _edit_offers(files)
    elif None not in wide:
        names = ", ".join(dict.fromkeys(command.program for command in needing))
        rules = (*(rule for rule in wide if rule is not None), *(Rule("allow", EDITS, path=name) for name in files))
        yield AlwaysOffer(f"{names} with any arguments", tuple(dict.fromkeys(rules)))


def _exact_offers(commands: Sequence[_Command]) -> Iterator[AlwaysOffer]:
    """Yield the offers for exactly these commands: while their scripts have the present content, and with any
    content.
    """
    label = "This command" if len(commands) == 1 else "These commands"
    if not any(rule.command for command in commands for rule in command.exact()):
        return
    scripts = list(dict.fromkeys(command.script_name for command in commands if command.script))
    if scripts:
        names, stays = " and ".join(scripts), "stays" if len(scripts) == 1 else "stay"
        bound = tuple(rule for command in commands for rule in command.exact(bound=True))
        yield AlwaysOffer(f"{label}, while {names} {stays} as now", bound)
        label = f"{label}, whatever {names} {'contains' if len(scripts) == 1 else 'contain'}"
    yield AlwaysOffer(label, tuple(dict.fromkeys(rule for command in commands for rule in command.exact())))


def _check_line(subject: Subject) -> None:
    """Raise NoOffer if the command line contains something that no rule can describe."""
    parts = subject.parts
    if not parts or subject.arguments.get("is_input"):
        raise NoOffer("it is input for a program that runs")
    for part in parts:
        if part.is_substituted:
            raise NoOffer("it contains a substitution, so it may differ each time")
        if Trait.DOWNLOADS in part.traits:
            raise NoOffer("it may download code and run it")
        if not part.words and not part.is_redirect and not part.depth:
            raise NoOffer(f"`{part.text}` is more than a plain command")
        if len(parts) > 1 and changes_later_commands(part, subject):
            raise NoOffer("it changes the directory or a variable for later commands")
        if part.is_redirect and part.risk != "LOW":
            _check_redirect(part, subject)


def _check_redirect(part: Part, subject: Subject) -> None:
    root = real_path(subject.workspace)
    for path in part.changes:
        if not within(real_path(path), root) or not _relative(path, subject):
            raise NoOffer("it writes a file outside the workspace")
    if not part.changes:
        raise NoOffer("it reads a file outside the workspace")


class _Command:
    """One command of a line with its redirects, and the rules for it."""

    def __init__(self, part: Part, subject: Subject) -> None:
        self.part = part
        self.needs_rule = part.risk != "LOW" and not writes_input(part)
        self.files: list[str] = []
        """The workspace files that the command writes with redirects, or as `tee`; relative paths."""
        self.inner: list[Part] = []
        """The commands that this command runs, as found in its words."""
        self.script = script_of(part, subject.workspace) if self.needs_rule else ""
        self._subject = subject
        if part.risk != "LOW" and writes_input(part):
            self.files = [name for path in part.changes if (name := _relative(path, subject))]

    @property
    def script_name(self) -> str:
        """The command's word that names its script."""
        return self.part.words[script_index(self.part.words)]

    @property
    def program(self) -> str:
        """The words that a rule for any arguments spells out, joined by spaces."""
        return " ".join(self.part.words[: self._fixed()])

    def check(self) -> None:
        """Raise NoOffer if the command needs a rule and no rule can describe it."""
        part = self.part
        if not self.needs_rule:
            return
        name = part.words[0].rpartition("/")[2]
        if part.is_piped:
            raise NoOffer(f"{name} reads from a pipe, and what it reads may differ each time")
        if not part.is_literal:
            raise NoOffer(f"`{part.text}` is more than a plain command: a pattern, a variable or input from the line")
        if not self.script and self._runs_code():
            raise NoOffer(f"{name} runs code that its words do not determine")

    def exact(self, *, bound: bool = False) -> tuple[Rule, ...]:
        """Return the rule for exactly this command; if `bound`, only while its script has the present content.

        For a command whose words are not all that it receives, return rules for the files that it writes instead.
        """
        if not self.part.is_literal or (self.part.is_piped and not writes_input(self.part)):
            return tuple(Rule("allow", EDITS, path=name) for name in self.files)
        line = " ".join((shlex.join(self.part.words), *self.part.redirects))
        content = content_hash(self.script) if bound and self.script else ""
        return (Rule("allow", SHELL, escaped(line), content=content),)

    def with_any_arguments(self) -> Rule | None:
        """Return the rule for the program with any arguments; None if there can be none."""
        fixed = 0 if Trait.UNRECOGNIZED in self.part.traits else self._fixed()
        pattern = f"{escaped(shlex.join(self.part.words[:fixed]))} *" if fixed else ""
        if not pattern or slips_by(pattern, self.part.words):
            return None
        return Rule("allow", SHELL, pattern)

    def _runs_code(self) -> bool:
        """Return whether the command runs code or a program that its words do not determine."""
        words_ = self.part.words
        name = words_[0].rpartition("/")[2]
        if "/" in words_[0] or _RUNS_NAMED.intersection(words_[1:3]):
            return True
        if _module(words_):
            return not self.inner and _module(words_) not in _MODULES
        if self._wrapped():
            return any(_is_interpreter(part.words[0]) or "/" in part.words[0] for part in self.inner if part.words)
        return _is_interpreter(name) or bool(self.inner)

    def _wrapped(self) -> int:
        """Return how many words precede the program that a harmless wrapper such as `timeout` runs; 0 without a
        wrapper.
        """
        before = wrapper_length(self.part.words)
        return before if before and self.inner and self.inner[0].words == self.part.words[before:] else 0

    def _fixed(self) -> int:
        """Return how many words a rule for any arguments spells out; 0 if no such rule is possible."""
        words_ = self.part.words
        if self.script:
            return script_index(words_) + 1
        if _module(words_):
            return 3
        before = self._wrapped()
        return before + count if (count := _spelled(words_[before:])) else 0


def _spelled(command: Sequence[str]) -> int:
    """Return how many words of a command, without a wrapper, name its program and verb; 0 if only the exact command can
    be allowed.
    """
    name = command[0]
    if name in _ONLY_EXACT or name.startswith("-"):
        return 0
    verbs = _BY_VERB.get(name)
    if verbs is None:
        return 1
    if len(command) < 2 or command[1].startswith("-") or (verbs and command[1] not in verbs) or "=" in command[1]:
        return 0
    is_script = command[1] == "run" and name in {"npm", "pnpm", "yarn", "bun", "go"}
    return 2 if not is_script else 3 if len(command) > 2 and not command[2].startswith("-") else 0


def _module(command: Sequence[str]) -> str:
    """Return the module that `python -m` runs; empty if the command is another one."""
    is_python = _VERSION.sub("", command[0]) in {"python", "pypy"}
    return command[2] if is_python and len(command) > 2 and command[1] == "-m" else ""


def _is_interpreter(name: str) -> bool:
    return name in RUNS_ANY or _VERSION.sub("", name) in RUNS_ANY


def _commands(subject: Subject) -> Iterator[_Command]:
    """Yield those commands of the line that are not LOW or that write a file with a redirect."""
    command: _Command | None = None
    result: list[_Command] = []
    for part in subject.parts:
        if part.is_redirect:
            if command is not None and part.risk != "LOW":
                command.files += [_relative(path, subject) for path in part.changes]
        elif part.depth:
            if command is not None:
                command.inner.append(part)
        else:
            command = _Command(part, subject)
            result.append(command)
    yield from (each for each in result if each.needs_rule or each.files or each.part.risk != "LOW")
