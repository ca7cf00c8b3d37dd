"""Asks one approval question in plain mode: shows everything that would run, and reads typed words as answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from workbench.errors import WorkbenchError
from workbench.plain.narration import change_lines, file_line
from workbench.protocol.events import AlwaysChoice, FileText
from workbench.tools.ask_human.question import read_question, who_asks
from workbench.view.approval.proposal import Proposal, argument_text, arguments_from
from workbench.view.approval.questions import Always, Decision, Later, Outcome, Scope, TextAnswer
from workbench.view.approval.rule_preview import RulePreview
from workbench.view.diff.lines import paint_line
from workbench.view.formatting.actions import action_line
from workbench.view.formatting.approval import files_written, on_one_line, what_runs, why_asked
from workbench.view.formatting.detail import full_text
from workbench.view.state import ActionItem

_EMPTY = "An empty line answers nothing."
_SCOPES: Final[Mapping[str, Scope]] = {"session": "session", "project": "folder", "everywhere": "person"}
"""The scope of a rule for each word that the user can answer."""


class Asker(Protocol):
    """An object that prints lines and gets the user's answers."""

    def print(self, *lines: str) -> None:
        """Print lines."""

    async def show(self, lines: Sequence[str]) -> None:
        """Print lines a page at a time; the user asks for each further page."""

    async def answer(self, prompt: str) -> str:
        """Show the prompt and return the next line typed after everything was shown."""


