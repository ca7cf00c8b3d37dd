"""What is harmless: rows of `grammar` for programs with verbs: git, package managers, containers."""

from __future__ import annotations

from typing import Final

from workbench.risk.shell.grammar import rows

_DIFF: Final = """\
-[pusWwbRazDMCBcm0123] -[UlSGI]= -[MCBX]? -O=r --patch --no-patch --unified? --raw --minimal --patience --histogram
 --indent-heuristic --no-indent-heuristic --diff-algorithm= --anchored= --stat? --stat-width= --stat-count=
 --stat-name-width= --stat-graph-width= --compact-summary --numstat --shortstat --dirstat? --cumulative --summary
 --patch-with-stat --patch-with-raw --name-only --name-status --color? --no-color --color-words? --word-diff?
 --word-diff-regex= --color-moved? --no-color-moved --color-moved-ws= --no-renames --find-renames? --find-copies?
 --find-copies-harder --irreversible-delete --check --full-index --binary --abbrev? --no-abbrev --break-rewrites?
 --diff-filter= --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-space-at-eol
 --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-matching-lines=
 --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --src-prefix=
 --dst-prefix= --no-prefix --default-prefix --line-prefix= --ita-invisible-in-index --ita-visible-in-index --cached
 --staged --merge-base --no-index --base --ours --theirs --ws-error-highlight= --full-diff --rename-empty
 --no-rename-empty --output-indicator-new= --cc --combined-all-paths --output-indicator-old=
 --output-indicator-context= --output=w --ext-diff! --textconv! --exec=! --open-files-in-pager?! --upload-pack=!
 --receive-pack=!"""
_LOG: Final = """\
-# -[iEFPgmtrcvz] --max-count= --skip= --since= --after= --until= --before= --since-as-filter= --author=
 --committer= --grep= --grep-reflog= --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp
 --fixed-strings --perl-regexp --merges --no-merges --min-parents= --max-parents= --first-parent
 --exclude-first-parent-only --not --all --branches? --tags? --remotes? --glob= --exclude= --reflog --walk-reflogs
 --merge --boundary --cherry-mark --cherry-pick --left-only --right-only --cherry --simplify-by-decoration
 --full-history --dense --sparse --simplify-merges --ancestry-path? --date-order --author-date-order --topo-order
 --reverse --oneline --graph --no-graph --decorate? --no-decorate --decorate-refs= --decorate-refs-exclude= --source
 --mailmap --no-mailmap --use-mailmap --pretty? --format= --abbrev-commit --no-abbrev-commit --encoding= --notes?
 --no-notes --show-notes? --date= --relative-date --parents --children --left-right --show-linear-break? --follow
 -L= --log-size --diff-merges= --no-diff-merges --remerge-diff --root --no-walk? --do-walk --no-expand-tabs
 --expand-tabs? --clear-decorations --show-pulls --single-worktree --ignore-missing --stdin"""
