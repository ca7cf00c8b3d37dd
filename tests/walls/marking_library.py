"""A shared library that writes a mark when it is loaded, where a hostile one would run any code."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.system_packages import found_or_installed

_SOURCE = """
#include <stdio.h>
static void mark(const char *path) {
    FILE *file = fopen(path, "a");
    if (file) { fputs("loaded\\n", file); fclose(file); }
}
__attribute__((constructor)) static void loaded(void) { mark(FIRST); mark(SECOND); }
unsigned la_version(unsigned version) { return version; }
"""


def build_marking_library(library: Path, first: Path, second: Path) -> None:
    """Build a library that appends a line to two files, each time it is loaded where they can be written."""
    compiler = found_or_installed(lambda: shutil.which("cc"), "gcc", "libc6-dev")
    library.parent.mkdir(parents=True, exist_ok=True)
    marks = [f"-D{name}={json.dumps(str(path))}" for name, path in (("FIRST", first), ("SECOND", second))]
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), *marks]
    subprocess.run(command, input=_SOURCE, text=True, check=True)
