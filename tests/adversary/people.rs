//! What belongs to others: the user's secrets and terminal, other agents, the wheel of the run.

use super::case::{green, red};

const SCREEN: &[&[&str]] = &[
    &["waves", "report"],
    &["waves", "plan"],
    &["waves", "status"],
    &["waves", "logs", "1"],
    &["list"],
    &["worktrees", "list"],
];

cases! {
    a_context_that_is_a_link_to_a_private_key_tells_nobody: green("implement; ln -sf \"$home/.ssh/id_rsa\" \"$TM_CONTEXT_FILE\"")
        .then_another_task()
        .lands_or_is_refused();
    a_context_that_holds_a_private_key_tells_nobody: green("implement; cat \"$home/.ssh/id_rsa\" > \"$TM_CONTEXT_FILE\"")
        .then_another_task()
        .ends();
    a_result_that_is_a_link_to_a_private_file_tells_nobody: green(
        "implement; ln -sf \"$home/.ssh/id_rsa\" \"$TM_RESULT_FILE\"; exit 0",
    ).refused();
    a_key_that_the_agent_prints_is_written_down_nowhere: green(
        "echo \"the key is $FAKE_API_KEY\"; echo \"$FAKE_API_KEY\" >&2; echo \"use $FAKE_API_KEY\" > \"$TM_CONTEXT_FILE\"
         printf 'status: FAIL\\n## Issues\\n- refused with %s\\n' \"$FAKE_API_KEY\" > \"$TM_RESULT_FILE\"; exit 0",
    ).then_another_task().afterwards(SCREEN).refused();
    a_key_that_tests_print_is_written_down_nowhere: green(
        "pretend; printf 'echo \"got %s\"\\n' \"$FAKE_API_KEY\" > bin/1",
    ).afterwards(SCREEN).refused();
    tests_do_not_see_the_users_keys: green("mkdir -p bin; echo \"[ -z \\\"\\$FAKE_API_KEY\\\" ] || : > '$own/leak'; echo 1\" > bin/1").lands();
    tests_do_not_see_the_users_home: green(
        "mkdir -p bin; echo \"[ ! -e \\\"\\$HOME/.ssh/id_rsa\\\" ] || : > '$own/leak'; echo 1\" > bin/1",
    ).lands();
    orders_to_the_terminal_in_a_result_reach_nobody: green(
        r#"implement; printf 'status: PARTIAL\n## Issues\n- \033]52;c;cm0gLXJmIH4=\007 \033[2J \302\233 \033]0;title\007 careful\n' > "$TM_RESULT_FILE"
           printf '\033]52;c;cm0gLXJmIH4=\007\n'; exit 0"#,
    ).afterwards(SCREEN).lands_or_is_refused();
    orders_to_the_terminal_in_the_names_of_tests_and_files_reach_nobody: green(
        r#"pretend; printf 'echo "not ok - \033]0;title\007 evil"\n' > t/2.t; : > "$(printf 'x\033[2J')""#,
    ).afterwards(SCREEN).refused();
    a_sibling_whose_result_somebody_forges_lands_all_the_same: red(
        r#"other=$(dirname "$(dirname "$(dirname "$TM_RESULT_FILE")")")/2+red/attempt-1
           until [ -e "$AGENT_FOLDER/second" ]; do sleep 0.02; done
           printf 'status: FAIL\n## Issues\n- forged\n' > "$other/result.md"; : > "$own/forged"; write_test"#,
    )
        .beside_another_task()
        .whose_user("sed -i 's|^red) write_test|red) [ $id-$TM_ATTEMPT != 2-1 ] \\|\\| { : > \"$AGENT_FOLDER/second\"; until [ -e \"$own/forged\" ]; do sleep 0.02; done; }; write_test|' \"$AGENT_FOLDER/agent.sh\"")
        .lands_in_the_end();
    a_sibling_that_somebody_kills_lands_all_the_same: red(
        r#"until [ -e "$AGENT_FOLDER/second" ]; do sleep 0.02; done; kill -9 "$(cat "$AGENT_FOLDER/second")"; : > "$own/killed"; write_test"#,
    )
        .beside_another_task()
        .whose_user("sed -i 's|^red) write_test|red) [ $id-$TM_ATTEMPT != 2-1 ] \\|\\| { echo $$ > \"$AGENT_FOLDER/pid\"; mv \"$AGENT_FOLDER/pid\" \"$AGENT_FOLDER/second\"; until [ -e \"$own/killed\" ]; do sleep 0.02; done; }; write_test|' \"$AGENT_FOLDER/agent.sh\"")
        .lands_in_the_end();
    an_agent_that_kills_tm_costs_nothing_but_another_start: green("kill_tm; implement").lands_in_the_end();
    an_agent_may_not_pause_the_run: green("implement; cd \"$user\"; ! \"$tm\" waves pause || : > \"$own/obeyed\"; \"$tm\" waves resume").within(30).lands_or_is_refused();
    an_agent_may_not_stop_the_run: green("implement; cd \"$user\"; ! \"$tm\" waves stop || : > \"$own/obeyed\"").lands_or_is_refused();
    an_agent_may_not_stop_another_task: green("implement; cd \"$user\"; ! \"$tm\" waves stop 2 || : > \"$own/obeyed\"")
        .then_another_task()
        .lands_or_is_refused();
    an_agent_without_its_variables_may_not_stop_the_run_either: green(
        "implement; cd \"$user\"; ! env -i PATH=\"$PATH\" HOME=\"$HOME\" TM_HOME=\"$AGENT_FOLDER/tm\" \"$tm\" waves stop || : > \"$own/obeyed\"",
    ).lands_or_is_refused();
    an_agent_may_not_set_a_status: green("implement; cd \"$user\"; ! \"$tm\" set-status 1 done || : > \"$own/obeyed\"")
        .lands_or_is_refused();
    an_agent_may_not_land_the_run: green("implement; cd \"$user\"; ! \"$tm\" waves land --yes || : > \"$own/obeyed\"")
        .lands_or_is_refused();
    an_agent_may_not_approve_its_work: green("implement; cd \"$user\"; ! \"$tm\" review approve 1 || : > \"$own/obeyed\"")
        .lands_or_is_refused();
    work_in_another_tasks_worktree_is_not_landed_with_that_task: green(
        r#"implement; until [ -e "$AGENT_FOLDER/second" ]; do sleep 0.02; done
           cd "$(cat "$AGENT_FOLDER/second")" && echo BACKDOOR > evil && echo 'echo wrong' > bin/2; : > "$own/done""#,
    )
        .beside_another_task()
        .whose_user("sed -i 's|^green) implement|green) [ $id-$TM_ATTEMPT != 2-1 ] \\|\\| { pwd > \"$AGENT_FOLDER/place\"; mv \"$AGENT_FOLDER/place\" \"$AGENT_FOLDER/second\"; until [ -e \"$own/done\" ]; do sleep 0.02; done; rm -f evil; }; implement|' \"$AGENT_FOLDER/agent.sh\"")
        .lands_in_the_end();
    known_results_that_an_agent_edits_are_not_believed: green(
        "implement; echo 'echo broken' > bin/old
         for file in \"$AGENT_FOLDER\"/tm/projects/*/results/*.json; do sed -i '/old.t/s/passed/failed/' \"$file\"; done",
    ).refused_as(&["regression"]);
    results_that_an_agent_writes_for_its_tree_are_not_believed: green(
        r#"pretend; git add --all; tree=$(git write-tree)
           for file in "$AGENT_FOLDER"/tm/projects/*/results/*.json; do
               suffix=${file##*-}; made="${file%/*}/$tree-$suffix"
               [ -e "$made" ] || sed 's/failed/passed/; s/"exited": 1/"exited": 0/' "$file" > "$made"
           done"#,
    ).refused();
    a_default_branch_that_moves_is_an_escape: green("implement; git -C \"$user\" update-ref refs/heads/main \"$(git commit-tree -m x HEAD^{tree} -p main)\"")
        .which_changes(&["ref refs/heads/main"])
        .refused_as(&["escaped"]);
}
