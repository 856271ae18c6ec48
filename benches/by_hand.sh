#!/usr/bin/env bash
# Does a backlog by hand: what somebody types who gives each task a worktree and merges what its tests prove. For each
# task: a worktree on a branch of its own, the agent in it, the tests, a commit; then a merge into the integration branch,
# whose tree is tested as well; the worktree goes away. With more slots than one, tasks are worked on side by side, and
# merges wait for each other.
#
#   benches/by_hand.sh REPOSITORY TASKS SLOTS AGENT      AGENT is a command for sh, with TM_TASK_ID set
#
# TASKS is a number. The repository needs `run-tests.sh` and a branch `integration`, which a worktree beside it holds.
set -euo pipefail
repository=$1 tasks=$2 slots=$3
export AGENT=$4 BESIDE=$1.by-hand
mkdir -p "$BESIDE"
cd "$repository"
[ -e "$BESIDE/integration" ] || git worktree add --quiet -B integration "$BESIDE/integration"

task() {
    local id=$1 folder=$BESIDE/$1
    flock "$BESIDE/adding" git worktree add --quiet -b "by-hand/task-$id" "$folder" integration
    (
        cd "$folder"
        TM_TASK_ID=$id sh -c "$AGENT"
        sh run-tests.sh > /dev/null
        git add --all
        git commit --quiet --message "Task $id"
    )
    (
        flock 9
        cd "$BESIDE/integration"
        git merge --quiet --no-ff --message "Land task $id" "by-hand/task-$id"
        sh run-tests.sh > /dev/null
    ) 9> "$BESIDE/landing"
    git worktree remove "$folder"
}

if [ "$slots" = 1 ]; then
    for id in $(seq "$tasks"); do task "$id"; done
else
    export -f task
    seq "$tasks" | xargs -P "$slots" -I ID bash -c 'set -euo pipefail; task ID'
fi
