"""Finds the hooks of a session: in the user's settings, and in a trusted directory, in our format and Claude Code's."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from workbench.config.hook_settings import check_hook
from workbench.config.toml_file import read_small_file, syntax_problem
from workbench.errors import UsageError
from workbench.hooks import claude
from workbench.hooks.hook import Format, Hook
from workbench.text import first_line, visible
from workbench.tools.hook_files import CLAUDE_HOOKS, HOOKS, LONGEST_COMMAND, content_marks
from workbench.tools.trust import is_trusted

State: TypeAlias = Literal["active", "not trusted", "not supported", "invalid"]
_TIMEOUT: Final = 60.0
_MOST: Final = 200
_NAME_LENGTH: Final = 60
_TOO_LONG: Final = f"its command is longer than {LONGEST_COMMAND:,} characters"


class ListedHook(msgspec.Struct, frozen=True):
    """A hook as lists show it; `hook` is set if it runs, and `detail` says why if it does not."""

    event: str
    name: str
    source: Path
    state: State
    detail: str = ""
    hook: Hook | None = None


class _Problem(Exception):
    """A file or an entry that cannot be used; the message is one line."""


def find_hooks(
    settings: Sequence[Mapping[str, Any]], settings_file: Path, workspace: Path, trusted: Sequence[str]
) -> list[ListedHook]:
    """Return all hooks, those of the user first, at most 200; those of an untrusted directory do not run."""
    listed = [_of_settings(entry, settings_file, workspace) for entry in settings]
    listed += [each for path in directory_files(workspace) for each in hooks_in(path, workspace)]
    if len(listed) > len(settings) and not is_trusted(workspace, trusted):
        listed = [each if each.source == settings_file or each.hook is None else _untrusted(each) for each in listed]
    return listed[:_MOST]


def directory_files(workspace: Path) -> list[Path]:
    """Return the files of a directory that define hooks."""
    return [path for name in (HOOKS, *CLAUDE_HOOKS) if (path := workspace / name).is_file()]


def notices_of(listed: Sequence[ListedHook]) -> list[str]:
    """Return a line for the user about each hook that cannot run, and one about those of an untrusted directory."""
    lines = [f"hook {each.name} in {each.source}: {each.detail}" for each in listed if each.state == "invalid"]
    files = dict.fromkeys(each.source for each in listed if each.state == "not trusted")
    lines += [f"the hooks in {path} are ignored: the directory is not trusted" for path in files]
    return [visible(line, lines=False) for line in lines]


def _untrusted(each: ListedHook) -> ListedHook:
    return msgspec.structs.replace(each, state="not trusted", hook=None)


def _of_settings(entry: Mapping[str, Any], path: Path, workspace: Path) -> ListedHook:
    return _listed(entry, path, workspace, in_sandbox=bool(entry.get("sandbox", True)))


def hooks_in(path: Path, workspace: Path) -> Iterator[ListedHook]:
    """Yield the hooks that a file of a directory defines, as if the directory were trusted."""
    try:
        yield from _of_claude(path, workspace) if path.suffix == ".json" else _of_toml(path, workspace)
    except _Problem as error:
        yield ListedHook("", path.name, path, "invalid", str(error))


def _of_toml(path: Path, workspace: Path) -> Iterator[ListedHook]:
    """Yield the hooks of `.ohw/hooks.toml`; all of them run in the sandbox."""
    try:
        text = read_small_file(path).decode("utf-8")
        entries = tomllib.loads(text).get("hooks", [])
    except tomllib.TOMLDecodeError as error:
        line, reason = syntax_problem(error, text)
        raise _Problem(f"line {line}: {reason}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise _Problem(f"it cannot be read: {error}") from error
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
        try:
            yield _listed(check_hook(f"hooks[{number}]", entry), path, workspace)
        except UsageError as error:
            yield ListedHook("", f"hooks[{number}]", path, "invalid", str(error))


def _listed(entry: Mapping[str, Any], path: Path, workspace: Path, *, in_sandbox: bool = True) -> ListedHook:
    if len(entry["command"]) > LONGEST_COMMAND:
        return ListedHook(entry["event"], entry.get("name") or entry["event"], path, "invalid", _TOO_LONG)
    hook = Hook(
        event=entry["event"],
        command=entry["command"],
        name=entry.get("name") or _name_of(entry["command"]),
        source=path,
        matcher=entry.get("matcher", ""),
        timeout=float(entry.get("timeout", _TIMEOUT)),
        in_sandbox=in_sandbox,
        files=content_marks(entry["command"], workspace),
    )
    return ListedHook(hook.event, hook.name, path, "active", hook=hook)


def _of_claude(path: Path, workspace: Path) -> Iterator[ListedHook]:
    try:
        values = json.loads(read_small_file(path))
    except (OSError, ValueError, RecursionError) as error:
        raise _Problem(f"it cannot be read: {first_line(str(error), 120)}") from error
    table = values.get("hooks", {}) if isinstance(values, dict) else None
    if not isinstance(table, dict):
        raise _Problem("its hooks are not a table of events")
    if values.get("disableAllHooks"):
        return
    for event, groups in table.items():
        for group in groups if isinstance(groups, list) else [groups]:
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for entry in hooks if isinstance(hooks, list) else [None]:
                yield _claude_hook(event, group, entry, path, workspace)


def _claude_hook(event: str, group: object, entry: object, path: Path, workspace: Path) -> ListedHook:
    """Return one hook in Claude Code's format; if it cannot run, `detail` says why."""
    if not isinstance(entry, dict) or not isinstance(group, dict):
        return ListedHook(event, event, path, "invalid", "it is not a table with a list of hooks")
    command, matcher, timeout = entry.get("command"), group.get("matcher") or "", entry.get("timeout", _TIMEOUT)
    name = _name_of(command) if isinstance(command, str) else event
    if event not in claude.EVENTS:
        return ListedHook(event, name, path, "not supported", f"there is no event {event} here")
    if entry.get("type", "command") != "command":
        return ListedHook(event, name, path, "not supported", f"hooks of type {entry['type']!r} do not run here")
    problem = _problem(command, matcher, timeout)
    if problem:
        return ListedHook(event, name, path, "invalid", problem)
    form: Format = "claude"
    ours = claude.EVENTS[event]
    files = content_marks(str(command), workspace)
    seconds = float(timeout)
    hook = Hook(ours, str(command), name, path, str(matcher), seconds, format=form, files=files)
    return ListedHook(ours, name, path, "active", hook=hook)


def _problem(command: object, matcher: object, timeout: object) -> str:
    """Return why a hook in Claude Code's format cannot run; empty if it can."""
    if not isinstance(command, str) or not command.strip():
        return "it has no command"
    if len(command) > LONGEST_COMMAND:
        return _TOO_LONG
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout <= 86_400:
        return f"its timeout {timeout!r} is not a number of seconds"
    if not isinstance(matcher, str):
        return f"its matcher {matcher!r} is not text"
    try:
        re.compile("" if matcher == "*" else matcher)
    except re.error as error:
        return f"its matcher is not a regular expression: {error}"
    return ""


def _name_of(command: str) -> str:
    """Return a name for a hook that has none: its command, without the variable that contains the workspace's path."""
    plain = re.sub(r"""["']?\$\{?(?:CLAUDE_PROJECT_DIR|OHW_WORKSPACE)\}?["']?/""", "", command)
    return first_line(plain.strip(), _NAME_LENGTH)
