"""The arguments of `ohw batch` and its sub-commands."""

from __future__ import annotations

import argparse


def add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to the parser of the command."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="TASKS",
        help="tasks as JSON lines, .toml, or a directory of prompts; `-` reads JSON lines from stdin",
    )
    parser.add_argument("-o", "--output", metavar="RUN", required=True, help="directory of the run")
    parser.add_argument("--prompt", metavar="FILE", help="prompt of tasks without one, with {name} for their fields")
    parser.add_argument("--attempts", metavar="N", type=_positive, help="attempts at each task with each model (1)")
    parser.add_argument("--models", metavar="A,B", help="models to try each task with (default: that of the settings)")
    parser.add_argument("--max-parallel", metavar="N", type=_positive, help="attempts at the same time (cores)")
    parser.add_argument(
        "--rate", metavar="MODEL=N/min", action="append", default=[], help="most calls of a model, over all workers"
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in RUN; what has ended is not repeated")
    parser.add_argument(
        "--retry",
        choices=["failed", "errors", "stopped"],
        help="with --resume: repeat attempts that failed, also in their check; only those whose model or worker "
        "failed, or that could not start; or those that were stopped",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="dask scheduler to use, such as tcp://host:8786")
    parser.add_argument(
        "--wait",
        metavar="MINUTES",
        type=_positive,
        help="how long an attempt waits for your answer in `ohw batch watch` (0)",
    )
    parser.add_argument(
        "--shared", metavar="DIR", help="directory that the workers see too, for workspaces and what attempts leave"
    )
    parser.add_argument("--keep-workspaces", action="store_true", help="do not delete the workspaces of the attempts")
    parser.add_argument("--json", action="store_true", help="print each outcome as a JSON line")


def add_race(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ohw race` to its parser."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the task of all attempts; `-` reads it from stdin")
    parser.add_argument("--models", metavar="A,B", help="models that take part (default: that of the settings)")
    parser.add_argument(
        "--attempts", metavar="N", type=_positive, help="attempts with each model (default: 1; of a single model, 3)"
    )
    parser.add_argument("--check", metavar="COMMAND", help="run this after each attempt; exit code 0 means solved")
    parser.add_argument("--setup", metavar="COMMAND", help="run this in each copy before its attempt")
    parser.add_argument("--minutes", metavar="N", type=_minutes, help="time limit of each attempt")
    parser.add_argument("--max-parallel", metavar="N", type=_positive, help="attempts at the same time (cores, or 4)")
    parser.add_argument(
        "--wait",
        metavar="MINUTES",
        type=_positive,
        help="how long an attempt waits for your answer, in --watch or, from /race, in the app (0)",
    )
    earlier = parser.add_mutually_exclusive_group()
    about = {
        "show": "show an earlier race (default: the last one)",
        "resume": "continue a race that was not completed (default: the last one); what has ended is not repeated",
        "watch": "watch a race and answer its attempts (default: the one that is running in this directory)",
    }
    for name, what in about.items():
        earlier.add_argument(f"--{name}", nargs="?", const="", metavar="RACE", help=what)
    parser.add_argument("--json", action="store_true", help="print each outcome, and the ranking, as a JSON line")
    parser.add_argument(
        "--until-eof", action="store_true", help="interrupt the race when standard input ends, for programs that run it"
    )


def add_batch_predictions(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ohw batch predictions` to its parser; `--model` is a setting's flag."""
    parser.add_argument("run", metavar="RUN", help="directory of the run")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file (default: predictions.jsonl in RUN)")
    parser.add_argument("--attempt", metavar="N", type=_positive, default=1, help="which attempt at each task (1)")


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ohw batch watch`."""
    parser.add_argument("run", metavar="RUN", help="directory of the run, also of one that has ended")


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ohw batch report`."""
    parser.add_argument("run", metavar="RUN", help="directory of the run, which may still be running")
    _add_forms(parser, csv="a line for each attempt, for spreadsheets")


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ohw batch diff`."""
    parser.add_argument("before", metavar="RUN1", help="directory of the earlier run")
    parser.add_argument("now", metavar="RUN2", help="directory of the later run")
    _add_forms(parser, csv="a line for each task, for spreadsheets")


def _add_forms(parser: argparse.ArgumentParser, *, csv: str) -> None:
    forms = parser.add_mutually_exclusive_group()
    about = {
        "markdown": "a text for issues and notes",
        "html": "one page with charts, which needs no network",
        "csv": csv,
        "json": "all numbers as one JSON object",
    }
    for form, what in about.items():
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=f"print {what}")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="output file; the extension selects the format (default: stdout)"
    )


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def _minutes(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0")
    return number
