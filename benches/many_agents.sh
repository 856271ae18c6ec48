#!/usr/bin/env bash
# Starts so many agents at once that do nothing but sleep; measures tm's own memory while all of them live, then stops the
# run at once and looks whether anything is left.
#
#   benches/many_agents.sh [AGENTS] [MOST_MIB]      500 and 100 when not given; exits with 1 when tm takes more
#   TM=PATH measures that binary instead of a release build
set -euo pipefail
cd "$(dirname "$0")/.."
agents=${1:-500} most=${2:-100}
tm=${TM:-}
if [ -z "$tm" ]; then
    cargo build --quiet --release --bin tm
    tm=${CARGO_TARGET_DIR:-$PWD/target}/release/tm
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

git init --quiet --initial-branch=main "$folder/checkout"
cd "$folder/checkout"
git config user.name Somebody
git config user.email somebody@example.org
echo hello > README.md
mkdir -p .taskmaster/tasks
awk -v count="$agents" 'BEGIN {
    printf "{\"master\": {\"tasks\": ["
    for (id = 1; id <= count; id++)
        printf "%s{\"id\": %d, \"title\": \"Document %d\", \"status\": \"pending\", \"dependencies\": []}", (id > 1 ? "," : ""), id, id
    print "]}}"
}' > .taskmaster/tasks/tasks.json
git add --all
git commit --quiet --message start

mkdir "$folder/up"
TM_HOME=$folder/home UP=$folder/up "$tm" waves run --yes --tdd off --max-parallel "$agents" \
    --agent-command ': > "$UP/$TM_TASK_ID"; exec sleep 1000' > "$folder/log" 2>&1 &
pid=$!
began=$(date +%s)
while [ "$(ls "$folder/up" | wc -l)" -lt "$agents" ]; do
    kill -0 "$pid" 2> /dev/null || { tail -5 "$folder/log"; exit 1; }
    sleep 0.5
done
up=$(($(date +%s) - began))
sleep 3
memory=$(awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$pid/status")
peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$pid/status")
kill -INT "$pid"
sleep 0.2
kill -INT "$pid"
began=$(date +%s)
wait "$pid" || code=$?
left=$( { grep -lsz "TM_HOME=$folder/home" /proc/[0-9]*/environ || true; } | wc -l)
echo "$agents agents up after $up s; tm takes $memory MiB, at most $peak MiB; stopped after $(($(date +%s) - began)) s" \
    "with exit code ${code:-0}; processes left $left"
[ "$peak" -lt "$most" ] && [ "$left" = 0 ] && [ "${code:-0}" = 130 ]
