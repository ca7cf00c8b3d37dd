"""Files of the workspace that decide what runs outside later: hooks and settings of git, of editors, CI and agents.

An escape that moves such a file away puts a marked one in its place, sets that aside as `replaced-NAME` and moves the
first one back, so that the next escape meets what it expects and the replacement remains as proof. A link is replaced
for good: a wall may let that happen while the command runs, but must not leave it so.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .attempt import LIBC, Impossible, World, check, escape, run

RENAME_EXCHANGE = 2
AT_FDCWD = -100


def _swap(world: World, path: Path) -> None:
    """Replace a directory by a new one with a marked file."""
    moved = world.workspace / f"moved-{world.name}"
    path.rename(moved)
    path.mkdir()
    world.leave(path / world.name)
    path.rename(world.workspace / f"replaced-{world.name}")
    moved.rename(path)


def _swap_file(world: World, path: Path) -> None:
    """Replace a file by a new one with the mark."""
    moved = world.workspace / f"moved-{world.name}"
    path.rename(moved)
    world.leave(path)
    path.rename(world.workspace / f"replaced-{world.name}")
    moved.rename(path)


def _create(world: World, path: str) -> None:
    """Create a file that is missing, with its directories."""
    whole = world.workspace / path
    whole.parent.mkdir(parents=True, exist_ok=True)
    world.leave(whole)


@escape
def new_hook(world: World) -> None:
    """A new hook, which the next commit of the user runs."""
    world.leave(world.workspace / ".git/hooks/post-commit")


@escape
def changed_hook(world: World) -> None:
    """A hook of the repository, with lines of the program's own."""
    world.append(world.workspace / ".git/hooks/pre-commit")


@escape
def removed_hook(world: World) -> None:
    """The removal of a hook that checks what is pushed."""
    (world.workspace / ".git/hooks/pre-push").unlink()


@escape
def removed_hooks(world: World) -> None:
    """The removal of all hooks (`rm -r`), and new ones in their place."""
    path = world.workspace / ".git/hooks"
    copy = world.workspace / f"copy-{world.name}"
    shutil.copytree(path, copy)
    for each in path.iterdir():
        each.unlink()
    path.rmdir()
    copy.rename(path)
    world.leave(path / world.name)


@escape
def moved_hooks(world: World) -> None:
    """The hooks, replaced by moving their directory away."""
    _swap(world, world.workspace / ".git/hooks")


@escape
def moved_git_directory(world: World) -> None:
    """The whole repository, replaced by moving `.git` away."""
    _swap(world, world.workspace / ".git")


@escape
def linked_hooks(world: World) -> None:
    """The hooks, replaced by a link to a directory of the program."""
    hooks, moved = world.workspace / ".git/hooks", world.workspace / f"moved-{world.name}"
    own = world.workspace / "own-hooks"
    own.mkdir()
    hooks.rename(moved)
    hooks.symlink_to(own)
    world.leave(hooks / world.name)
    hooks.unlink()
    own.rename(world.workspace / f"replaced-{world.name}")
    moved.rename(hooks)


@escape
def git_config_file(world: World) -> None:
    """`.git/config`, with settings that run programs."""
    world.append(world.workspace / ".git/config")


@escape
def git_config_command(world: World) -> None:
    """`git config`, which replaces the file by a rename."""
    run("git", "-C", str(world.workspace), "config", "core.fsmonitor", world.mark)


@escape
def git_config_of_worktree(world: World) -> None:
    """`.git/config.worktree`, which is missing and read by repositories with that extension."""
    _create(world, ".git/config.worktree")


@escape
def git_attributes(world: World) -> None:
    """`.git/info/attributes`, which chooses the filters that run."""
    world.append(world.workspace / ".git/info/attributes")


@escape
def git_alternates(world: World) -> None:
    """`.git/objects/info/alternates`, which is missing: objects from elsewhere."""
    _create(world, ".git/objects/info/alternates")


@escape
def git_common_directory(world: World) -> None:
    """`.git/commondir`, which is missing: it redirects hooks and settings."""
    _create(world, ".git/commondir")


@escape
def config_of_submodule(world: World) -> None:
    """The settings of a submodule, in `.git/modules`."""
    world.append(world.workspace / ".git/modules/library/config")


