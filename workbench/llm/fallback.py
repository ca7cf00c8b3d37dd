"""A model with fallback models, which are called if the model is overloaded, unreachable or refuses a request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from workbench.llm.errors import SLOW
from workbench.llm.model import (
    Cancel,
    ContextOverflow,
    Delta,
    Model,
    ModelError,
    ModelRequest,
    ModelResponse,
    open_early,
)
from workbench.llm.signatures import signed_for
from workbench.text import first_line

REST = 60.0
"""Seconds after a failure during which a model that has fallback models is not retried."""
_WITHHELD = "refused the request (content filter)"
_LONGEST_ERRORS = 420
"""The maximum length, in characters, of the errors of all models in one message."""


class Failure(msgspec.Struct, frozen=True):
    """Why and when a model did not respond; `model` is its name in the settings, `at` a value of `time.monotonic`."""

    model: str
    kind: str
    predicate: str
    message: str
    """The error that the user would see without fallback models."""
    at: float

    @classmethod
    def of(cls, model: str, error: ModelError) -> Failure:
        """Return the failure that an exception describes, without the exception, which would keep the request alive."""
        return cls(model, error.kind, error.fallback_reason, str(error), time.monotonic())

    @property
    def reason(self) -> str:
        """What happened to the model, as the start of a sentence: "fast is overloaded"."""
        return f"{self.model} {self.predicate}"


class Rests:
    """The latest failure of each model; shared by the sessions of a process, so that sub-agents need not wait for the
    same failure again.

    For `REST` seconds after a failure, a model is tried once per request, without waiting for retries. A model that
    timed out is called only if all others fail. A refusal by a content filter is not recorded.
    """

    def __init__(self) -> None:
        self._failures: dict[str, Failure] = {}

    def note(self, failure: Failure) -> None:
        """Record a failure, unless a content filter refused the request."""
        if failure.kind != "filtered":
            self._failures[failure.model] = failure

    def end(self, model: str) -> None:
        """Record that the model responded: forget its failure."""
        self._failures.pop(model, None)

    def of(self, model: str) -> Failure | None:
        """Return the failure of the model if it is less than `REST` seconds old, or None."""
        failure = self._failures.get(model)
        return failure if failure is not None and time.monotonic() < failure.at + REST else None


class FallbackModel:
    """A model with fallback models, which are called in order until one responds.

    The next model is called only if no part of a response has arrived, and only after failures that the settings cannot
    cause. After a wrong key, a full context window, an unknown error or a cancellation, no other model is called.
    """

    def __init__(self, first: tuple[str, Model], others: Mapping[str, Callable[[], Model]], rests: Rests) -> None:
        """`first` is the model's name in the settings and the model; `others` are functions that open the fallback
        models, by their names in the settings.
        """
        name, model = first
        self.name = model.name
        self._first = name
        self._names = [name, *others]
        self._opened = {name: model}
        self._others = others
        self._rests = rests
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def prices(self) -> Any:
        """The first model's entry in the price table, or None."""
        return getattr(self._opened[self._first], "prices", None)

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the models in order until one responds. Raises ModelError; its message names all models that failed."""
        call = _Call(request, on_delta, cancel)
        failures, cost = self._resting(), 0.0
        latest = failures.get(self._first)
        names = sorted(self._names, key=failures.__contains__)
        for name in names:
            if cancel.is_set:
                break
            if latest is not None:
                on_delta(Delta("status", f"{latest.reason}; asking {name}", name))
            is_last = name == names[-1]
            try:
                response = self._ask(name, call, is_last=is_last)
            except ModelError as error:
                latest = failures[name] = Failure.of(name, error)
                error.model = "" if name == self._first else name
                if is_last or not call.may_go_on(error):
                    raise self._joined(failures, error) from error
                self._rests.note(latest)
                continue
            self._rests.end(name)
            if is_last or not _is_withheld(response):
                return self._named(name, response, failures, cost)
            cost += response.cost or 0.0
            latest = failures[name] = Failure.of(name, _withheld())
        return ModelResponse("", self.name, finish_reason="interrupted", incomplete=True)

    def open_early(self) -> None:
        """Open the first model's connection."""
        open_early(self._opened[self._first])

    def close(self) -> None:
        """Close all models that have been opened."""
        with self._lock:
            self._is_closed, models = True, list(self._opened.values())
        for model in models:
            model.close()

    def _resting(self) -> dict[str, Failure]:
        """Return the failures of the models that timed out recently, which are called last; none if all timed out."""
        failures = {name: failure for name in self._names if (failure := self._rests.of(name))}
        slow = {name: failure for name, failure in failures.items() if failure.kind in SLOW}
        return slow if len(slow) < len(self._names) else {}

    def _ask(self, name: str, call: _Call, *, is_last: bool) -> ModelResponse:
        tries = 1 if self._rests.of(name) and not is_last else 0
        model = self._model(name)
        signed = signed_for(call.request.messages, "" if name == self._first else name)
        described = call.request.tools if name == self._first else call.tools_for(model)
        request = replace(call.request, messages=signed, tools=described, tries=tries)
        return model.respond(request, call.emit, call.cancel)

    def _model(self, name: str) -> Model:
        """Return the model with that name, after opening it if necessary. Raises ModelError if it cannot be opened."""
        with self._lock:
            model = self._opened.get(name)
        if model is not None:
            return model
        opened = self._others[name]()  # without the lock: a keyring may wait for the user's password
        with self._lock:
            model = self._opened.setdefault(name, opened)
            is_unused = self._is_closed or model is not opened
        if is_unused:
            opened.close()
        return model

    def _named(self, name: str, response: ModelResponse, failures: Mapping[str, Failure], cost: float) -> ModelResponse:
        """Return the response of the model `name` and, if that is a fallback model, record its name and the reason.

        `cost`, in US dollars, is that of earlier responses that a content filter withheld.
        """
        if name == self._first:
            return response
        return replace(
            response,
            cost=None if response.cost is None else response.cost + cost,
            fallback=name,
            fallback_reason="; ".join(failures[each].reason for each in self._names if each in failures),
        )

    def _joined(self, failures: Mapping[str, Failure], last: ModelError) -> ModelError:
        """Return the last error or, if other models failed too, one that names all of them.

        A ContextOverflow is always returned unchanged, so that the caller compacts the history.
        """
        if len(failures) == 1 or isinstance(last, ContextOverflow):
            return last
        message = f"no model answered. {' · '.join(_lines(list(failures.values())))}"
        return ModelError(message, kind=last.kind, model=last.model)


