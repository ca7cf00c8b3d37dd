"""What never ends or fills the memory is MEDIUM, with a reason; what is bounded stays LOW."""

from __future__ import annotations

import subprocess

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.shell.words import count_of_words

_CONTEXT = PathContext("/srv/project", "/home/user")
_UNBOUNDED = """\
yes
yes > /dev/null
yes | cat
yes | tr y n | wc -l
yes | sort | head -1
yes > /dev/null | head -1
yes | head -n -5
yes | head -c 99G
yes | sed -n 1,5p
yes | grep -m3 n
yes | while read -r line; do echo "$line"; done
yes "$(yes)" | head -1
x=$(yes)
echo "$(yes)" | head -1
cat <(yes)
(yes)
nice yes
bash -c yes
seq 1000000000
seq 1 0.0000001 10
seq inf
seq 1 nan
seq -f %g 1e9
seq 999999999 | sort
shuf -r -i 1-10
shuf -re a b
shuf -i 1-99999999999
echo {1..999999999}
echo {9999999..1}
echo a{1..99999}{1..99999}
echo {a..z}{a..z}{a..z}{a..z}{a..z}
echo {,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}
echo {{1..9999},{1..9999}}{1..9999}
echo {1..99999999}"$x"
printf 'x%.0s' {1..100000000}
for i in {1..1000000000}; do echo $i; done
a=({1..99999999})
printf '%999999999d' 1
printf '%.999999999d' 1
printf '%*d' 999999999 1
while :; do :; done
while true; do date; sleep 5; done
while [ 1 ]; do echo x; done
while ((1)); do echo x; done
while sleep 1; do date; done
while ! false; do date; done
until false; do echo x; done
for ((;;)); do echo x; done
for ((i=0;;i++)); do echo $i; done
for ((i=0;i<100000000000;i++)); do echo $i; done
while :
do echo x
done
bc <<< '9^9^9^9'
bc <<< '2^9999999'
bc <<< 'while(1) 1'
echo '9^999999' | bc
dc -e '9 9 9 ^ ^ p'
awk 'BEGIN{while(1)print 1}'
awk 'BEGIN{for(;;)print 1}'
gawk 'BEGIN { do print 1; while (1) }'
sed ':a;ba' README.md
sed -e ':x; s/a/b/; b x' README.md
jq -n 'range(1000000000000)'
jq -n 'range(infinite)'
jq -n '[1 | repeat(.)]'
jq -n 'def f: f; f'
jq -n '1 | until(false; .)'
sleep infinity
sleep 99999999
sleep 3d
"""
_BOUNDED = """\
yes | head -3
yes | head -n 100
yes no | head -n 100 | sort
yes | head --lines=5
yes | head -c 2M | wc -c
yes | tr y n | head
yes | sed 5q
yes | cat | sed '10q'
{ yes; } | head -2
(yes) | head -1
timeout 5 yes
timeout 2 yes | wc -l
yes | :
seq 10
seq 1 1000
seq 10 -1 1
seq 1000000000 | head -3
seq $n
seq -w 1 20
shuf -n 5 -r -i 1-10
shuf -i 1-100
shuf -n 3 -i 1-99999999999 names.txt
echo {1..1000}
echo {a..z}{0..9}
echo '{1..999999999}'
echo "{1..999999999}"
echo \\{1..999999999}
echo {a,b}{c,d}
printf '%-20s %s\\n' a b
printf '%.3f' 1
printf '%*d' 10 1
while read -r line; do echo "$line"; done < names.txt
while true; do read -r line || break; echo "$line"; done < names.txt
while :; do echo x; done | head -3
until true; do echo x; done
while false; do echo x; done
for ((i=0;i<10;i++)); do echo $i; done
for i in {1..20}; do echo $i; done
bc <<< '2^10'
echo 'scale=3; 10/3' | bc
dc -e '2 3 + p'
awk 'NR==3{exit}' README.md
awk '{while((getline line < "names.txt") > 0) print line}' README.md
awk '{for(i=1;i<=NF;i++) print $i}' README.md
sed ':a;N;$!ba;s/\\n/ /g' README.md
sed -e ':a' -e 's/^.{1,5}$/ &/;ta' README.md
jq -n '[limit(3; repeat(1))]'
jq -n 'first(range(10))'
jq '.[] | range(5)' data.json
sleep 2
sleep 0.5
sleep 10m
"""


@pytest.mark.parametrize("line", _UNBOUNDED.replace("while :\ndo echo x\ndone", "while :;do echo x;done").splitlines())
def test_unbounded_line_is_medium_with_a_reason(line: str):
    assessment = assess_command(line, _CONTEXT)
    assert assessment.risk == "MEDIUM"
    assert any("end" in reason or "memory" in reason or "a day" in reason for reason in assessment.reasons)


@pytest.mark.parametrize("line", _BOUNDED.splitlines())
def test_bounded_line_is_low(line: str):
    assert assess_command(line, _CONTEXT).risk == "LOW"


def test_loop_over_several_lines_is_rated_too():
    assert assess_command("while :\ndo\n  echo x\ndone", _CONTEXT).risk == "MEDIUM"
    assert assess_command("while :\ndo\n  read x || break\ndone", _CONTEXT).risk == "LOW"


@pytest.mark.parametrize(
    "word",
    [
        "{0,1,2,3,4,5,6,7,8,9}" * 7,
        "{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z}" * 5,
        "a" * 2_500 + "{1..999999999}",
        "{a,b}" * 500,
        "{1..+99999999}",
        "{1..999999999999999999}",
        f"{'{' * 30}1..99999999{'}' * 30}",
    ],
    ids=lambda word: word[-20:],
)
def test_braces_that_expand_to_too_many_words_are_counted_however_they_are_written(word: str):
    assert assess_command(f"echo {word}", _CONTEXT).risk != "LOW"


_BRACES = """\
{1..7}
x{1..20..3}y
{a,b}{c,d,e}
{a,{b,c},d}
{5..1}{a..e}
{{1..3},{7..9}}
{1..3}{,x}
a{b}c
{a,b}{
{}
{a..}
{01..10}
{a,b,{1..4}}{c..f}
{+1..+9}
{3..1..+2}
{1..9..9223372036854775807}
{1..9223372036854775808}
"""


@pytest.mark.starts
@pytest.mark.parametrize("text", _BRACES.split())
def test_words_are_counted_as_bash_expands_them(text: str):
    script = f"set -- {text}; echo $#"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert count_of_words(text) == int(result.stdout)