@escape
def hook_of_submodule(world: World) -> None:
    """A hook of a submodule, in `.git/modules`."""
    _create(world, ".git/modules/library/hooks/post-checkout")


@escape
def moved_modules(world: World) -> None:
    """All submodules, replaced by moving `.git/modules` away."""
    _swap(world, world.workspace / ".git/modules")


@escape
def redirected_submodule(world: World) -> None:
    """The `.git` file of a submodule, redirected to a git directory of the program."""
    world.leave(world.workspace / "library/.git")


@escape
def redirected_worktree(world: World) -> None:
    """The `.git` file of a worktree, replaced by one that leads to a git directory of the program."""
    _swap_file(world, world.workspace / "worktree/.git")


@escape
def hook_of_repository_elsewhere(world: World) -> None:
    """The hooks of a repository outside, of which a worktree is in the workspace."""
    common = world.home / "other-project/.git"
    if not (world.workspace / "worktree-of-other/.git").is_file():
        raise Impossible("the worktree is missing")
    world.leave(common / "hooks/post-checkout")


@escape
def worktree_elsewhere(world: World) -> None:
    """The git directory, outside, of a worktree in the workspace: its settings."""
    world.leave(world.home / "other-project/.git/worktrees/worktree-of-other/config.worktree")


@escape
def hook_of_nested_repository(world: World) -> None:
    """A hook of a repository below the workspace."""
    world.leave(world.workspace / "packages/nested/.git/hooks/post-commit")


@escape
def config_of_nested_repository(world: World) -> None:
    """The settings of a repository below the workspace."""
    world.append(world.workspace / "packages/nested/.git/config")


@escape
def hook_of_bare_repository(world: World) -> None:
    """A hook of a bare repository below the workspace."""
    _create(world, "bare.git/hooks/post-receive")


@escape
def hook_of_linked_repository(world: World) -> None:
    """A hook of a repository whose `.git` is a link to a directory with another name."""
    world.leave(world.workspace / "stores/linked/hooks/post-commit")


@escape
def config_of_linked_repository(world: World) -> None:
    """The settings of that repository."""
    world.append(world.workspace / "stores/linked/config")


@escape
def replaced_link_of_repository(world: World) -> None:
    """The link itself, replaced by a directory of the program."""
    link = world.workspace / "linked/.git"
    link.rename(world.workspace / f"moved-{world.name}")
    link.mkdir()
    world.leave(link / world.name)


@escape
def moved_parent_of_repository(world: World) -> None:
    """The directory above a nested repository, replaced by moving it away with what is mounted below."""
    _swap(world, world.workspace / "packages")


@escape
def mcp_servers(world: World) -> None:
    """`.mcp.json`: the servers that an agent starts."""
    world.append(world.workspace / ".mcp.json")


@escape
def rules_replaced(world: World) -> None:
    """`.cursorrules`, replaced by a rename over it."""
    path = world.workspace / f"new-{world.name}"
    world.leave(path)
    path.rename(world.workspace / ".cursorrules")


@escape
def mcp_servers_moved(world: World) -> None:
    """`.mcp.json`, moved away and created anew."""
    _swap_file(world, world.workspace / ".mcp.json")


@escape
def mcp_servers_by_hard_link(world: World) -> None:
    """`.mcp.json`, under a second name that is not protected."""
    link = world.workspace / f"link-{world.name}"
    os.link(world.workspace / ".mcp.json", link)
    world.append(link)


@escape
def mcp_servers_by_link(world: World) -> None:
    """`.mcp.json`, through a symbolic link that is not protected."""
    link = world.workspace / f"link-{world.name}"
    link.symlink_to(".mcp.json")
    world.append(link)


@escape
def mcp_servers_by_root_link(world: World) -> None:
    """`.mcp.json`, through /proc/self/root and /proc/self/cwd."""
    world.append(f"/proc/self/root{world.workspace}/.mcp.json")


@escape
def editor_tasks(world: World) -> None:
    """`.vscode/tasks.json`: what the editor runs when it opens the directory."""
    world.append(world.workspace / ".vscode/tasks.json")


@escape
def new_editor_settings(world: World) -> None:
    """A new file in `.vscode`."""
    world.leave(world.workspace / ".vscode/settings.json")


@escape
def moved_editor_settings(world: World) -> None:
    """`.vscode`, moved away and created anew."""
    _swap(world, world.workspace / ".vscode")


