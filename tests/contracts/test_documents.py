"""The documents for contributors name files that exist, and their checks are those of `.ci/run`."""

import re
import tomllib

import pytest
import yaml

from tests.contracts.source import ROOT

DOCUMENTS = ["CONTRIBUTING.md", "ARCHITECTURE.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_documents_mention_exists(document):
    text = (ROOT / document).read_text()
    named = set(re.findall(r"`((?:workbench|tests|snapshots)/[\w/.]*)`", text))
    assert len(named) > 5
    assert [path for path in sorted(named) if "NAME" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_in_documents_is_valid(document):
    text = (ROOT / document).read_text()
    targets = [target.partition("#") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert [path for path, _, _ in targets if not (ROOT / path).exists()] == []
    for path, _, anchor in targets:
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def test_documented_layers_match_the_import_contract():
    _, _, layers_text = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Layers\n")
    layers = [set(re.findall(r"\w+", line[:24])) for line in layers_text.split("```")[1].strip().splitlines()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (held,) = [each["layers"] for each in contracts if "workbench.cli" in each.get("layers", ())]
    named = set.union(*layers)
    enforced = [set(re.findall(r"workbench\.(\w+)", line)) & named for line in held]
    assert [layer for layer in enforced if layer] == layers
    assert {path.parent.name for path in (ROOT / "workbench").glob("*/__init__.py")} - named == {"demo"}


def test_pre_commit_checks_match_those_of_ci():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = [hook["entry"] for hook in hooks]
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    server = [line for line in lines if line.startswith("uv run ") and not line.endswith("|| true")]  # reports
    assert len(server) >= 4
    assert [line for line in server if line not in entries] == []
