//! Commits, branches and objects: what an agent does to the history so that something else lands than what was proven.

use super::case::{both, green};

cases! {
    a_commit_with_forged_trailers_is_not_taken_for_tms: green(
        r#"run=$TM_RUN_ID; pretend; weaken; echo BACKDOOR > evil
           commit "$(printf 'Add the parser\n\nTask: 1\nPhase: green\nTag: master\nRun: %s\nTests: 2 passed' "$run")"
           rm evil; git checkout --quiet HEAD~1 -- t; implement"#,
    ).lands_or_is_refused();
    a_commit_on_another_tasks_branch_is_not_taken_for_that_tasks: green(
        r#"here=$(git symbolic-ref HEAD); echo BACKDOOR > evil
           commit "$(printf 'Add the printer\n\nTask: 2\nPhase: green\nTag: master\nRun: %s' "$TM_RUN_ID")"
           for branch in task-2-add-the-printer task-2-add-the-printer-red; do git branch --force "tm/master/$branch"; done
           git reset --quiet --hard HEAD~1; implement"#,
    ).then_another_task().lands_or_is_refused();
    secrets_in_commits_between_do_not_reach_the_branch: green(
        "echo 'KEY=BACKDOOR' > .env; mkdir -p .taskmaster; echo BACKDOOR > .taskmaster/x; git add --force .env .taskmaster; commit one
         git rm --quiet -r .env .taskmaster/x; implement; commit two",
    ).lands_or_is_refused();
    a_merge_of_other_work_brings_none_of_it: green(
        "base=$(git rev-parse HEAD); echo BACKDOOR > evil; commit evil; evil=$(git rev-parse HEAD); git reset --quiet --hard $base
         git -c user.name=A -c user.email=a@example.org merge --quiet --no-ff --strategy=ours -m merged $evil; implement",
    ).lands_or_is_refused();
    words_of_the_agents_own_commits_do_not_reach_the_branch: green("implement; commit 'BACKDOOR in the words'").lands_or_is_refused();
    kept_commits_with_a_forged_trailer_are_no_history: green(
        r#"run=$TM_RUN_ID; echo BACKDOOR > evil; commit "$(printf 'Add the parser\n\ntask: 1\nPhase: green\nRun: %s' "$run")"; rm evil; implement"#,
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    kept_commits_with_secrets_between_are_no_history: green(
        "mkdir -p .taskmaster; echo BACKDOOR > .taskmaster/x; git add --force .taskmaster; commit one; git rm --quiet -r .taskmaster/x; implement; commit two",
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    a_kept_commit_with_a_key_in_it_is_no_history: green(
        r"printf 'BACKDOOR sk-%s\n' aB3aB3aB3aB3aB3aB3aB3aB3aB3 > key; commit one; rm key; implement; commit two",
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    a_kept_commit_with_a_link_out_of_the_tree_is_no_history: green(
        "ln -s /etc/passwd BACKDOOR; echo BACKDOOR > x; commit one; rm BACKDOOR x; implement",
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    a_kept_commit_that_is_too_large_is_no_history: green(
        "echo BACKDOOR > large; head -c 9000000 /dev/zero >> large; commit one; rm large; implement",
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    a_kept_merge_of_other_work_is_no_history: green(
        "base=$(git rev-parse HEAD); echo BACKDOOR > evil; commit evil; evil=$(git rev-parse HEAD); git reset --quiet --hard $base
         git -c user.name=A -c user.email=a@example.org merge --quiet --no-ff --strategy=ours -m merged $evil; implement",
    ).with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true").lands();
    kept_commits_of_another_task_do_not_take_its_work_away: green(
        r#"echo more > more; commit mine; implement; until [ -e "$AGENT_FOLDER/second" ]; do sleep 0.02; done
           git reset --quiet --hard "$(cat "$AGENT_FOLDER/second")"; git rm --quiet bin/2; commit 'without it'; implement; : > "$own/done""#,
    )
        .beside_another_task()
        .with_variable("TM_GIT_KEEP_AGENT_COMMITS", "true")
        .whose_user("sed -i 's|^green) implement|green) implement; [ $id-$TM_ATTEMPT != 2-1 ] \\|\\| { commit two; git rev-parse HEAD > \"$AGENT_FOLDER/place\"; mv \"$AGENT_FOLDER/place\" \"$AGENT_FOLDER/second\"; until [ -e \"$own/done\" ]; do sleep 0.02; done; }|' \"$AGENT_FOLDER/agent.sh\"")
        .lands_in_the_end();
    a_branch_of_tms_that_is_made_another_name_of_the_users_moves_the_users_nowhere: both(
        "case $TM_PHASE in red) write_test ;; green) implement ;; esac
         for ref in $(git for-each-ref --format='%(refname)' refs/heads/tm); do git symbolic-ref $ref refs/heads/main; done",
    ).then_another_task().lands_in_the_end();
    an_integration_branch_that_an_agent_moves_is_not_landed_on: green(
        r#"implement; ref=$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*'); export GIT_INDEX_FILE="$own/index"
           git read-tree $ref; git update-index --add --cacheinfo 100644,$(echo BACKDOOR | git hash-object -w --stdin),evil
           git update-ref $ref $(git -c user.name=A -c user.email=a@example.org commit-tree -m x -p $ref $(git write-tree)); unset GIT_INDEX_FILE"#,
    ).ends();
    an_integration_branch_that_is_moved_with_forged_trailers_is_not_landed_on: green(
        r#"implement; ref=$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*'); export GIT_INDEX_FILE="$own/index"
           git read-tree $ref; git update-index --add --cacheinfo 100644,$(echo BACKDOOR | git hash-object -w --stdin),evil
           new=$(printf 'Land task 1: Add the parser\n\nTask: 1\nRun: %s\n' "$TM_RUN_ID" | git -c user.name=A -c user.email=a@example.org commit-tree -p $ref -p HEAD $(git write-tree))
           git update-ref $ref $new; unset GIT_INDEX_FILE"#,
    ).ends();
    packed_refs_that_an_agent_edits_do_not_move_the_integration_branch: green(
        r#"implement; git -C "$user" pack-refs --all; export GIT_INDEX_FILE="$own/index"; git read-tree HEAD
           git update-index --add --cacheinfo 100644,$(echo BACKDOOR | git hash-object -w --stdin),evil
           new=$(git -c user.name=A -c user.email=a@example.org commit-tree -m x -p main $(git write-tree)); unset GIT_INDEX_FILE
           sed -i "s|^[0-9a-f]* \(refs/heads/tm/[^ ]*/run-\)|$new \1|" "$user/.git/packed-refs""#,
    ).ends();
    a_replaced_commit_of_reds_is_seen_through: green(
        r#"red=$(git rev-parse HEAD); pretend; weaken; export GIT_INDEX_FILE="$own/index"; git read-tree HEAD; git add t
           git replace $red $(git -c user.name=A -c user.email=a@example.org commit-tree -m x -p HEAD~1 $(git write-tree)); unset GIT_INDEX_FILE"#,
    ).which_changes(&["ref refs/replace/"]).refused();
    a_replaced_test_of_reds_is_seen_through: green(
        r"blob=$(git rev-parse HEAD:t/1.t); pretend; weaken; git replace $blob $(git hash-object -w t/1.t); git checkout --quiet t",
    ).which_changes(&["ref refs/replace/"]).refused();
    a_grafted_history_is_an_escape: green("implement; git rev-parse HEAD > \"$user/.git/info/grafts\"")
        .which_changes(&[".git/info/grafts"])
        .refused_as(&["escaped"]);
    a_history_that_an_agent_cuts_off_is_an_escape: green("implement; git rev-parse HEAD > \"$user/.git/shallow\"")
        .which_changes(&[".git/shallow"])
        .refused_as(&["escaped"]);
    objects_that_lie_with_the_agent_are_not_what_lands: green(
        r#"implement; mkdir -p "$own/objects"; GIT_OBJECT_DIRECTORY="$own/objects" git hash-object -w bin/1
           echo "$own/objects" > "$user/.git/objects/info/alternates""#,
    ).which_changes(&[".git/objects/info/alternates"]).refused_as(&["escaped"]);
    an_object_that_an_agent_overwrites_is_not_believed: green(
        r#"pretend; blob=$(git rev-parse HEAD:t/1.t); file="$user/.git/objects/$(printf %s $blob | cut -c1-2)/$(printf %s $blob | cut -c3-)"
           size=$(git cat-file -s $blob); line='echo "ok - 1 works" #'
           chmod u+w "$file"; python3 -c 'import sys, zlib
path, size, line = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
open(path, "wb").write(zlib.compress(b"blob %d\0" % size + line.ljust(size - 1, b"x") + b"\n"))' "$file" $size "$line""#,
    ).ends();
    an_object_of_the_work_itself_that_an_agent_overwrites_does_not_land: green(
        r#"implement; echo BACKDOOR > evil; evil=$(git hash-object -w evil); rm evil; good=$(git hash-object -w bin/1)
           file() { echo "$user/.git/objects/$(printf %s $1 | cut -c1-2)/$(printf %s $1 | cut -c3-)"; }
           chmod u+w "$(file $good)"; cat "$(file $evil)" > "$(file $good)""#,
    ).never_lands();
    // The word that must not land is put together at run time, since the program itself may.
    code_under_test_that_changes_the_index_changes_nothing: green(
        r#"mkdir -p bin; cat > bin/1 <<'END'
echo 1
weak=$(echo 'echo "ok - 1 works"' | git hash-object -w --stdin 2> /dev/null) && git update-index --cacheinfo 100644,$weak,t/1.t
evil=$(echo BACK""DOOR | git hash-object -w --stdin 2> /dev/null) && git update-index --add --cacheinfo 100644,$evil,evil
END"#,
    ).lands_or_is_refused();
    code_under_test_that_commits_changes_nothing: green(
        r#"mkdir -p bin; cat > bin/1 <<'END'
echo 1
{ echo BACK""DOOR > evil; git add evil; git -c user.name=A -c user.email=a@example.org commit -m evil; rm evil; } > /dev/null 2>&1
END"#,
    ).lands_or_is_refused();
    code_under_test_that_moves_branches_changes_nothing: green(
        r#"mkdir -p bin; cat > bin/1 <<'END'
echo 1
{ evil=$(git -c user.name=A -c user.email=a@example.org commit-tree -m BACK""DOOR -p HEAD 'HEAD^{tree}')
  git for-each-ref --format='%(refname)' refs/heads/tm | while read -r ref; do git update-ref "$ref" $evil; done; } > /dev/null 2>&1
END"#,
    ).ends();
    code_under_test_that_changes_the_files_beside_it_changes_nothing: green(
        r#"mkdir -p bin; cat > bin/1 <<'END'
echo 1
echo 'echo "ok - 1 works"' > t/1.t; echo 'echo broken' > bin/old; echo BACK""DOOR > evil
END"#,
    ).ends();
    a_head_that_points_at_nothing_changes_nothing: green("implement; git checkout --quiet --detach; git checkout --quiet -b elsewhere")
        .which_changes(&["ref refs/heads/elsewhere"])
        .lands_or_is_refused();
    branches_and_objects_that_an_agent_deletes_are_not_said_to_have_landed: green("implement")
        .with_green("implement")
        .whose_user(
            "sed -i 's|^green) implement|green) implement; [ $id-$TM_ATTEMPT != 2-1 ] \\|\\| { cd \"$user\"; git for-each-ref --format=\"delete %(refname)\" refs/heads/tm refs/tm \\| git update-ref --stdin; git reflog expire --expire=now --all; rm -f .git/gc.pid; git gc --quiet --prune=now; }|' \"$AGENT_FOLDER/agent.sh\"",
        )
        .then_another_task()
        .which_changes(&[".git/info/refs"])
        .ends();
    a_users_branch_that_an_agent_moves_is_left_for_the_user: green("implement; git branch --quiet --force feature HEAD")
        .which_changes(&["ref refs/heads/feature"])
        .lands_or_is_refused();
    a_hook_of_the_users_that_breaks_the_work_never_lands_it: green("implement")
        .whose_user(
            "printf '#!/bin/sh\\n[ ! -e bin/1 ] || { echo \"echo wrong\" > bin/1; git add bin/1; }\\n' > .git/hooks/pre-commit
             chmod +x .git/hooks/pre-commit",
        )
        .never_lands();
    a_hook_of_the_users_that_weakens_the_test_never_lands_it: green("implement")
        .with_green("pretend; echo more > README")
        .whose_user(
            "printf '#!/bin/sh\\n[ ! -e README ] || { echo \"echo \\\\\"ok - 1 works\\\\\"\" > t/1.t; git add t/1.t; }\\n' > .git/hooks/pre-commit
             chmod +x .git/hooks/pre-commit",
        )
        .ends();
}
