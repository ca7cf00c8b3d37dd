"""The caches of package managers, which stay writable in the sandbox so that nothing is downloaded twice."""

from __future__ import annotations

CACHES = {
    "uv": (".cache/uv", "UV_CACHE_DIR"),
    "pip": (".cache/pip", "PIP_CACHE_DIR"),
    "npm": (".npm", "npm_config_cache"),
    "yarn": (".cache/yarn", "YARN_CACHE_FOLDER"),
    "pnpm": (".local/share/pnpm/store", "PNPM_HOME/store"),
    "cargo": (".cargo/registry", ""),
    "go": (".cache/go-build", "GOCACHE"),
    "go-modules": ("go/pkg/mod", "GOMODCACHE"),
    "pre-commit": (".cache/pre-commit", "PRE_COMMIT_HOME"),
    "huggingface": (".cache/huggingface", "HF_HOME"),
}
"""By the name that the setting `sandbox_caches` uses: a directory below the home directory, and the variable that names
another one, or with a slash the directory above it (empty if there is none). npm warns about variables of pnpm's that
are named like its own.
"""
