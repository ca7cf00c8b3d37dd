"""Sessions on another machine: opens and runs them from here, and serves them there (`ohw engine --stdio`)."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from workbench.cli.common import settings_of
from workbench.config.modes import NEVER
from workbench.config.setting_kinds import declared
from workbench.config.settings import Settings
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.client.remote_client import RemoteClient
    from workbench.client.ssh_url import SshUrl
    from workbench.session.storage.session_list import SessionSummary


def engine(arguments: Namespace) -> int:
    """Serve a screen, which runs on another machine, over standard input and output."""
    from workbench.client.relay import serve_stdio

    return serve_stdio()


def open_remote(
    arguments: Namespace, opener: Callable[..., int], session: SessionSummary | None = None, *, is_new: bool = True
) -> int:
    """Open a session on another machine, on the screen or in plain mode; return the exit code.

    If there is a `session`, it is the local copy of the one to open. Otherwise a new session, the last one of a
    directory, or that with the ID in `arguments` is opened. Raises WorkbenchError before anything is shown.
    """
    where, settings = settings_of(arguments, lenient=True)
    flags = _flags(arguments)
    if isinstance(opener, partial) and flags.get("mode") == NEVER:
        # Plain mode asks for its confirmation, and the screen shows how to.
        del flags["mode"]
        opener = partial(opener, never_asks=True)
    client = _client_after_install(arguments, session, flags, is_new=is_new)
    return opener(where, settings, client.session.url.display_path, prompt=_prompt(arguments), remote=client)


def _client_after_install(
    arguments: Namespace, session: SessionSummary | None, flags: dict[str, str], *, is_new: bool
) -> RemoteClient:
    """Return the client of the session; if ohw is missing on the other machine, offer to install it there."""
    from workbench.client.ssh import SshFailed
    from workbench.client.ssh_url import SshUrl

    try:
        return _client(arguments, session, flags, is_new=is_new)
    except SshFailed as failure:
        if not failure.can_install:
            raise
        from workbench.cli.remote_install import offer_to_install

        if not offer_to_install(SshUrl.parse(session.origin if session is not None else arguments.url)):
            raise
    return _client(arguments, session, flags, is_new=is_new)


def run_there(arguments: Namespace, prompt: str) -> int:
    """Run the agent in a directory on another machine, as `ohw run` does here; return the exit code.

    Raises WorkbenchError if the run cannot start.
    """
    from workbench.agent.custom_commands import CommandMessage, CustomCommands
    from workbench.client.remote_client import new_session
    from workbench.plain.headless import starts_nothing
    from workbench.plain.remote_run import run_remote

    if starts_nothing(prompt):
        return 0
    where, settings = settings_of(arguments, lenient=True)
    url, flags = _url(arguments), _flags(arguments)
    message = CustomCommands(lambda: settings, url.display_path, where).message(prompt) or CommandMessage(prompt)
    # On the command line of a run, this mode counts as confirmed.
    never_asks = flags.get("mode") == NEVER
    if never_asks:
        del flags["mode"]
    client = new_session(where, url, prompt, flags, may_ask=sys.stderr.isatty(), has_user=False)
    return run_remote(client, message, as_json=arguments.json, never_asks=never_asks)


def _url(arguments: Namespace) -> SshUrl:
    """Return the parsed URL of the directory on the other machine. Raises UsageError if it is invalid."""
    from workbench.client.ssh_url import SshUrl

    if arguments.workspace is not None:
        raise UsageError("the URL names the directory, so --workspace is not needed")
    return SshUrl.parse(arguments.url)


def _prompt(arguments: Namespace) -> str:
    return getattr(arguments, "prompt", "") or ""


def _client(
    arguments: Namespace, session: SessionSummary | None, flags: dict[str, str], *, is_new: bool
) -> RemoteClient:
    from workbench.client.remote_client import copied_session, last_session_at, named_session, new_session
    from workbench.config.locations import Locations

    where = Locations.from_environment()
    if session is not None:
        return copied_session(where, session.id, session.origin, flags, may_ask=True)
    url = _url(arguments)
    if is_new:
        return new_session(where, url, _prompt(arguments), flags, may_ask=True)
    if arguments.last:
        raise UsageError("over ssh, give the directory's last session (no --last) or an ID")
    if arguments.id:
        return named_session(where, url, arguments.id, flags, may_ask=True)
    return last_session_at(where, url, flags, may_ask=True)


def _flags(arguments: Namespace) -> dict[str, str]:
    """Return the settings given as flags; for all others, those of the other machine apply."""
    values = {name: getattr(arguments, name) for name, each in declared(Settings).items() if each.flag}
    return {name: str(value) for name, value in values.items() if value is not None}
