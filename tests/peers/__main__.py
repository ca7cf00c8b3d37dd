"""`python -m tests.peers [--in DIR] [FAKE …]`: the real `ohw run` against other projects' fake providers; once per
release.

The fakes come from npm and PyPI into DIR (a temporary directory if none is named). Each route of each fake is asked for
text and calls, whole and cut; the exit code is 1 if a result differs from what is required.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.terminal_bench import environment
from tests.fakes.google_account import PROJECT, GoogleAccount
from tests.peers.cases import CASES, Case, Result
from tests.peers.fakes import FAKES, Fake, Route, install, versions
from tests.sandbox import Sandbox

_KEYS = ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL", "COHERE", "GROQ", "TOGETHERAI", "PERPLEXITYAI", "XAI", "AZURE")
_KEYS += ("OPENROUTER",)


def main(words: list[str]) -> int:
    """Install, start and try the fakes named, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers")
    parser.add_argument("--in", dest="directory", type=Path, help="where the fakes are installed and kept")
    parser.add_argument("fakes", nargs="*", metavar="FAKE", help=", ".join(fake.name for fake in FAKES))
    arguments = parser.parse_args(words)
    with contextlib.ExitStack() as stack:
        directory = arguments.directory or stack.enter_context(tempfile.TemporaryDirectory(prefix="ohw-peers-"))
        directory = Path(directory).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        install(directory)
        print(versions(directory))
        wrong = 0
        for kind in FAKES:
            if not arguments.fakes or kind.name in arguments.fakes:
                wrong += sum(bool(each) for each in _tried(kind(directory)))
        print(f"{wrong} wrong")
        return 1 if wrong else 0


def _tried(fake: Fake) -> Iterator[str]:
    """Try each case at each route, print a line for each, and yield the failures."""
    with tempfile.TemporaryDirectory(prefix="ohw-") as name, fake.running(), GoogleAccount(Path(name)) as account:
        for route in fake.routes:
            for case in CASES:
                if fake.name in case.by and route.plays(case):
                    wrong = _try(fake, route, case, account)
                    print(f"{fake.name:<14}{route.model:<48}{case.name:<24}{wrong or 'ok'}", flush=True)
                    yield wrong


def _try(fake: Fake, route: Route, case: Case, account: GoogleAccount) -> str:
    fake.prepare(case)
    with tempfile.TemporaryDirectory(prefix="ohw-") as name:
        home, project = Path(name) / "home", Path(name) / "project"
        home.mkdir()
        project.mkdir()
        sandbox = Sandbox(home, project, environment(home) | _accounts(account))
        done = sandbox.ohw(
            "run", "go", "--json", "--mode", "never", "--model", route.model, "--api-base",
            fake.url + route.path,
        )  # fmt: skip
        wrong = case.check(Result(done, project))
        if "Traceback" in done.stderr:
            wrong = wrong or "a traceback"
        if wrong:
            return f"WRONG: {wrong}\n    {' | '.join(done.stderr.splitlines())}"
    return f"WRONG: {verdict}" if (verdict := fake.verdict()) else ""


def _accounts(account: GoogleAccount) -> dict[str, str]:
    """Return keys that no provider issued."""
    keys = {f"{name}_API_KEY": "sk-of-nobody" for name in _KEYS}
    amazon = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none", "AWS_REGION_NAME": "us-east-1"}
    google = {"GOOGLE_APPLICATION_CREDENTIALS": str(account.path), "VERTEXAI_PROJECT": PROJECT}
    return {**keys, **amazon, **google, "VERTEXAI_LOCATION": "us-central1", "AZURE_API_VERSION": "2024-10-21"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
