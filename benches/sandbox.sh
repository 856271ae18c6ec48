#!/usr/bin/env bash
# What the sandbox costs, each level beside none in turns: a run of tasks whose agents end at once (each is one attempt, with
# its git folder and home, and its tests), a look at tests that do nothing (with what each tm does once: to try the level, and
# to make its rules), and what 1,000 processes more take in such tests. The medians of what a round takes more than in the same
# round without; in wall and in CPU time: on a busy machine only the latter says something.
#
#   benches/sandbox.sh [ROUNDS]        5 when not given
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
tasks=20
cargo build --quiet --release --bin tm
tm=$PWD/target/release/tm
[ -z "${CARGO_TARGET_DIR:-}" ] || tm=$CARGO_TARGET_DIR/release/tm
room=$(df --output=avail /dev/shm 2>/dev/null | tail -1 || true)
if [ "${room:-0}" -gt 1000000 ]; then
    export TMPDIR=/dev/shm
fi
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
for count in 0 1000; do
    # shellcheck disable=SC2016
    project "processes-$count" "i=0; while [ \$i -lt $count ]; do /bin/true; i=\$((i + 1)); done; echo 1..1; echo ok 1" \
        "$(task 1)"
done

milliseconds() { # of wall and of CPU time
    local TIMEFORMAT='%R %U %S'
    { time "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&3; exit 1; }; } 3>&2 2>&1 |
        awk '{ printf "%d %d", $1 * 1000, ($2 + $3) * 1000 }' || exit 1
}
run() { # LEVEL
    cd "$folder/many"
    TM_TDD_MODE=off milliseconds "$tm" waves run --yes --max-parallel 1 --sandbox "$1" \
        --agent-command 'echo $TM_TASK_ID > $TM_TASK_ID; printf "status: PASS\n" > $TM_RESULT_FILE'
    git checkout --quiet --force
    git clean --quiet --force
    git for-each-ref --format='delete %(refname)' refs/heads/tm refs/tm | git update-ref --stdin
    rm -rf "$folder/tm"
}
tests() { # LEVEL PROCESSES
    cd "$folder/processes-$2"
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
        echo "$level $(run "$level") $(tests "$level" 0) $(tests "$level" 1000)" >> "$folder/times"
    done
done
awk -v tasks=$tasks '
    function median(values,   n, i, j, t, v) {
        n = split(values, v, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        return v[int((n + 1) / 2)]
    }
    function note(what, value) {
        if ($1 == "none") none[what] = value
        all[what " " $1] = all[what " " $1] " " value
        more[what " " $1] = more[what " " $1] " " (value - none[what])
    }
    {
        seen[$1] = 1
        note("run", $2); note("run CPU", $3); note("look", $4); note("look CPU", $5)
        note("tests", $6 - $4); note("tests CPU", $7 - $5)
    }
    function line(name, what, unit, by,   level) {
        print name
        for (level in seen)
            printf "  %-9s %5d ms (%+.1f %s), %5d ms of CPU (%+.1f %s)\n", level, \
                median(all[what " " level]), median(more[what " " level]) * by[what], unit, \
                median(all[what " CPU " level]), median(more[what " CPU " level]) * by[what " CPU"], unit
    }
    END {
        by["run"] = by["run CPU"] = 1 / tasks; by["look"] = by["look CPU"] = 1
        by["tests"] = 100 / median(all["tests none"]); by["tests CPU"] = 100 / median(all["tests CPU none"])
        line("a run of " tasks " tasks", "run", "ms a task", by)
        line("a look at tests that do nothing", "look", "ms", by)
        line("1,000 processes in tests", "tests", "%", by)
    }' "$folder/times"
