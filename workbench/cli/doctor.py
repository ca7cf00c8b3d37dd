"""`ohw doctor` checks what a session needs on this machine, and says what to do about what is missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from workbench import __version__
from workbench.acp_client.program import config_of
from workbench.agent.agent_kinds import agent_kinds
from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.cli.models import key_state
from workbench.config.locations import Locations
from workbench.config.settings import Settings, read_container, read_telemetry, written_settings
from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.llm.key_store import KeyStore
from workbench.mcp.config import find_servers
from workbench.mcp.server_command import command_of
from workbench.processes.spawn import find_program
from workbench.sandbox.container_runtime import ContainerRuntime
from workbench.sandbox.proof import prove
from workbench.sandbox.session_sandbox import AUTO, OFF, boundary_of
from workbench.secrets.masker import MASKER
from workbench.session.telemetry import public_endpoint
from workbench.telemetry.installation import INSTALL, MISSING, is_installed
from workbench.text import counted, visible, visible_path
from workbench.tools.browser.installation import Missing, find_chromium

_LITTLE_SPACE = 200 * 2**20
"""The minimum free space in bytes: about what a day's session and its snapshots need."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: `ok`, `note` (something optional is missing) or `error` (a session cannot work).

    `advice` says what to do; it is empty only if the state is `ok`.
    """

    subject: str
    state: Literal["ok", "note", "error"]
    text: str
    advice: str = ""

    @property
    def line(self) -> str:
        """The text and the advice, safe to show and without secrets, because users paste it into bug reports."""
        return _safe(f"{self.text}; {self.advice}" if self.advice else self.text)


def _safe(text: str) -> str:
    return MASKER.masked(visible(text, lines=False))


@dataclass(frozen=True)
class Installation:
    """The installation that is checked."""

    locations: Locations
    settings: Settings
    workspace: Path


def doctor(arguments: Namespace) -> int:
    """Print one line for each finding, or all as one JSON object; return 1 if there is an error."""
    locations, settings = settings_of(arguments, lenient=True)
    here = Installation(locations, settings, workspace_of(arguments))
    findings = (each for check in CHECKS for each in check(here))
    if arguments.json:
        return _print_json(list(findings))
    is_sound = True
    for each in findings:
        is_sound = is_sound and each.state != "error"
        print_line(_wrapped(f"{each.state:<5}  {each.subject:<11}  {each.line}"))
    return 0 if is_sound else 1


def _print_json(findings: Sequence[Finding]) -> int:
    is_sound = all(each.state != "error" for each in findings)
    rows = [{name: _safe(text) for name, text in asdict(each).items()} for each in findings]
    print_line(json.dumps({"ok": is_sound, "findings": rows}, indent=2, ensure_ascii=False))
    return 0 if is_sound else 1


def _wrapped(line: str) -> str:
    """Return the line, wrapped so that the text stays in its own column if the terminal is wide enough."""
    width = columns()
    if width < 2 * _INDENT or len(line) <= width:
        return line
    indent = " " * _INDENT
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


_INDENT = 20
"""The column at which the text of a finding starts."""


def columns() -> int:
    """Return the width of the terminal in characters; 0 if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def _program(_: Installation) -> Iterator[Finding]:
    yield Finding("ohw", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}")


def _settings(here: Installation) -> Iterator[Finding]:
    _, problems = written_settings(here.locations)
    for problem in problems:
        yield Finding("settings", "error", problem, "`ohw config edit` opens the file")
    if not problems:
        file = here.locations.settings_file
        yield Finding("settings", "ok", visible_path(str(file)) if file.exists() else "no file; the defaults are used")


def _model(here: Installation) -> Iterator[Finding]:
    name = here.settings.model
    if not name:
        advice = "`ohw` asks at its first start, `ohw models` lists what is here"
        yield Finding("model", "note", "none is chosen", advice)
        return
    try:
        profile = here.settings.profile(name)
        key = key_state(profile, KeyStore(here.locations)).strip()
    except WorkbenchError as error:
        yield Finding("model", "error", str(error), "`ohw models` lists the saved models")
        return
    if key.endswith(("is missing)", "is not set)")):
        yield Finding("model", "error", f"{name} {key}", f"provide it, or name another key in [models.{name}]")
    elif key or profile.api_base:
        yield Finding("model", "ok", f"{name} {key or '(no key)'}", "`ohw models test` makes one call")
    else:
        yield Finding("model", "note", f"{name} has no key", "`ohw models test` says whether it needs one")


def _bash(_: Installation) -> Iterator[Finding]:
    bash = find_program("bash")
    if bash:
        yield Finding("bash", "ok", visible_path(bash))
    else:
        text = "there is none, and the agent's commands need it"
        yield Finding("bash", "error", text, "install it, or add it to the PATH")


def _git(here: Installation) -> Iterator[Finding]:
    answer = run_git(["version"], cwd=here.workspace)
    if answer.ok:
        yield Finding("git", "ok", answer.output.decode(errors="replace").strip().removeprefix("git version "))
    else:
        yield Finding("git", "note", f"{answer.error}; without it nothing can be undone", "install git")


