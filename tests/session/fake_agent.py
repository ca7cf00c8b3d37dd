"""A scripted agent and small real tools for tests of the session."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse, ToolCall
from workbench.protocol.events import SessionStarted
from workbench.session.limits import Limits
from workbench.session.session import Session, SessionOptions, SessionParts
from workbench.session.state import OpenAction, State
from workbench.session.storage.store import Store
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition


class NamedModel:
    """The model of a fake agent; it returns the given summaries, and the agent its own answers."""

    def __init__(self, name: str, *summaries: ModelResponse | Callable | ModelError) -> None:
        self.name = name
        self.closed = False
        self.summaries = list(summaries)
        self.requests: list[ModelRequest] = []

    def respond(self, request, on_delta, cancel):
        assert self.summaries, "no summary was to be asked for"
        self.requests.append(request)
        entry = self.summaries.pop(0)
        if isinstance(entry, ModelError):
            raise entry
        return entry(request, on_delta, cancel) if callable(entry) else entry

    def close(self) -> None:
        self.closed = True


class FakeAgent:
    """Plays responses in order; an entry may be a function of the messages, or an exception to raise."""

    def __init__(self, *script: ModelResponse | Callable | ModelError) -> None:
        self.model = NamedModel("fake/one")
        self.plan = False
        self.standing = (400, 800)
        self.tool_choice = "auto"
        self.script = list(script)
        self.requests: list[list[dict]] = []

    def respond(self, messages, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        self.requests.append(json.loads(json.dumps(messages)))
        entry = self.script.pop(0) if self.script else says("nothing is left to do")
        if isinstance(entry, ModelError):
            raise entry
        if callable(entry):
            return entry(messages, on_delta, cancel)
        on_delta(Delta("text", entry.text))
        return entry


_count = iter(range(1, 10_000_000))


def says(text: str, **more) -> ModelResponse:
    return ModelResponse(id=f"r{next(_count)}", model="fake/one", text=text, **more)


def calls(*proposed: tuple[str, dict] | tuple[str, dict, str], text: str = "", **more) -> ModelResponse:
    """Return a response; a call is (tool, arguments) for LOW risk, or (tool, arguments, risk)."""
    made = []
    for tool, arguments, *risk in proposed:
        number = next(_count)
        raw = arguments
        if not isinstance(arguments, str):
            raw = json.dumps({"security_risk": risk[0] if risk else "LOW", "summary": "a call", **arguments})
        made.append(ToolCall(id=f"c{number}", name=tool, arguments=raw))
    return says(text, tool_calls=tuple(made), **more)


class NoteAction(Action):
    text: str


class Note(ToolExecutor[NoteAction, Observation]):
    """Appends a line to a file: a side effect that can be counted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, action: NoteAction) -> Observation:
        with self.path.open("a") as file:
            file.write(action.text + "\n")
        if self.on_output:
            self.on_output(action.text)
        return Observation.from_text(f"noted {action.text}")


class WriteAction(Action):
    path: str
    text: str


class WriteObservation(Observation):
    old_content: str | None = None
    new_content: str | None = None


class Write(ToolExecutor[WriteAction, WriteObservation]):
    def __call__(self, action: WriteAction) -> WriteObservation:
        (change,) = self.preview(action)
        Path(action.path).write_text(action.text)
        return WriteObservation.from_text("written", old_content=change.before, new_content=change.after)

    def preview(self, action: WriteAction) -> Sequence[FileChange]:
        path = Path(action.path)
        return (FileChange(action.path, path.read_text() if path.exists() else None, action.text),)


class HangAction(Action):
    pass


class Hang(ToolExecutor[HangAction, Observation]):
    """Runs until it is interrupted; with `deaf` it ignores the interrupt."""

    def __init__(self, deaf: bool = False) -> None:
        self.deaf = deaf
        self.began = threading.Event()
        self.released = threading.Event()

    def __call__(self, action: HangAction) -> Observation:
        self.began.set()
        assert self.released.wait(60)
        return Observation.from_text("came to an end")

    def interrupt(self) -> None:
        if not self.deaf:
            self.released.set()


class LookAction(Action):
    pass


class Look(ToolExecutor[LookAction, Observation]):
    def __call__(self, action: LookAction) -> Observation:
        return Observation.from_text("all is well")


class Peek(Look):
    """A read-only tool whose calls may run in parallel with others."""

    side_by_side = True


class DoneAction(Action):
    message: str = ""


class Done(ToolExecutor[DoneAction, Observation]):
    def __call__(self, action: DoneAction) -> Observation:
        return Observation.from_text(action.message)


