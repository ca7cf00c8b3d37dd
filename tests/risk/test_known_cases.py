"""The known cases: no wrong rating outside the accepted list, through the command line as well."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.risk.description import assess_line
from workbench.risk.paths import PathContext

FILE = Path(__file__).parent / "data/risk.jsonl"
CASES = [json.loads(line) for line in FILE.read_text().splitlines()]
PLACES = PathContext("/home/u/proj", "/home/u")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_known_case_has_an_allowed_rating(case):
    assessment = assess_line(json.dumps({"kind": case["kind"], "input": case["input"]}), PLACES)
    assert assessment.risk in case["accept"], (case["why"], assessment.reasons)
    assert assessment.risk == "LOW" or assessment.reasons


@pytest.mark.starts
def test_command_prints_one_line_per_case_in_order():
    command = [sys.executable, "-m", "workbench", "risk", "--workspace", "/home/u/proj", "--home", "/home/u"]
    with FILE.open("rb") as lines:
        done = subprocess.run(command, stdin=lines, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(CASES)
    assert [case["id"] for case, line in zip(CASES, results, strict=True) if line["risk"] not in case["accept"]] == []
    assert all(set(line) == {"risk", "reasons", "segments"} for line in results)


@pytest.mark.starts
def test_command_rates_its_arguments_without_running_them(tmp_path):
    target = tmp_path / "made"
    command = [sys.executable, "-m", "workbench", "risk", "--workspace", str(tmp_path), f"touch {target}", "ls"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["risk"], second["risk"]) == ("MEDIUM", "LOW")
    assert first["segments"][0]["paths"] == [str(target)]
    assert not target.exists()


@pytest.mark.parametrize("line", ["", "{", "[]", "7", '{"kind": "bash"}', '{"kind": "no", "input": 1}', "[" * 5000])
def test_unreadable_line_is_high(line):
    assert assess_line(line, PLACES).risk == "HIGH"
