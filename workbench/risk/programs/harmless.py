"""Grammars of programs and verbs that only read: their options and operands that are known to be harmless."""

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
git cat-file | -[tsepz] --batch-check? --batch-all-objects --buffer --unordered
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
 --lost-found@ --cache --verbose --progress --no-progress --name-objects | t*
git symbolic-ref | -q -[dm]@ --delete@ --short --quiet --recurse --no-recurse | t
git reflog | {_LOG} -n= {_DIFF} | {{(?!(?:expire|delete|drop|write|migrate)$).+}} t*
git stash list | {_LOG} -n= {_DIFF} | t*
git stash show | {_DIFF} -u --include-untracked --only-untracked | t
git stash/lfs/submodule/worktree | | >
git branch | -[avrlqi] -[dDmMcCfu]@ --delete@ --force@ --move@ --copy@ --list --all --remotes --verbose
 --show-current --contains --no-contains --merged --no-merged
 --points-at= --sort= --format= --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case
 --omit-empty | t*
git tag | -[li] -[dfasuFm]@ --delete@ --force@ -n? --list --contains --no-contains --merged --no-merged --points-at=
 --sort= --format= --color?
 --column? --no-column --ignore-case --omit-empty | t*
git remote | -v --verbose | >
git remote get-url | --push --all | {{[\w.-]+}}
git worktree list | -[vz] --porcelain --verbose |
git config | -[lz] -e@ --edit@ --unset@ --unset-all@ --add@ --replace-all@ --remove-section@ --list --get --get-all
 --get-regexp --get-urlmatch --get-color --show-origin --show-scope
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
apt/apt-cache | -[oc]=! --option=! --config-file=! | > | changes what the program runs [RUNS]
apt/apt-cache list/search/show/policy/depends/rdepends/showpkg/madison/pkgnames/stats | -[an] -[oc]=! --option=!
 --config-file=! --installed --upgradable --all-versions --names-only --full --no-recommends --recurse --installed |
 {[\w.+:*^-]+}* | changes what the program runs [RUNS]
dpkg | -[lLsS] -[irPBER]@ --install@ --remove@ --purge@ --pre-invoke=! --post-invoke=! --status-logger=! --list
 --listfiles --status --search --print-architecture --get-selections --no-pager |
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


