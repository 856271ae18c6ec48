//! What would hold a run up for ever, or go on after it.

use super::case::green;

cases! {
    a_result_that_is_a_pipe_holds_nobody_up: green("implement; rm -f \"$TM_RESULT_FILE\"; mkfifo \"$TM_RESULT_FILE\"; exit 0").refused().within(40);
    a_context_that_is_a_pipe_holds_nobody_up: green("implement; rm -f \"$TM_CONTEXT_FILE\"; mkfifo \"$TM_CONTEXT_FILE\"")
        .then_another_task()
        .lands_or_is_refused()
        .within(40);
    an_output_that_is_a_pipe_holds_nobody_up: green(
        "implement; log=$(dirname \"$TM_RESULT_FILE\")/stdout.log; rm -f \"$log\"; mkfifo \"$log\"; echo words; exit 1",
    ).lands_or_is_refused().within(40);
    a_prompt_that_is_a_pipe_holds_nobody_up: green("rm -f \"$TM_PROMPT_FILE\"; mkfifo \"$TM_PROMPT_FILE\"; exit 1").refused().within(40);
    a_result_of_two_gibibytes_is_not_read: green("implement; truncate -s 2G \"$TM_RESULT_FILE\"; exit 0").refused().within(40);
    a_result_without_end_is_not_read: green("implement; ln -sf /dev/zero \"$TM_RESULT_FILE\"; exit 0")
        .refused()
        .within(20);
    a_context_of_one_gibibyte_is_not_read: green("implement; truncate -s 1G \"$TM_CONTEXT_FILE\"")
        .then_another_task()
        .lands_or_is_refused()
        .within(40);
    a_context_that_is_a_folder_holds_nobody_up: green("implement; rm -f \"$TM_CONTEXT_FILE\"; mkdir \"$TM_CONTEXT_FILE\"")
        .then_another_task()
        .lands_or_is_refused();
    a_folder_of_the_attempt_that_is_gone_holds_nobody_up: green("implement; rm -rf \"$(dirname \"$TM_RESULT_FILE\")\"; exit 0")
        .lands_or_is_refused();
    a_daemon_without_any_variable_is_ended: green("implement; (setsid env -i sh -c 'while :; do sleep 1; done' \"$AGENT_FOLDER\" &)").lands();
    a_daemon_of_the_tests_is_ended: green(
        "mkdir -p bin; echo \"(setsid env -i sh -c 'while :; do sleep 1; done' '$AGENT_FOLDER' > /dev/null 2>&1 &); echo 1\" > bin/1",
    ).lands();
    an_agent_that_goes_on_writing_after_its_end_changes_nothing: green(
        "implement; (setsid env -i sh -c 'while :; do echo \"echo wrong\" > bin/1; echo \"echo 1\" > bin/1; done' \"$AGENT_FOLDER\" > /dev/null 2>&1 &)",
    ).lands_or_is_refused();
    tests_without_end_are_ended: green("mkdir -p bin; echo 'while :; do sleep 1; done' > bin/1")
        .in_a_project("printf 'test: { timeout: 2s }\\n' > .taskmaster/tm.yaml")
        .refused();
    tests_that_print_without_end_are_ended: green("mkdir -p bin; echo 'yes >&2' > bin/1; echo 'yes 1>&2' > t/2.t")
        .in_a_project("printf 'test: { timeout: 2s }\\n' > .taskmaster/tm.yaml")
        .refused();
    a_worktree_whose_files_are_gone_holds_nobody_up: green("rm -rf ./* .git; rm -rf \"$PWD\"").refused();
}