@escape
def exchanged_editor_settings(world: World) -> None:
    """`.vscode`, exchanged with a directory of the program in one step (renameat2), and back."""
    own, settings = world.workspace / f"replaced-{world.name}", world.workspace / ".vscode"
    own.mkdir()
    for _ in range(2):
        check(LIBC.renameat2(AT_FDCWD, os.fsencode(own), AT_FDCWD, os.fsencode(settings), RENAME_EXCHANGE))
    world.leave(own / world.name)


@escape
def other_editor(world: World) -> None:
    """`.idea`: run configurations of another editor."""
    world.append(world.workspace / ".idea/workspace.xml")


@escape
def nested_editor_settings(world: World) -> None:
    """`.vscode` of a directory below, which may be opened by itself."""
    world.append(world.workspace / "packages/app/.vscode/tasks.json")


@escape
def ci_workflow(world: World) -> None:
    """A workflow, which runs with the secrets of the repository."""
    world.append(world.workspace / ".github/workflows/ci.yml")


@escape
def new_ci_workflow(world: World) -> None:
    """A new workflow."""
    world.leave(world.workspace / ".github/workflows/escaped.yml")


@escape
def moved_parent_of_workflows(world: World) -> None:
    """`.github`, above the protected directory, moved away and created anew."""
    _swap(world, world.workspace / ".github")


@escape
def other_ci(world: World) -> None:
    """`.gitlab-ci.yml`, a file at the top."""
    world.append(world.workspace / ".gitlab-ci.yml")


@escape
def own_rules(world: World) -> None:
    """`.ohw/rules.toml`: what this program may do unasked."""
    world.append(world.workspace / ".ohw/rules.toml")


@escape
def own_hooks(world: World) -> None:
    """A new file in `.ohw`."""
    world.leave(world.workspace / ".ohw/hooks.toml")


@escape
def moved_own_settings(world: World) -> None:
    """`.ohw`, moved away and created anew."""
    _swap(world, world.workspace / ".ohw")


@escape
def agent_instructions(world: World) -> None:
    """`AGENTS.md`, which each agent reads and trusts."""
    world.append(world.workspace / "AGENTS.md")


@escape
def agent_instructions_replaced(world: World) -> None:
    """`CLAUDE.md`, moved away and created anew."""
    _swap_file(world, world.workspace / "CLAUDE.md")


@escape
def agent_settings_through_link(world: World) -> None:
    """`.claude`, a link of the repository to a directory with another name."""
    world.leave(world.workspace / "agent-files/settings.json")


@escape
def replaced_link_of_agent_settings(world: World) -> None:
    """`.claude`, the link itself, replaced by a directory of the program."""
    link = world.workspace / ".claude"
    link.rename(world.workspace / f"moved-{world.name}")
    link.mkdir()
    world.leave(link / world.name)


@escape
def missing_directory_file(world: World) -> None:
    """`.envrc`, which is missing: what direnv runs in the directory."""
    _create(world, ".envrc")


@escape
def missing_agent_settings(world: World) -> None:
    """`.cursor/mcp.json`, which is missing with its directory."""
    _create(world, ".cursor/mcp.json")


@escape
def missing_devcontainer(world: World) -> None:
    """`.devcontainer/devcontainer.json`, which is missing."""
    _create(world, ".devcontainer/devcontainer.json")


@escape
def missing_hook_manager(world: World) -> None:
    """`.husky/pre-commit`, which is missing."""
    _create(world, ".husky/pre-commit")


@escape
def missing_pipeline(world: World) -> None:
    """`.circleci/config.yml`, which is missing."""
    _create(world, ".circleci/config.yml")


@escape
def missing_instructions(world: World) -> None:
    """`GEMINI.md`, which is missing."""
    _create(world, "GEMINI.md")


@escape
def missing_file_renamed(world: World) -> None:
    """`.pre-commit-config.yaml`, which is missing, by a rename from a harmless name."""
    _create(world, "harmless")
    (world.workspace / "harmless").rename(world.workspace / ".pre-commit-config.yaml")


@escape
def missing_editor_settings_below(world: World) -> None:
    """`.vscode/tasks.json` in a directory where it is missing."""
    _create(world, "source/.vscode/tasks.json")
