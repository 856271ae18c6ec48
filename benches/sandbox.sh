#!/usr/bin/env bash
# What the sandbox costs, each level beside none in turns: a run of tasks whose agents end at once (each is one attempt, with
# its git folder and home, and its tests), and tests that start 1,000 processes.
#
#   benches/sandbox.sh [ROUNDS]        5 when not given
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
tasks=20
cargo build --quiet --release --bin tm
tm=$PWD/target/release/tm
[ -z "${CARGO_TARGET_DIR:-}" ] || tm=$CARGO_TARGET_DIR/release/tm
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 TM_HOME=$folder/tm HOME=$folder/home
mkdir -p "$folder/home"

project() { # NAME TESTS BACKLOG
    mkdir -p "$folder/$1/.taskmaster/tasks"
    cd "$folder/$1"
    printf '%s\n' "$2" > run-tests.sh
    printf '{"master": {"tasks": [%s]}}\n' "$3" > .taskmaster/tasks/tasks.json
    git init --quiet --initial-branch=main
    git config user.name bench
    git config user.email bench@example.org
    git add --all
    git commit --quiet --message start
}
task() { printf '{"id": %s, "title": "Part %s", "description": "", "status": "pending", "dependencies": [], "subtasks": []}' "$1" "$1"; }
backlog=$(for id in $(seq "$tasks"); do [ "$id" = 1 ] || printf ','; task "$id"; done)
project many 'echo 1..1; echo ok 1' "$backlog"
# shellcheck disable=SC2016
project processes 'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done; echo 1..1; echo ok 1' "$(task 1)"

milliseconds() { local from; from=$(date +%s%N); "$@" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; echo $((($(date +%s%N) - from) / 1000000)); }
run() { # LEVEL
    cd "$folder/many"
    TM_TDD_MODE=off milliseconds "$tm" waves run --yes --max-parallel 1 --sandbox "$1" \
        --agent-command 'echo $TM_TASK_ID > $TM_TASK_ID; printf "status: PASS\n" > $TM_RESULT_FILE'
    git checkout --quiet --force
    git clean --quiet --force
    git for-each-ref --format='delete %(refname)' refs/heads/tm refs/tm | git update-ref --stdin
    rm -rf "$folder/tm"
}
tests() { # LEVEL
    cd "$folder/processes"
    TM_SANDBOX_LEVEL=$1 TM_AGENT_DEFAULT=replay milliseconds "$tm" doctor --tests
    rm -rf "$folder/tm"
}

levels=none
for level in bwrap landlock; do
    # Anything that runs at that level and no other says whether it is here.
    if (run "$level") > /dev/null 2>&1; then levels="$levels $level"; else echo "$level does not work here"; fi
done
for round in $(seq "$rounds"); do
    for level in $levels; do
        echo "$level $(run "$level") $(tests "$level")" >> "$folder/times"
    done
done
awk -v tasks=$tasks '
    function median(name,   n, i, j, t, v) {
        n = split(all[name], v, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        return v[int((n + 1) / 2)]
    }
    { all["run " $1] = all["run " $1] " " $2; all["tests " $1] = all["tests " $1] " " $3; seen[$1] = 1 }
    END {
        printf "medians; a run of %d tasks, and a look at tests of 1,000 processes\n", tasks
        for (level in seen) {
            run = median("run " level); tests = median("tests " level)
            printf "%-9s run %5d ms (%+.1f ms a task)   tests %5d ms (%+.1f %%)\n", level, run, \
                (run - median("run none")) / tasks, tests, 100 * tests / median("tests none") - 100
        }
    }' "$folder/times"
