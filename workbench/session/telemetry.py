"""Follows the log of a session with spans for OpenTelemetry, if the user's settings ask for that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import unquote

import msgspec

from workbench.agent.agent_kinds import AgentKind
from workbench.config.settings import Settings, TelemetrySettings, read_telemetry
from workbench.llm.errors import public_url
from workbench.llm.model import ModelRequest
from workbench.protocol.events import DelegateStep, Event, ModelResponded, RunEnded
from workbench.secrets.masker import MASKER
from workbench.session.log import Log
from workbench.session.state import State
from workbench.telemetry.sender import Exporter, SpanSender
from workbench.telemetry.session_spans import SessionSpans
from workbench.telemetry.span import AgentIdentity, AttributeValue, CallInput, conversation_id

_HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_AT_CLOSE, _AT_CLOSE_ON_SCREEN = 2.0, 0.3
"""Seconds that closing a session waits for its last spans: without a user who waits for that, and with one."""
_NO_KIND: Final = "sub-agent"
"""The name of a sub-agent without a kind; its own name was written by the model, and is not sent."""


class SessionTelemetry:
    """Makes spans from the events of one session and sends them; call `follow` first."""

    def __init__(
        self,
        settings: Settings,
        session_id: str,
        kind_of: Callable[[str], AgentKind | None],
        *,
        has_user: bool,
        labels: Mapping[str, AttributeValue],
    ) -> None:
        """`kind_of` returns the kind of a sub-agent, if it has one; all spans have the attributes `labels`.

        `has_user` means that a user waits while the session is closed.
        """
        chosen = read_telemetry(settings.telemetry)
        self.has_content = chosen.content
        """Whether what models are sent and answer is in the spans."""
        self._labels = labels
        self._answers: dict[tuple[str, str], ModelResponded] = {}
        self._requests: dict[str, CallInput] = {}
        """What sub-agents have sent for answers that are not in this log yet, by session."""
        _mask_headers(os.environ)
        self._settings = settings
        self._session_id = session_id
        self._kind_of = kind_of
        self._patience = _AT_CLOSE_ON_SCREEN if has_user else _AT_CLOSE
        self._sender = SpanSender(partial(_open_exporter, chosen), public_endpoint(chosen))
        self._spans: SessionSpans | None = None
        self._log: Log | None = None

    def follow(self, log: Log) -> None:
        """Follow the log from now on."""
        agent = self._identity("ohw", self._session_id, partial(self._model, log.state))
        calls = {name: action.proposed for name, action in log.state.batch.items()}
        self._spans = SessionSpans(agent, calls, self._sender.add, partial(self._sub_agent, log.state))
        self._log = log
        log.listen(self._apply)

    def _apply(self, event: Event) -> None:
        assert self._spans is not None, "telemetry follows no log yet"
        if isinstance(event, DelegateStep) and isinstance(event.event, ModelResponded):
            if request := self._requests.pop(event.session, None):
                self._spans.note_request_of(event, request)
            event = self._with_answer(event)
        self._spans.apply(event)
        if isinstance(event, RunEnded):
            self._requests.clear()
            self._sender.flush()

    def note_request(self, request: ModelRequest, session: str = "") -> None:
        """Note what the session's agent, or the sub-agent with the session `session`, sends to its model now.

        The list of messages may change afterwards.
        """
        sent = CallInput([*request.messages], request.tools)
        if session:
            self._requests[session] = sent
        elif self._spans is not None:
            self._spans.note_request(sent)

    def note_answer(self, session: str, answer: ModelResponded) -> None:
        """Note an answer that a sub-agent got, just before it is in this log without its text."""
        self._answers[session, answer.response_id] = answer

    def _with_answer(self, step: DelegateStep) -> DelegateStep:
        """Return a step of a sub-agent, which is an answer, with the text that it got."""
        assert isinstance(step.event, ModelResponded)
        answer = self._answers.pop((step.session, step.event.response_id), None)
        return step if answer is None else msgspec.structs.replace(step, event=answer)

    def _model(self, state: State, fallback: str) -> str:
        """Return, as provider/model, the model that is asked now, or the fallback model with this name."""
        return self._settings.profile(fallback or state.asked_model).model

    def _sub_agent(self, state: State, step: DelegateStep) -> AgentIdentity:
        kind = self._kind_of(step.agent)
        if kind is None:
            return self._identity(_NO_KIND, step.session, partial(self._model, state))
        if kind.program is not None:
            return self._identity(kind.name, step.session, lambda _: f"acp/{kind.name}")
        own = kind.model if kind.model in self._settings.models else ""
        return self._identity(kind.name, step.session, lambda fallback: self._model(state, fallback or own))

    def _identity(self, name: str, session: str, model_for: Callable[[str], str]) -> AgentIdentity:
        return AgentIdentity(name, conversation_id(session), model_for, self._labels)

    def close(self) -> None:
        """Send the last spans; what cannot be sent in time is lost."""
        if self._spans is not None and self._log is not None:
            with self._log.lock:
                self._spans.close()
        self._sender.close(self._patience)


def public_endpoint(settings: TelemetrySettings) -> str:
    """Return the URL of the collector, without a login; the default's if neither the settings nor the environment
    has one.
    """
    named = (os.environ.get(name) for name in _ENDPOINTS)
    return public_url(settings.endpoint or next(filter(None, named), "http://localhost:4318"))


def _open_exporter(settings: TelemetrySettings) -> Exporter:
    """Load the packages and return the exporter."""
    from workbench.telemetry.otlp import OtlpExporter

    return OtlpExporter(settings.endpoint, with_content=settings.content)


def _mask_headers(env: Mapping[str, str]) -> None:
    """Mask the values of the headers, which mostly contain a key, wherever they occur; they are percent-encoded."""
    for name in _HEADERS:
        for header in env.get(name, "").split(","):
            value = unquote(header.partition("=")[2]).strip()
            for part in {value, value.rpartition(" ")[2]}:
                MASKER.add(name, part)
