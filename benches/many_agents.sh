#!/usr/bin/env bash
# Starts so many agents at once that do nothing but sleep. Measures what tm itself takes meanwhile, memory and processor,
# then stops the run at once, measures how long that takes, and looks whether anything is left.
#
#   benches/many_agents.sh [AGENTS] [SANDBOX]      500 and auto when not given
#   TM=PATH measures that binary instead of a release build
#   MOST_MIB=40 MOST_PERCENT=1.5 MOST_STOP_MS=1000 are the bounds; exits with 1 where tm is beyond one of them
set -euo pipefail
cd "$(dirname "$0")/.."
agents=${1:-500} sandbox=${2:-auto}
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

TM_HOME=$folder/home "$tm" waves run --yes --tdd off --test-command true --sandbox "$sandbox" --max-parallel "$agents" \
    --agent-command 'echo up; exec sleep 1000' > "$folder/log" 2>&1 &
pid=$!
began=$(date +%s)
up() { { cat "$folder"/home/projects/*/runs/*/tasks/*/attempt-1/stdout.log 2> /dev/null || true; } | wc -l; }
while [ "$(up)" -lt "$agents" ]; do
    kill -0 "$pid" 2> /dev/null || { tail -5 "$folder/log"; exit 1; }
    sleep 0.5
done
up=$(($(date +%s) - began))
# Threads that waited for git at the start are gone by then.
sleep 15
of() { awk -v name="$1" '$1 == name { print int($2 / 1024) }' "/proc/$pid/status"; }
# Nanoseconds on a processor, and how often a thread was woken.
spent() { cat "/proc/$pid/task/"*/schedstat | awk '{ ns += $1 } END { printf "%.0f", ns }'; }
woken() { cat "/proc/$pid/task/"*/status | awk '/^voluntary_ctxt/ { all += $2 } END { printf "%.0f", all }'; }
cpu=$(spent) wakes=$(woken)
sleep 20
cpu=$((($(spent) - cpu) / 20)) wakes=$((($(woken) - wakes) / 20))
percent=$(awk -v ns="$cpu" 'BEGIN { printf "%.3f", ns / 1e7 }')
memory=$(of VmRSS:) peak=$(of VmHWM:) threads=$(ls "/proc/$pid/task" | wc -l)
began=$(date +%s%N)
kill -INT "$pid"
kill -0 "$pid" 2> /dev/null && sleep 0.05
kill -INT "$pid" 2> /dev/null || true
wait "$pid" || code=$?
stopped=$((($(date +%s%N) - began) / 1000000))
left=$( { grep -lsz "TM_HOME=$folder/home" /proc/[0-9]*/environ || true; } | wc -l)
echo "$agents agents ($sandbox) up after $up s; tm takes $memory MiB, at most $peak MiB, $threads threads, $percent % of a core," \
    "$wakes wakes a second; stopped after $stopped ms with exit code ${code:-0}; processes left $left"
[ "$peak" -le "${MOST_MIB:-40}" ] && [ "$stopped" -le "${MOST_STOP_MS:-1000}" ] && [ "$left" = 0 ] && [ "${code:-0}" = 130 ] &&
    awk -v is="$percent" -v most="${MOST_PERCENT:-1.5}" 'BEGIN { exit is > most }'
