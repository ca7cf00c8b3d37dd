"""The hooks of a directory as a page and as JSON: what runs when, its source, and what does not run and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.config.hook_settings import EVENTS
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.hooks.files import ListedHook, find_hooks
from workbench.hooks.hook import Hook
from workbench.text import first_line, visible

_NONE = "No hooks. Define some as [[hooks]] in {file}; the guide on hooks shows how."
_MOST_COMMAND = 200


def hooks_of(where: Locations, settings: Settings, workspace: Path) -> list[ListedHook]:
    """Return the hooks of the settings and of the directory."""
    return find_hooks(settings.hooks, where.settings_file, workspace, settings.trusted)


def hooks_text(listed: Sequence[ListedHook], where: Locations) -> str:
    """Return the page about the hooks, safe to show."""
    if not listed:
        return visible(_NONE.format(file=where.settings_file), lines=False)
    order = list(EVENTS)
    ordered = sorted(listed, key=lambda each: order.index(each.event) if each.event in order else len(order))
    return "\n\n".join("\n".join(_lines(each)) for each in ordered)


def _lines(each: ListedHook) -> Iterator[str]:
    when = f"{each.event}: " if each.event else ""
    yield visible(f"{when}{each.name}", lines=False)
    state = f"{each.state}, {each.detail}" if each.detail else each.state
    yield visible(f"  {state} · from {each.source}", lines=False)
    hook = each.hook
    if hook is None:
        return
    facts = (
        f"for {hook.matcher}" if hook.matcher not in ("", "*") else "",
        "in Claude Code's format" if hook.format == "claude" else "",
        "" if hook.in_sandbox else "outside the sandbox",
        f"at most {hook.timeout:g} s",
    )
    yield visible(f"  {' · '.join(filter(None, facts))}", lines=False)
    command = first_line(hook.command.strip(), _MOST_COMMAND)
    if command != each.name:
        yield visible(f"  $ {command}", lines=False)


def hooks_json(listed: Sequence[ListedHook]) -> Iterator[str]:
    """Yield each hook as a line of JSON."""
    for each in listed:
        row = {"event": each.event, "name": each.name, "source": str(each.source), "state": each.state}
        yield json.dumps({**row, "detail": each.detail, **(_definition(each.hook) if each.hook is not None else {})})


def _definition(hook: Hook) -> dict[str, object]:
    return {
        "command": hook.command,
        "matcher": hook.matcher,
        "timeout": hook.timeout,
        "sandbox": hook.in_sandbox,
        "format": hook.format,
    }
