"""Names of files that usually hold secrets or decide which code runs."""

from __future__ import annotations

from functools import lru_cache

from workbench.risk.home_files import PROGRAM_SETTINGS
from workbench.risk.reason import (
    BY_COMMIT,
    BY_EDITOR,
    BY_INTERPRETER,
    BY_PROGRAM,
    BY_SHELL,
    FOR_BUILD,
    FOR_EDITOR,
    FOR_GIT,
    IN_DIRECTORY,
    Reason,
    Trait,
)

_REMEMBERED = 2_048
SECRET_NAMES = frozenset(
    [
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".pgpass",
        ".my.cnf",
        ".vault-token",
        ".htpasswd",
        ".dockercfg",
        "credentials",
        "credentials.json",
        "credentials.toml",
        "credentials.db",
        "service-account.json",
        "client_secret.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
        ".env",
        ".bash_history",
        ".zsh_history",
        ".python_history",
        ".psql_history",
        ".mysql_history",
        ".terraformrc",
        ".boto",
        ".s3cfg",
        "wallet.dat",
        "shadow",
        "gshadow",
        "sudoers",
        "shadow-",
        "master.passwd",
        "keystore.jks",
        "wp-config.php",
        "kubeconfig",
        "k3s.yaml",
        "terraform.tfvars",
        "terraform.tfstate",
        "login.keychain",
        "login.keychain-db",
        "auth.json",
        "token",
        "token.json",
    ]
)
SECRET_BEGINNINGS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".env.", "ssh_host_")
SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".ppk", ".keychain", ".keychain-db", ".gpg", ".asc")
PUBLIC_ENDINGS = (".pub", ".example", ".sample", ".template", ".dist", ".md", ".py")
"""Endings of files that are public although their names start like a secret's: `id_rsa.pub`, `.env.example`."""
SECRET_DIRECTORIES = frozenset(
    [
        ".ssh",
        ".aws",
        ".gnupg",
        ".azure",
        ".kube",
        ".docker",
        ".password-store",
        "keyrings",
        "keychains",
        "gcloud",
        ".mozilla",
        ".thunderbird",
        "google-chrome",
        "chromium",
        "bravesoftware",
        "1password",
        "bitwarden",
        ".electrum",
        ".bitcoin",
        ".config/gh",
    ]
)
SECRET_SYSTEM = (
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/var/lib/docker",
    "/var/spool/cron",
    "/run/secrets",
    "/etc/kubernetes",
)
CODE_DIRECTORIES = {
    ".ohw": "changes the configuration or the logs of the agent",
    ".ssh": "changes who may log in",
    ".circleci": "modifies CI configuration",
    ".claude": "changes the configuration of an agent",
    ".codex": "changes the configuration of an agent",
    ".cursor": "changes the configuration of an agent",
    **dict.fromkeys(
        [
            ".gemini",
            ".aider",
            ".windsurf",
            ".roo",
            ".cline",
            ".continue",
            ".amazonq",
            ".qwen",
            ".opencode",
            ".agents",
            ".kiro",
            ".goose",
            ".crush",
            ".junie",
            ".trae",
            ".kilocode",
            ".augment",
            ".openhands",
            ".amp",
            ".copilot",
        ],
        "changes the configuration of an agent",
    ),
    **dict.fromkeys(
        [
            ".vscode",
            ".idea",
            ".fleet",
            ".devcontainer",
            ".run",
            ".zed",
            ".nova",
            ".vs",
            ".theia",
            ".vim",
            ".nvim",
            ".helix",
            ".emacs.d",
        ],
        FOR_EDITOR,
    ),
    **dict.fromkeys([".git", ".husky", ".githooks", ".git-hooks", ".lefthook", ".hg"], FOR_GIT),
    **dict.fromkeys([".bashrc.d", ".zshrc.d", ".zsh", ".oh-my-zsh"], BY_SHELL),
    **dict.fromkeys([".ipython", ".jupyter"], BY_INTERPRETER),
    ".mvn": FOR_BUILD,
    "init.d": Reason("is started at each boot, or by each build", Trait.RUNS),
    **dict.fromkeys(
        [".forgejo", ".gitea", ".woodpecker", ".buildkite", ".teamcity", ".semaphore"], "modifies CI configuration"
    ),
    ".gnupg": "changes keys",
    ".aws": "changes credentials",
    ".kube": "changes credentials",
    ".docker": "changes credentials",
    "autostart": Reason("is started at each login", Trait.RUNS),
    "launchagents": Reason("is started at each login", Trait.RUNS),
    "launchdaemons": Reason("is started at each boot", Trait.RUNS),
    "cron.d": Reason("runs on a schedule (cron)", Trait.RUNS),
}
"""Directories whose files are all protected, wherever such a directory is; compared ignoring case."""
CODE_PATHS = {
    ".github/workflows": "modifies CI configuration",
    ".github/actions": "modifies CI configuration",
    ".config/ohw": "changes the configuration or the logs of the agent",
    ".local/share/ohw": "changes the records of the agent, such as its sessions and what is approved",
    ".local/state/ohw": "changes the configuration or the logs of the agent",
    ".config/systemd": Reason("is started at each login", Trait.RUNS),
    ".config/fish": BY_SHELL,
    ".config/git": FOR_GIT,
    ".github/agents": "changes an agent's instructions",
    ".github/instructions": "changes an agent's instructions",
    ".github/prompts": "changes an agent's instructions",
    ".github/chatmodes": "changes an agent's instructions",
    **dict.fromkeys(
        (".cargo/config.toml", ".cargo/config", ".bundle/config", "gradle/wrapper", ".gradle/init.gradle"),
        FOR_BUILD,
    ),
    **dict.fromkeys(
        (".m2/settings.xml", ".config/pip", ".pip/pip.conf", ".config/uv", ".config/containers", ".config/nuget"),
        "changes where packages come from",
    ),
    **dict.fromkeys((".yarn/releases", ".yarn/plugins"), Reason("is run by the package manager itself", Trait.RUNS)),
    **dict.fromkeys(
        [
            ".config/nvim",
            ".config/helix",
            ".config/zed",
            ".config/code",
            ".config/micro",
            ".config/kak",
            ".config/emacs",
        ],
        FOR_EDITOR,
    ),
    **dict.fromkeys(
        [
            ".config/zsh",
            ".config/bash",
            ".config/nushell",
            ".config/tmux",
            ".config/environment.d",
            ".config/mise",
            ".config/direnv",
        ],
        BY_SHELL,
    ),
    ".local/share/applications": Reason("is started by the desktop", Trait.RUNS),
    **dict.fromkeys(
        [
            ".local/bin",
            ".cargo/bin",
            ".pyenv/shims",
            ".rbenv/shims",
            ".asdf/shims",
            ".volta/bin",
            ".bun/bin",
            ".deno/bin",
            ".npm-global/bin",
        ],
        "is found by each shell before the programs of the system",
    ),
    ".julia/config": BY_INTERPRETER,
    **PROGRAM_SETTINGS,
}
CODE_NAMES = {
    name: reason
    for reason, names in {
        BY_SHELL: ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases "
        ".profile .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession config.fish "
        ".login .logout .zimrc .zshrc.local .bashrc.local .tmux.conf .tmux.conf.local .screenrc .byobu "
        ".xsessionrc .pam_environment .mkshrc .xonshrc rc.xsh .xbindkeysrc .wezterm.lua",
        BY_PROGRAM: ".lessfilter .lesskey .mailcap .forward .rpmmacros .muttrc "
        ".msmtprc "
        ".mongorc.js .mongoshrc.js .terraformrc .ansible.cfg .asdfrc .antrc .mavenrc .lftprc .duckdbrc",
        IN_DIRECTORY: ".envrc .direnvrc .autoenv .autoenv.zsh .mise.toml mise.toml "
        ".mise.local.toml mise.local.toml .rtx.toml .localrc",
        FOR_GIT: ".gitconfig .git .gitmodules .lfsconfig .hgrc",
        "modifies CI configuration": ".gitlab-ci.yml jenkinsfile .travis.yml azure-pipelines.yml "
        "bitbucket-pipelines.yml "
        ".drone.yml .appveyor.yml appveyor.yml .woodpecker.yml .cirrus.yml cloudbuild.yaml "
        "cloudbuild.yml buildspec.yml bitrise.yml codemagic.yaml .gitlab-ci.yaml .travis.yaml .drone.yaml "
        ".cirrus.yaml .woodpecker.yaml .appveyor.yaml azure-pipelines.yaml bitbucket-pipelines.yaml",
        "changes an agent's instructions": "claude.md agents.md gemini.md .cursorrules .windsurfrules "
        ".clinerules .goosehints copilot-instructions.md .aider.conf.yml .roomodes claude.local.md "
        "agents.override.md qwen.md warp.md codex.md .augment-guidelines .goosehints.local .aiderignore",
        Reason(
            "changes which servers an agent starts", Trait.RUNS
        ): ".mcp.json mcp.json mcp_config.json claude_desktop_config.json "
        ".claude.json opencode.json opencode.jsonc .opencode.json crush.json .crush.json",
        "changes where packages come from": ".npmrc .pypirc pip.conf pip.ini .yarnrc .yarnrc.yml .condarc .gemrc "
        "nuget.config .pnpmfile.cjs pnpmfile.cjs .pnpmfile.js bunfig.toml .bunfig.toml uv.toml",
        FOR_BUILD: ".bazelrc .jvmopts .sbtopts init.gradle gradle-wrapper.properties .buckconfig",
        Reason("changes what is sent or run with each download", Trait.RUNS): ".curlrc .wgetrc _curlrc",
        "changes credentials": ".netrc .git-credentials authorized_keys .pgpass",
        BY_INTERPRETER: "sitecustomize.py usercustomize.py .pdbrc "
        ".pythonrc .pythonrc.py .pythonstartup .sbclrc .guile .perldb "
        ".irbrc .pryrc .rprofile .renviron .lldbinit .gdbinit .ghci .ocamlinit .sqliterc .psqlrc .radare2rc "
        "ipython_config.py jupyter_notebook_config.py jupyter_server_config.py pyvenv.cfg",
        BY_EDITOR: ".vimrc _vimrc .gvimrc .exrc .nvimrc .nvim.lua .lvimrc init.vim .emacs .dir-locals.el "
        ".editorrc .ideavimrc .kakrc .nanorc .spacemacs .vsls.json",
        FOR_EDITOR: ".devcontainer.json devcontainer.json .gitpod.yml .gitpod.yaml",
        BY_COMMIT: ".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml "
        ".simple-git-hooks.json lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml "
        ".lefthook.toml lefthook-local.yml lefthook-local.yaml .lefthook-local.yml .huskyrc",
    }.items()
    for name in sorted(names.split())
}
CODE_ENDINGS = {
    ".pth": BY_INTERPRETER,
    ".code-workspace": FOR_EDITOR,
    ".sublime-project": FOR_EDITOR,
}
_CODE_DIRECTORIES = frozenset(CODE_DIRECTORIES)
CODE_BEGINNINGS = frozenset(path.partition("/")[0] for path in CODE_PATHS)
"""The first directory of each protected path; if it is a link, the directory itself is protected."""
_CODE_ENDINGS = tuple(CODE_ENDINGS)


