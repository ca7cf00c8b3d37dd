"""`ohw batch predictions` writes the patches of a run as predictions, which SWE-bench evaluates."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from workbench.batch.predictions import predictions_of
from workbench.batch.run_directory import RunDirectory
from workbench.cli.common import print_error, print_line
from workbench.errors import UsageError
from workbench.files.output_file import save_lines
from workbench.text import counted, visible, visible_path

_NAME = "predictions.jsonl"


def batch_predictions(arguments: Namespace) -> int:
    """Write the predictions of one model and attempt; return 0. Raises UsageError or WorkbenchError."""
    path = Path(arguments.output or Path(arguments.run, _NAME)).expanduser()
    of_run = predictions_of(RunDirectory(Path(arguments.run)), arguments.model or "", arguments.attempt)
    try:
        save_lines((line.decode() for line in of_run.encoded().splitlines()), path)
    except UsageError as error:
        if arguments.output is not None:
            raise
        raise UsageError(f"{error}; name another file with -o FILE") from None
    amount, model = counted(len(of_run.predictions), "prediction"), visible(of_run.model, lines=False)
    print_line(f"{visible_path(str(path))} has {amount} of {model}")
    if of_run.unfinished:
        print_error(f"not finished, and without a prediction: {', '.join(of_run.unfinished)}")
    if of_run.inexact:
        print_error(f"patches that change text which is not UTF-8, and may not apply: {', '.join(of_run.inexact)}")
    return 0
