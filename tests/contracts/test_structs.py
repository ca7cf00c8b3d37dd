"""The check of types rejects functions of `dataclasses` that are called on structs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.source import ROOT

ACCEPTED = """
import dataclasses, msgspec
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass, replace

class Point(msgspec.Struct):
    x: int = 0
class Point3(Point):
    z: int = 0
@dataclass
class Holder:
    point: Point

def use(p: Point, deep: Point3, either: Point3 | None, kind: type[Point], h: Holder) -> None:
    replace(h, point=p)
    asdict(h)
    fields(Holder)
    is_dataclass(h)
    msgspec.structs.replace(p, x=1)
"""
REJECTED = """
    replace(p, x=1)
    dataclasses.replace(deep, x=1)
    asdict(h.point)
    astuple(deep)
    fields(Point)
    fields(kind)
    is_dataclass(either)
"""


@pytest.mark.starts
def test_functions_of_dataclasses_are_rejected_for_structs_alone(tmp_path: Path):
    (tmp_path / "calls.py").write_text(ACCEPTED.strip() + REJECTED)
    words = ["-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "calls.py")]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    calls = [each.strip() for each in REJECTED.strip().splitlines()]
    lines = (tmp_path / "calls.py").read_text().splitlines()
    rejected = [lines[int(line.split(":")[1]) - 1].strip() for line in done.stdout.splitlines() if "is not a" in line]
    assert rejected == calls, done.stdout + done.stderr