@lru_cache(maxsize=_REMEMBERED)
def is_secret(path: str) -> bool:
    """Return whether a path, by its name, usually holds keys, tokens or passwords, or is a directory of such files."""
    folded = path.casefold()
    name = folded.rstrip("/").rpartition("/")[2]
    if name in SECRET_NAMES and not name.endswith(PUBLIC_ENDINGS):
        return not path.startswith("/usr/")
    if name.startswith(SECRET_BEGINNINGS) and not name.endswith(PUBLIC_ENDINGS):
        return True
    if name.endswith(SECRET_ENDINGS):
        return not path.startswith(("/usr/", "/etc/ssl/certs", "/etc/apt"))
    if not SECRET_DIRECTORIES.isdisjoint(folded.split("/")) or "/.config/gh" in folded:
        return not name.endswith((".pub", "known_hosts")) and not folded.startswith("/usr/")
    return folded.startswith(SECRET_SYSTEM)


@lru_cache(maxsize=_REMEMBERED)
def code_reason(path: str) -> str:
    """Return why a path is protected by its name; empty if it is not protected."""
    folded = path.casefold()
    parts = folded.split("/")
    if not _CODE_DIRECTORIES.isdisjoint(parts):
        return next(CODE_DIRECTORIES[part] for part in parts if part in CODE_DIRECTORIES)
    if parts[-1] in CODE_NAMES:
        return CODE_NAMES[parts[-1]]
    for piece, reason in CODE_PATHS.items() if not CODE_BEGINNINGS.isdisjoint(parts) else ():
        if f"/{piece}/" in f"{folded}/":
            return reason
    if not folded.endswith(_CODE_ENDINGS):
        return ""
    return next((reason for ending, reason in CODE_ENDINGS.items() if folded.endswith(ending)), "")
