#!/usr/bin/env bash
# Has so many tasks that depend on nothing land, by tests that do nothing but wait: one merge tested after the other
# (`git.land_batch: 1`), and ahead of their turn, with as many places for tests as there are processors and as slots. Prints
# how many landed a second, and how many times as many as one after the other with the same places, in one run.
#
#   benches/landing.sh [TASKS] [SLOTS] [SECONDS_OF_TESTS] [ROUNDS]      16, 8, 0.5 and 3 when not given
#   TM=PATH measures that binary instead of a release build
set -euo pipefail
cd "$(dirname "$0")/.."
tasks=${1:-16} slots=${2:-8} seconds=${3:-0.5} rounds=${4:-3}
tm=${TM:-}
if [ -z "$tm" ]; then
    cargo build --quiet --release --bin tm
    tm=${CARGO_TARGET_DIR:-$PWD/target}/release/tm
fi
memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
folder=$(mktemp -d -p "$memory")
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

# Prints the milliseconds from the first agent to the last landing of a run with so many places and such a batch.
measure() {
    rm -rf "$folder/checkout" "$folder/home"
    git init --quiet --initial-branch=main "$folder/checkout"
    cd "$folder/checkout"
    git config user.name Somebody
    git config user.email somebody@example.org
    mkdir -p .taskmaster/tasks
    awk -v count="$tasks" 'BEGIN {
        printf "{\"master\": {\"tasks\": ["
        for (id = 1; id <= count; id++)
            printf "%s{\"id\": %d, \"title\": \"Document %d\", \"status\": \"pending\", \"dependencies\": []}", (id > 1 ? "," : ""), id, id
        print "]}}"
    }' > .taskmaster/tasks/tasks.json
    printf 'sleep %s\necho 1..1\necho ok - fine\n' "$seconds" > run-tests.sh
    printf 'test: { command: sh run-tests.sh, parallel: %s }\ngit: { land_batch: %s }\n' "$1" "$2" > .taskmaster/tm.yaml
    git add --all
    git commit --quiet --message start
    TM_HOME=$folder/home "$tm" waves run --yes --tdd off --max-parallel "$slots" \
        --agent-command 'mkdir -p docs && echo "$TM_TASK_ID" > "docs/$TM_TASK_ID"' > "$folder/log" 2>&1 \
        || { tail -20 "$folder/log" >&2; exit 1; }
    awk -F'"' -v tasks="$tasks" '
        function ms(text,  part) { split(substr(text, 12, 12), part, /[:.Z]/); return ((part[1] * 60 + part[2]) * 60 + part[3]) * 1000 + part[4] }
        /"event":"attempt:started"/ && !first { first = moment() }
        /"event":"task:landed"/ { last = moment(); landed++ }
        function moment() { match($0, /"ts":"[^"]*"/); return ms(substr($0, RSTART + 6, RLENGTH - 7)) }
        END { if (landed != tasks) exit 1; print last - first }' "$folder"/home/projects/*/runs/*/activity.jsonl
    cd "$OLDPWD"
}

echo "$tasks tasks, $slots slots, tests of $seconds s, $(nproc) processors; the best of $rounds rounds"
declare -A best
for _ in $(seq "$rounds"); do
    for places in "$(nproc)" "$slots"; do
        for batch in 1 null; do
            took=$(measure "$places" "$batch")
            [ "${best[$places $batch]:-$took}" -lt "$took" ] || best[$places $batch]=$took
        done
    done
done
for places in "$(nproc)" "$slots"; do
    for batch in 1 null; do
        awk -v places="$places" -v batch="$batch" -v tasks="$tasks" -v took="${best[$places $batch]}" -v one="${best[$places 1]}" \
            'BEGIN { printf "%3d places  %-22s %6.2f landed a second  %5.2f x\n",
                places, batch == 1 ? "one after the other" : "ahead of their turn", tasks * 1000 / took, one / took }'
    done
done