class _Call:
    """One request, and whether a part of a response to it has arrived."""

    def __init__(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> None:
        self.request = request
        self.cancel = cancel
        self._on_delta = on_delta
        self._has_begun = False

    def emit(self, delta: Delta) -> None:
        """Pass on a delta."""
        self._has_begun |= delta.kind in ("text", "reasoning")
        self._on_delta(delta)

    def tools_for(self, model: Model) -> Sequence[dict[str, Any]]:
        """Return the request's tools, with their descriptions adapted to a fallback model."""
        describe, tools = self.request.tools_for, self.request.tools
        return describe(model.name) if describe is not None and tools else tools

    def may_go_on(self, error: ModelError) -> bool:
        """Return whether another model may be asked after this error."""
        return bool(error.fallback_reason) and not self._has_begun


def _withheld() -> ModelError:
    return ModelError("the content filter ended the answer", kind="filtered", fallback_reason=_WITHHELD)


def _is_withheld(response: ModelResponse) -> bool:
    """Return whether the provider's content filter ended the response before any part of it."""
    has_part = response.text.strip() or response.reasoning or response.tool_calls
    return response.finish_reason == "content_filter" and not has_part


def _lines(failures: Sequence[Failure]) -> list[str]:
    longest = _LONGEST_ERRORS // len(failures)
    return [f"{failure.model}: {first_line(failure.message, longest)}" for failure in failures]
