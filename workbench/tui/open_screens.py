"""Functions that open screens on top of the main screen; the module of each screen is imported on first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.content import Content

from workbench.client.client import Client
from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.protocol.commands import AllowWriting, ListPorts
from workbench.text import counted, visible
from workbench.tui.git_pages import open_worktrees, propose_commit, propose_pull_request
from workbench.tui.messages import DiffChosen, FileChosen, TextChosen
from workbench.view.app_session import AppSession
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.llm.key_store import Storage
    from workbench.mcp.config import ServerConfigs
    from workbench.protocol.live import ListeningPorts
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.palette_entries import PaletteEntry
    from workbench.tui.settings.model_offers import ModelOffer
    from workbench.tui.settings.providers import OpenForm, Way
    from workbench.tui.settings.settings_model import SettingsModel
    from workbench.view.approval.never_ask import NeverAskQuestion
    from workbench.view.approval.trust import TrustQuestion
    from workbench.view.review.review import Review


def open_action(app: App[Any], state: SessionState, action_id: str, client: Client, words: str = "") -> None:
    """Show all details of an action in a pager, which searches for `words` unless they are empty."""
    from workbench.tui.screens.pager import ActionPage
    from workbench.view.formatting.detail import detail_styles, detail_text, detail_title, picture_lines

    item = state.actions.get(action_id)
    if item is not None:
        title = Content(visible(detail_title(item), lines=False))
        steps = [each for each in state.actions.values() if each.call_id == action_id]
        text = detail_text(item, state.workspace, steps)
        more = {"pictures": picture_lines(item, text), "styles": detail_styles(item, text)}
        app.push_screen(ActionPage(title, text, item.copy_id, client.send, words=words, **more))


def open_text(app: App[Any], title: str, text: str) -> None:
    """Show a text in the pager."""
    from workbench.tui.screens.pager import PagerScreen

    app.push_screen(PagerScreen(Content(title), text))


def open_diff(app: App[Any], review: Review, chosen: str | None = None) -> None:
    """Show the changes in the diff viewer, beginning with the file `chosen`; notify if there are none."""
    from workbench.tui.screens.diff_viewer import DiffViewerScreen

    state = review.state
    preferred = "this turn" if state.only_turn and chosen else "whole session"
    names = [scope.name for scope in review.scopes() if scope.is_slow or state.changes]
    if names:
        scope = preferred if preferred in names else names[-1]
        app.push_screen(DiffViewerScreen((), str(review.directory), chosen, review=review, scope=scope))
    else:
        app.notify("Nothing has changed yet", severity="warning", markup=False)


def open_chosen(app: App[Any], review: Review, chosen: DiffChosen | FileChosen | TextChosen) -> None:
    """Show what one action changed or the diff of one file in the diff viewer, or a text in the pager."""
    if isinstance(chosen, TextChosen):
        open_text(app, chosen.title, chosen.text)
    elif isinstance(chosen, DiffChosen):
        open_action_diff(app, review, chosen.action_id)
    else:
        open_diff(app, review, chosen.path)


def open_usage(app: WorkbenchApp) -> None:
    """Show costs, tokens and context, unless they are shown already."""
    from workbench.tui.screens.usage import UsageScreen

    if not isinstance(app.screen, UsageScreen):
        client = app.session.client
        send = client.send if client else lambda _: None
        app.push_screen(UsageScreen(app.state, app.settings, Locations.from_environment(), send, app.session.locations))


def open_device_sign_in(app: App[Any], model: str, done: Callable[[bool | None], None]) -> None:
    """Sign in with a device code; `done` gets whether a token is stored."""
    from workbench.tui.screens.device_sign_in import DeviceSignInScreen

    app.push_screen(DeviceSignInScreen(model), done)


def open_action_diff(app: App[Any], review: Review, action_id: str) -> None:
    """Show what one action changed, or would change, in the diff viewer."""
    from workbench.tui.screens.diff_viewer import DiffViewerScreen

    item = review.state.actions.get(action_id)
    if item is not None and (item.files or item.preview):
        app.push_screen(DiffViewerScreen((), str(review.directory), review=review, action_id=action_id))
    else:
        app.notify("This action changed no file", severity="warning", markup=False)


def open_help(app: App[Any]) -> None:
    """Show the keys of the focused panel and the guides, unless they are shown already."""
    from workbench.tui.screens.help import HelpScreen

    if not isinstance(app.screen, HelpScreen):
        app.push_screen(HelpScreen(app.screen))


def open_rules(
    app: App[Any], state: SessionState, workspace: Path, trusted: Sequence[str], client: Client | None
) -> None:
    """Show the rules and what they match, unless they are shown already."""
    from workbench.rules.rule_set import RuleSet
    from workbench.tools.trust import is_trusted
    from workbench.tui.screens.rules import RulesScreen

    if not isinstance(app.screen, RulesScreen):
        where = Locations.from_environment()
        rule_set = RuleSet(where.rules_file, workspace, trusted=is_trusted(workspace, trusted))
        app.push_screen(RulesScreen(state, rule_set, client.send if client else lambda _: None, where))


_OF_ONE_MACHINE: Final = frozenset(
    ("blame", "race", "rules", "hooks", "commit", "pr", "worktree", "trust", "servers", "tools")
)
"""The pages that read settings or files of the machine they run on."""


def open_page(app: WorkbenchApp, name: str, argument: str = "") -> None:
    """Show the page of this name, unless it is shown already; `argument` follows the command of the page."""
    pages: dict[str, Callable[[], object]] = {
        "blame": lambda: open_blame(app, argument),
        "compare": lambda: open_comparison(app, app.switcher.main.review, argument.split()),
        "race": lambda: app.races.handle(argument),
        "rules": lambda: open_rules(app, app.state, app.session.workspace, app.settings.trusted, app.session.client),
        "hooks": lambda: open_hooks(app, app.settings, app.session.workspace),
        "commit": lambda: app.run_worker(propose_commit(app)),
        "pr": lambda: app.run_worker(propose_pull_request(app)),
        "worktree": lambda: open_worktrees(app, argument),
        "decisions": lambda: open_decisions(app, app.state, app.session.locations),
        "sandbox": lambda: open_sandbox(app, app.state, app.settings, app.session),
        "sandbox write": lambda: allow_writing(app, argument),
        "sandbox revoke": lambda: allow_writing(app, argument, revoked=True),
        "trust": lambda: open_trusted(app, app.settings),
        "servers": lambda: open_servers(app, app.settings, app.session.workspace),
        "usage": lambda: open_usage(app),
        "problems": app.problems.open,
        "tools": lambda: open_tools(app, app.state, app.session.workspace),
        "time": lambda: app.switcher.main.action_past("time"),
    }
    if app.session.url is not None and name in _OF_ONE_MACHINE:
        # The settings and files of this machine do not apply to the session.
        from workbench.tui.remote_pages import open_remote_page

        open_remote_page(app, app.session.url, name, argument)
    else:
        pages[name]()


def open_hooks(app: App[Any], settings: Settings, workspace: Path) -> None:
    """Show the hooks, unless they are shown already."""
    from workbench.tools.trust import refreshed
    from workbench.tui.screens.pager import PagerScreen
    from workbench.view.hook_list import hooks_of, hooks_text

    if not isinstance(app.screen, PagerScreen):
        where = Locations.from_environment()
        listed = hooks_of(where, replace(settings, trusted=refreshed(where, settings.trusted)), workspace)
        app.push_screen(PagerScreen(Content("Hooks"), hooks_text(listed, where)))


def open_sandbox(app: App[Any], state: SessionState, settings: Settings, session: AppSession) -> None:
    """Show what the sandbox confines, and for a session on another machine its ports, unless a pager is open."""
    from workbench.tui.screens.pager import PagerScreen
    from workbench.view.sandbox import sandbox_text

    if isinstance(app.screen, PagerScreen):
        return
    url, client = session.url, session.client
    if url is not None and client is not None:
        from workbench.tui.screens.sandbox_page import SandboxPage
        from workbench.view.ports import ports_text

        def page(ports: ListeningPorts | None) -> str:
            return f"{ports_text(ports, url)}\n\n{sandbox_text(state)}"

        app.push_screen(SandboxPage(page, lambda: client.send(ListPorts())))
    else:
        outside = [server.name for server in _servers(settings, session.workspace).servers if server.runs_outside]
        app.push_screen(PagerScreen(Content("Sandbox"), sandbox_text(state, outside)))


def allow_writing(app: WorkbenchApp, directory: str, *, revoked: bool = False) -> None:
    """Let commands in the sandbox write a directory, or no longer; without one, show what they can write."""
    if not directory:
        open_sandbox(app, app.state, app.settings, app.session)
    elif app.session.client is not None:
        app.session.client.send(AllowWriting(directory=directory, revoked=revoked))


def show_ports(app: App[Any], changed: Changed | None) -> None:
    """Show the ports that the engine has sent on the page about them, if it is open."""
    if changed is not None and changed.ports is not None:
        from workbench.tui.screens.sandbox_page import SandboxPage

        for screen in app.screen_stack:
            if isinstance(screen, SandboxPage):
                screen.receive(changed.ports)


def open_blame(app: WorkbenchApp, argument: str, lines: Sequence[str] = ()) -> None:
    """Show who wrote each line of a file, named as FILE or FILE:LINE, with the cursor on that line.

    The number is that of a line in `lines`, by default in the file as it is now.
    """
    from workbench.session.blame.blame import line_range
    from workbench.session.blame.history import Writer
    from workbench.tui.screens.blame import BlameScreen
    from workbench.view.blame import read_blame

    async def chosen(writer: Writer | None) -> None:
        if writer is not None:
            await app.switcher.show_action(writer.session, writer.action_id, writer.seq)

    if not argument:
        app.notify("Name a file: /blame FILE", severity="warning", markup=False)
    elif app.session.url is not None:
        open_page(app, "blame", argument)
    elif not isinstance(app.screen, BlameScreen):
        workspace = app.session.workspace
        file, numbers = line_range(argument, workspace)
        line = numbers[0] - 1 if numbers else 0
        read = partial(read_blame, app.session.locations, workspace, file)
        app.push_screen(BlameScreen(read, file, app.state.session_id, line, lines), chosen)


def open_comparison(app: App[Any], review: Review, others: Sequence[str]) -> None:
    """Compare the session of a review with others, given by id; by default with the one that it was forked from."""
    from workbench.session.storage.session_list import find_session
    from workbench.tui.screens.comparison import ComparisonScreen
    from workbench.view.comparison import compare_sessions, run_checks

    where, current = review.locations, review.state.session_id
    if not current or not review.state.items:
        app.notify("There is nothing to compare yet", timeout=3)
        return
    if not others:
        with suppress(WorkbenchError):
            others = find_session(where, current).forked_from.split()
    if not others:
        app.notify("/compare takes the id of a session; /sessions lists them", severity="warning", markup=False)
    elif not isinstance(app.screen, ComparisonScreen):
        names = (current, *others)
        screen = ComparisonScreen(partial(compare_sessions, where, names), partial(run_checks, names), review)
        app.push_screen(screen)


def open_decisions(app: App[Any], state: SessionState, locations: Locations) -> None:
    """Show the decisions of the session, which is in `locations`, unless they are shown already."""
    from workbench.tui.screens.decisions import DecisionsScreen
    from workbench.view.decision_list import DecisionList

    if not isinstance(app.screen, DecisionsScreen):
        app.push_screen(DecisionsScreen(DecisionList(Locations.from_environment(), state.session_id, locations)))


def open_trusted(app: App[Any], settings: Settings) -> None:
    """Show the directories that the user trusts, unless they are shown already."""
    from workbench.tui.screens.trusted import TrustedScreen

    if not isinstance(app.screen, TrustedScreen):
        app.push_screen(TrustedScreen(Locations.from_environment(), settings.trusted))


def open_servers(app: App[Any], settings: Settings, workspace: Path) -> None:
    """Show the MCP servers of the user and of the workspace, unless they are shown already."""
    from workbench.mcp.pins import PinStore
    from workbench.tui.screens.mcp_servers import ServersScreen

    if not isinstance(app.screen, ServersScreen):
        app.push_screen(ServersScreen(_servers(settings, workspace), PinStore(Locations.from_environment())))


def _servers(settings: Settings, workspace: Path) -> ServerConfigs:
    """Return the MCP servers of the user and of the workspace."""
    from workbench.mcp.config import find_servers
    from workbench.tools.trust import refreshed

    where = Locations.from_environment()
    trusted = refreshed(where, settings.trusted)
    return find_servers(settings.mcpServers, where.settings_file, workspace, trusted)


def open_tools(app: WorkbenchApp, state: SessionState, workspace: Path) -> None:
    """Show the agent's tools, unless they are shown already."""
    from workbench.tui.screens.tools import ToolsScreen
    from workbench.view.tools import tools_here

    if not isinstance(app.screen, ToolsScreen):
        model = app.settings_model
        app.push_screen(ToolsScreen(lambda: tools_here(workspace, state), model.switch_tool if model else None))


