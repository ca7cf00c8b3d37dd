"""Finds files with secrets outside the workspace, which the sandbox hides."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workbench.risk.protected_names import SECRET_SYSTEM, is_secret

_HOME_DIRECTORIES: Final = ("", ".config", ".local/share", ".local/state", ".cache", "snap", ".var/app", "Library")
"""Directories in the home directory whose entries are recognized as secrets by their names."""
_SYSTEM_FILES: Final = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/root")
_OF_PROGRAMS: Final = (
    *(".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/doctl", ".config/heroku"),
    *(
        ".local/share/keyrings",
        ".local/share/kwalletd",
        ".local/share/pass",
        ".cargo/credentials.toml",
        ".cargo/credentials",
    ),
    *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
    *(".config/github-copilot", ".config/BraveSoftware", ".config/vivaldi", ".config/microsoft-edge", ".config/opera"),
    *(".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".config/git/credentials", ".kaggle", ".age"),
    *(".config/containers/auth.json", ".config/glab-cli", ".config/hcloud", ".config/fly", ".fly", ".config/stripe"),
    *(".config/ngrok", ".config/.wrangler", ".wrangler", ".config/Slack", ".config/Signal", ".config/discord"),
    *(".config/Code/User/globalStorage", ".config/Cursor/User/globalStorage", ".config/VSCodium/User/globalStorage"),
    *(".config/syncthing", ".local/state/syncthing", ".config/age", ".config/netlify", ".config/vercel", ".vercel"),
    *(
        ".config/scaleway",
        ".config/linode-cli",
        ".config/configstore",
        ".config/rclone",
        ".config/keybase",
        ".config/tea",
    ),
    *(".databrickscfg", ".authinfo", ".authinfo.gpg", ".cloudflared", ".msmtprc", ".fetchmailrc", ".mbsyncrc"),
    *(".gradle/gradle.properties", ".ivy2/.credentials", ".sbt/.credentials", ".config/pypoetry", ".snowflake", ".oci"),
    *(".config/anthropic", ".config/openai", ".config/goose", ".aider.conf.yml", ".local/share/goose", ".npm/_auth"),
    *(".m2/settings.xml", ".gem/credentials", ".config/pypoetry/auth.toml", ".composer/auth.json", ".terraform.d"),
)


def secret_paths(home: Path) -> list[str]:
    """Return the real paths of existing files and directories with secrets, of the user and of the system."""
    own = str(home)
    result = {*_judged(own), *(f"{own}/{each}" for each in _OF_PROGRAMS), *_SYSTEM_FILES, *SECRET_SYSTEM}
    result = {path for path in result if os.path.lexists(path) and not f"{own}/".startswith(f"{path}/")}
    return sorted({os.path.realpath(path) for path in result})


def _judged(home: str) -> Iterator[str]:
    for parent in _HOME_DIRECTORIES:
        try:
            with os.scandir(os.path.join(home, parent)) as entries:  # noqa: PTH118 - strings
                yield from (entry.path for entry in entries if is_secret(entry.path))
        except OSError:
            continue
