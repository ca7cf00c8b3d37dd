"""Ratings that package managers of all languages share."""

from __future__ import annotations

from workbench.risk.shell.call import Spec

CODE = "runs code of the project"
BUILD = Spec("MEDIUM", CODE, operands="text")
LOOK = Spec(operands="text")
ASKS = Spec("MEDIUM", "asks the registry", operands="text")
DECLARED = Spec("MEDIUM", "installs declared packages", operands="text")
NEW = "installs a new package, whose code runs"
PUBLISH = Spec("HIGH", "publishes or changes something at the registry", operands="text")
RUNS_REMOTE = Spec("HIGH", "runs a package that is not installed", operands="text")
FOR_PERSON = Spec("HIGH", "changes the programs or the shell of this person", operands="text")
SHELL = Spec("HIGH", "starts a shell that nobody sees", operands="text")