def open_models(
    app: App[Any],
    settings: Settings,
    current: str,
    find_ways: Callable[[], Sequence[Way]] | None,
    use: Callable[[ModelOffer], Awaitable[None]],
    *,
    title: str = "Switch model",
) -> None:
    """Offer the saved models and those that providers and servers list, unless they are offered already.

    `use` is awaited with the chosen one unless it is `current`.
    """
    from workbench.tui.screens.model_choice import ModelChoice
    from workbench.tui.settings.model_offers import listed_offers, saved_offers

    async def chosen(offer: ModelOffer | None) -> None:
        if offer and offer.name != current:
            await use(offer)

    if not isinstance(app.screen, ModelChoice):
        saved = list(saved_offers(settings, current))
        list_models = partial(listed_offers, settings=settings)
        app.push_screen(ModelChoice(saved, current, find_ways, list_models, title), chosen)


def open_sessions(
    app: App[Any],
    current: str,
    search: str,
    set_title: Callable[[str], None],
    chosen: Callable[[str | None], Awaitable[None]],
) -> None:
    """Show all sessions, or those that contain the words of `search`, unless they are shown already."""
    from workbench.tui.screens.sessions import SessionsScreen
    from workbench.view.sessions import SessionShelf

    if not isinstance(app.screen, SessionsScreen):
        app.push_screen(SessionsScreen(SessionShelf(Locations.from_environment(), current), set_title, search), chosen)


