"""What a rule is: a row of a table, or a function that looks at the call; shared by the families."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from workbench.protocol.risk import Risk
from workbench.risk.paths import Rating
from workbench.risk.paths import words as words
from workbench.risk.shell.call import Call, Option, Spec
from workbench.secrets.names import holds_secret

_NAMES = re.compile(r"\w+")
Rule: TypeAlias = Spec | Callable[[Call], None]


def named(spec: Spec, names: str) -> dict[str, Rule]:
    """The same rule for several programs."""
    return dict.fromkeys(names.split(), spec)


def always(risk: Risk, reason: str, names: str) -> dict[str, Rule]:
    """Programs whose risk does not depend on their words."""
    return named(Spec(risk, reason, operands="text"), names)


def flag_names(options: list[Option]) -> set[str]:
    """The flags that were given."""
    return {option.flag for option in options}


def shown_variables(code: str) -> Rating:
    """The risk of code that reads variables of the surroundings: all MEDIUM, as for `env`; a secret by name HIGH."""
    if any(map(holds_secret, _NAMES.findall(code))):
        return "HIGH", "prints a secret"
    return "MEDIUM", "prints variables of the surroundings"


def subcommands(table: Mapping[str, Spec], unknown: Spec, values: str = "") -> Callable[[Call], None]:
    """A rule that goes by the first operand (or the first two, as in `remote add`); `values` are flags before it."""
    before = Spec(values=words(values))

    def rule(call: Call) -> None:
        """Rate by the subcommand."""
        rest = list(call.words)
        while rest and rest[0].text.startswith("-"):
            flag = rest.pop(0).text
            if flag in before.values and rest:
                rest.pop(0)
        verb = rest[0].text if rest else ""
        pair = f"{verb} {rest[1].text}" if len(rest) > 1 else ""
        call.words = rest[2:] if pair in table else rest[1:]
        call.apply((table.get(pair) if pair else None) or table.get(verb, unknown))

    return rule
