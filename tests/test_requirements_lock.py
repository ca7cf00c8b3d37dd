import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def locked() -> dict[str, str]:
    lines = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def test_lock_contains_a_matching_version_of_each_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = locked()
    for requirement in map(Requirement, project["dependencies"]):
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier


def test_lock_has_a_hash_for_each_version_and_names_no_url():
    text = (ROOT / "requirements.lock").read_text()
    for block in re.split(r"\n(?=[\w.-]+==)", text):
        assert "--hash=sha256:" in block
    assert "://" not in text