def small_tools(directory: Path, hang: Hang | None = None) -> dict[str, ToolDefinition]:
    """Return small tools: note and write change something, look and peek read, hang never returns, finish ends it."""
    reads = ToolAnnotations(readOnlyHint=True)
    tools: list[ToolDefinition] = [
        ToolDefinition(name="note", description="n", action_type=NoteAction, executor=Note(directory / "notes.txt")),
        ToolDefinition(
            name="write",
            description="w",
            action_type=WriteAction,
            observation_type=WriteObservation,
            executor=Write(),
        ),
        ToolDefinition(name="look", description="l", action_type=LookAction, executor=Look(), annotations=reads),
        ToolDefinition(name="peek", description="p", action_type=LookAction, executor=Peek(), annotations=reads),
        ToolDefinition(name="hang", description="h", action_type=HangAction, executor=hang or Hang()),
        ToolDefinition(
            name="finish", description="f", action_type=DoneAction, executor=Done(), annotations=reads, ends_run=True
        ),
    ]
    return {tool.name: tool for tool in tools}


class Harness:
    """A session in a directory, with the events, live messages and requests it produced."""

    def __init__(self, directory: Path, *script, mode: str = "medium", hang: Hang | None = None, **more) -> None:
        """Create a session; limits such as `max_steps` are given by name, all other options go to the session.

        `tools` are more tools, `path` is the session file.
        """
        self.directory, self.path = directory, more.pop("path", directory / "one.ohw")
        workspace = more.pop("workspace", directory)
        self.agent = FakeAgent(*script)
        self.hang = hang or Hang()
        self.tools = small_tools(directory, self.hang) | {tool.name: tool for tool in more.pop("tools", ())}
        limits = {name: more.pop(name) for name in Limits.__dataclass_fields__ if name in more}
        self.more = {"limits": Limits(**limits), **more}
        self.events, self.live = [], []
        self.hook = lambda event: None
        if not self.path.exists():
            with Store.create(self.path) as store:
                store.append(SessionStarted(id="one", workspace=str(workspace), model="fake/one", mode=mode))
        self.open()

    def open(self) -> None:
        self.store = Store.open(self.path)
        self.session = Session(
            SessionParts(
                self.store,
                self.agent,
                self.tools,
                SessionOptions(on_event=self.heard, on_live=self.live.append, **self.more),
            )
        )
        self.session.recover()

    def heard(self, event) -> None:
        self.events.append(event)
        self.hook(event)

    def close(self) -> None:
        self.hang.released.set()
        self.session.close()
        self.store.close()

    def reopen(self) -> None:
        self.session.close()
        self.store.close()
        self.open()

    def run(self) -> None:
        """Step until the user has to act."""
        for _ in range(500):
            if not self.session.step():
                return
        raise AssertionError("the session never comes to rest")

    def answer(self, verdict: str = "approved", **more) -> None:
        """Decide on the open question as it was shown, then run on."""
        question = self.session.question
        assert question is not None
        more.setdefault("fingerprint", question.assessed.fingerprint)
        self.session.decide(question.proposed.action_id, verdict, **more)
        self.run()

    def waiting(self) -> list[OpenAction]:
        """Return the actions that wait for the user, according to the log."""
        ledger = State()
        for event in self.log():
            ledger.apply(event)
        return ledger.waiting

    def decide(self, action: OpenAction, verdict: str = "approved", **more) -> None:
        """Decide on the action as it was shown, without running on."""
        print_ = action.assessed.fingerprint
        self.session.decide(action.proposed.action_id, verdict, **{"fingerprint": print_, **more})

    def log(self) -> list:
        return list(self.store.events())

    def kinds(self) -> list[str]:
        return [event.kind for event in self.log()]

    def results(self) -> list[str]:
        return [event.observation["content"][0]["text"] for event in self.log() if event.kind == "action_observed"]

    @property
    def notes(self) -> list[str]:
        path = self.directory / "notes.txt"
        return path.read_text().split() if path.exists() else []


def faults_of(messages: list[dict]) -> list[str]:  # noqa: C901 - one rule a line
    """Return what a strict provider would refuse in these messages."""
    faults, open_calls, seen = [], [], set()
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                faults.append(f"{number}: a result without a call")
            else:
                open_calls.remove(message["tool_call_id"])
            faults += [] if message["content"] else [f"{number}: an empty result"]
            continue
        if open_calls:
            faults.append(f"{number}: calls without results before {role}")
        if role == "assistant":
            made = message.get("tool_calls", [])
            open_calls = [call["id"] for call in made]
            faults += [f"{number}: id twice" for call_id in open_calls if call_id in seen]
            seen.update(open_calls)
            for call in made:
                if not isinstance(json.loads(call["function"]["arguments"]), dict):
                    faults.append(f"{number}: arguments are not an object")
                if not call["function"]["name"].replace("_", "").replace("-", "").isalnum():
                    faults.append(f"{number}: name {call['function']['name']!r}")
            if not made and not message["content"]:
                faults.append(f"{number}: an empty answer")
        elif not message["content"]:
            faults.append(f"{number}: an empty message")
    if open_calls:
        faults.append("calls without results at the end")
    json.dumps(messages, ensure_ascii=False).encode()
    return faults