def open_first_run(
    app: WorkbenchApp,
    find_ways: Callable[[], Sequence[Way]],
    chosen: Callable[[Way | None], Awaitable[None]],
    form: OpenForm | None = None,
) -> None:
    """Offer the ways to set up a model, or open one form at once; do nothing if they are offered already."""
    from workbench.tui.screens.first_run import FirstRunScreen
    from workbench.tui.settings.providers import save_key

    def save(way: Way, key: str, storage: Storage) -> None:
        save_key(way, key, storage, app.settings)

    if not isinstance(app.screen, FirstRunScreen):
        app.push_screen(FirstRunScreen(find_ways, save, form), chosen)


def open_settings(app: WorkbenchApp, settings_model: SettingsModel, search: str = "") -> None:
    """Show all settings, or those that contain the words of `search`, unless they are shown already."""
    from workbench.tui.screens.settings import SettingsScreen

    if not isinstance(app.screen, SettingsScreen):
        app.push_screen(SettingsScreen(settings_model, search, app.models.offer_default))


def copy_answer(app: App[Any], state: SessionState, number: str) -> None:
    """Copy the answer that is `number`th from the end; notify the user of that, or of how many there are."""
    from workbench.view.answers import answers

    every = answers(state)
    if number.isdecimal() and 1 <= int(number) <= len(every):
        app.copy_to_clipboard(every[int(number) - 1])
        app.notify("Copied: the answer", timeout=2)
    else:
        what = visible(f"/copy {number}: this session has {counted(len(every), 'answer')}", lines=False)
        app.notify(what, severity="warning", markup=False)


