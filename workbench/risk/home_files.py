"""Files in the home directory that a shell, desktop or program reads at its start, and that can make it run code.

They are protected in every mode, and compared before and after each action.
"""

from __future__ import annotations

from workbench.risk.reason import BY_PROGRAM, BY_SHELL, FOR_BUILD, FOR_EDITOR, FOR_GIT, Reason, Trait


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BY_TERMINAL = Reason("is run by the terminal", Trait.RUNS)
PROGRAM_SETTINGS = {
    path: reason
    for reason, paths in {
        Reason(
            "is started by the desktop", Trait.RUNS
        ): ".config/i3 .config/sway .config/hypr .config/bspwm .config/sxhkd .config/openbox "
        ".config/awesome .config/qtile .config/plasma-workspace .config/autostart-scripts .xmonad "
        ".local/share/dbus-1 .local/share/systemd .local/share/nautilus/scripts",
        _BY_TERMINAL: ".config/wezterm .config/kitty .config/alacritty .config/ghostty .config/foot "
        ".config/zellij .config/powershell .config/xonsh",
        BY_PROGRAM: ".config/ranger .config/lf .config/vifm .config/yazi .config/mc "
        ".config/lazygit .config/tig .config/broot .config/mpv .config/gh .config/mutt .config/neomutt .mutt/muttrc "
        ".config/bat .erlang .octaverc .gnuplot .latexmkrc .selected_editor .subversion/config .manpath",
        FOR_GIT: ".config/hg .config/jj .jj/repo/config.toml .jj/repo/config",
        FOR_BUILD: ".config/nix .config/nixpkgs .config/home-manager .gradle/gradle.properties "
        ".gradle/init.gradle.kts .cabal/config .stack/config.yaml .lein/profiles.clj .config/ccache",
        "changes where packages come from": ".config/composer .config/pypoetry .config/pdm .config/pnpm .config/rclone",
        FOR_EDITOR: ".local/share/nvim/site .vscode/extensions .config/cursor .config/vscodium "
        ".config/windsurf .emacs.el",
        "changes the configuration of an agent": ".config/goose",
        BY_SHELL: ".config/starship.toml .cargo/env",
    }.items()
    for path in sorted(_words(paths))
}
"""Paths below a home directory, each standing for everything below it too, with reasons; compared ignoring case."""

HOME_FILES = _words(
    ".terraformrc .bundle/config .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .kshrc "
    ".cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession .gitconfig .git-credentials .netrc .npmrc .yarnrc "
    ".yarnrc.yml .pypirc .condarc .gemrc .curlrc .wgetrc .tmux.conf .screenrc .vimrc .exrc .nanorc .emacs .pdbrc "
    ".pythonrc .irbrc .gdbinit .lldbinit .sqliterc .psqlrc .mcp.json .claude.json .envrc .direnvrc .pgpass .hgrc "
    ".claude/settings.json .claude/CLAUDE.md .codex/config.toml .codex/AGENTS.md .gemini/settings.json "
    ".cursor/mcp.json .cargo/config.toml .cargo/config .cargo/env .pip/pip.conf .m2/settings.xml "
    ".gradle/init.gradle .docker/config.json .kube/config .aws/config .aws/credentials .gvimrc .vim/vimrc "
    ".vim/gvimrc .emacs.el .emacs.d/init.el .emacs.d/early-init.el .julia/config/startup.jl .Rprofile .login "
    ".logout .byobu/.tmux.conf .windsurf/mcp.json .codeium/windsurf/mcp_config.json .gnupg/gpg.conf "
    ".gnupg/gpg-agent.conf .xsessionrc .pam_environment .pryrc .mkshrc .xonshrc .ghci .ocamlinit .Renviron "
    ".ideavimrc .zshrc .zshenv .zprofile .zlogin .zlogout .ansible.cfg .antrc .asdfrc .cabal/config .duckdbrc "
    ".forward .gradle/gradle.properties .gradle/init.gradle.kts .guile .lein/profiles.clj .lessfilter .lesskey "
    ".lftprc .mailcap .mavenrc .mongorc.js .mongoshrc.js .msmtprc .mutt/muttrc .muttrc .perldb .pythonrc.py "
    ".rpmmacros .sbclrc .stack/config.yaml .vscode/extensions/extensions.json .wezterm.lua .xbindkeysrc "
    ".xmonad/xmonad.hs .erlang .octaverc .gnuplot .latexmkrc .selected_editor .subversion/config .manpath"
)
"""Protected files below the home directory."""
CONFIG_FILES = _words(
    "nvim/init.lua nvim/init.vim emacs/init.el emacs/early-init.el tmux/tmux.conf helix/config.toml "
    "helix/languages.toml zed/settings.json zed/tasks.json nushell/config.nu nushell/env.nu zsh/.zshrc "
    "zsh/.zshenv zsh/.zprofile zsh/.zlogin bash/bashrc containers/registries.conf opencode/opencode.json "
    "goose/config.yaml kak/kakrc micro/settings.json micro/init.lua xonsh/rc.xsh kitty/kitty.conf "
    "alacritty/alacritty.toml starship.toml awesome/rc.lua broot/conf.toml bspwm/bspwmrc composer/config.json "
    "foot/foot.ini gh/config.yml ghostty/config hg/hgrc home-manager/home.nix hypr/hyprland.conf i3/config "
    "jj/config.toml lazygit/config.yml lf/lfrc mc/mc.ext.ini mc/menu mpv/mpv.conf mutt/muttrc neomutt/neomuttrc "
    "nix/nix.conf nixpkgs/config.nix openbox/autostart pdm/config.toml pnpm/rc "
    "powershell/Microsoft.PowerShell_profile.ps1 powershell/profile.ps1 pypoetry/config.toml qtile/config.py "
    "ranger/commands.py ranger/rc.conf ranger/rifle.conf rclone/rclone.conf sway/config sxhkd/sxhkdrc tig/config "
    "bat/config ccache/ccache.conf vifm/vifmrc wezterm/wezterm.lua yazi/init.lua yazi/yazi.toml zellij/config.kdl "
    + " ".join(
        f"{code}/User/{name}"
        for code in ("Code", "VSCodium", "Cursor", "Windsurf")
        for name in ("settings.json", "tasks.json", "mcp.json", "keybindings.json")
    )
)
"""Protected files below the configuration directory."""
CONFIG_DIRECTORIES = _words(
    "ohw git systemd/user autostart environment.d fish pip uv direnv mise autostart-scripts mpv/scripts "
    "nvim/after nvim/autoload nvim/ftplugin nvim/lua nvim/plugin plasma-workspace/env"
)
"""Directories below the configuration directory whose files are all protected."""
HOME_DIRECTORIES = _words(
    ".ssh .bashrc.d .zshrc.d .zsh .oh-my-zsh/custom .local/share/applications .ipython/profile_default/startup "
    ".jupyter .vim/plugin .vim/autoload .vim/after .docker/cli-plugins .gradle/init.d "
    ".local/share/dbus-1/services .local/share/nautilus/scripts .local/share/nvim/site/plugin "
    ".local/share/systemd/user Library/LaunchAgents"
)
"""Directories below the home directory whose files are all protected."""
ZSH = _words(".zshrc .zshenv .zprofile .zlogin .zlogout")
"""Files that zsh runs from the directory named by `ZDOTDIR`."""
TOOLCHAINS = _words(
    ".local/share/uv/python .local/share/mise/installs .pyenv/versions .rustup/toolchains .nvm/versions .asdf/installs "
    ".sdkman/candidates .rbenv/versions"
)
"""Directories below home that contain programs of published releases; virtual environments link to these."""
