"""Random logs that no session would write: any events in any order, with gaps, duplicates and orphans."""

from hypothesis import strategies as st
from msgspec.structs import replace

from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    AgentNudged,
    CondensingUndone,
    FileDelta,
    FilesChanged,
    FileText,
    Forked,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    OutputDropped,
    RawToolCall,
    Rewound,
    RunEnded,
    SettingsChanged,
    UserMessage,
)

names = st.sampled_from(["a", "b", "c", "d"])
texts = st.one_of(st.sampled_from(["", " ", "hello", "\ud800 odd \x00"]), st.text(max_size=10))
arguments = st.sampled_from(
    [
        "{}",
        "",
        '{"a": 1}',
        "{'a'}",
        "[]",
        "[" * 3_000,
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"a": "\\ud83d\\ude00"}',
        "\udcff",
    ]
)
observations = st.sampled_from(
    [
        {},
        {"content": None},
        {"content": [{"type": "text", "text": "ok"}]},
        {
            "content": [
                {"type": "text", "text": "\udcff\x00"},
                {"type": "image", "data": "QUJD", "mime_type": "image/png"},
            ]
        },
        {"content": [{"type": "text"}, "odd", 7]},
        {"content": [{"type": "image"}, {"type": "image", "data": "?", "mime_type": "text/html"}]},
    ]
)
raw_calls = st.builds(
    RawToolCall,
    id=names,
    name=st.sampled_from(["look", "", "ä b", "x" * 99]),
    arguments=arguments,
    signature=st.sampled_from(["", "signed"]),
)
events = st.one_of(
    st.builds(
        UserMessage,
        text=texts,
        images=st.sampled_from([(), ("data:image/png;base64,QUJD",), ("data:image/png;base64,", "file:///etc/passwd")]),
    ),
    st.builds(
        ModelResponded,
        response_id=names,
        model=st.just("m"),
        text=texts,
        thinking=st.sampled_from([(), ({"type": "thinking", "thinking": "Hm.", "signature": "s"},)]),
        tool_calls=st.lists(raw_calls, max_size=3).map(tuple),
        incomplete=st.booleans(),
        seen=st.one_of(st.none(), st.integers(0, 40)),
    ),
    st.builds(
        ActionProposed,
        action_id=names,
        response_id=names,
        call_id=names,
        tool=st.sampled_from(["look", "", "ä b", "x" * 99]),
        position=st.integers(-1, 3),
        error=st.sampled_from(["", "bad"]),
    ),
    st.builds(ActionAssessed, action_id=names, needs_decision=st.booleans()),
    st.builds(
        ActionDecided,
        action_id=names,
        verdict=st.sampled_from(["approved", "rejected", "edited"]),
        by=st.just("person"),
        edited=st.sampled_from([None, {"a": "\ud800"}]),
        hunks=st.sampled_from([None, (), (0, 7)]),
        written=st.sampled_from([None, (FileText(path="/f", text="\ud800"), FileText(path="/g", text=None))]),
    ),
    st.builds(ActionStarted, action_id=names),
    st.builds(ActionObserved, action_id=names, observation=observations, ran=st.booleans()),
    st.builds(ActionAbandoned, action_id=names),
    st.builds(
        FilesChanged,
        files=st.just((FileDelta(path="/a\x00", before="", after=None),)),
        by=st.sampled_from(["person", "other"]),
    ),
    st.builds(ModelAsked, action_id=names, model=texts),
    st.builds(AgentNudged, reason=st.sampled_from(["empty", "stuck"]), text=texts),
    st.builds(HistoryCondensed, first=st.integers(0, 30), last=st.integers(0, 30), summary=texts),
    st.builds(CondensingUndone, condensed=st.integers(0, 30), first=st.just(1), last=st.just(9)),
    st.builds(OutputDropped, action_id=names, characters=st.integers(0, 9_000)),
    st.builds(Rewound, target=st.integers(0, 30)),
    st.builds(Forked, session=names, target=st.integers(0, 30), keeps_run=st.booleans()),
    st.builds(RunEnded, reason=st.sampled_from(["finished", "interrupted"])),
    st.builds(SettingsChanged, mode=st.sampled_from([None, "plan"]), model=st.sampled_from([None, "a", "b"])),
)
logs = st.lists(events, max_size=25).map(
    lambda events_made: [replace(event, seq=seq) for seq, event in enumerate(events_made, 1)]
)


def _numbered(events_made: list) -> list:
    return [replace(event, seq=seq) for seq, event in enumerate(events_made, 1)]


def _batch(number: int, size: int, orders: list[int], ended: set[int]) -> list:
    """Return an answer with its calls and their results, as a session writes it; `ended` holds the calls with a
    result.
    """
    response, ids = f"r{number}", [f"c{number}-{place}" for place in range(size)]
    raw = tuple(RawToolCall(id=name, name="look", arguments="{}") for name in ids)
    answer = ModelResponded(response_id=response, model="m", text="" if number % 2 else "I look.", tool_calls=raw)
    proposed = [
        ActionProposed(action_id=name, response_id=response, call_id=name, tool="look", position=place, batch=size)
        for place, name in enumerate(ids)
    ]
    results = [
        ActionObserved(action_id=ids[place], observation={"content": [{"type": "text", "text": "seen"}]})
        for place in sorted(ended & set(range(size)), key=lambda place: orders[place])
    ]
    return [answer, *proposed, *results]


@st.composite
def damaged_logs(draw: st.DrawFn) -> list:
    """Return the events of a session, some of them lost, doubled or moved."""
    log: list = []
    for number in range(draw(st.integers(1, 5))):
        log.append(UserMessage(text=f"message {number}"))
        size = draw(st.integers(0, 4))
        log += _batch(number, size, draw(st.permutations(range(4))), draw(st.sets(st.integers(0, 3))))
    lost = draw(st.sets(st.integers(0, len(log)), max_size=4))
    log = [event for place, event in enumerate(log) if place not in lost]
    for _ in range(draw(st.integers(0, 2)) if log else 0):
        log.insert(draw(st.integers(0, len(log))), draw(st.sampled_from(log)))
    return _numbered(log)
