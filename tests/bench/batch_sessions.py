"""Sessions one after another in one process, without `ohw batch`: the work that a run cannot save.

`python -m tests.bench.batch_sessions HOME URL COUNT` opens some sessions first, prints a line, and continues when it
reads one. At the end it prints the seconds of processor time that the sessions have taken.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from workbench.batch.answer_wait import AnswerWait
from workbench.batch.attempt_session import AttemptRun
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.llm.model import Cancel
from workbench.session.session_factory import start_session

WARM_UP = 3
MODEL = "openai/local"


def run_session(home: Path, url: str) -> None:
    """Run a session of one step in an empty directory."""
    locations = Locations.from_environment()
    with tempfile.TemporaryDirectory(dir=home) as workspace:
        settings = load_settings(locations, model=MODEL, api_base=url, mode="high")
        opened = start_session(
            locations,
            settings,
            Path(workspace),
            f"bench-{time.monotonic_ns()}",
            on_event=lambda event: None,
            on_live=lambda event: None,
        )
        ending, detail = AttemptRun(opened, Cancel(), AnswerWait(0, lambda question: None)).drive("Do it.", 0)
        opened.close()
        assert ending == "finished", detail


def processor_time() -> float:
    """Return the seconds of processor time of this process and of its child processes that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Run sessions as the arguments say."""
    home, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    for _ in range(WARM_UP):
        run_session(home, url)
    print("ready", flush=True)
    sys.stdin.readline()
    used = processor_time()
    for _ in range(count):
        run_session(home, url)
    print(processor_time() - used)


if __name__ == "__main__":
    main()