class PlainQuestion:
    """Asks about one pending action, which the user can change before deciding."""

    def __init__(
        self,
        item: ActionItem,
        position: str,
        mode: str,
        asker: Asker,
        tried: Callable[[str], RulePreview] = lambda rule: RulePreview(),
    ) -> None:
        """`position` is the position among several questions, such as " 1 of 3", or empty.

        `tried` returns which past actions a rule would have matched.
        """
        self._item = item
        self._position = position
        self._mode = mode
        self._asker = asker
        self._tried = tried
        self._files = files_written(item)
        self._proposal = Proposal(self._files, [delta.path for delta in item.preview])
        self._note = ""
        self._words: dict[str, Callable[[], Awaitable[Outcome | None]]] = {
            "yes": self._approve,
            "no": self._reject,
            "each": self._each,
            "edit": self._edit,
            "always": self._always,
            "note": self._write_note,
            "full": self._full,
            "again": self._again,
            "later": self._later,
        }
        self._unavailable = {"each"} if self._proposal.count < 2 else set()
        self._unavailable |= set() if item.always or item.no_always else {"always"}

    async def ask(self) -> Outcome:
        """Show the whole action, accept answers until one decides, and return the outcome."""
        if self._item.asks:
            return await self._ask_user()
        await self._again()
        while True:
            word = (await self._asker.answer("Yes or no? ")).strip().lower()
            word = {"y": "yes", "n": "no"}.get(word, word)
            if word not in self._words or word in self._unavailable:
                self._asker.print(_EMPTY if not word else "That is not an answer.", self._choices())
            elif (outcome := await self._words[word]()) is not None:
                return outcome

    async def _ask_user(self) -> Outcome:
        question = read_question(self._item.arguments)
        who = f"T{who_asks(self._item.agent)[1:]}"
        options = [f"  {number}. {text}" for number, text in enumerate(question.options, 1)]
        await self._asker.show([f"{who} asks you: {question.text}", *options])
        how = "Answer with a number or in your own words" if options else "Answer in your own words"
        self._asker.print(f"{how}; /later leaves it open.")
        while True:
            line = (await self._asker.answer("Answer: ")).strip()
            if line == "/later":
                return Later()
            if line:
                chosen = line.isdecimal() and 1 <= int(line) <= len(question.options)
                return TextAnswer(question.options[int(line) - 1] if chosen else line)
            self._asker.print(_EMPTY)

    async def _again(self) -> None:
        await self._asker.show(list(self._description()))
        self._asker.print(self._choices())

    def _description(self) -> Iterator[str]:
        item, edited = self._item, self._proposal.arguments
        rated = "its risk is unknown" if item.risk == "UNKNOWN" else f"risk {item.risk}"
        yield f"Question{self._position}: may step {item.number} run? {rated[0].upper()}{rated[1:]}."
        yield from (line.text for line in what_runs(replace(item, segments=()), edited))
        if edited is None:
            count = len(item.segments)
            for number, part in enumerate(item.segments, 1):
                why = f" ({on_one_line(part.reason)})" if part.reason else ""
                yield f"Part {number} of {count}, {part.risk}: {on_one_line(part.text)}{why}"
        yield from self._changes()
        for line in why_asked(item, self._mode):
            yield f"Reason: {line.text[2:]}" if line.text.startswith("· ") else line.text

    def _changes(self) -> Iterator[str]:
        number = 0
        for file in self._files:
            yield file_line(file)
            for hunk in file.hunks:
                number += 1
                first, *rest = change_lines(file, hunk)
                yield f"Change {number} of {self._proposal.count}, {first}"
                yield from rest

    def _choices(self) -> str:
        others = [word for word in self._words if word not in ("yes", "no", *self._unavailable)]
        return f"Answer yes or no, and enter. Also: {', '.join(others)}."

    async def _approve(self) -> Outcome | None:
        proposal = self._proposal
        if not proposal.is_changed:
            return Decision("approved", self._note)
        if proposal.arguments is not None:
            return Decision("edited", self._note, edited=proposal.arguments)
        written = tuple(FileText(path=path, text=text) for path, text in proposal.written())
        return Decision("edited", self._note, hunks=proposal.accepted, written=written)

    async def _reject(self) -> Outcome | None:
        reason = (await self._asker.answer("Reason for the agent (optional): ")).strip()
        return Decision("rejected", reason or self._note)

    async def _each(self) -> Outcome | None:
        """Ask about each change of the action; reject the action if none is accepted.

        Returns None, so that the action is then asked about with only the accepted changes.
        """
        self._proposal.out.clear()
        number = 0
        for file in self._files:
            for hunk in file.hunks:
                first, *rest = change_lines(file, hunk)
                await self._asker.show([f"Change {number + 1} of {self._proposal.count}, {first}", *rest])
                if not await self._yes_or_no("Accept this change? Yes or no: "):
                    self._proposal.toggle(number)
                number += 1
        taken = len(self._proposal.accepted)
        if not taken:
            self._asker.print("No change is accepted, so nothing would be written.")
            return await self._reject()
        self._asker.print(f"{taken} of {self._proposal.count} changes are accepted. Write these?")
        return None

    async def _yes_or_no(self, prompt: str) -> bool:
        while True:
            word = (await self._asker.answer(prompt)).strip().lower()
            if word in ("y", "yes", "n", "no"):
                return word[0] == "y"
            self._asker.print(f"{'' if word else f'{_EMPTY} '}Answer yes or no.".strip())

    async def _edit(self) -> Outcome | None:
        """Read a new command, or new arguments, from one line, and show the action again; an empty
        line changes nothing.
        """
        title, text = argument_text(self._item.tool, self._item.arguments)
        self._asker.print(f"{title} as it is now:", text, "Write it again on one line; an empty line keeps it.")
        line = await self._asker.answer("New: ")
        if line.strip():
            try:
                self._proposal.arguments = arguments_from(self._item.tool, self._item.arguments, line)
            except WorkbenchError as error:
                self._asker.print(str(error))
                return None
            await self._again()
        return None

    async def _always(self) -> Outcome | None:
        if self._proposal.is_changed:
            self._asker.print("A rule can be saved only for what was proposed, and you have changed it.")
            return None
        if not self._item.always:
            self._asker.print(f"This cannot be allowed from now on: {on_one_line(self._item.no_always)}")
            return None
        choice = await self._breadth(self._item.always)
        scope = await self._scope(choice) if choice is not None else None
        if choice is not None and scope is not None:
            return Always(choice.text, scope)
        self._asker.print("Nothing is saved.", self._choices())
        return None

    async def _breadth(self, choices: Sequence[AlwaysChoice]) -> AlwaysChoice | None:
        """Ask which choice to always allow, if there are several; return None for "back" or any other word."""
        if len(choices) == 1:
            return choices[0]
        await self._asker.show(
            [f"{number}: {_choice_line(choice)}" for number, choice in enumerate(choices, 1)],
        )
        word = (await self._asker.answer(f"1 to {len(choices)}, from the narrowest to the broadest, or back? ")).strip()
        return choices[int(word) - 1] if word.isascii() and word.isdecimal() and 0 < int(word) <= len(choices) else None

    async def _scope(self, choice: AlwaysChoice) -> Scope | None:
        preview = self._tried(choice.text)
        await self._asker.show(
            [
                *(f"This rule will be added: {paint_line(rule).text}" for rule in choice.rules),
                f"It matches {len(preview.matched)} of the last {preview.looked_at} actions of this session.",
                *(f"  step {item.number}: {action_line(item, preview.workspace)}" for item in preview.matched),
                "Where does it apply? session: this one; project: sessions here; everywhere: all projects; or back.",
            ]
        )
        return _SCOPES.get((await self._asker.answer("Session, project, everywhere or back? ")).strip().lower())

    async def _write_note(self) -> Outcome | None:
        self._note = (await self._asker.answer("Note for the agent: ")).strip()
        self._asker.print("The note goes with your answer." if self._note else "No note.", self._choices())
        return None

    async def _full(self) -> Outcome | None:
        await self._asker.show(full_text(self._item, self._proposal).splitlines())
        self._asker.print(self._choices())
        return None

    async def _later(self) -> Outcome | None:
        return Later()


def _choice_line(choice: AlwaysChoice) -> str:
    return f"{on_one_line(choice.label)}: {', '.join(paint_line(rule).text for rule in choice.rules)}"
