"""Options that load code from a directory that anybody can write to, and options that open a port."""

import json

import pytest

from workbench.risk import assess_line
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")
SHARED = """
mocha --require /tmp/x.js
pandoc --lua-filter /tmp/x.lua a.md
pandoc --filter=/tmp/x a.md
rspec -r /tmp/x.rb
phpunit --bootstrap /var/tmp/x.php
node --require=/dev/shm/x.js app.js
gcc -fplugin=/tmp/x.so a.c
eslint --resolve-plugins-relative-to /tmp src
jest --setupFiles /tmp/x.js
babel --plugins ./a.js,/tmp/x.js src
java -javaagent:/tmp/x.jar -jar a.jar
java -agentpath:/tmp/x.so Main
java -cp lib:/tmp Main
psql -f /tmp/x.sql
sqlite3 -init /tmp/x.sql a.db
openssl engine -pre SO_PATH:/tmp/x.so
npm --globalconfig=/tmp/npmrc i
cypress run --config-file /tmp/c.js
gulp -f /tmp/gulpfile.js
grunt --gruntfile /tmp/G
awk -f /tmp/x.awk a
sed -f/tmp/x.sed a
flask --app /tmp/x.py run
cd /tmp && mocha --require ./x.js
mocha --require ../../../tmp/x.js
robot --pythonpath /tmp tests
some-new-tool --plugin-dir /tmp/plugins
"""
PORTS = """
node --inspect=0.0.0.0 app.js
node --inspect-brk=0.0.0.0:9229 app.js
deno run --inspect=0.0.0.0:9229 a.ts
java -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=*:5005 -jar a.jar
java -Xrunjdwp:transport=dt_socket,server=y,address=0.0.0.0:5005 Main
mvn test -Dmaven.surefire.debug="-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005"
dlv debug --headless --listen=:2345
dlv --listen=0.0.0.0:2345 --headless debug
gdbserver :1234 ./a
lldb-server platform --listen '*:1234' --server
debugpy --listen 0.0.0.0:5678 a.py
rdbg --open --host 0.0.0.0 a.rb
redis-server --bind 0.0.0.0 --protected-mode no
redis-server --bind 127.0.0.1 0.0.0.0
redis-server --protected-mode no
mongod --bind_ip_all
mongod --bind_ip 127.0.0.1,0.0.0.0
memcached -l 0.0.0.0
chromium --remote-debugging-port=9222 --remote-debugging-address=0.0.0.0
tensorboard --logdir runs --bind_all
ttyd bash
postgres -h 0.0.0.0
elasticsearch -Enetwork.host=0.0.0.0
"""
SETTINGS = """
stow zsh
stow -D vim
rcup
dotbot -c install.conf.yaml
chezmoi apply
chezmoi init --apply user
yadm clone https://x.example/dot
yadm bootstrap
postsuper -d ALL
postsuper -d ALL deferred
"""
OTHER = """
pytest --junitxml=/tmp/report.xml
pytest --basetemp=/tmp/x
go test -coverprofile=/tmp/c.out ./...
go build -o /tmp/app ./cmd/app
esbuild a.ts --outfile=/tmp/out.js
tsc --outFile /tmp/out.js
ruff check --output-file /tmp/r.json src
docker build --iidfile /tmp/iid .
pandoc --metadata-file /tmp/m.yaml a.md -o /tmp/a.pdf
gh pr create --body-file /tmp/body.md
git commit -F /tmp/msg
node app.js --config /tmp/x.json
node app.js --data /tmp/d.js
jest --outputFile=/tmp/r.json --json
eslint -o /tmp/e.txt src
shellcheck --rcfile /dev/null a.sh
mocha --require ./setup.js
node --inspect app.js
node --inspect=127.0.0.1:9229 app.js
dlv debug --headless --listen=127.0.0.1:2345
java -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=localhost:5005 -jar a.jar
redis-server --port 7000
mongod --bind_ip 127.0.0.1 --dbpath data
vite --host localhost
stow -n zsh
chezmoi diff
yadm status
postsuper -r ALL
diff -u /tmp/a.py src/a.py
diff -ru /tmp/a.py src/a.py
git diff --no-index /tmp/a.py src/a.py
cp -f /tmp/a.py src/a.py
cp -p /tmp/a.sh scripts/
mv -f /tmp/a.py src/a.py
rm -f /tmp/a.py
rm -v /tmp/a.sh
chmod 755 /tmp/a.sh
chmod -v 755 /tmp/a.sh
chmod -v +x /tmp/a.sh
black -q /tmp/a.py
black --check /tmp/a.py
ruff check --fix /tmp/a.py
ruff check --select E /tmp/a.py
mypy --strict /tmp/a.py
shellcheck -x /tmp/a.sh
wc -l /tmp/a.py
head -n 5 /tmp/a.py
sed -n 1,5p /tmp/a.py
sed -i s/x/y/ /tmp/a.py
sed -i.bak s/x/y/ /tmp/a.py
rsync -a /tmp/a.py src/
ln -s /tmp/a.py src/a.py
touch -c /tmp/a.py
tar -czf a.tgz /tmp/a.py
zip -r a.zip /tmp/a.py
prettier --write /tmp/a.js
eslint --fix /tmp/a.js
python -m py_compile /tmp/a.py
python -m pyflakes /tmp/a.py
code -d /tmp/a.py src/a.py
delta -s /tmp/a.py src/a.py
cmp -s /tmp/a.py src/a.py
stat -c %s /tmp/a.py
file -b /tmp/a.so
nm -D /tmp/a.so
objdump -d /tmp/a.so
strip -s /tmp/a.so
unzip -l /tmp/a.jar
unzip -o /tmp/a.jar -d x
jar -tf /tmp/a.jar
less -N /tmp/a.py
bat -n /tmp/a.py
tee -a /tmp/a.py
curl -o /tmp/a.sh https://x.org/a.sh
wget -O /tmp/a.sh https://x.org/a.sh
sqlite3 -batch /tmp/a.db
git add -f /tmp/a.py
git apply -v /tmp/a.py
patch -p1 -i /tmp/a.diff
patch -R /tmp/a.py
dos2unix -q /tmp/a.py
iconv -f latin1 /tmp/a.py
mktemp -p /tmp
mktemp -d -p /tmp build.XXXX
kubectl port-forward svc/web 8080:80
kubectl port-forward --address 127.0.0.1 svc/web 8080:80
terraform state list
terraform state show aws_instance.x
HTTP_PROXY= curl localhost:8000/health
http_proxy= https_proxy= curl -s http://localhost:8000/health
no_proxy=localhost curl localhost:8000/health
nix run .#x
nix run
nix run ./tools#fmt -- --check
mvn -Dexec.args="--port 8080" exec:java
mvn exec:java -Dexec.mainClass=com.x.Main -Dexec.args="a b"
"""
STILL_HIGH = """
terraform state rm x
kubectl port-forward --address 0.0.0.0 svc/web 8080:80
mktemp -p /etc
psql -f /tmp/a.sql
terraform state pull
HTTP_PROXY=http://x.example curl localhost:8000/health
nix run nixpkgs#hello
nix run github:x/y
nix run ../other#x
nix run --override-input a github:x/y .#x
mvn exec:exec -Dexec.executable=sh
mvn -Dexec.args="drop all" exec:java
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("line", lines(SHARED + PORTS + SETTINGS + STILL_HIGH))
def test_line_that_exposes_the_user_is_high(line):
    assert assess_command(line, PLACES).risk == "HIGH"


@pytest.mark.parametrize("line", lines(OTHER))
def test_similar_line_is_not_high(line):
    assert assess_command(line, PLACES).risk != "HIGH"


def test_code_of_a_workspace_below_the_shared_directory_is_of_the_project():
    inside = PathContext("/tmp/proj", "/home/u")
    assert assess_command("mocha --require /tmp/proj/x.js", inside).risk == "MEDIUM"
    assert assess_command("mocha --require /tmp/other/x.js", inside).risk == "HIGH"


@pytest.mark.parametrize(
    ("program", "text", "risk"), [("psql shop", "drop table t;", "HIGH"), ("psql shop", "select 1;", "MEDIUM")]
)
def test_typed_text_is_rated_from_a_line_of_json(program, text, risk):
    line = json.dumps({"kind": "typed", "input": {"program": program, "text": text}})
    assert assess_line(line, PLACES).risk == risk
