import io

from workbench.narration import Narrator
from workbench.session.events import EngineState


def told(*details: str) -> list[str]:
    out = io.StringIO()
    narrator = Narrator(out)
    for detail in details:
        narrator.live(EngineState(state="thinking", detail=detail))
    return out.getvalue().splitlines()


def test_each_try_is_told_once_whatever_its_countdown_says():
    waits = [f"the provider is busy; try {n} of 5 in {s} s" for n in (2, 3) for s in (3, 2, 1)]
    assert told(*waits) == [waits[0], waits[3]]


def test_what_is_over_and_comes_again_is_told_again():
    assert told("not being saved: full", "", "not being saved: full") == ["not being saved: full"] * 2
