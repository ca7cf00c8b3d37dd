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
        words(
            ".gemini .aider .windsurf .roo .cline .continue .amazonq .qwen .opencode .agents .kiro .goose .crush "
            ".junie .trae .kilocode .augment .openhands .amp .copilot"
        ),
        "changes the configuration of an agent",
    ),
    **dict.fromkeys(words(".run .zed .nova .vs .theia .vim .nvim .helix .emacs.d"), "changes what the editor runs"),
    **dict.fromkeys(words(".git-hooks .lefthook .hg"), "changes what git runs and keeps"),
    **dict.fromkeys(words(".bashrc.d .zshrc.d .zsh .oh-my-zsh"), "is run by each shell"),
    **dict.fromkeys(words(".ipython .jupyter"), "is run by each start of the interpreter"),
    ".mvn": "changes what the build runs",
    "init.d": "is started at each boot, or by each build",
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
    ".github/agents": "changes what an agent is told",
    ".github/instructions": "changes what an agent is told",
    ".github/prompts": "changes what an agent is told",
    ".github/chatmodes": "changes what an agent is told",
    **dict.fromkeys(
        (".cargo/config.toml", ".cargo/config", ".bundle/config", "gradle/wrapper", ".gradle/init.gradle"),
        "changes what the build runs",
    ),
    **dict.fromkeys(
        (".m2/settings.xml", ".config/pip", ".pip/pip.conf", ".config/uv", ".config/containers", ".config/nuget"),
        "changes where packages come from",
    ),
    **dict.fromkeys((".yarn/releases", ".yarn/plugins"), "is run by the package manager itself"),
    **dict.fromkeys(
        words(".config/nvim .config/helix .config/zed .config/code .config/micro .config/kak .config/emacs"),
        "changes what the editor runs",
    ),
    **dict.fromkeys(
        words(
            ".config/zsh .config/bash .config/nushell .config/tmux .config/environment.d .config/mise .config/direnv"
        ),
        "is run by each shell",
    ),
    ".local/share/applications": "is started by the desktop",
    ".julia/config": "is run by each start of the interpreter",
}

CODE_NAMES = {
    name: reason
    for reason, names in {
        "is run by each shell": ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases "
        ".profile .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession config.fish "
        ".login .logout .zimrc .zshrc.local .bashrc.local .tmux.conf .tmux.conf.local .screenrc .byobu",
        "is run when the folder is entered": ".envrc .direnvrc .autoenv .autoenv.zsh .mise.toml mise.toml "
        ".mise.local.toml mise.local.toml .rtx.toml .localrc",
        "changes what git runs and keeps": ".gitconfig .git .gitmodules .lfsconfig .hgrc",
        "changes what CI runs": ".gitlab-ci.yml jenkinsfile .travis.yml azure-pipelines.yml bitbucket-pipelines.yml "
        ".drone.yml .appveyor.yml appveyor.yml .woodpecker.yml .cirrus.yml cloudbuild.yaml "
        "cloudbuild.yml buildspec.yml bitrise.yml codemagic.yaml .gitlab-ci.yaml .travis.yaml .drone.yaml "
        ".cirrus.yaml .woodpecker.yaml .appveyor.yaml azure-pipelines.yaml bitbucket-pipelines.yaml",
        "changes what an agent is told": "claude.md agents.md gemini.md .cursorrules .windsurfrules "
        ".clinerules .goosehints copilot-instructions.md .aider.conf.yml .roomodes claude.local.md "
        "agents.override.md qwen.md warp.md codex.md .augment-guidelines .goosehints.local .aiderignore",
        "changes which servers an agent starts": ".mcp.json mcp.json mcp_config.json claude_desktop_config.json "
        ".claude.json opencode.json opencode.jsonc .opencode.json crush.json .crush.json",
        "changes where packages come from": ".npmrc .pypirc pip.conf pip.ini .yarnrc .yarnrc.yml .condarc .gemrc "
        "nuget.config .pnpmfile.cjs pnpmfile.cjs .pnpmfile.js bunfig.toml .bunfig.toml uv.toml",
        "changes what the build runs": ".bazelrc .jvmopts .sbtopts init.gradle gradle-wrapper.properties .buckconfig",
        "changes what is sent or run with each download": ".curlrc .wgetrc _curlrc",
        "changes credentials": ".netrc .git-credentials authorized_keys .pgpass",
        "is run by each start of the interpreter": "sitecustomize.py usercustomize.py .pdbrc "
        ".pythonrc .pythonstartup "
        ".irbrc .pryrc .rprofile .renviron .lldbinit .gdbinit .ghci .ocamlinit .sqliterc .psqlrc .radare2rc "
        "ipython_config.py jupyter_notebook_config.py jupyter_server_config.py pyvenv.cfg",
        "is run by the editor": ".vimrc _vimrc .gvimrc .exrc .nvimrc .nvim.lua .lvimrc init.vim .emacs .dir-locals.el "
        ".editorrc .ideavimrc .kakrc .nanorc .spacemacs .vsls.json",
        "changes what the editor runs": ".devcontainer.json devcontainer.json",
        "is run by git at each commit": ".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml "
        ".simple-git-hooks.json lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml "
        ".lefthook.toml lefthook-local.yml lefthook-local.yaml .lefthook-local.yml .huskyrc",
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

HOME_FILES = words(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout "
    ".kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession .gitconfig .git-credentials .netrc .npmrc .yarnrc "
    ".yarnrc.yml .pypirc .condarc .gemrc .curlrc .wgetrc .tmux.conf .screenrc .vimrc .exrc .nanorc .emacs .pdbrc "
    ".pythonrc .irbrc .gdbinit .lldbinit .sqliterc .psqlrc .mcp.json .claude.json .envrc .direnvrc .pgpass .hgrc "
    ".claude/settings.json .claude/CLAUDE.md .codex/config.toml .codex/AGENTS.md .gemini/settings.json "
    ".cursor/mcp.json .cargo/config.toml .cargo/config .cargo/env .pip/pip.conf .m2/settings.xml "
    ".gradle/init.gradle .docker/config.json .kube/config .aws/config .aws/credentials .gvimrc .vim/vimrc "
    ".vim/gvimrc .emacs.el .emacs.d/init.el .emacs.d/early-init.el .julia/config/startup.jl .Rprofile .login .logout "
    ".byobu/.tmux.conf .windsurf/mcp.json .codeium/windsurf/mcp_config.json .gnupg/gpg.conf .gnupg/gpg-agent.conf"
)
CONFIG_FILES = words(
    "nvim/init.lua nvim/init.vim emacs/init.el emacs/early-init.el tmux/tmux.conf helix/config.toml "
    "helix/languages.toml zed/settings.json zed/tasks.json nushell/config.nu nushell/env.nu zsh/.zshrc zsh/.zshenv "
    "zsh/.zprofile zsh/.zlogin bash/bashrc containers/registries.conf opencode/opencode.json goose/config.yaml "
    "kak/kakrc micro/settings.json micro/init.lua "
    + " ".join(
        f"{code}/User/{name}"
        for code in ("Code", "VSCodium", "Cursor", "Windsurf")
        for name in ("settings.json", "tasks.json", "mcp.json", "keybindings.json")
    )
)
"""Files below the directory of configurations."""
CONFIG_DIRECTORIES = words("ohw git systemd/user autostart environment.d fish pip uv direnv mise")
HOME_DIRECTORIES = words(".ssh .bashrc.d .zshrc.d .local/share/applications .ipython/profile_default/startup .jupyter")
ZSH = words(".zshrc .zshenv .zprofile .zlogin .zlogout")
