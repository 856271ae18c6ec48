#!/usr/bin/env bash
# Runs the demo's backlog again and again and kills tm with -9 at random moments, up to four times a run; then compares
# the end with that of an undisturbed run: the landed tree, the statuses, leftover worktrees and processes.
#
#   benches/kill.sh [RUNS]        200 when not given; exits with 1 when any run differs
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-200}
cargo build --quiet --release --bin tm
tm=$PWD/target/release/tm
[ -z "${CARGO_TARGET_DIR:-}" ] || tm=$CARGO_TARGET_DIR/release/tm
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

integration() { git -C "$1" for-each-ref --sort=-committerdate --count=1 --format='%(refname)' 'refs/heads/tm/*/run-*'; }
tree() { git -C "$1" rev-parse "$(integration "$1")^{tree}"; }

TM_HOME=$folder/home "$tm" demo "$folder/demo" > /dev/null 2>&1
expected=$(tree "$folder/demo")
git -C "$folder/demo" checkout --quiet -- .
git -C "$folder/demo" for-each-ref --format='delete %(refname)' refs/heads/tm refs/tm | git -C "$folder/demo" update-ref --stdin

same=0 kills=0 worktrees=0 undone=0 processes=0
for run in $(seq 1 "$runs"); do
    place=$folder/$run
    mkdir "$place"
    cp -r "$folder/demo" "$place/checkout"
    code=99
    for try in 1 2 3 4 5; do
        (cd "$place/checkout" && TM_HOME=$place/home exec "$tm" waves run --yes) > "$place/log$try" 2>&1 &
        pid=$!
        if [ "$try" -lt 5 ]; then
            sleep "$(awk -v random=$RANDOM 'BEGIN { print 0.03 + random / 32768 * 1.2 }')"
            if kill -9 "$pid" 2> /dev/null; then kills=$((kills + 1)); fi
        fi
        code=0
        wait "$pid" 2> /dev/null || code=$?
        [ "$code" != 0 ] || break
    done
    if [ "$code" = 0 ] && [ "$(tree "$place/checkout")" = "$expected" ]; then
        same=$((same + 1))
    else
        echo "run $run differs: exit code $code, $(integration "$place/checkout")"
    fi
    worktrees=$((worktrees + $(git -C "$place/checkout" worktree list | wc -l) - 1))
    done_tasks=$(grep -c '"status": "done"' "$place/checkout/.taskmaster/tasks/tasks.json" || true)
    [ "$done_tasks" = 9 ] || undone=$((undone + 1))
    # grep finds nothing when all is well, and says so with its exit code.
    processes=$((processes + $({ grep -lsz "TM_HOME=$place/home" /proc/[0-9]*/environ || true; } | wc -l)))
    rm -rf "$place"
done
echo "$runs runs, $kills kills: $same end as an undisturbed run; worktrees left $worktrees, processes left $processes," \
    "runs with a task that is not done $undone"
[ "$same" = "$runs" ] && [ "$worktrees" = 0 ] && [ "$processes" = 0 ] && [ "$undone" = 0 ]