_TOOLS: Final = r"""
cat/gcat | -[AbeEnstTuv] --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
 --show-nonprinting | r*
tac | -[br] -s= --before --regex --separator= | r*
rev | -[0] | r*
nl | -p -[bdfhilnsvw]= --body-numbering= --footer-numbering= --header-numbering= --line-increment= --number-format=
 --number-separator= --number-width= --starting-line-number= --section-delimiter= --no-renumber | r*
ls/dir/vdir/gls | -R~ -[aAbBcCdfFgGhHiklLmnNopqQrsStuUvxXZ1] -[ITw]= --all --almost-all --author --escape --block-size=
 --ignore-backups --color? --colour? --directory --dired --classify? --file-type --format= --full-time
 --group-directories-first --no-group --human-readable --si --dereference --dereference-command-line
 --dereference-command-line-symlink-to-dir --hide= --hyperlink? --indicator-style= --inode --ignore= --kibibytes
 --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse
 --recursive~ --size --sort= --time= --time-style= --tabsize= --width= --context --zero | n*
eza/exa/lsd | -[RT]~ -[1aABbDdFfGghHilmnOrSUuxX@] -[LsIt]= --long --all --almost-all --tree~ --level= --depth= --git
 --icons? --icon= --color? --colour? --header --group --sort= --time= --time-style= --ignore-glob= --git-ignore
 --group-directories-first --group-dirs= --only-dirs --only-files --reverse --recurse~ --oneline --grid --across
 --classify? --no-permissions --no-filesize --no-user --no-time --bytes --binary --links --inode --accessed
 --modified --created --octal-permissions --total-size --hyperlink --extended --list-dirs | n*
wc | -[cmlwL] --bytes --chars --lines --words --max-line-length --total= --files0-from=l --debug | r*
stat | -[LftFnqrsx] -c= --format= --printf= --cached= --dereference --file-system --terse | n*
readlink/greadlink | -[efmnqsvz] --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet
 --silent --verbose --zero | n*
realpath/grealpath | -[eELmPqsz] --canonicalize --canonicalize-existing --canonicalize-missing --logical --physical
 --no-symlinks --strip --quiet --zero --relative-to= --relative-base= | n*
cksum/md5sum/sha1sum/sha224sum/sha256sum/sha384sum/sha512sum/b2sum/md5/shasum | -[bctUqr0z] -[als]= --algorithm=
 --length= --binary --text --tag --untagged --base64 --raw --zero --check --ignore-missing --quiet --status --strict
 --warn | r*
fold | -# -[bsc] -w= --bytes --spaces --width= | r*
fmt | -# -[cstu] -[wpg]= --width= --goal= --prefix= --crown-margin --split-only --tagged-paragraph --uniform-spacing
 | r*
expand/unexpand | -# -[ai] -t= --tabs= --initial --all --first-only | r*
paste | -[sz] -d= --serial --delimiters= --zero-terminated | r*
comm | -[123iz] --check-order --nocheck-order --output-delimiter= --total --zero-terminated | r*
join | -[iz] -[aejtov12]= --header --ignore-case --check-order --nocheck-order --zero-terminated | r*
cmp | -[bls] -[in]= --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent | r*
diff/colordiff/gdiff | -# -[qscbBwEZaiNTtdpuneyc] -r& -[CUFILWSx]= -X=r --from-file=r --to-file=r --label=
 --exclude= --exclude-from=r --color? --palette= --unified? --context? --recursive& --brief --report-identical-files
 --side-by-side --width= --left-column --suppress-common-lines --show-c-function --show-function-line= --new-file
 --unidirectional-new-file --ignore-case --ignore-file-name-case --ignore-tab-expansion --ignore-trailing-space
 --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --strip-trailing-cr --text
 --expand-tabs --initial-tab --tabsize= --suppress-blank-empty --minimal --speed-large-files --normal --ed --rcs
 --horizon-lines= --starting-file= --no-dereference | r*
diff3/sdiff | -[aeExXmA3iEWBwbtsd] -o=w --output=w --diff-program=! --text --merge --show-all --suppress-common-lines
 | r*
head/ghead | -# -[qvz] -[nc]= --lines= --bytes= --quiet --silent --verbose --zero-terminated | r*
tail/gtail | -# -[fFqrvz] -[bncs]= --lines= --bytes= --follow? --retry --quiet --silent --verbose --zero-terminated
 --pid= --sleep-interval= --max-unchanged-stats= | r*
cut | -[nswz] -[bcdf]= --bytes= --characters= --fields= --delimiter= --complement --only-delimited
 --output-delimiter= --zero-terminated | r*
tr/gtr | -[cCdstu] --complement --delete --squeeze-repeats --truncate-set1 | a*
od | -[abcdfilosvx] -[AjNtS]= -w? --address-radix= --skip-bytes= --read-bytes= --format= --strings? --width?
 --endian= --output-duplicates --traditional | r*
hexdump/hd | -[bcCdovx] -[ens]= -L? -f=r --canonical --no-squeezing --length= --skip= --color? | r*
hexyl | -[nscgbo]= --length= --skip= --block-size= --color= --border= --no-squeezing --plain -[vpP] | r*
xxd | -[abCdeEipu] -[cglnos]= | r w
strings | -[adfw] -[neotsU]= --all --data --bytes= --encoding= --radix= --print-file-name --output-separator= | o*
nm | -[AaBCDgjnoPprSuvW] -[ft]= --debug-syms --print-file-name --demangle? --no-demangle --dynamic --extern-only
 --no-sort --numeric-sort --portability --print-size --print-armap --reverse-sort --size-sort --special-syms
 --synthetic --undefined-only --defined-only --format= --radix= --with-symbol-versions --quiet --plugin=! | o*
size | -[ABdoxGt] --format= --radix= --totals --common | o*
objdump | -[adDfhprRsTtwxzC] -[bjmM]= --all-headers --archive-headers --file-headers --section-headers --headers
 --private-headers --disassemble? --disassemble-all --full-contents --syms --dynamic-syms --reloc --dynamic-reloc
 --section= --disassembler-options= --demangle? --no-show-raw-insn --wide --start-address= --stop-address=
 --architecture= --target= --plugin=! | o*
readelf | -[aAdDeghIlnrsStuVWT] -[xpR]= --all --file-header --program-headers --segments --section-headers
 --sections --section-details --headers --syms --symbols --dyn-syms --notes --relocs --unwind --dynamic
 --version-info --arch-specific --use-dynamic --hex-dump= --string-dump= --wide --histogram --demangle? | o*
lsblk | -[abdfhilJmnOpPrst] -[eoIx]= --all --bytes --json --list --output= --fs --paths --nodeps --noheadings
 --tree? --sort= --topology --perms | a*
lscpu | -[abceJpxy] --all --online --offline --json --parse? --extended? |
lsof | -[abClnNPRtUVw] -D@ -[ipucdg]? | r*
df/gdf | -[ahHikglPTv] -[Btx]= --all --human-readable --si --inodes --local --portability --print-type --total
 --type= --exclude-type= --output? --block-size= --no-sync | n*
du/gdu | -[0aAbcDghHkLlmnPrsSx] -[BdtI]= -X=r --all --apparent-size --block-size= --bytes --total --dereference-args
 --max-depth= --human-readable --inodes --dereference --no-dereference --null --separate-dirs --si --summarize
 --threshold= --time? --time-style= --exclude= --exclude-from=r --one-file-system --files0-from=l | d*
cloc | -q --exclude-dir= --exclude-lang= --include-lang= --include-ext= --exclude-ext= --by-file --by-file-by-lang
 --quiet --csv --json --md --yaml --xml --hide-rate --sum-one --progress-rate= --match-f= --not-match-f= --match-d=
 --not-match-d= --fullpath --timeout= --skip-uniqueness --out=w --report-file=w --list-file=l --exclude-list-file=r
 --extract-with=! | d*
tokei | -[fC] -[estocn]= --exclude= --sort= --type= --types= --output= --files --hidden --no-ignore --compact
 --columns= | d*
scc | -[caw] -[ixMfs]= -o=w --output=w --by-file --exclude-dir= --include-ext= --exclude-ext= --format=
 --no-complexity --no-cocomo --no-size --no-duplicates --wide --sort= | d*
xmllint | -o=w --output=w --format --noout --nonet --pretty= --encode= --xpath= --recover --huge --nocdata
 --noblanks --c14n --noenc --nowarning --timing --sax --stream --shell! | r* | gives the program commands to run [RUNS]
zcat/gzcat/bzcat/xzcat/zstdcat/lzcat | -[cdfklqv] -o=w | r*
column | -[teLxJ] -[scoNHORTWErp]= --table --separator= --output-separator= --json --table-columns= --table-right=
 --table-name= --output-width= --table-hide= --table-truncate= --table-wrap= --table-order= --fillrows
 --keep-empty-lines | r*
true/false/:/yes/echo/printf/test/[/let/read/mapfile/readarray/getopts/unset/local/set/expr/seq | * | a*
factor | -h --exponents | t*
pwd | -[LPW] --logical --physical |
cd/pushd/popd | -# -[LPen@] | a*
basename/dirname | * | a*
dirs | -[clpv] -# | {[+-]\d+}
exit/return/break/continue/shift/logout | -# | a*
caller | | t
help | -[dms] | t*
type | -[afptP] | t*
hash | -[rlt] | t* | replaces a command with another program [RUNS]
jobs | -[lnprs] -x! | t*
wait | -[fn] -p= | t*
times/logname/users |
ulimit | -[aHSbcdefiklmnpqrstuvxPRT] |
umask | -[pS] |
trap | -[pl] |
shopt | -[pq] -o | {\w+}*
complete | -p | {[\w./-]+}*
compgen | -[abcdefgjksuv] -[AGPSWXo]= | t*
whoami |
id | -[agGnruzZp] --user --group --groups --name --real --zero --context | t*
groups | | t*
uname | -[asnrvmpio] --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor
 --hardware-platform --operating-system |
hostname | -[fsdiIaAyn] --fqdn --long --short --ip-address --all-ip-addresses --domain |
nproc | --all --ignore= |
tty | -s --silent --quiet |
date/gdate | -[uRjn] -[dvz]= -I? -s=! -[fr]=r --date= --file=r --reference=r --set=! --iso-8601? --rfc-3339=
 --rfc-email --utc --universal --debug --resolution | {\+.*} | sets the clock
cal/ncal | -[13bhjmsywyNY] -[nABSd]= | {[\w]+}*
uptime | -[ps] --pretty --since |
free | -[bkmgGhltwv] -[cs]= --bytes --kibi --mebi --gibi --kilo --mega --giga --human --si --lohi --total --wide
 --count= --seconds= |
sleep | | a*
which | -[as] --all | t*
whereis | -[bmsu] | t*
whatis/apropos | -[delrwa] -s= --section= --long --exact --wildcard --regex --and -C=! --config-file=! | {[^/@]+}*
man | -[afkKwWiI] -[sS]= --section= --sections= --all --whatis --apropos --where --where-cat --path --location
 --location-cat -P=! --pager=! -H?! --html?! -p=! --preprocessor=! -C=! --config-file=! -X?! --gxditview?! -T?!
 --troff-device?! -B=! | {[^/@]+}*
info | -[aw] -o=w --output=w --dribble=w --restore@ --all --where | {[^/@]+}*
dmesg | -[HkTtxuerPdw] -[fl]= -F=r --file=r --human --ctime --color? --level= --facility= --follow --decode
 --nopager --since= --until= --reltime --notime --kernel --userspace --json -[CcDE]! -n=! --clear! --read-clear!
 --console-off! --console-on! --console-level=! | | clears the log of the kernel
journalctl | -# -[aefkqrx] -[b]? -[nopStuUgN]= --user --system --since= --until= --no-pager --lines= --unit=
 --user-unit= --output= --output-fields= --priority= --grep= --case-sensitive? --boot? --list-boots --disk-usage
 --dmesg --follow --reverse --utc --no-hostname --catalog --identifier= --no-tail --no-full --full --all --header
 --fields --field= --quiet --merge --cursor= -D=r --directory=r --file=r --vacuum-size=! --vacuum-time=!
 --vacuum-files=! --rotate! --flush! --sync! --relinquish-var! --setup-keys! --update-catalog! | t* | deletes logs
numfmt | -d= -z --to= --from= --to-unit= --from-unit= --suffix= --padding= --round= --field= --format= --header?
 --invalid= --grouping --delimiter= --zero-terminated | a*
bc | -[hilqsw] --mathlib --quiet --standard --warn --interactive | r*
dc | -e= --expression= -f=r --file=r | r*
tput | -T= | {[\w]+}*
clear | -x |
w | -[hsufio] --no-header --short --from | t
who | -[abdHlmpqrstTuw] --all --boot --heading --count | r*
pgrep | -[aclfinovwx] -[dgGPstuU]= -F=r --list-full --list-name --full --exact --newest --oldest --count
 --ignore-case --inverse --delimiter= --parent= --user= --uid= --group= --terminal= --session= | t*
pidof | -[sqcx] -[oS]= | t*
pstree | -[aAchglnNpStTuU] -H= | t*
ps | -[AadeflNTwHjcFMZmLyP] -[oOCGgpqstuUk]= --no-headers --headers --forest --sort= --pid= --ppid= --quick-pid=
 --user= --User= --group= --format= --deselect --cols= --columns= --rows= --lines= --width= |
 {[ac-df-wyxATULSOghjlmrsuv]+|[\d,]+}*
top | -[bcHiSs1eE] -[dnpuUow]= |
vmstat | -[afmnsdwt] -S= --active --stats --wide | {\d+}*
iostat/mpstat | -[cdhkmNptxyz] | {[\w]+}*
getconf | -a -v= | {[\w/.]+}*
locale | -[akcmv] --all-locales --charmaps --keyword-name | {[\w]+}*
nvidia-smi | -[Lqx] -[idl]= --list-gpus --query --id= --display= --loop= --query-gpu= --query-compute-apps= --format= |
sw_vers | -productVersion -productName -buildVersion --productVersion --productName --buildVersion |
sysctl | -[aAeNnq] --all --names --values --ignore | {[\w.]+}*
uuidgen | -[rt] --random --time |
file | -[bEhiklLNnprsv0] -[CzZS]@ --compile@ --uncompress@ --no-sandbox@ -[eFP]= -[mf]=l --mime --mime-type
 --mime-encoding --brief --extension --keep-going
 --dereference --no-dereference --no-pad --raw --print0 --exclude= --separator= --magic-file=l --files-from=l | r*
sort/gsort | -# -[bcCdfghimMnRrsuVz] -[ktS]= -[oT]=w --key= --field-separator= --buffer-size= --parallel= --sort=
 --check? --batch-size= --debug --merge --unique --stable --reverse --numeric-sort --human-numeric-sort
 --general-numeric-sort --version-sort --random-sort --ignore-case --ignore-leading-blanks --dictionary-order
 --ignore-nonprinting --month-sort --zero-terminated --random-source=r --files0-from=l --output=w
 --temporary-directory=w --compress-program=! | r*
uniq | -# -[cdDuiz] -[fsw]= --count --repeated --all-repeated? --group? --unique --ignore-case --skip-fields=
 --skip-chars= --check-chars= --zero-terminated | r w
shuf/gshuf | -[erz] -[ni]= -o=w --echo --input-range= --head-count= --repeat --zero-terminated --random-source=r
 --output=w | r*
base64/base32/basenc | -[dDi] -[wb]= -o=w --decode --ignore-garbage --wrap= --break= --base64 --base64url --base32
 --base16 --z85 | r*
tree | -[adfilpsughDFACSnNxqtcrUvJXQ] -[LPIT]= -o=w --gitignore --gitfile=r --info --infofile=r --filelimit=
 --charset= --timefmt= --sort? --dirsfirst --filesfirst --noreport --prune --du --si --inodes --device --matchdirs
 --ignore-case --metafirst --fromfile -H= --nolinks | r*
bat/batcat | -[AnpuPL] -[lrHm]= --plain --number --show-all --line-range= --language= --theme= --style= --color=
 --paging= --wrap= --decorations= --tabs= --terminal-width= --highlight-line= --file-name= --map-syntax=
 --italic-text= --list-languages --list-themes --pager=! | r*
less/zless/more | -# -[aABcCdeEfFgGiIJKmMnNqQrRsSuUVwWX~l] -[bhjpPxyz]= -k=! --lesskey-file=! --lesskey-src=!
 --lesskey-content=! -[oO]=w --log-file=w --LOG-FILE=w -T=r --LINE-NUMBERS --line-numbers --chop-long-lines
 --RAW-CONTROL-CHARS --no-init --quit-if-one-screen --quit-at-eof --ignore-case --IGNORE-CASE --pattern= | r*
jq/gojq/jaq | -[acCeMnrRsSj] --arg=tt --argjson=tt --slurpfile=tr --rawfile=tr --indent= --tab --args --jsonargs
 --compact-output --raw-output --raw-output0 --join-output --ascii-output --sort-keys --color-output
 --monochrome-output --null-input --raw-input --slurp --exit-status --seq --stream --stream-errors --unbuffered
 -f=r^ --from-file=r^ -L=r | c r*
yq | -[rjPMCNne] -[is]@ --inplace@ --split-exp@ -[opI]= --output-format= --input-format= --indent= --prettyPrint
 --no-colors --colors
 --unwrapScalar? --null-input --exit-status --no-doc --from-file=r^ | c r*
grep/egrep/fgrep/zgrep/ugrep | -# -[abcEFGhHiIlLnoPqsTUvwxyzZ] -r~ -R& -[ABCmdD]= -e=t^ -f=r^ --regexp=t^ --file=r^
 --recursive~ --dereference-recursive& --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case
 --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? --files-with-matches
 --files-without-match --max-count= --only-matching --quiet --silent --no-messages --byte-offset --with-filename
 --no-filename --label= --line-number --initial-tab --null --after-context= --before-context= --context= --text
 --binary-files= --devices= --directories= --exclude= --exclude-from=r --exclude-dir= --include= --line-buffered
 --null-data --pager?! --filter=! | t r*
rg | -# -L& -[aFilnNopPqsSuUvwxzchHI0.] -[ABCgtTmjMEdr]= -e=t^ -f=r^ --regexp=t^ --file=r^ --ignore-file=r --files^
 --type-list^ --pre=! --hostname-bin=! --pre-glob= --after-context= --before-context= --context= --glob= --iglob=
 --type= --type-not= --type-add= --type-clear= --max-count= --max-depth= --max-filesize= --max-columns=
 --max-columns-preview --threads= --encoding= --replace= --sort= --sortr= --color= --colors= --engine=
 --auto-hybrid-regex --binary --block-buffered --line-buffered --byte-offset --case-sensitive --ignore-case
 --smart-case --column --no-column --count --count-matches --crlf --debug --trace --dfa-size-limit=
 --regex-size-limit= --field-context-separator= --field-match-separator= --context-separator= --files-with-matches
 --files-without-match --fixed-strings --follow& --glob-case-insensitive --heading --no-heading --hidden --no-hidden
 --hyperlink-format= --include-zero --invert-match --json --line-number --no-line-number --line-regexp --word-regexp
 --mmap --no-mmap --multiline --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude
 --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages
 --no-require-git --no-unicode --null --null-data --one-file-system --only-matching --passthru --path-separator=
 --pcre2 --pcre2-version --pretty --quiet --search-zip --stats --stop-on-nonmatch --text --trim --unrestricted
 --vimgrep --with-filename --no-filename --generate= | t d*
ag | -f& -[acDFHilLnQrsSuUvwWz0] -[ABCGm]= -p=r --path-to-ignore=r --ignore= --ignore-dir= --hidden --nocolor --color
 --group --nogroup --nobreak --break --noheading --heading --column --count --literal --word-regexp --depth=
 --files-with-matches --pager=! | t d*
ack | -[1cCiIhHlLnovwQrRxsf] -[ABm]= --type= --ignore-dir= --ignore-file= --color --nocolor --group --nogroup
 --heading --noheading --literal --count --pager?! | t d*
find/gfind | -L -P -H -[O]? -a -and -o -or -not -empty -executable -false -true -nogroup -nouser -readable -writable
 -daystart -depth -d -follow -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -warn -nowarn -print
 -print0 -ls -prune -quit -delete -amin= -atime= -cmin= -ctime= -mmin= -mtime= -fstype= -gid= -group= -ilname=
 -iname= -inum= -ipath= -iregex= -iwholename= -links= -lname= -maxdepth= -mindepth= -name= -path= -perm= -regex=
 -regextype= -size= -type= -uid= -used= -user= -wholename= -xtype= -context= -printf= -newermt= -newerct= -newerat=
 -newer=r -anewer=r -cnewer=r -samefile=r -newermm=r -files0-from=l -exec=; -execdir=; -ok=; -okdir=; -fprint=w
 -fprint0=w -fls=w -fprintf=wt | a*
fd/fdfind | -[HIuisagFlLp0q1] -[detESojc]= --hidden --no-ignore --unrestricted --case-sensitive --ignore-case --glob
 --regex --fixed-strings --absolute-path --list-details --follow --full-path --print0 --max-depth= --min-depth=
 --exact-depth= --type= --extension= --exclude= --size= --changed-within= --changed-before= --owner= --color=
 --threads= --base-directory=r --search-path=r --strip-cwd-prefix? --max-results= --one-file-system --no-ignore-vcs
 --no-ignore-parent --and= --ignore-file=r -x=; -X=; --exec=; --exec-batch=; | t r*
sed/gsed | -[nErsuz] -i@ --in-place@ -l= -e=t^ -f=r^ --expression=t^ --file=r^ --quiet --silent --regexp-extended
 --debug --posix
 --separate --unbuffered --null-data --zero-terminated --sandbox --line-length= --follow-symlinks | c a*
awk/gawk/mawk/nawk | -[bcnPrS] -[Fv]= -f=t^ --field-separator= --assign= --file=t^ --posix --re-interval --sandbox
 --traditional --characters-as-bytes | c a*
systemctl | -[lqa] -[ntpos]= --user --system --no-pager --full --lines= --type= --state= --all --property= --output=
 --quiet --failed --plain --no-legend --value | >
systemctl status/show/is-active/is-enabled/is-failed/list-units/list-unit-files/cat/list-timers | -[lqa] -[ntpos]=
 --user --system --no-pager --full --lines= --type= --state= --all --property= --output= --quiet --failed --plain
 --no-legend --value | t*
netstat | -[anltuprwveisgcMNWxo46] -f= --all --numeric --listening --tcp --udp --program --route |
ss | -[anltuprwxeimoshOHbZ460] -f=! -D=w -F=r --all --numeric --listening --tcp --udp --processes --summary
 --no-header --unix | t*
ifconfig | -[as] | {[\w.:-]+} !* | changes the network
route | -[neCFv46] --numeric |
arp | -[anev] -i= | t*
mount/umount | |
unzip | -[lvtZzqpcC1] | r t*
zipinfo | -[12smlvhtzMTZC] | r t*
tar/gtar/bsdtar | -[tvzjJakRi] -[fCbH]=t --list --verbose --gzip --gunzip --bzip2 --xz --zstd --lzma --auto-compress
 --file=t --directory=t --exclude= --wildcards --no-wildcards --strip-components= --numeric-owner --full-time --utc
 --totals --show-stored-names --to-command=! -I=! --use-compress-program=! --checkpoint-action=! -F=!
 --info-script=! --new-volume-script=! --rsh-command=! --rmt-command=! | t*
gzip/gunzip/bzip2/bunzip2/xz/unxz/zstd/unzstd/lz4 | -# -[cdfklnNqrtvhe] -[ST]= --stdout --to-stdout --decompress
 --list --test --keep --quiet --verbose --best --fast --threads= -o=w | a*
hg status/st | --config=! -[amdruinAC] --rev= --all --modified --added --removed --unknown | r*
hg log/history | --config=! -# -[Gvpglr]= --rev= --limit= --template= --graph --patch --stat --verbose | r*
hg diff | --config=! -[gpwbBa] -[crU]= --stat --git --rev= | r*
hg heads/id/identify/branches/tags/files/branch/summary/root | -[rnibtv] | t*
hg/svn | -q -v | >
svn status/st/info | --config-option=! -[uvq] --xml --show-updates --depth= | r*
svn diff | -[rc]= --summarize --internal-diff --diff-cmd=! -x= | r*
zfs/zpool list/get/status | -[Hprtv] -[os]= | t*
zfs/zpool | | >
ldd | -[vudr] | {/(?:usr|bin|lib|opt)/[\w/.+-]*}*
tmux | -[2uv] -L= | > | runs a program unseen [RUNS]
tmux ls/lsp/lsc/lsw/list-sessions/list-panes/list-windows/list-clients | -[as] -t= -[Ff]= | t*
tmux has-session/has | -t= |
tmux info |
tmux display-message/display | -[pv] -[tc]= | t
"""
ROWS: Final = rows(_TOOLS) | VERBS
_OF_UGREP: Final = " --pager?! --filter=!"
ROWS.update(rows("grep/egrep/fgrep |" + ROWS["ugrep"].replace(_OF_UGREP, "")))
