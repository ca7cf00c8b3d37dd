"""Which caches of package managers commands in the sandbox may write, and where the others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.config.caches import CACHES
from workbench.sandbox.caches import cache_variables, writable_caches


def test_a_cache_that_may_be_written_stays_where_it_is_and_the_others_are_moved(tmp_path: Path):
    (tmp_path / ".npm").mkdir()
    variables = cache_variables(tmp_path, ["npm", "uv"], "/tmp/x", {})
    assert "npm_config_cache" not in variables
    assert variables["UV_CACHE_DIR"] == "/tmp/x/caches/uv", "it does not exist"
    assert variables["PIP_CACHE_DIR"] == "/tmp/x/caches/pip"
    assert writable_caches(tmp_path, ["npm", "uv"], {}) == [str(tmp_path / ".npm")]


@pytest.mark.parametrize(
    ("name", "variable", "directory"), [("uv", "UV_CACHE_DIR", "here"), ("pnpm", "PNPM_HOME", "here/store")]
)
def test_the_users_own_variable_names_the_directory(tmp_path: Path, name: str, variable: str, directory: str):
    (tmp_path / directory).mkdir(parents=True)
    env = {variable: str(tmp_path / "here")}
    assert writable_caches(tmp_path, [name], env) == [str(tmp_path / directory)]
    assert variable not in cache_variables(tmp_path, [name], "/tmp/x", env)


def test_no_variable_is_one_that_npm_warns_about(tmp_path: Path):
    variables = cache_variables(tmp_path, [], "/tmp/x", {})
    assert {name for name in variables if name.startswith("npm_config_")} == {"npm_config_cache"}
    assert all("/" not in name for name in variables)
    assert len(variables) == sum(bool(variable) for _, variable in CACHES.values())
