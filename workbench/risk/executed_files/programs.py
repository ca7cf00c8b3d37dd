"""Tables of the files that programs read as code: scripts among their arguments, and files that they look for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files.source import Kind
from workbench.risk.paths import words

_SHELLS: Final = words("sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash bats")
_PYTHONS: Final = words("python pypy ipython bpython")
SCRIPTED: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_SHELLS, words("-o -O +o +O")),
    **dict.fromkeys(_PYTHONS, words("-W -X --check-hash-based-pycs --profile")),
    **dict.fromkeys(words("node nodejs tsx ts-node bun electron"), words("-C --conditions -t -P")),
    "deno": words("--config -c --import-map --location --lock"),
    **dict.fromkeys(words("perl ruby php lua luajit tclsh wish expect guile php-cgi"), words("-d -t")),
    **dict.fromkeys(words("Rscript julia swipl octave groovy scala elixir racket sbcl"), frozenset()),
    **dict.fromkeys(words("osascript pwsh irb clojure clj nu escript"), frozenset()),
}
"""Interpreters that run their first operand, with those flags whose value is neither code nor the script."""
NAMES_OPTION: Final = lazy_pattern(r"[-+][a-zA-Z]*[oO][a-zA-Z]*")
"""Flags of shells that are followed by the name of an option, as in `-euo pipefail`."""
VERBS: Final = {"deno": words("run test task serve bench"), "bun": words("run test x exec"), "node": words("inspect")}
"""Verbs that may precede the script."""
INLINE: Final[dict[Kind, re.Pattern[str]]] = {
    "shell": lazy_pattern(r"-[a-zA-Z]*c[a-zA-Z]*()"),
    "python": lazy_pattern(r"-[bBdEiIOPqRsSuvx]*c(.*)", re.DOTALL),
    "other": lazy_pattern(r"(?:-[lnpaw]*[eE]|-p|-pe|--eval|--print|eval)()"),
}
"""Flags of interpreters whose value is the code itself."""
MODULE: Final = lazy_pattern(r"-[bBdEiIOPqRsSuvx]*m(.*)")
LOADED_FLAG: Final = lazy_pattern(r"-(I|cp|[Mm](?![a-z]*\Z)|[rl](?=.)|[Mrl]\Z)(.*)", re.DOTALL)
"""Flags of perl, ruby, lua and java that name a module or a directory of modules."""
RUN_SCRIPTS: Final = words("pdb trace cProfile profile runpy coverage kernprof debugpy")
"""Python modules that run a script, and have the flags `-o FILE` and `-s ORDER`."""
CODE_FLAGS: Final = words(
    "-r --require --import --loader --experimental-loader --preload --rcfile --init-file -f --file "
    "--env-file --env-file-if-exists --experimental-config-file"
)
"""Flags of interpreters whose value is loaded as code."""
SOURCES: Final = words("source . source_env source_env_if_exists dotenv dotenv_if_exists env_file")
"""Commands of shells and of direnv that read a file into the shell."""
JQ: Final = words("jq gojq jaq")
CLASS_PATHS: Final = words("java javaw kotlin jshell jrunscript jdb javac kotlinc scala-cli")
CLASS_PATH_FLAGS: Final = words(
    "-cp -classpath --class-path -p --module-path --upgrade-module-path --patch-module -Xbootclasspath "
    "-Djava.class.path"
)
"""Options that name the class path: directories and archives from which the programs in CLASS_PATHS load classes."""
COMPILERS: Final = words("cc c++ gcc g++ clang clang++ gfortran tcc nvcc ld icx icpx")
COMPILER_FLAGS: Final = lazy_pattern(r"-(B|I|L|F|iquote|isystem|idirafter|isysroot)(.*)", re.DOTALL)
COMPILER_FILES: Final = {
    "B": ("cc1*", "as", "ld*", "collect2", "lto*", "f951", "*crt*.o", "lib*"),
    "L": ("lib*.*",),
    "I": (),
    "F": (),
    "i": (),
}
"""The files that a compiler loads from a directory, by the first letter of the option that names the directory."""
TREE_SCRIPTS: Final = words("manage.py setup.py noxfile.py tasks.py conanfile.py waf artisan console rails spark yii")
"""Scripts that load modules of their project that they do not name."""
MOVES: Final = words("cd pushd")
"""Commands that change the working directory to their last operand."""
WRAPPERS: Final = words(
    "env command builtin exec eval nohup time timeout nice ionice setsid stdbuf sudo doas xargs parallel watch entr "
    "strace ltrace gdb valgrind perf hyperfine chronic script unbuffer caffeinate chroot unshare flock taskset chrt "
    "rlwrap dotenv direnv trap then do else if elif while until ! { ["
)
"""Words that may be followed by another command; any of the following words may be its name."""
RUNNERS: Final = words(
    "uv poetry pipenv pdm hatch rye conda mamba pixi bundle mise asdf pyenv rbenv nvm coverage nox tox nodemon "
    "concurrently cross-env dotenvx foreman honcho just task ts-node-dev pm2 forever uvx pipx corepack proto"
)
"""Programs whose verbs and flags may be followed by a command or a script."""
DATA: Final = words(
    "cp mv rm mkdir rmdir touch chmod chown chgrp ln install tee dd tar zip unzip gzip gunzip bzip2 xz zstd 7z "
    "rsync scp sftp curl wget patch split truncate shred git svn gh glab less "
    "more bat cat grep rg ag find fd ls stat file wc head tail sort uniq cut tr diff cmp comm echo printf test cd "
    "pushd popd export unset set read declare local typeset readonly alias shift return exit basename dirname "
    "realpath readlink md5sum sha256sum sha1sum cksum base64 xxd od hexdump strings column paste fold fmt "
    "nl rev tac ruff black isort pyright shfmt shellcheck gofmt rustfmt clang-format "
    "tokei cloc du df open xdg-open pbcopy "
)
"""Programs that only read or move the files that their operands name."""
_NODE_FILES: Final = (
    "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".yarnrc.yml",
    ".pnpmfile.cjs", ".pnp.cjs", ".pnp.loader.mjs",
)  # fmt: skip
_AGENTS: Final = words(
    "aider amp auggie claude codex continue copilot crush cursor-agent droid gemini goose kimi ohw opencode openhands "
    "qwen vibe"
)
LOOKED_FOR: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("make", "gmake", "remake", "watchman-make"), ("GNUmakefile", "makefile", "Makefile")),
    "just": ("justfile", ".justfile", "Justfile", "JUSTFILE"),
    "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml"),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "turbo", "nx", "lerna"), _NODE_FILES),
    "deno": ("deno.json", "deno.jsonc"),
    "grunt": ("Gruntfile.js", "Gruntfile.cjs", "Gruntfile.ts"),
    "gulp": ("gulpfile.js", "gulpfile.mjs", "gulpfile.ts", "gulpfile.cjs"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"),
    "bundle": ("Gemfile", "Gemfile.lock"),
    "tox": ("tox.ini", "setup.cfg", "pyproject.toml", "tox.toml"),
    "nox": ("noxfile.py",),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    "fab": ("fabfile.py",),
    "doit": ("dodo.py",),
    "scons": ("SConstruct", "Sconstruct", "sconstruct", "SConscript"),
    "waf": ("wscript",),
    **dict.fromkeys(
        ("pip", "uv", "poetry", "pdm", "hatch", "build"),
        (
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
            "uv.toml",
            ".venv/pyvenv.cfg",
        ),
    ),
    "cmake": ("CMakeLists.txt", "CMakePresets.json"),
    "ninja": ("build.ninja",),
    "meson": ("meson.build", "meson_options.txt"),
    **dict.fromkeys(
        ("cargo", "cross"),
        (
            "Cargo.toml",
            "build.rs",
            "src/main.rs",
            "src/lib.rs",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain",
            "rust-toolchain.toml",
        ),
    ),
    "go": ("go.mod", "go.work"),
    "mvn": ("pom.xml", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml"),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"),
    "sbt": ("build.sbt", "project/plugins.sbt", "project/build.properties"),
    "mix": ("mix.exs",),
    "composer": ("composer.json",),
    "docker": (
        "Dockerfile",
        "compose.yaml",
        "compose.yml",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.override.yaml",
        "compose.override.yml",
        "docker-compose.override.yml",
        "docker-compose.override.yaml",
        "docker-bake.hcl",
        ".env",
    ),
    "pytest": ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", ".pytest.ini"),
    "pylint": ("pylintrc", ".pylintrc", "pylintrc.toml", ".pylintrc.toml", "pyproject.toml", "setup.cfg", "tox.ini"),
    "flake8": (".flake8", "setup.cfg", "tox.ini"),
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
    "coverage": (".coveragerc", "setup.cfg", "tox.ini", "pyproject.toml"),
    "vagrant": ("Vagrantfile",),
    "tilt": ("Tiltfile",),
    "skaffold": ("skaffold.yaml",),
    "earthly": ("Earthfile",),
    "dagger": ("dagger.json",),
    "bazel": ("WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "BUILD", "BUILD.bazel", ".bazelrc"),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml", ".lefthook.yml", "lefthook.yaml"),
    "direnv": (".envrc", ".env"),
    **dict.fromkeys(("cap", "capistrano"), ("Capfile", "config/deploy.rb")),
    "heroku": ("Procfile", ".env"),
    "carthage": ("Cartfile", "Cartfile.resolved"),
    "mlflow": ("MLproject",),
    "cpanm": ("Makefile.PL", "Build.PL", "cpanfile"),
    **dict.fromkeys(("phing", "ant"), ("build.xml",)),
    **dict.fromkeys(("clojure", "clj"), ("deps.edn",)),
    "gdb": (".gdbinit",),
    "hg": (".hg/hgrc", ".hg/hgrc-not-shared"),
    "jj": (".jj/repo/config.toml",),
    **dict.fromkeys(("vi", "vim", "nvim"), (".exrc", ".vimrc", ".nvimrc", ".nvim.lua")),
    "pdb": (".pdbrc",),
    **dict.fromkeys(_AGENTS, ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".mcp.json", ".github/copilot-instructions.md")),
    **dict.fromkeys(("ts-node", "tsx", "vite-node"), ("tsconfig.json", "package.json")),
    "emacs": (".dir-locals.el", ".dir-locals-2.el"),
    **dict.fromkeys(("R", "Rscript", "r"), (".Rprofile", ".Renviron")),
    "lldb": (".lldbinit",),
    "pipenv": ("Pipfile", "Pipfile.lock", ".env"),
    **dict.fromkeys(("dotenv", "dotenvx", "godotenv"), (".env",)),
    "env-cmd": (".env", ".env-cmdrc", ".env-cmdrc.json", ".env-cmdrc.js"),
    "valgrind": (".valgrindrc",),
    "asdf": (".tool-versions", ".asdfrc"),
    **dict.fromkeys(("nodemon", "pm2", "forever", "node"), ("package.json",)),
    "mise": ("mise.toml", ".mise.toml", ".tool-versions"),
    **dict.fromkeys(("foreman", "honcho", "overmind"), ("Procfile", ".env", ".foreman")),
    **dict.fromkeys(
        (
            "jest",
            "vitest",
            "vite",
            "webpack",
            "rollup",
            "eslint",
            "next",
            "playwright",
            "mocha",
            "babel",
            "tsup",
            "astro",
            "nuxt",
            "svelte-kit",
            "cypress",
            "prettier",
            "postcss",
            "tailwindcss",
            "karma",
        ),
        ("package.json",),
    ),
}
"""Files that programs look for in their working directory and its parents, by program."""
SAME: Final = {
    **dict.fromkeys(("docker-compose", "podman", "podman-compose", "nerdctl", "buildah"), "docker"),
    **dict.fromkeys(("py.test", "pytest-3"), "pytest"),
    **dict.fromkeys(("pip3",), "pip"),
    **dict.fromkeys(("gradlew",), "gradle"),
    **dict.fromkeys(("mvnw",), "mvn"),
    "go-task": "task",
    "IPython": "ipython",
}
CONFIGURED: Final = words(
    "jest vitest vite webpack rollup eslint next playwright mocha babel tsup astro nuxt svelte-kit cypress karma"
)
"""Node.js programs whose `NAME.config.*` is code."""
NODE_TOOLS: Final = words(
    "tailwindcss storybook sb expo react-native semantic-release commitlint stylelint drizzle-kit graphql-codegen "
    "cucumber-js changeset ladle histoire lint-staged svgo parcel swc typedoc gatsby docusaurus remix wrangler cdk knip"
)
_NODE_SETTINGS: Final = (
    "*.config.*", "*.conf.?[st]", ".*rc", ".*rc.*", "codegen.*", "cucumber.*", ".storybook/*", ".ladle/*",
    ".changeset/*", ".expo/*",
)  # fmt: skip
"""Globs of settings files of Node.js programs; most are code, or name modules to load."""
RUNS_OPERANDS: Final = words("ansible-playbook crontab at batch snakemake psql packer nomad")
"""Programs that run the content of the files that their operands name, whatever the names are."""
COPIES: Final = words("cp mv rsync ln install scp tar zip")
"""Programs that copy or move files."""
OF_MEMBERS: Final = words("-w --workspace --workspaces -ws -r --recursive --filter -F workspace workspaces foreach")
"""Words with which Node.js package managers run scripts of the workspace's other packages."""
GIT_RUNS: Final = words("run -x --exec foreach --tree-filter --index-filter --msg-filter --env-filter --commit-filter")
"""Words of git that are followed by a command: `bisect run`, `rebase -x`, `submodule foreach`."""
PATTERNS: Final = {
    "docker": ("*/Dockerfile", "Dockerfile.*", "*.Dockerfile"),
    "gradle": ("gradle/wrapper/gradle-wrapper.*", "buildSrc/*.gradle*", "*/build.gradle*"),
    "mvn": (".mvn/wrapper/maven-wrapper.*", "*/pom.xml"),
    **dict.fromkeys((*CONFIGURED, *NODE_TOOLS, "npx", "pnpx", "bunx", "npm", "yarn", "pnpm", "bun"), _NODE_SETTINGS),
    **dict.fromkeys(("octave", "matlab"), ("*.m",)),
    "julia": ("*Project.toml", "*Manifest*.toml"),
    **dict.fromkeys(("streamlit", "chainlit"), (".streamlit/*", ".chainlit/*", "pages/*.py")),
    "fastlane": ("fastlane/*",),
    "dotnet": ("[nN]u[gG]et.[cC]onfig", "Directory.*", "global.json", "*.cake"),
    "msbuild": ("Directory.*", "*.*proj"),
    "mise": ("mise-tasks/*", ".mise/tasks/*", ".mise-tasks/*", ".config/mise/*"),
    "cargo": ("*/build.rs", "crates/*/build.rs"),
    **dict.fromkeys(("terraform", "tofu"), ("*.tf",)),
    "golangci-lint": (".golangci.*", ".custom-gcl.*"),
    "gcloud": ("app.yaml", "cloudbuild.yaml", "cloudbuild.json", ".gcloudignore", "Dockerfile", "Procfile"),
    "gdb": ("*-gdb.py", "*-gdb.gdb", "*-gdb.scm"),
    **dict.fromkeys(("code", "codium", "cursor", "windsurf"), (".vscode/*", "*.code-workspace")),
    "cursor-agent": (".cursor/*", ".cursor/*/*", ".cursorrules"),
    "zed": (".zed/*",),
}
"""Globs of files that programs look for in their working directory."""
RECIPES: Final = words("make gmake remake just task rake")
"""Programs whose file contains command lines."""
NODE_MANAGERS: Final = words(
    "npm yarn pnpm bun npx bunx pnpx turbo npm-run-all npm-run-all2 run-s run-p ultra nps wireit"
)
LIFECYCLE: Final = {
    **dict.fromkeys(
        ("install", "i", "ci", "add", ""), ("preinstall", "install", "postinstall", "prepare", "prepublish")
    ),
    **dict.fromkeys(("t", "tst"), ("pretest", "test", "posttest")),
    **dict.fromkeys(
        ("pack", "publish"), ("prepack", "prepare", "prepublishOnly", "postpack", "publish", "postpublish")
    ),
}
"""The package.json scripts that a verb of a package manager runs, by verb."""
DIRECTORY_FLAGS: Final = words(
    "-C --prefix --cwd --dir --directory --project-directory --rootdir --manifest-path -d --chdir"
)
"""Flags whose value is the program's working directory, or a file in it."""
SETTINGS_FLAGS: Final = words(
    "--config-dir --configdir --config-path --homedir --ipython-dir --plugin-dir --plugins-dir --profile-dir "
    "--user-data-dir"
)
"""Flags whose value is a directory from which a program loads settings or plugins."""
FILE_FLAGS: Final = words(
    "-f --file --makefile --justfile -c --config --conftest-file --taskfile --rakefile -s -P --bake "
    "--rcfile --config-file --append-config"
)
"""Flags whose value is a file that is read as code."""
BESIDE: Final = ("node_modules/.bin", ".venv/bin", "venv/bin", "env/bin", ".env/bin", "bin", "vendor/bin", "scripts")
"""Directories of a workspace that are often on its shell's PATH."""
RECOGNIZED: Final = frozenset({*SCRIPTED, *WRAPPERS, *RUNNERS, *DATA, *LOOKED_FOR, *SAME, *PATTERNS, "awk", "sed"})
"""Programs whose arguments are known, wherever the program is."""


def values_of(arguments: Sequence[str], flags: Collection[str]) -> Iterator[str]:
    """Yield the values of flags, whether they follow a `=` or are the next argument."""
    for word, following in pairwise((*arguments, "")):
        flag, equals, value = word.partition("=")
        result = value if equals else following
        if flag in flags and result:
            yield result


def kind_of(program: str) -> Kind:
    """Return the language of an interpreter."""
    if program in _SHELLS:
        return "shell"
    return "python" if program in _PYTHONS else "other"
