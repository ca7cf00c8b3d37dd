"""A session in plain mode: prints what happens, takes messages and commands, and asks for answers; run by `start`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from workbench.agent.custom_commands import CustomCommands, InvalidCommand
from workbench.client.client import Client, Disconnected, Incoming
from workbench.client.threads import in_daemon
from workbench.config.modes import MODES, NEVER
from workbench.diff.hunks import compare
from workbench.plain.line_input import Console, LineAsker
from workbench.plain.message_sender import MessageSender
from workbench.plain.model_switch import ModelSwitch
from workbench.plain.narration import (
    begun,
    call_lines,
    change_lines,
    ended,
    file_line,
    item_lines,
    key_lines,
    standing,
    tasks,
)
from workbench.plain.never_ask import NeverAsk
from workbench.plain.question import PlainQuestion
from workbench.plain.rewind import PlainRewind, reread, was_rewound
from workbench.protocol.commands import (
    AllowWriting,
    ChangeSettings,
    Condense,
    Interrupt,
    RequestControl,
    RunUserCommand,
    SendMessage,
)
from workbench.protocol.events import RunEnded
from workbench.text import first_line, visible
from workbench.tools.manifest import kind_of
from workbench.view.approval.plan import RUN_PLAN, plan_choices, plan_lines, plan_ready
from workbench.view.approval.questions import Always, Decision, Outcome, TextAnswer
from workbench.view.approval.rule_preview import try_rule
from workbench.view.formatting.actions import short_path
from workbench.view.formatting.detail import detail_text, detail_title
from workbench.view.formatting.timeline_rows import authorship
from workbench.view.prompt.completion import ServerOffers
from workbench.view.prompt.mcp_prompt_line import get_prompt, written
from workbench.view.reducer import apply
from workbench.view.sandbox import sandbox_text
from workbench.view.state import ActionItem, Changed, Item, NoticeItem, SessionState, UserItem

if TYPE_CHECKING:
    from workbench.protocol.risk import Mode

WORDS: Final = {
    "help": "this list",
    "status": "current activity, directory, model and cost",
    "question": "show the pending approvals again",
    "show N": "all details of step N",
    "tasks": "the agent's plan",
    "diff": "what changed in this session",
    "history": "the whole session from its start",
    "mode MODE": f"when to ask: {', '.join(MODES)}",
    "plan": "plan before anything changes: same as /mode plan",
    "approve": "run the plan of plan mode, in the mode before it; /approve MODE in another",
    "model NAME": "switch model (saved name or provider/model)",
    "compact": "summarize the conversation to free up context",
    "compact undo": "undo the last compaction",
    "rewind": "list the checkpoints to go back to",
    "rewind EVENT": "show what going back there would change; /rewind yes then goes back",
    "redo": "undo the last rewind, then the one before, after showing what that would change",
    "hooks": "programs that run at events: source and state of each",
    "sandbox": "what the agent's commands can reach",
    "sandbox write DIRECTORY": "let commands write a directory in this session; /sandbox revoke ends that",
    "send": "send an MCP server's prompt",
    "pen": "take control of a session that another screen controls",
    "stop": "stop the agent, as Ctrl+C does",
    "quit": "quit, as Ctrl+D does; the session is saved",
    "exit": "same as /quit",
}
_BUILT_IN: Final = frozenset(f"/{name.split()[0]}" for name in WORDS)
_KEYS: Final = (
    "A line is a message to the agent; while it works the message waits for its next step.",
    "@FILE in a message sends the file along. !COMMAND runs a shell command of your own.",
    "/SERVER:PROMPT NAME=VALUE asks an MCP server for one of its prompts and shows it; /send sends it.",
)


class Commands:
    """Carries out the slash commands of plain mode. `print_lines` prints; `others` are further commands, by name."""

    def __init__(
        self,
        state: SessionState,
        client: Client,
        print_lines: Callable[..., None],
        others: Mapping[str, Callable[[], None]],
        *,
        never_ask: Callable[[], None],
        takes: Mapping[str, Callable[[str], None]],
    ) -> None:
        """`never_ask` asks whether to set that mode; `takes` are commands that need an argument, by name."""
        self._takes = takes
        self._never_ask = never_ask
        self._state = state
        self._client = client
        self._print = print_lines
        self._simple: dict[str, Callable[[], None]] = {
            "help": lambda: print_lines(*_KEYS, *(f"/{name}: {what}" for name, what in WORDS.items())),
            "status": lambda: print_lines(*standing(state)),
            "tasks": lambda: print_lines(*tasks(state)),
            "diff": lambda: print_lines(*_changes(state)),
            "history": lambda: print_lines(
                *(line for item in state.items for line in item_lines(item, state.workspace))
            ),
            "compact": lambda: client.send(Condense()),
            "compact undo": lambda: client.send(Condense(undo=True)),
            "sandbox": lambda: print_lines(*sandbox_text(state).splitlines()),
            "pen": lambda: client.send(RequestControl()),
            "stop": self._stop,
            "plan": lambda: client.send(ChangeSettings(mode="plan")),
            **others,
        }

    def run(self, line: str) -> None:
        """Carry out the command in a line that starts with a slash."""
        name, _, argument = line[1:].strip().partition(" ")
        argument = argument.strip()
        if (whole := f"{name} {argument}".strip()) in self._simple:
            self._simple[whole]()
        elif name == "show" and argument.isdecimal():
            self._show(int(argument))
        elif (name, argument) == ("mode", NEVER):
            self._never_ask()
        elif name == "mode" and argument in MODES:
            self._client.send(ChangeSettings(mode=cast("Mode", argument)))
        elif name == "sandbox":
            self._allow_writing(argument)
        elif name == "approve":
            self._approve_plan(argument)
        elif name in self._takes and argument:
            self._takes[name](argument)
        else:
            self._print(f"There is no {first_line(line, 60)}. There are /{', /'.join(WORDS)}.")

    def _allow_writing(self, argument: str) -> None:
        """Carry out `/sandbox write DIRECTORY` or `/sandbox revoke DIRECTORY`."""
        verb, _, directory = argument.partition(" ")
        if verb in ("write", "revoke") and directory.strip():
            self._client.send(AllowWriting(directory=directory.strip(), revoked=verb == "revoke"))
        else:
            self._print("Write it as /sandbox write DIRECTORY or /sandbox revoke DIRECTORY.")

    def _approve_plan(self, mode: str) -> None:
        """Run the plan in the given mode, or, if that is empty, in the mode before plan mode."""
        choices = {choice.mode: choice for choice in plan_choices(self._state)}
        if not plan_ready(self._state):
            self._print("No plan waits for approval.")
        elif mode and mode not in choices:
            self._print(f"A plan runs in {' or '.join(choices)}, not in {first_line(mode, 60)}.")
        else:
            self._client.send(ChangeSettings(mode=cast("Mode", mode or next(iter(choices)))))
            self._client.send(SendMessage(text=RUN_PLAN))

    def _stop(self) -> None:
        if not (self._state.is_running or self._state.waiting):
            self._print("Nothing is running; /quit quits.")
        self._client.send(Interrupt())

    def _show(self, number: int) -> None:
        item = next((item for item in self._state.actions.values() if item.number == number), None)
        if item is None:
            self._print(f"There is no step {number}.")
        else:
            self._print(detail_title(item).replace(" · ", ", "), detail_text(item, self._state.workspace).rstrip("\n"))


def _changes(state: SessionState) -> Iterator[str]:
    if not state.changes:
        yield "Nothing has changed."
    for file in state.changes.values():
        diff = compare(short_path(file.path, state.workspace), file.before, file.after)
        yield (
            file_line(diff)
            + (f" {words.capitalize()}." if (words := authorship(file)) else "")
            + (f" {file.note}" * bool(file.note))
        )
        for hunk in diff.hunks:
            first, *rest = change_lines(diff, hunk)
            yield f"Change in {first}"
            yield from rest


class ServerPrompts:
    """Gets prompts from MCP servers and keeps the last one; when the user sends it, `send` is called with its text."""

    def __init__(
        self, client: Client, offers: ServerOffers, print_lines: Callable[..., None], send: Callable[[str], None]
    ) -> None:
        self._client = client
        self._offers = offers
        self._print = print_lines
        self._send = send
        self._text = ""

    def asks(self, line: str) -> bool:
        """Return whether the line has the form of a prompt; if so, request it or print why that is impossible."""
        call = written(line)
        if call is None:
            return False
        self._offers.refresh()
        prompt = self._offers.prompt(call.name)
        if prompt is None:
            available = ", ".join(f"/{each.server}:{each.name}" for each in self._offers.prompts)
            self._print(
                f"There is no prompt {call.name}. {f'There are {available}.' if available else 'No server has any.'}"
            )
            return True
        try:
            self._client.send(get_prompt(prompt, call.words))
        except ValueError as error:
            self._print(f"Not asked: {error}.")
        else:
            self._print(f"Asking {prompt.server} for it.")
        return True

    def receive(self, text: str) -> None:
        """Print the text of a prompt that has arrived, and keep it for `send`; nothing is sent automatically."""
        if text:
            self._text = text
            self._print("The prompt's text:", *text.splitlines(), "End of the prompt. /send sends it as a message.")

    def send(self) -> None:
        """Send the text of the last prompt, once."""
        text, self._text = self._text, ""
        if text:
            self._send(text)
        else:
            self._print("There is no prompt to send; /SERVER:PROMPT asks for one.")


_PROMPT: Final = "> "
_RECALLED: Final = 12
"""The number of last items that are printed when a session is resumed."""
_AGAIN: Final = 2.0
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OVER: Final = frozenset({"done", "failed", "rejected", "skipped", "lost"})
_QuestionKey = tuple[str, str, int]
"""Identifies a question: the ID of the action, its fingerprint, and the number of the event that asked."""


class PlainSession:
    """Runs one session on one console; `offers` are the prompts and resources of MCP servers."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        directory: Path,
        console: Console,
        *,
        offers: ServerOffers,
        custom: CustomCommands,
        model_of: Callable[[str], str],
        mentions_of: Callable[[str], tuple[str, ...] | None],
        hooks_page: Callable[[], str],
        path: Path,
    ) -> None:
        """`model_of` returns the `provider/model` of a name for `/model`, `mentions_of` the mentions in a message."""
        self._custom = custom
        self._client = client
        self._state = state
        self._messages = MessageSender(client, mentions_of)
        self._console = console
        self._offers = offers
        self._asker = LineAsker(console)
        self._prompts = ServerPrompts(client, offers, console.print, self._messages.send)
        self._rewind = PlainRewind(path, str(directory), client, console.print, self._ended)
        others = {"question": self._ask_again, "quit": self._leave, "exit": self._leave, "send": self._prompts.send}
        others |= {"rewind": self._rewind.list, "redo": self._rewind.redo, "hooks": lambda: console.print(hooks_page())}
        self._never_ask = NeverAsk(self._asker, client, self._refresh, self._ended)
        takes = {"model": ModelSwitch(client, console.print, model_of, self._ended).use, "rewind": self._rewind.run}
        self._commands = Commands(state, client, console.print, others, never_ask=self._never_ask.open, takes=takes)
        self._question: tuple[_QuestionKey, asyncio.Task[None]] | None = None
        self._settled: set[_QuestionKey] = set()
        self._later: set[_QuestionKey] = set()
        self._printed: set[tuple[str, str]] = set()
        self._leave_until = 0.0
        self._is_ready = False
        self._code: asyncio.Future[int] = asyncio.Future()

    async def run(self, message: str = "") -> int:
        """Run until the user quits or a signal arrives; return the exit code. A `message` is sent first."""
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._end, 128 + number)
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        self._console.listen(self._handle_line)
        if message:
            self._console.print(f"You: {message}")
            if not self._send_custom(message):
                self._messages.send(message)
        follower = asyncio.create_task(self._follow())
        follower.add_done_callback(self._ended)
        code = await self._code
        follower.cancel()
        if self._question is not None:
            self._question[1].cancel()
        self._console.ask("")
        return code

    def _ended(self, task: asyncio.Task[None]) -> None:
        """If a task failed, let `run` raise its exception; otherwise plain mode would hang."""
        if not task.cancelled() and (fault := task.exception()) is not None and not self._code.done():
            self._code.set_exception(fault)

    async def _follow(self) -> None:
        events = await in_daemon(self._client.history)
        for event in events:
            apply(self._state, event)
        self._recall()
        self._is_ready = True
        self._messages.open()
        self._refresh()
        is_open = True
        while is_open:
            messages = await self._client.receive()
            if was_rewound(messages):
                self._print_changes(await reread(self._state, self._client))
            is_open = self._apply(messages)

    def _recall(self) -> None:
        items = self._state.items
        if len(items) > _RECALLED:
            self._console.print(f"{len(items) - _RECALLED} earlier entries hidden; /history shows them.")
        for item in items[-_RECALLED:]:
            self._console.print(*item_lines(item, self._state.workspace))
        for item in items:
            if isinstance(item, ActionItem):
                self._printed.add((item.action_id, "begun"))
                self._printed |= {(item.action_id, "ended")} if item.phase in _OVER else set()

    def _apply(self, messages: Iterable[Incoming]) -> bool:
        for message in messages:
            changed = apply(self._state, message)
            self._rewind.receive(changed.rewind)
            self._print_changes(changed)
            if isinstance(message, RunEnded):
                self._console.print(*plan_lines(self._state) if plan_ready(self._state) else key_lines(self._state))
            self._prompts.receive(changed.prompt)
            if changed.refused:
                self._messages.clear()  # a message may be among what was refused, and does not come back
            if isinstance(message, Disconnected) and message.for_good:
                self._end(1)
                return False
        self._refresh()
        return True

    def _print_changes(self, changed: Changed) -> None:
        for item in [*changed.added, *changed.updated]:
            if isinstance(item, ActionItem):
                self._print_action(item)
            # The end of a run is updated by a late snapshot, and these lines do not show what that changes.
            elif item in changed.added or (isinstance(item, NoticeItem) and item.run is None):
                self._print_item(item)

    def _print_item(self, item: Item) -> None:
        if isinstance(item, UserItem) and self._messages.confirm(item.text):
            if item.queued:
                self._console.print("Queued: the agent reads it at its next step.")
            return
        if isinstance(item, NoticeItem) and not item.seq:
            self._settled.clear()  # an answer may have been refused, so ask again
        self._console.print(*item_lines(item, self._state.workspace))

    def _print_action(self, item: ActionItem) -> None:
        is_over = item.phase in _OVER
        is_silent = kind_of(item.tool) in ("final", "question") and item.phase != "failed"
        if (is_over or item.phase == "running") and self._once(item, "begun") and not is_silent:
            self._console.print(begun(item, self._state.workspace), *call_lines(item))
        if is_over and self._once(item, "ended"):
            self._console.print(*ended(item))

    def _once(self, item: ActionItem, what: str) -> bool:
        is_new = (item.action_id, what) not in self._printed
        self._printed.add((item.action_id, what))
        return is_new

    def _refresh(self) -> None:
        """Ask the next open question, close a question that is no longer current, or show the prompt."""
        if self._never_ask.is_open:
            return
        can_answer = self._state.waiting if self._state.has_control else []
        waiting = [_key(self._state.actions[name]) for name in can_answer]
        if self._question is not None and self._question[0] not in waiting:
            self._question[1].cancel()
            self._question = None
            self._console.ask("")
            self._console.print("This request is no longer current.")
        open_ones = [key for key in waiting if key not in self._settled and key not in self._later]
        if self._question is None and open_ones:
            task = asyncio.create_task(self._ask(open_ones[0], waiting))
            self._question = (open_ones[0], task)
            task.add_done_callback(self._ended)
        elif self._question is None:
            is_resting = bool(self._later) or not (self._state.is_running and self._state.has_control)
            is_free = self._is_ready and is_resting and not self._messages
            self._console.ask(_PROMPT if is_free and self._state.work != "starting" else "")

    async def _ask(self, key: _QuestionKey, waiting: list[_QuestionKey]) -> None:
        self._console.ask("")
        self._asker.begin()
        position = f" {waiting.index(key) + 1} of {len(waiting)}" if len(waiting) > 1 else ""
        item = self._state.actions[key[0]]
        question = PlainQuestion(
            item, position, self._state.mode, self._asker, lambda rule: try_rule(rule, self._state)
        )
        outcome = await question.ask()
        self._question = None
        self._carry(key, outcome)
        self._refresh()

    def _carry(self, key: _QuestionKey, outcome: Outcome) -> None:
        action_id, fingerprint, _ = key
        if isinstance(outcome, Decision | Always | TextAnswer):
            self._settled.add(key)
            self._client.send(outcome.command(action_id, fingerprint))
        else:
            self._later.add(key)
            self._console.print("Not now: /question shows it again.")

    def _ask_again(self) -> None:
        self._later.clear()
        if not self._state.waiting:
            self._console.print("No pending approvals.")

    def _handle_line(self, line: str | None) -> None:
        if line is None:
            self._leave()
        elif (self._question or self._never_ask.is_open) and line.strip() not in ("/stop", "/exit", "/quit", "/status"):
            self._asker.add_line(line)
        elif line.startswith("/"):
            if not self._send_custom(line) and not self._prompts.asks(line):
                self._commands.run(line)
            self._refresh()
        elif line.startswith("!"):
            self._client.send(RunUserCommand(command=line[1:].strip()))
        elif line.strip():
            self._messages.send(line)
        else:
            self._refresh()

    def _send_custom(self, line: str) -> bool:
        """Send the message of the custom command that a line names; return False if it names none."""
        try:
            message = None if line.partition(" ")[0] in _BUILT_IN else self._custom.message(line)
        except InvalidCommand as error:
            self._console.print(f"Not sent: {visible(str(error), lines=False)}.")
            return True
        if message is None:
            return False
        if message.notice:
            self._console.print(f"{message.notice}.")
        self._messages.send(message.text, message.command)
        return True

    def _interrupted(self) -> None:
        """Handle Ctrl+C: stop the agent if it is running; quit if Ctrl+C was pressed shortly before."""
        now = time.monotonic()
        if now < self._leave_until:
            self._end(128 + signal.SIGINT)
            return
        self._leave_until = now + _AGAIN
        if self._state.is_running or self._messages:
            self._client.send(Interrupt())
            self._console.print("Stopping the agent. Ctrl+C again quits.")
        else:
            self._console.print("Nothing is running. Ctrl+C again quits.")

    def _leave(self) -> None:
        if self._state.is_running and not self._state.waiting:
            self._console.print(f"The agent continues its run. {first_line(next(standing(self._state)), 200)}")
        self._end(0)

    def _end(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)


def _key(item: ActionItem) -> _QuestionKey:
    return item.action_id, item.fingerprint, item.asked
