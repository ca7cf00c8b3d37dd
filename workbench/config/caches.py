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
"""Each cache, by its name in the setting `sandbox_caches`: its path below the home directory, and the environment
variable that replaces this path (empty if there is none). With a slash, as in `PNPM_HOME/store`, the variable is the
path's parent. PNPM_HOME is used because npm warns about pnpm's `npm_config_*` variables.
"""
