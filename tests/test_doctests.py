"""The examples in the docstrings of the public packages run unchanged."""

import doctest
from importlib import import_module

import pytest

from tests.sandbox import Sandbox
from workbench.tools import unregister_tool


@pytest.mark.parametrize("package", ["workbench.tools"])
def test_examples_in_docstrings_run(package: str, local_sandbox: Sandbox):
    module = import_module(package)
    results = doctest.testmod(module)
    unregister_tool("shell")
    assert results.attempted >= 5
    assert results.failed == 0
