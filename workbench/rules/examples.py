"""Examples that a rule carries, `match` and `not_match`: checked when it loads, and any command tried on rules."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.risk.actions import assess_address, assess_file, assess_reading
from workbench.risk.assessment import Assessment
from workbench.risk.paths import Places
from workbench.rules.matching import fits
from workbench.rules.patterns import is_address
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject, subject_of
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import kind_of
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.web_read import NAME as WEB_READ

_WORKSPACE = "/workspace"
_MOST = 50


def wrong_example(rule: Rule) -> str:
    """What is wrong with the examples of a rule; empty when they say what it does."""
    if len(rule.match) + len(rule.not_match) > _MOST:
        return f"it has more than {_MOST} examples"
    anywhere = replace(rule, folder="")
    for examples, expected, said in ((rule.match, True, "does not match"), (rule.not_match, False, "matches")):
        for example in examples:
            if fits(anywhere, _example(rule, example)) is not expected:
                return f"it {said} its example {example!r}"
    return ""


def _example(rule: Rule, example: str) -> Subject:
    """An example of a rule for commands is a command, of one for paths a path, and else the name of a tool."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if rule.command:
        return command_subject(example, _WORKSPACE, home)
    if is_address(rule.path):
        return subject_of(rule.tool or WEB_READ, {"url": example}, assess_address(example), _WORKSPACE, home)
    if rule.path:
        path = os.path.join(_WORKSPACE, os.path.expanduser(example))  # noqa: PTH111, PTH118
        tool = rule.tool or EDITOR
        return subject_of(tool, {"path": path}, assess_file("edit", path, Places(_WORKSPACE, home)), _WORKSPACE, home)
    server_tool = example if "/" in example else ""
    return subject_of(example, {}, Assessment("UNKNOWN", server_tool=server_tool), _WORKSPACE, home)


def subject_again(tool: str, arguments: Mapping[str, Any], workspace: str, folder: str = "") -> Subject:
    """An action of the log as the rules see it now; `folder` is where it would run."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if tool == SHELL:
        return command_subject(str(arguments.get("command", "")), workspace, home, folder or workspace)
    url = arguments.get("url")
    is_web = kind_of(tool) == "fetch" and isinstance(url, str)
    found = assess_address(str(url)) if is_web else assess_reading(arguments, Places(workspace, home))
    return subject_of(tool, arguments, found, workspace, home)


def command_subject(command: str, workspace: str, home: str, folder: str | None = None) -> Subject:
    """A command line as the rules see it."""
    from workbench.risk.shell.scan import assess_command  # the parser is not loaded before it is needed

    found = assess_command(command, Places(workspace, home), folder)
    return subject_of(SHELL, {"command": command}, found, workspace, home)