_GIT: Final = rf"""
git | -P -[Cc]= --git-dir= --work-tree= --namespace= --no-pager --no-replace-objects --no-optional-locks
 --no-lazy-fetch --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --exec-path
 --html-path --man-path --info-path -v -h | >
git status | -[sbvz] -u? --short --branch --show-stash --porcelain? --long --verbose --untracked-files?
 --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames
 --find-renames? | t*
git log/show/whatchanged | {_LOG} -n= {_DIFF} | t*
git diff/diff-tree/diff-index/diff-files | {_DIFF} -[rtvq] --root --no-commit-id --always --pretty? --format=
 --stdin | t*
git range-diff | {_LOG} -n= {_DIFF} --creation-factor= --no-dual-color --left-only --right-only | t*
git blame/annotate | -[ltsewpcfnb] -[MC]? -L= -S=r --root --incremental --porcelain --line-porcelain --show-stats
 --show-name --show-number --show-email --date= --color-lines --color-by-age --ignore-rev= --ignore-revs-file=r
 --contents=r --encoding= --abbrev? --since= --first-parent --reverse --progress --no-progress --minimal
 --score-debug | t*
git shortlog | {_LOG} -[nsec] -w? --numbered --summary --email --group= | t*
git describe | --all --tags --long --dirty? --broken? --always --abbrev= --match= --exclude= --contains
 --candidates= --exact-match --first-parent --debug | t*
git rev-parse | * | t*
git rev-list | {_LOG} -n= --count --objects --objects-edge --disk-usage? --timestamp --header --in-commit-order
 --use-bitmap-index --no-commit-header --quiet | t*
git ls-files | -[cdmoisuktvfz] -x= -X=r --cached --deleted --modified --others --ignored --stage --unmerged --killed
 --directory --no-empty-directory --eol --deduplicate --exclude= --exclude-from=r --exclude-per-directory=
 --exclude-standard --error-unmatch --with-tree= --full-name --abbrev? --debug --format= --sparse --resolve-undo |
 t*
git ls-tree | -[drtlz] --long --name-only --name-status --object-only --abbrev? --full-name --full-tree --format= |
 t*
git cat-file | -[tsepz] --batch? --batch-check? --batch-command? --batch-all-objects --buffer --unordered
 --use-mailmap --path= --textconv! | t*
git merge-base | -a --all --octopus --independent --is-ancestor --fork-point | t*
git name-rev | --tags --refs= --exclude= --all --always --name-only --no-undefined | t*
git for-each-ref | --count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains?
 --ignore-case --omit-empty --exclude= --color? --shell --perl --python --tcl | t*
git show-ref | -[dsq] --head --heads --branches --tags --dereference --verify --hash? --abbrev? --quiet --exists |
 t*
git show-branch | -[ar] --all --remotes --current --list --sha1-name --no-name --topics --independent --merge-base
 --more= | t*
git count-objects | -[vH] --verbose --human-readable |
git version | --build-options |
git help | -[agc] --all --guides --config | {{[\w-]+}}
git grep | -# -[aEFGhHiIlLnopPqrvwWzc] -[ABCm]= -e=t^ -f=r^ --cached --untracked --no-index --exclude-standard
 --no-exclude-standard --text --ignore-case --word-regexp --invert-match --extended-regexp --basic-regexp
 --fixed-strings --perl-regexp --line-number --column --name-only --files-with-matches --files-without-match --null
 --only-matching --count --quiet --max-depth= --max-count= --threads= --and --or --not --all-match --break --heading
 --show-function --function-context --color? --no-color --full-name --recursive --no-recursive --after-context=
 --before-context= --context= -O?! --open-files-in-pager?! --textconv! --ext-grep! --no-textconv | t*
git check-ignore | -[qvnz] --no-index --stdin --verbose --non-matching --quiet | t*
git check-attr | -[az] --all --cached --source= --stdin | t*
git clean | -[ndfxXq] -e= --dry-run --exclude= --quiet --force | t*
git var | -l | {{\w+}}
git cherry | -v --abbrev? --verbose | t*
git verify-commit/verify-tag | -v --verbose --raw | t*
git fsck | -v --full --no-full --strict --no-dangling --unreachable --no-reflogs --connectivity-only --root --tags
 --cache --verbose --progress --no-progress --name-objects | t*
git symbolic-ref | -q --short --quiet --recurse --no-recurse | t
git reflog | {_LOG} -n= {_DIFF} | {{(?!(?:expire|delete|drop|write|migrate)$).+}} t*
git stash list | {_LOG} -n= {_DIFF} | t*
git stash show | {_DIFF} -u --include-untracked --only-untracked | t
git stash/lfs/submodule/worktree | | >
git branch | -[avrlqi] --list --all --remotes --verbose --show-current --contains --no-contains --merged --no-merged
 --points-at= --sort= --format= --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case
 --omit-empty | t*
git tag | -[li] -n? --list --contains --no-contains --merged --no-merged --points-at= --sort= --format= --color?
 --column? --no-column --ignore-case --omit-empty | t*
git remote | -v --verbose | >
git remote get-url | --push --all | {{[\w.-]+}}
git worktree list | -[vz] --porcelain --verbose |
git config | -[lz] --list --get --get-all --get-regexp --get-urlmatch --get-color --show-origin --show-scope
 --show-names --name-only --global --local --system --worktree --type= --bool --int --path --default= --null
 --includes --no-includes --all --regexp --value= --fixed-value --url= | t*
git lfs ls-files | -[lsnad] --long --size --name-only --all | t*
git lfs status/env/version | --porcelain --json |
"""
_PACKAGES: Final = r"""
pip/pip3 | -[qv] --quiet --verbose --no-color --no-input --disable-pip-version-check --no-python-version-warning
 --log=w --python=! --cache-dir=w | >
pip/pip3 list | -[lqv] --local --user --not-required --exclude= --editable -e --include-editable --exclude-editable
 --pre --format= --path=r --no-color --disable-pip-version-check --quiet --verbose --log=w --python=! --cache-dir=w
 |
pip/pip3 show | -[fqv] --files --quiet --verbose --disable-pip-version-check --log=w --python=! | {[\w.-]+}*
pip/pip3 freeze | -[lqv] --local --user --all --exclude= --exclude-editable -r=r --requirement=r --path=r --log=w
 --python=! |
pip/pip3 check/debug/inspect | -[qv] --verbose --local --user --log=w --python=! |
pip/pip3 help | | {\w+}
uv | -[qvn] --quiet --verbose --offline --no-progress --no-cache --color= -V | >
uv version | -s --short --output-format= |
uv help | | {[\w-]+}*
uv cache/tool/python dir | |
uv cache/tool/python/self | | >
uv self version | --short |
npm | -[v] --silent -s | >
npm ls/list/ll/la | -[alpg] --all --long --json --parseable --depth= --omit= --include= --only= --prod --production
 --dev --global -w= --workspace= --workspaces --link --package-lock-only --no-unicode --silent | {[\w@/.^~-]+}*
npm why/explain | --json -w= --workspace= | {[\w@/.^~-]+}*
npm root/prefix/bin | -g --global |
npm version | --json |
docker/podman/nerdctl | -D --debug -l= --log-level= | >
docker/podman/nerdctl ps | -[aqlnsz] -[fn]= --all --filter= --format= --last= --latest --no-trunc --quiet --size |
docker/podman/nerdctl images | -[aq] -f= --all --filter= --format= --no-trunc --quiet --digests | {[\w./:-]+}
docker/podman/nerdctl logs | -[ft] -n= --since= --until= --tail= --follow --timestamps --details | {[\w.-]+}
docker/podman/nerdctl inspect | -s -f= --format= --size --type= | {[\w./:@-]+}*
docker/podman/nerdctl stats | -a --all --no-stream --format= --no-trunc | {[\w.-]+}*
docker/podman/nerdctl top/port/diff/history | -[Hq] --no-trunc --quiet --human --format= | {[\w./:-]+} {\d+(/\w+)?}
docker/podman/nerdctl version/info | -f= --format= |
docker/podman/nerdctl events | -f= --filter= --since= --until= --format= |
docker/podman/nerdctl image/container/volume/network ls/list | -[aqlns] -[fn]= --all --filter= --format= --no-trunc
 --quiet |
docker/podman/nerdctl image/container/volume/network/system | | >
docker/podman/nerdctl system df | -v --verbose --format= |
apt/apt-cache | -[oc]=! --option=! --config-file=! | > | changes what the program runs
apt/apt-cache list/search/show/policy/depends/rdepends/showpkg/madison/pkgnames/stats | -[an] -[oc]=! --option=!
 --config-file=! --installed --upgradable --all-versions --names-only --full --no-recommends --recurse --installed |
 {[\w.+:*^-]+}* | changes what the program runs
dpkg | -[lLsS] --list --listfiles --status --search --print-architecture --get-selections --no-pager |
 {[\w.+:/*-]+}*
dpkg-query | -[WlsLSp] -f= --show --list --status --listfiles --search --showformat= --no-pager | {[\w.+:/*-]+}*
rpm | -q -[qailfdcRv] --query --all --info --list --file --provides --requires --changelog --qf= --queryformat=
 --last --specfile! -[DE]=! --define=! --eval=! --pipe=! --macros=! --rcfile=! --load=! | {[\w.+:/*-]+}*
brew | -[qv] | >
brew list/ls/leaves/deps/desc/search | -[1lrtq] --formula --cask --versions --full-name --tree --installed --pinned
 --quiet | {[\w@+-]+}*
brew info | --json? --installed --formula --cask | {[\w@+-]+}*
snap/flatpak list | --all --app --runtime --columns= |
snap/flatpak | | >
conda/mamba/micromamba | | >
conda/mamba/micromamba list/info | -[ea] -n= -p=r --json --export --explicit --all --envs --base --name= --prefix=r
 | {[\w.*-]+}
conda/mamba/micromamba env | | >
conda/mamba/micromamba env list | --json |
pyenv/rbenv/nodenv/goenv/jenv | | >
pyenv/rbenv/nodenv/goenv/jenv versions/version/root/which/whence | --bare | {[\w.-]+}
nvm/fnm/volta | | >
nvm/fnm/volta ls/list/current/version/which | --no-colors | {[\w./*-]+}
go | | >
go version | -m -v -json | r*
go env | -json -changed | {[A-Z0-9_]+}*
go help | | {[\w-]+}*
go doc | -[acsu] -all -src -short -cmd | t*
gem | | >
gem list/which/environment/contents/dependency/help | -[ladi] -v= --local --all --details --versions --installed
 --no-versions | {[\w.?*^-]+}*
"""
VERBS: Final = rows(_GIT) | rows(_PACKAGES)
