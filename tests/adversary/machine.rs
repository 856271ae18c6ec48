//! Agents that would have tm take its own work for trouble of the machine, or keep it waiting: the run goes on.

use super::case::{Case, green};

const REFUSED: &[&str] = &["work-refused"];
/// What is said of a repository that git is not let look at.
const WAITED_FOR: &str = "it is a pipe";

/// Work that can't be taken, which costs this attempt and nobody else anything.
fn refused_while_others_go_on(cheat: &'static str) -> Case {
    green(cheat)
        .then_another_task()
        .refused_as(REFUSED)
        .within(60)
}

/// Work with a folder that stays from one task to the next.
fn going_on_with_a_cache(cheat: &'static str) -> Case {
    green(cheat)
        .in_a_project("echo cache/ > .gitignore")
        .with_variable("TM_WORKTREE_CACHE", "[/cache]")
        .then_another_task()
        .lands_or_is_refused()
        .within(60)
}

cases! {
    words_of_a_full_disk_in_the_name_of_a_repository_stop_no_run: refused_while_others_go_on(
        "implement; git init --quiet 'No space left on device'",
    );
    words_of_a_missing_right_in_the_name_of_a_repository_stop_no_run: refused_while_others_go_on(
        "implement; git init --quiet 'Permission denied'",
    );
    words_of_a_lock_in_the_name_of_a_repository_stop_no_run: refused_while_others_go_on(
        "implement; git init --quiet \"$(printf 'x.lock\\047: File exists')\"",
    );
    a_pipe_for_the_head_of_a_repository_within_keeps_nobody_waiting: refused_while_others_go_on(
        "implement; git init --quiet vendor; rm vendor/.git/HEAD; mkfifo vendor/.git/HEAD",
    ).told(WAITED_FOR);
    a_pipe_in_a_repository_with_commits_keeps_nobody_waiting: refused_while_others_go_on(
        "implement; git init --quiet vendor; cd vendor; echo x > x; commit inner; mkfifo .git/commondir; cd ..",
    ).told(WAITED_FOR);
    a_pipe_where_a_repository_says_that_it_lies_keeps_nobody_waiting: refused_while_others_go_on(
        "implement; git init --quiet other; mv other/.git elsewhere; rmdir other; mkdir vendor
         rm elsewhere/HEAD; mkfifo elsewhere/HEAD; echo 'gitdir: ../elsewhere' > vendor/.git",
    ).told(WAITED_FOR);
    a_pipe_that_settings_include_keeps_nobody_waiting: refused_while_others_go_on(
        "implement; git init --quiet vendor; mkfifo vendor/.git/more; printf '[include]\\n\\tpath = more\\n' >> vendor/.git/config",
    ).told("include");
    a_device_for_a_reference_is_not_read: refused_while_others_go_on(
        "implement; git init --quiet vendor; ln -s /dev/zero vendor/.git/refs/heads/zero
         echo 'ref: refs/heads/zero' > vendor/.git/HEAD",
    ).told("/dev/zero");
    a_pipe_in_an_ignored_repository_keeps_nobody_waiting: refused_while_others_go_on(
        "implement; git init --quiet vendor; rm vendor/.git/HEAD; mkfifo vendor/.git/HEAD",
    ).in_a_project("echo vendor/ > .gitignore").told(WAITED_FOR);
    folders_deeper_than_paths_are_long_are_gone_for_the_next: green(
        "implement; name=$(printf %0200d 0); (n=0; while [ $n -lt 40 ]; do mkdir $name && cd -P $name; n=$((n+1)); done) 2> /dev/null",
    ).then_another_task().lands_or_is_refused().within(60);
    a_pipe_in_a_cache_that_stays_is_gone_for_the_next: going_on_with_a_cache(
        "implement; mkdir -p cache/x; git init --quiet cache/x; rm cache/x/.git/HEAD; mkfifo cache/x/.git/HEAD",
    );
    a_cache_that_is_a_repository_with_a_pipe_is_gone_for_the_next: going_on_with_a_cache(
        "implement; mkdir cache; git init --quiet cache; rm cache/.git/HEAD; mkfifo cache/.git/HEAD",
    );
    a_worktree_that_is_closed_is_opened_for_the_next: green("implement; chmod 0 t .")
        .then_another_task().lands_or_is_refused().within(60);
    more_repositories_than_anybody_looks_at_are_refused: refused_while_others_go_on(
        "implement; for a in 1 2 3 4 5 6; do for b in $(seq 1000); do echo v/$a/$b/.git; done; done | xargs mkdir -p",
    ).told("more than 5000 repositories");
    files_of_a_repository_that_are_longer_than_git_makes_them_are_not_read: refused_while_others_go_on(
        "implement; git init --quiet v; truncate -s 100G v/.git/packed-refs",
    ).told("packed-refs");
}
