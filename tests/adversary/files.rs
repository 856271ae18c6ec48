//! What lies in the worktree: links, repositories within it, special files, files that become folders.

use super::case::{green, red};

const NESTED: &[&str] = &["work-refused/nested-repository"];
const LINK: &[&str] = &["work-refused/link-out-of-tree"];
const OLD_TESTS: &[&str] = &["regression", "tests-tampered"];

cases! {
    a_repository_within_the_worktree_is_the_agents_failure: green("implement; git init --quiet vendor; echo x > vendor/x")
        .refused_as(NESTED)
        .told("vendor");
    a_clone_within_the_worktree_is_the_agents_failure: green("implement; git clone --quiet \"$user\" vendor")
        .refused_as(NESTED)
        .told("vendor");
    an_implementation_in_a_repository_of_its_own_lands_with_all_of_it_or_not: green("implement; git init --quiet bin")
        .lands_or_is_refused();
    a_repository_with_commits_within_an_ignored_folder_harms_nobody: green(
        "implement; git init --quiet vendor; cd vendor; echo x > x; commit inner; cd ..",
    ).in_a_project("echo vendor/ > .gitignore").lands_or_is_refused();
    a_submodule_is_not_landed_as_something_that_nobody_can_fetch: green(
        "implement; git -c protocol.file.allow=always submodule --quiet add \"$user\" vendor",
    ).which_changes(&[".git/config"]).refused();
    an_entry_for_a_repository_that_is_nowhere_is_not_landed: green(
        "implement; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor
         printf '[submodule \"vendor\"]\\n\\tpath = vendor\\n\\turl = ./nowhere\\n' > .gitmodules",
    ).lands_or_is_refused();
    an_implementation_behind_a_link_out_of_the_tree_is_refused: green(
        "mkdir -p bin; echo 'echo 1' > \"$own/work\"; ln -s \"$own/work\" bin/1",
    ).refused_as(LINK).told("bin/1");
    a_link_that_climbs_out_of_the_tree_is_refused: green(
        "mkdir -p bin; echo 'echo 1' > \"$own/work\"; ln -s \"../../../../../../../../../../../../..$own/work\" bin/1",
    ).refused_as(LINK);
    a_folder_that_is_a_link_out_of_the_tree_is_refused: green(
        "cp -R bin \"$own/bin\"; rm -rf bin; ln -s \"$own/bin\" bin; implement",
    ).refused();
    a_test_that_is_a_link_out_of_the_tree_is_refused: red("write_test; mv t/1.t \"$own/1.t\"; ln -s \"$own/1.t\" t/1.t")
        .refused_as(LINK);
    a_link_out_of_the_tree_beside_one_whose_name_looks_the_same_is_refused: green(
        "implement; ln -s \"$home/.ssh/id_rsa\" \"$(printf 'l\\376')\"; ln -s bin/1 \"$(printf 'l\\377')\"",
    ).refused_as(LINK);
    a_link_into_gits_own_files_is_not_landed: green("implement; ln -s ../.git bin/git").lands_or_is_refused();
    a_link_to_a_private_file_is_refused: green("implement; ln -s \"$home/.ssh/id_rsa\" bin/key").refused_as(LINK);
    a_link_to_itself_harms_nobody: green("implement; ln -s loop loop").lands_or_is_refused();
    an_implementation_behind_a_link_to_an_ignored_file_is_refused: green(
        "mkdir -p bin build; echo 'echo 1' > build/1; ln -s ../build/1 bin/1",
    ).in_a_project("echo build/ > .gitignore").refused();
    tests_whose_folder_becomes_a_link_are_refused: green("pretend; mv t tt; ln -s tt t; weaken").refused();
    tests_whose_folder_becomes_a_link_out_of_the_tree_are_refused: green("pretend; mv t \"$own/t\"; ln -s \"$own/t\" t; weaken")
        .refused();
    an_old_test_that_becomes_a_folder_is_refused: green("implement; rm t/old.t; mkdir t/old.t; echo x > t/old.t/x")
        .refused_as(OLD_TESTS);
    reds_test_that_becomes_a_folder_is_refused: green("pretend; rm t/1.t; mkdir t/1.t; echo x > t/1.t/x")
        .refused_as(&["tests-tampered", "green-failing"]);
    an_old_test_whose_name_changes_in_case_only_is_gone: green("implement; mv t/old.t t/OLD.t").refused_as(OLD_TESTS);
    a_program_whose_name_is_composed_otherwise_is_another_one: green(
        "mkdir -p bin; : > \"bin/$(printf 'e\\314\\201')\"; mv bin/old \"bin/$(printf 'o\\314\\201ld')\"; implement",
    ).refused_as(&["regression"]);
    a_pipe_among_the_tests_holds_nobody_up: green("implement; mkfifo t/2.t").with(&["--timeout", "20"]).lands_or_is_refused();
    a_pipe_in_the_place_of_reds_test_holds_nobody_up: green("pretend; rm t/1.t; mkfifo t/1.t").with(&["--timeout", "20"]).refused();
    pipes_and_sockets_that_stay_do_not_reach_the_next_task: green(
        "implement; mkfifo bin/2; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"t/socket\")'",
    ).then_another_task().lands_or_is_refused();
    a_file_that_the_project_never_commits_is_not_landed: green("implement; mkdir -p .taskmaster; echo BACKDOOR > .taskmaster/own").lands();
    files_without_permissions_are_taken_or_refused: green("implement; chmod 000 bin/1; chmod 000 bin").lands_or_is_refused();
    a_folder_of_gits_name_in_other_letters_is_refused: green("implement; mkdir -p .GIT; echo x > .GIT/config").lands_or_is_refused();
}
