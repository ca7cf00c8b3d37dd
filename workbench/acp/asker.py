"""Asks the user about pending actions, one after another, while a prompt runs, and sends the answers to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from acp import Client as Editor
from acp import RequestError
from acp.helpers import update_agent_message_text
from pydantic import ValidationError

from workbench.acp.permission import Option, PermissionQuestion
from workbench.acp.questions import chosen_answer, question_text
from workbench.acp.turn import PromptTurn
from workbench.acp.updates import SessionUpdate, notice
from workbench.client.client import Client
from workbench.protocol.commands import AnswerQuestion
from workbench.tools.ask_human.question import read_question
from workbench.view.approval.questions import Decision
from workbench.view.state import ActionItem, SessionState

_QuestionKey = tuple[str, str, int]
"""Identifies a question: the ID of the action, its fingerprint, and the number of the event that asked."""


class QuestionAsker:
    """The open questions of one session; `send` sends an update to the editor."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        editor: Editor,
        send: Callable[[SessionUpdate], Awaitable[None]],
        asked: Callable[[str], None],
    ) -> None:
        """`asked` is called with the ID of each action that the editor is asked about, because the request changes its
        display.
        """
        self._client = client
        self._state = state
        self._editor = editor
        self._send = send
        self._asked = asked
        self._question: tuple[_QuestionKey, asyncio.Task[None]] | None = None
        self._answered: set[_QuestionKey] = set()

    def answer_in_words(self, text: str) -> bool:
        """If the agent waits for an answer in text form, answer with `text` and return True; otherwise return False."""
        item = self._next_open()
        if item is None or not item.asks:
            return False
        self._answered.add(_key(item))
        answer = chosen_answer(read_question(item.arguments), text)
        self._client.send(AnswerQuestion(action_id=item.action_id, text=answer))
        return True

    def forget_answers(self) -> None:
        """Allow open questions to be asked again, because the engine may have refused an answer."""
        self._answered.clear()

    def ask_next(self, turn: PromptTurn | None) -> None:
        """Ask the next open question during `turn`, and withdraw a question that is no longer current.

        With None, while a question is being asked, or once the user has stopped the run, only the latter is done.
        """
        item = self._next_open()
        if self._question is not None and (item is None or self._question[0] != _key(item)):
            self.withdraw()
        if turn is None or item is None or self._question is not None or turn.is_stopping or turn.reason.done():
            return
        task = asyncio.create_task(self._ask(item, turn))
        self._question = (_key(item), task)
        task.add_done_callback(lambda done: _report(done, turn))

    def withdraw(self) -> None:
        """Stop waiting for an answer; an answer that arrives later decides nothing."""
        if self._question is not None:
            self._question[1].cancel()
            self._question = None

    def _next_open(self) -> ActionItem | None:
        waiting = [self._state.actions[name] for name in self._state.waiting] if self._state.has_control else []
        return next((item for item in waiting if _key(item) not in self._answered), None)

    async def _ask(self, item: ActionItem, turn: PromptTurn) -> None:
        if item.asks:
            await self._send(update_agent_message_text(question_text(item)))
            self._leave_open(turn)
            return
        question = PermissionQuestion(item, self._state.workspace, self._state.mode)
        self._asked(item.action_id)
        try:
            response = await self._editor.request_permission(
                session_id=self._state.session_id, tool_call=question.tool_call, options=question.options
            )
        except ConnectionError:
            return  # the editor is gone, and the question stays open
        except RequestError as error:
            await self._unanswered(f"The editor could not ask ({error})", turn)
        except ValidationError:
            await self._unanswered("The editor's answer is not one of the protocol", turn)
        else:
            await self._apply(item, question.answer(response), turn)

    async def _apply(self, item: ActionItem, option: Option | None, turn: PromptTurn) -> None:
        if option is None:
            await self._unanswered("None of the options was chosen", turn)
            return
        self._question = None
        self._answered.add(_key(item))
        self._client.send(option.outcome.command(item.action_id, item.fingerprint))
        if isinstance(option.outcome, Decision) and option.outcome.stop:
            turn.stop("end_turn")
        self.ask_next(turn)

    async def _unanswered(self, reason: str, turn: PromptTurn) -> None:
        await self._send(notice(f"{reason}: nothing was decided. You are asked again with your next message."))
        self._leave_open(turn)

    def _leave_open(self, turn: PromptTurn) -> None:
        """End the turn although its question is open; it is asked again with the next prompt."""
        self._question = None
        turn.end("end_turn")


def _report(task: asyncio.Task[None], turn: PromptTurn) -> None:
    """If asking failed with an exception, let the prompt fail with it; otherwise the prompt would hang."""
    if not task.cancelled() and (fault := task.exception()) is not None:
        turn.fail(fault)


def _key(item: ActionItem) -> _QuestionKey:
    return item.action_id, item.fingerprint, item.asked
