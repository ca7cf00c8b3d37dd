"""Names of files that tests and other tools write as results, and that no program loads unless told to.

An approval is bound to such a file only if the command, or a file that it runs, names it.
"""

from __future__ import annotations

from typing import Final

from workbench.lazy_pattern import lazy_pattern

_MORE: Final = r"(?:[-_.](?:final|summary|reports?|results?|unit|integration|e2e|merged|total|\d+))*"
"""Words that may be added to the name of a result; other words, such as `config`, may belong to settings."""
_TOOLS: Final = (
    r"(?:tests?|unit|integration|e2e|pytest|jest|vitest|mocha|phpunit|cypress|playwright|coverage|lint|eslint|stylelint|"
    r"ruff|flake8|pylint|mypy|pyright|bandit|semgrep|trivy|phpstan|rubocop|safety|audit|bench(?:mark)?s?|"
    r"gl-[a-z-]{3,20}|dependency-check|mutation)"
)
_ANYWHERE: Final = lazy_pattern(
    rf"coverage{_MORE}\.(?:xml|json|lcov|info|html?|txt|out)|(?:cobertura|clover|jacoco|nosetests|junit){_MORE}\.xml"
    rf"|TEST-[\w.$-]+\.xml|lcov(?:\.\w+)?\.info|{_TOOLS}[-_](?:reports?|results?){_MORE}\.(?:xml|json|html?|txt)"
    r"|\.coverage(?:\.[\w.-]+\.(?:pid)?\d+\.\w+)?|core\.\d+"
    r"|\.(?:eslintcache|stylelintcache|prettiercache|rspec_status|phpunit\.result\.cache|php-cs-fixer\.cache)"
    r"|.+\.(?:sarif|lcov|tsbuildinfo|prof|pstats|cpuprofile|heapprofile|heapsnapshot|profraw|profdata|gcda|gcno|gcov|trx)"
)
_WHERE_STARTED: Final = lazy_pattern(
    r"reports?\.(?:xml|json|html?|txt)|results?\.(?:xml|html?|txt)|pytest\.(?:xml|html)"
    r"|(?:(?:test|build|run|lint|pytest|npm)[-_]?)?(?:output|out|logs?|stdout|stderr|errors?|trace)\.txt"
)
"""Names that denote results only in the directory in which a program starts; elsewhere they may be anything."""
_DIRECTORIES: Final = (
    "/htmlcov/", "/lcov-report/", "/.nyc_output/", "/test-results/", "/playwright-report/", "/allure-results/",
    "/allure-report/", "/surefire-reports/", "/failsafe-reports/",
)  # fmt: skip
"""Directories of results; data files in them are results, whatever their names."""
_DATA: Final = (".json", ".xml", ".html", ".txt", ".css", ".info")
_SCRIPTS: Final = lazy_pattern(r"coverage_html(?:_cb_[0-9a-f]+)?\.js|(?:prettify|sorter|block-navigation)\.js")
"""Scripts of coverage report pages."""


def is_output(path: str, start: str) -> bool:
    """Return whether a file's name is that of a result; `start` is the directory in which the program starts."""
    directory, _, name = path.rpartition("/")
    if _ANYWHERE.fullmatch(name):
        return True
    if directory == start:
        return bool(_WHERE_STARTED.fullmatch(name))
    is_result = any(each in path.removeprefix(start) for each in _DIRECTORIES)
    return is_result and (name.endswith(_DATA) or bool(_SCRIPTS.fullmatch(name)))
