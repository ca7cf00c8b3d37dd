"""Python code that runs inside a command line: `python -c CODE`, or what is fed to `python -`; used by the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.risk.assessment import ANY, Part, shortened, summed
from workbench.risk.deletion import texts_of
from workbench.risk.paths import Rating

if TYPE_CHECKING:
    from workbench.risk.shell.scan import Scan


_MOST_OF = (("(", 200), ("[{", 400), (";", 300), ("'\"", 1_200), ("+-*/%&|^", 1_500))
"""Signs in code that stands in a command line; more take longer to look at than a line may."""
_TOO_MUCH = "too long or too deeply nested to be analysed"


def rated_python(scan: Scan, code: str, *, is_shown: bool) -> Rating:
    """The risk of the code; what it does is added to the parts of the scan, and it itself where no part shows it."""
    from workbench.risk.python.analysis import Surroundings, parts_of  # it is loaded when there is Python to read

    def rate(command: str) -> list[Part]:
        at = len(scan.parts)
        scan.inner(command)
        found = scan.parts[at:]
        del scan.parts[at:]
        return found

    if any(sum(map(code.count, signs)) > most for signs, most in _MOST_OF):
        changes = (f"{scan.places.workspace}{ANY}",)
        scan.parts.append(Part(shortened(code.strip()), "HIGH", _TOO_MUCH, depth=scan.depth + 1, changes=changes))
        return "HIGH", _TOO_MUCH
    if not is_shown:
        folders = (scan.folder or scan.places.workspace,)
        fed = Part(shortened(code.strip()), "MEDIUM", "runs code", mentions=texts_of(code), folders=folders)
        scan.parts.append(fed._replace(depth=scan.depth + 1))
    parts = parts_of(code, Surroundings(scan.places, scan.folder, rate, scan.depth))
    scan.parts += [part._replace(plain=False, depth=max(part.depth, scan.depth + 1)) for part in parts]
    found = summed(parts)
    return found.risk, found.reasons[0] if found.reasons else ""
