"""Determines whether a rated call reaches outside its workspace: other files, the network, or processes it did not
start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Assessment, Part
from workbench.risk.paths import PathContext, within, words
from workbench.risk.programs import cloud, isolation, network, relays, services, ssh, system
from workbench.risk.reason import Trait
from workbench.risk.tool_calls import RatingContext
from workbench.tools.effects import CallsServer, ReadsURL, RunsPython, TouchesFile, UsesPage
from workbench.tools.tool import ToolDefinition

Reach: TypeAlias = Literal["", "the network", "files outside the directory", "other processes", "the system"]
_INSTALLERS: Final = "apt apt-get dnf yum pacman zypper apk brew snap flatpak port"
_CLIENTS: Final = "psql mysql mariadb mongosh mongo redis-cli"
_HERE: Final = frozenset({"hg", "svn", "ip", "ifconfig", "route", "arp", "ss"})
_NETWORK: Final = frozenset({*network.RULES, *ssh.RULES, *cloud.RULES, *relays.RULES, *words(_CLIENTS)}) - _HERE
_SYSTEM: Final = frozenset({*system.RULES, *isolation.RULES, *services.RULES, *words(_INSTALLERS)})
_REMOTE_VERBS: Final = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "send-email"})
_SIGNALS: Final = frozenset({"pkill", "killall", "skill", "xkill", "fuser"})
_LOCAL: Final = lazy_pattern(r"https?://(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|\Z)")
_CODE_OF_NETWORK: Final = lazy_pattern(
    r"\b(?:requests|urllib3?|httpx|aiohttp|http\.client|smtplib|ftplib|paramiko|boto3)\b|\burlopen\b|\bfetch\s*\("
)


def reach_of(tool: ToolDefinition, arguments: Mapping[str, Any], rated: Assessment, context: RatingContext) -> Reach:
    """Return what a call reaches outside the workspace, as far as its words tell; empty if nothing. May raise whatever
    the tool's own code raises.

    Code of the project, such as its tests, is not examined.
    """
    paths = PathContext(context.workspace, str(Path.home()))
    for effect in tool.assess(arguments, context.for_tool):
        match effect:
            case ReadsURL() | UsesPage() | CallsServer():
                return "the network"
            case TouchesFile() if not within(paths.resolved(effect.path), context.workspace):
                return "files outside the directory"
            case RunsPython() if _CODE_OF_NETWORK.search(effect.code):
                return "the network"
    return next(filter(None, (_reach_of_part(part, paths) for part in rated.parts)), "")


def _reach_of_part(part: Part, paths: PathContext) -> Reach:
    name = (part.program or part.words[0] if part.words else "").rpartition("/")[2]
    if _uses_network(part, name):
        return "the network"
    if _is_signal(part, name):
        return "other processes"
    if part.risk == "HIGH" and name in _SYSTEM:
        return "the system"
    if part.risk != "LOW" and any(not within(paths.resolved(path), paths.workspace) for path in _paths(part)):
        return "files outside the directory"
    return ""


def _uses_network(part: Part, name: str) -> bool:
    if name in _NETWORK and part.risk != "LOW" and not _is_local(part):
        return True
    if any(path.startswith(("/dev/tcp/", "/dev/udp/")) for path in part.paths):
        return True
    if name == "git" and not _REMOTE_VERBS.isdisjoint(part.words):
        return True
    return Trait.DOWNLOADS in part.traits or any(_is_code_of_network(word) for word in part.words)


def _is_local(part: Part) -> bool:
    urls = [word for word in part.words[1:] if "://" in word]
    return bool(urls) and all(_LOCAL.match(word) for word in urls)


def _is_code_of_network(word: str) -> bool:
    return "\n" in word or " " in word or "(" in word if _CODE_OF_NETWORK.search(word) else False


def _is_signal(part: Part, name: str) -> bool:
    return name in _SIGNALS or (name == "kill" and any(word.isdecimal() for word in part.words[1:]))


def _paths(part: Part) -> Iterator[str]:
    for path in (*part.paths, *part.changes, *part.deletes):
        if not path.startswith("/dev/"):
            yield path.partition("/**")[0]
