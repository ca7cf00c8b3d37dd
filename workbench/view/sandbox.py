"""What the session's sandbox confines, as text."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.config.container_settings import NETWORKS
from workbench.text import visible
from workbench.view.state import SessionState

_PROVEN = (
    "Proven at the start of this session: a program inside tried to get out, and every attempt failed. "
    "`ohw sandbox test` shows the attempts."
)
_PARTIAL = """The sandbox is partial, because {reason}. What follows is proven at the start of this session: a program inside tried to get out. `ohw sandbox test` shows the attempts.
You are asked about every action as without it."""  # noqa: E501
_INSIDE = (
    "Inside: the shell and everything it starts, notebook cells, Python code, hooks, MCP servers that are programs."
)
_INSIDE_BESIDE_CONTAINER = "Inside: notebook cells, Python code, hooks, MCP servers that are programs."
_OUTSIDE = "Outside: `ohw` itself with its editor and its search, the browser, your tools, your commands after `!!`."
_LIMITS = {
    "workspace-write": "Files: only the workspace, a /tmp of the session and caches named in the settings are written.",
    "read-only": "Files: nothing is written but /tmp (the session's own).",
}
_MORE = "Keys, passwords, data of browsers and other sessions are hidden; git hooks, CI files and settings of editors and agents are read-only."  # noqa: E501
_NETWORK = "Network: only hosts that you allow, each asked about at its first use."
_PARTIAL_LIMITS = """Files: only the workspace, temporary files of the session, caches named in the settings and /dev/shm are written.
Keys, passwords, data of browsers and other sessions cannot be read."""  # noqa: E501
_LEAVING = "One command may ask to run outside; that is HIGH risk, and asked about each time."
_OFF = "There is no sandbox: what the agent runs here can do whatever you can do."


def sandbox_text(state: SessionState, servers_outside: Sequence[str] = ()) -> str:
    """Return the page about container and sandbox: what runs in them, what it can reach, and the allowed hosts.

    `servers_outside` are the names of the MCP servers that are configured to run outside the sandbox.
    """
    sandbox = _sandbox_text(state, servers_outside)
    if state.container:
        return "\n\n".join((_container_text(state), _BESIDE, sandbox))
    return sandbox


def _container_text(state: SessionState) -> str:
    image = visible(state.container, lines=False)
    if state.container_phase == "failed":
        reason = visible(state.container_failure, lines=False) or "it has ended"
        return f"The container of {image} could not be started, and no command runs without it.\nThe reason: {reason}."
    phase = "is being started" if state.container_phase == "starting" else "is up"
    network = NETWORKS.get(state.container_network, _NETWORK_UNKNOWN)
    return f"Commands run in a container of {image}, which {phase}.\n{_CONTAINER.format(network=network)}"


_BESIDE = "What follows is about notebook cells, Python code, hooks and MCP servers, which do not run in the container."
_CONTAINER = """Files: those of the image, which are deleted with the session, and the workspace; protected files in it are read-only.
Processes: those of the container.
Network: {network}."""  # noqa: E501
_NETWORK_UNKNOWN = "what `network` in `[container]` says"


def _sandbox_text(state: SessionState, servers_outside: Sequence[str]) -> str:
    if state.sandbox == "":
        return "It is not known yet whether there is a sandbox: it is being proven."
    if state.sandbox == "off":
        reason = f"The reason: {visible(state.sandbox_reason, lines=False)}." if state.sandbox_reason else _BY_SETTING
        return f"{_OFF}\n\n{reason}"
    hosts = [visible(rule, lines=False) for rule in state.rules if _is_of_network(rule)]
    granted = (
        "\n".join(("Rules of this session:", *(f"- {host}" for host in hosts)))
        if hosts
        else "No rule of this session allows a host yet."
    )
    is_partial, reason = state.sandbox == "partial", visible(state.sandbox_reason, lines=False)
    limits = _PARTIAL_LIMITS if is_partial else f"{_LIMITS[state.sandbox]}\n{_MORE}"
    files = f"{limits}\n{_NETWORK}"
    directories = _granted_text(state) if state.sandbox in _WRITABLE else ""
    if state.sandbox_limit:
        files = f"{files}\n{'Open' if is_partial else 'Not protected'}: {visible(state.sandbox_limit, lines=False)}."
    names = visible(", ".join(servers_outside), lines=False)
    programs = _INSIDE_BESIDE_CONTAINER if state.container else _INSIDE
    inside = "\n".join(filter(None, (programs, _OUTSIDE, names and f"Outside by their configuration: {names}.")))
    proven = _PARTIAL.format(reason=reason) if is_partial else _PROVEN
    return "\n\n".join(filter(None, (proven, inside, files, directories, granted, _LEAVING)))


def _granted_text(state: SessionState) -> str:
    granted = [visible(path, lines=False) for path in state.sandbox_granted]
    refused = [f"Not applied: {line}." for line in state.sandbox_refused]
    programs = "notebook cells and Python code" if state.container else "commands"
    head = (_GRANTED if granted else _NOT_GRANTED).format(programs=programs)
    lines = [head, *(f"- {path}" for path in granted)]
    return "\n".join((*lines, *refused))


_WRITABLE = ("workspace-write", "partial")
_GRANTED = (
    "By your rules, {programs} also write these directories, which undo does not cover (`/sandbox revoke DIRECTORY`):"
)
_NOT_GRANTED = "`/sandbox write DIRECTORY` lets {programs} write a directory in this session."
_BY_SETTING = 'The setting is `sandbox = "off"`.'


def _is_of_network(rule: str) -> bool:
    return rule.split()[1:2] == ["network"]
