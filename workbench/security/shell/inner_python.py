"""Python code that runs inside a command line: `python -c CODE`, or what is fed to `python -`; used by the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.security.assessment import Part, shortened, summed
from workbench.security.mentions import texts_of
from workbench.security.places import Rating

if TYPE_CHECKING:
    from workbench.security.shell.scan import Scan


def rated_python(scan: Scan, code: str, *, is_shown: bool) -> Rating:
    """The risk of the code; what it does is added to the parts of the scan, and it itself where no part shows it."""
    from workbench.security.python.analysis import Surroundings, parts_of  # it is loaded when there is Python to read

    def rate(command: str) -> list[Part]:
        at = len(scan.parts)
        scan.inner(command)
        found = scan.parts[at:]
        del scan.parts[at:]
        return found

    if not is_shown:
        folders = (scan.folder or scan.places.workspace,)
        fed = Part(shortened(code.strip()), "MEDIUM", "runs code", mentions=texts_of(code), folders=folders)
        scan.parts.append(fed._replace(depth=scan.depth + 1))
    parts = parts_of(code, Surroundings(scan.places, scan.folder, rate, scan.depth))
    scan.parts += [part._replace(plain=False, depth=max(part.depth, scan.depth + 1)) for part in parts]
    found = summed(parts)
    return found.risk, found.reasons[0] if found.reasons else ""