def _sandbox(here: Installation) -> Iterator[Finding]:
    if here.settings.sandbox == OFF:
        text = "off in the settings: commands reach everything that you can"
        yield Finding("sandbox", "note", text, "`ohw config unset sandbox` turns it on")
        return
    proof = prove(boundary_of(here.settings, here.locations, here.workspace))
    if proof.holds:
        yield Finding("sandbox", "ok", f"proven: {len(proof.attempts)} attempts to get out of it failed")
    elif here.settings.sandbox == AUTO and proof.is_partial:
        yield Finding("sandbox", "note", f"partial ({proof.reason})", "`ohw sandbox test` shows what it leaves open")
    elif here.settings.sandbox == AUTO:
        yield Finding("sandbox", "note", f"none ({proof.reason})", "`ohw sandbox test` shows the attempts")
    else:
        text = f'none ({proof.reason}), and with `sandbox = "{here.settings.sandbox}"` nothing runs without it'
        yield Finding("sandbox", "error", text, "the guide on the sandbox says what it needs")


def _container(here: Installation) -> Iterator[Finding]:
    try:
        settings = read_container(here.settings.container)
    except WorkbenchError as error:
        yield Finding("container", "error", str(error), "`ohw config edit` opens the settings")
        return
    if not settings.is_used:
        yield Finding("container", "ok", "none is set")
        return
    try:
        runtime = ContainerRuntime.find(settings.runtime)
    except WorkbenchError as error:
        reason = str(error).partition(": install")[0]
        yield Finding("container", "error", reason, "install podman, or remove [container] with `ohw config edit`")
        return
    yield Finding("container", "ok", f"{settings.origin}, with {runtime.name}")


def _servers(here: Installation) -> Iterator[Finding]:
    configs = find_servers(
        here.settings.mcpServers, here.locations.settings_file, here.workspace, here.settings.trusted
    )
    for problem in configs.problems:
        yield Finding("MCP servers", "note", problem, "`ohw mcp` lists all servers, with the file of each")
    active = [server.name for server in configs.servers if server.is_on]
    if active:
        yield Finding("MCP servers", "ok", ", ".join(active), "`ohw mcp test NAME` starts one")
    elif not configs.problems:
        yield Finding("MCP servers", "ok", "none")


def _agents(here: Installation) -> Iterator[Finding]:
    kinds = agent_kinds(here.locations, here.settings, here.workspace)
    others = [kind for kind in kinds if kind.program is not None]
    usable = []
    for kind in others:
        try:
            command_of(config_of(kind, str(here.workspace)))
        except WorkbenchError as error:
            yield Finding("agents", "note", f"{kind.name}: {error}", f"install it, or change {kind.source}")
        else:
            usable.append(kind.name)
    if usable:
        yield Finding("agents", "ok", ", ".join(usable), "`ohw tools` shows what each of them is")
    elif not others:
        yield Finding("agents", "ok", "none but its own")


def _telemetry(here: Installation) -> Iterator[Finding]:
    settings = read_telemetry(here.settings.telemetry)
    if settings.enabled and not is_installed():
        yield Finding("telemetry", "note", f"{MISSING}, so nothing is sent", INSTALL)
    elif settings.enabled:
        what = "spans with content" if settings.content else "spans"
        yield Finding("telemetry", "ok", f"{what} are sent to {public_endpoint(settings)}")
    elif settings.endpoint:
        yield Finding(
            "telemetry", "note", "off, although it has an endpoint", "`enabled = true` in [telemetry] turns it on"
        )
    else:
        yield Finding("telemetry", "ok", "off")


def _browser(_: Installation) -> Iterator[Finding]:
    try:
        yield Finding("browser", "ok", visible_path(find_chromium()))
    except Missing as missing:
        text, advice = str(missing).split("; ", 1)
        yield Finding("browser", "note", text, advice)


def _storage(here: Installation) -> Iterator[Finding]:
    directory = here.locations.data
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        text = f"{visible_path(str(existing))} cannot be written, so no session can be saved"
        yield Finding("storage", "error", text, "change its permissions, or set XDG_DATA_HOME to another directory")
        return
    free = shutil.disk_usage(existing).free
    text = f"{free / 2**30:.1f} GiB free for {visible_path(str(directory))}"
    if free >= _LITTLE_SPACE:
        yield Finding("storage", "ok", text)
    else:
        text = f"{text}, and the sessions of a day need {_LITTLE_SPACE / 2**30:.1f}"
        yield Finding("storage", "error", text, "free some space")


def _terminal(_: Installation) -> Iterator[Finding]:
    kind = os.environ.get("TERM", "dumb")
    if not sys.stdout.isatty():
        text = "standard output is not a terminal, so it was not checked"
        yield Finding("terminal", "note", text, "run `ohw doctor` in yours")
    elif kind == "dumb":
        text = "TERM=dumb cannot show a screen"
        yield Finding("terminal", "note", text, "`ohw` prints plain lines there; set TERM if yours can do more")
    elif sys.stdout.encoding.lower().replace("-", "") != "utf8":
        text = f"{kind}, but the locale has the encoding {sys.stdout.encoding}"
        yield Finding("terminal", "note", text, "set LANG to a locale in UTF-8")
    else:
        size = shutil.get_terminal_size()
        area = f"{counted(size.columns, 'column')}, {counted(size.lines, 'row')}"
        yield Finding("terminal", "ok", f"{kind}, {area}, {_colors(kind)}")


def _colors(kind: str) -> str:
    """Return the number of colors that the terminal declares; COLORTERM is the convention for more than 256."""
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million colors"
    return "256 colors" if "256color" in kind else "16 colors"


CHECKS: tuple[Callable[[Installation], Iterator[Finding]], ...] = (
    _program,
    _settings,
    _model,
    _bash,
    _git,
    _sandbox,
    _container,
    _servers,
    _agents,
    _browser,
    _telemetry,
    _storage,
    _terminal,
)
