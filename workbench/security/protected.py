"""Names of files that are more than data: what holds secrets, what runs or configures programs; for `places`."""

from __future__ import annotations


def words(text: str, between: str | None = None) -> frozenset[str]:
    """A set of words for a table."""
    return frozenset(text.split(between))


SECRET_NAMES = frozenset(
    words(
        ".netrc _netrc .npmrc .pypirc .git-credentials .pgpass .my.cnf .vault-token .htpasswd .dockercfg credentials "
        "credentials.json credentials.toml credentials.db service-account.json client_secret.json "
        "secrets.yml secrets.yaml "
        "secrets.json secrets.toml .env .bash_history .zsh_history .python_history .psql_history .mysql_history "
        ".terraformrc .boto .s3cfg wallet.dat shadow gshadow sudoers shadow- master.passwd keystore.jks "
        "terraform.tfvars terraform.tfstate login.keychain login.keychain-db auth.json token token.json"
    )
)
SECRET_BEGINNINGS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".env.", "ssh_host_")
SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".ppk", ".keychain", ".keychain-db", ".gpg", ".asc")
PUBLIC_ENDINGS = (".pub", ".example", ".sample", ".template", ".dist", ".md", ".py")
"""What is public although its name begins like a secret: `id_rsa.pub`, `.env.example`."""

SECRET_FOLDERS = frozenset(
    words(
        ".ssh .aws .gnupg .azure .kube .docker .password-store keyrings keychains gcloud .mozilla .thunderbird "
        "google-chrome chromium bravesoftware 1password bitwarden .electrum .bitcoin .config/gh"
    )
)
SECRET_SYSTEM = ("/etc/ssl/private", "/etc/sudoers.d", "/var/lib/docker", "/var/spool/cron", "/run/secrets")

CODE_FOLDERS = {
    ".git": "changes what git runs and keeps",
    ".ohw": "changes the configuration or the logs of the agent",
    ".ssh": "changes who may log in",
    ".vscode": "changes what the editor runs",
    ".idea": "changes what the editor runs",
    ".fleet": "changes what the editor runs",
    ".devcontainer": "changes what the editor runs",
    ".husky": "changes what git runs and keeps",
    ".githooks": "changes what git runs and keeps",
    ".circleci": "changes what CI runs",
    ".claude": "changes the configuration of an agent",
    ".codex": "changes the configuration of an agent",
    ".cursor": "changes the configuration of an agent",
    **dict.fromkeys(
        words(".gemini .aider .windsurf .roo .cline .continue .amazonq .qwen .opencode .agents .kiro .goose"),
        "changes the configuration of an agent",
    ),
    **dict.fromkeys(words(".run .zed .nova .vs .theia"), "changes what the editor runs"),
    **dict.fromkeys(words(".forgejo .gitea .woodpecker .buildkite .teamcity .semaphore"), "changes what CI runs"),
    ".gnupg": "changes keys",
    ".aws": "changes credentials",
    ".kube": "changes credentials",
    ".docker": "changes credentials",
    "autostart": "is started at each login",
    "launchagents": "is started at each login",
    "launchdaemons": "is started at each boot",
    "cron.d": "is started by the clock",
}
"""Folders in which each file is protected, wherever they are; compared without case."""

CODE_PATHS = {
    ".github/workflows": "changes what CI runs",
    ".github/actions": "changes what CI runs",
    ".config/ohw": "changes the configuration or the logs of the agent",
    ".config/systemd": "is started at each login",
    ".config/fish": "is run by each shell",
    ".config/git": "changes what git runs and keeps",
}

CODE_NAMES = {
    name: reason
    for reason, names in {
        "is run by each shell": ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases "
        ".profile .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession config.fish",
        "is run when the folder is entered": ".envrc .autoenv .autoenv.zsh .mise.toml mise.toml",
        "changes what git runs and keeps": ".gitconfig .git .gitmodules .lfsconfig",
        "changes what CI runs": ".gitlab-ci.yml jenkinsfile .travis.yml azure-pipelines.yml bitbucket-pipelines.yml "
        ".drone.yml .appveyor.yml appveyor.yml .woodpecker.yml .cirrus.yml cloudbuild.yaml "
        "cloudbuild.yml buildspec.yml bitrise.yml codemagic.yaml",
        "changes what an agent is told": "claude.md agents.md gemini.md .cursorrules .windsurfrules "
        ".clinerules .goosehints copilot-instructions.md .aider.conf.yml .roomodes claude.local.md",
        "changes which servers an agent starts": ".mcp.json mcp.json mcp_config.json claude_desktop_config.json",
        "changes where packages come from": ".npmrc .pypirc pip.conf .yarnrc .yarnrc.yml .condarc .gemrc",
        "changes credentials": ".netrc .git-credentials authorized_keys .pgpass",
        "is run by each start of the interpreter": "sitecustomize.py usercustomize.py .pdbrc "
        ".pythonrc .pythonstartup "
        ".irbrc .rprofile .lldbinit .gdbinit",
        "is run by the editor": ".vimrc .exrc .nvimrc .nvim.lua .lvimrc init.vim .emacs .dir-locals.el .editorrc",
        "is run by git at each commit": ".pre-commit-config.yaml lefthook.yml",
    }.items()
    for name in sorted(words(names))
}

CODE_ENDINGS = {
    ".pth": "is run by each start of the interpreter",
    ".code-workspace": "changes what the editor runs",
    ".sublime-project": "changes what the editor runs",
}

MADE_AGAIN = frozenset(
    words(
        "node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox "
        ".cache .parcel-cache .next "
        ".nuxt .turbo .gradle build dist target out coverage htmlcov .coverage .venv venv env .eggs obj tmp temp "
        ".nyc_output .import_linter_cache cmake-build-debug _build .sass-cache .terraform "
        "package-lock.json yarn.lock pnpm-lock.yaml uv.lock poetry.lock"
    )
)
"""Folders that a build or an install makes again."""
MADE_AGAIN_ENDINGS = (".pyc", ".pyo", ".o", ".log", ".tmp", ".egg-info", ".class", ".bak", ".orig", ".swp", ".cache")