async def export_session(app: App[Any], locations: Locations, session_id: str, file: str) -> None:
    """Write a session to a file, `ID.md` in the current directory by default; notify the user of the path or error.

    `locations` is where the session is.
    """
    from workbench.view.sessions import SessionShelf

    path = Path(file.strip() or f"{session_id}.md").expanduser().absolute()
    message = f"written: {path}" if session_id else "there is no session yet"
    try:
        if session_id:
            await in_daemon(lambda: SessionShelf(locations).export(session_id, path))
    except WorkbenchError as error:
        message = str(error)
    app.notify(visible(message), markup=False)


def open_palette(
    app: WorkbenchApp, run: Callable[[PaletteEntry | None], Awaitable[None]], recent: Sequence[str]
) -> None:
    """Open the palette with the entries of the current screen, the `recent` ones first; on the main screen, also
    sessions and files.
    """
    from workbench.tui.palette_entries import entries_of
    from workbench.tui.screens.palette import PaletteScreen

    screen, main = app.screen, app.switcher.main
    if screen is main:
        custom = main.composer.commands.listed
        entries = entries_of(app, main, app.settings, main.submitter.server_prompts.available, custom)
        app.push_screen(PaletteScreen(entries, app.session.workspace, app.switcher.sources.sessions, recent), run)
    elif not isinstance(screen, PaletteScreen):
        app.push_screen(PaletteScreen(entries_of(app, screen, app.settings), None, None, recent), run)


def open_trust(app: App[Any], question: TrustQuestion, typed: Callable[[str], None], done: Callable[[], None]) -> None:
    """Ask whether to trust the directory; pass the answer to `question`, then call `done`.

    `typed` is called with text that the user types meanwhile and that was meant for the prompt.
    """
    from workbench.tui.screens.trust import TrustScreen

    def answered(trusts: bool | None) -> None:
        try:
            question.answer(bool(trusts))
        except WorkbenchError as error:
            app.notify(visible(f"{error}; you will be asked again"), severity="warning", markup=False)
        done()

    app.push_screen(TrustScreen(question, typed), answered)


def open_never_ask(app: App[Any], question: NeverAskQuestion, typed: Callable[[str], None]) -> None:
    """Have the user confirm the mode that never asks, and pass the answer to `question`.

    `typed` is called with text that the user types meanwhile and that was meant for the prompt.
    """
    from workbench.tui.screens.confirmations import NeverAskScreen

    app.push_screen(NeverAskScreen(typed), lambda confirmed: question.answer(bool(confirmed)))


def open_link(app: App[Any], urls: Sequence[str]) -> None:
    """Ask which of these URLs to open in the browser."""
    from workbench.tui.screens.link import LinkScreen

    app.push_screen(LinkScreen(urls))
