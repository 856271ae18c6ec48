//! git's own files, which an agent can write: the worktree's `.git`, its folder among the user's, settings, hooks.

use super::case::{Case, green};

const REFUSED: &[&str] = &["work-refused/git-files-changed", "escaped"];
const ESCAPED: &[&str] = &["escaped"];
const CONFIG: &[&str] = &[".git/config"];
const TOOLS: &[&[&str]] = &[
    &["worktrees", "diff", "1"],
    &["worktrees", "log", "1"],
    &["worktrees", "list"],
    &["doctor"],
];

/// Work in a worktree whose `.git` the agent has made something else: nothing of that is believed.
fn not_the_worktree_of_tm(cheat: &'static str) -> Case {
    green(cheat).refused_as(REFUSED)
}

cases! {
    a_worktree_that_is_turned_into_the_users_checkout_deletes_nothing_there: not_the_worktree_of_tm(
        "implement; git init --quiet --bare \"$own/git\"; git -C \"$own/git\" config core.bare false
         git -C \"$own/git\" config core.worktree \"$user\"; echo \"gitdir: $own/git\" > .git",
    );
    a_worktree_that_is_turned_into_a_folder_of_documents_deletes_nothing_there: not_the_worktree_of_tm(
        "implement; cp -R \"$user/.git\" \"$own/git\"; git -C \"$own/git\" config core.worktree \"$home/documents\"
         echo \"gitdir: $own/git\" > .git",
    );
    a_worktree_that_is_turned_into_a_folder_within_the_tree_is_refused: not_the_worktree_of_tm(
        "implement; cp -R \"$user/.git\" .git-own; git -C .git-own config core.worktree \"$home/documents\"
         planted .git-own/hooks/pre-commit 'echo BACKDOOR > evil; git add evil'
         git -C .git-own config core.hooksPath \"$PWD/.git-own/hooks\"; echo 'gitdir: .git-own' > .git",
    );
    a_worktree_that_claims_to_be_the_users_own_repository_moves_nothing_there: not_the_worktree_of_tm(
        "implement; echo \"gitdir: $user/.git\" > .git",
    );
    a_worktree_that_is_a_link_to_the_users_own_repository_moves_nothing_there: not_the_worktree_of_tm(
        "implement; rm .git; ln -s \"$user/.git\" .git",
    );
    a_worktree_that_claims_to_be_another_tasks_is_refused: not_the_worktree_of_tm(
        "implement; git -C \"$user\" worktree add --quiet --detach \"$own/w\"; cp \"$own/w/.git\" .git",
    );
    a_worktree_without_its_file_is_the_agents_failure: not_the_worktree_of_tm("implement; rm .git").told(".git");
    a_worktree_with_rubbish_for_its_file_is_the_agents_failure: not_the_worktree_of_tm("implement; echo rubbish > .git");
    a_worktree_with_a_pipe_for_its_file_is_the_agents_failure: not_the_worktree_of_tm("implement; rm .git; mkfifo .git").within(40);
    a_worktree_with_a_repository_of_its_own_is_the_agents_failure: green("implement; rm .git; git init --quiet; commit mine")
        .refused_as(&["work-refused", "escaped"]);
    a_worktrees_folder_that_names_another_repository_is_not_believed: green(
        "implement; git init --quiet --bare \"$own/git\"; planted \"$own/git/hooks/pre-commit\" ''
         echo \"$own/git\" > \"$(git rev-parse --absolute-git-dir)/commondir\"",
    ).lands_or_is_refused();
    a_worktrees_folder_that_names_the_users_checkout_deletes_nothing_there: green(
        "implement; echo \"$user/.git\" > \"$(git rev-parse --absolute-git-dir)/gitdir\"",
    ).then_another_task().lands_or_is_refused();
    a_worktrees_folder_that_names_a_folder_of_documents_deletes_nothing_there: green(
        "implement; echo \"$home/documents/.git\" > \"$(git rev-parse --absolute-git-dir)/gitdir\"",
    ).then_another_task().lands_or_is_refused();
    a_worktrees_folder_that_is_gone_is_the_agents_failure: green("implement; rm -rf \"$(git rev-parse --absolute-git-dir)\"")
        .lands_or_is_refused();
    settings_of_the_worktree_that_lead_elsewhere_are_not_heeded: green(
        "implement; git config --worktree core.worktree \"$home/documents\"; git config --worktree core.hooksPath \"$own/hooks\"
         mkdir -p \"$own/hooks\"; planted \"$own/hooks/pre-commit\" ''",
    ).whose_user("git config extensions.worktreeConfig true").lands_or_is_refused();
    settings_of_the_worktree_that_the_agent_turns_on_are_an_escape: green(
        "implement; git -C \"$user\" config extensions.worktreeConfig true
         git config --worktree core.worktree \"$home/documents\"",
    ).which_changes(&[".git/config"]).refused_as(REFUSED);
    a_head_that_names_the_default_branch_commits_nothing_there: green("implement; git symbolic-ref HEAD refs/heads/main")
        .lands_or_is_refused();
    a_head_that_names_the_users_other_branch_commits_nothing_there: green("implement; git symbolic-ref HEAD refs/heads/feature")
        .lands_or_is_refused();
    a_head_that_names_the_integration_branch_commits_nothing_there: green(
        "implement; git symbolic-ref HEAD \"$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*')\"; commit BACKDOOR",
    ).ends();
    an_index_that_is_a_link_writes_nothing_elsewhere: green(
        "implement; ln -sf \"$user/.git/index\" \"$(git rev-parse --absolute-git-dir)/index\"",
    ).lands_or_is_refused();
    a_worktree_that_becomes_a_link_to_the_users_checkout_deletes_nothing_there: green(
        "implement; mv \"$TM_WORKTREE\" \"$own/w\"; ln -s \"$user\" \"$TM_WORKTREE\"",
    ).then_another_task().refused();
    a_worktree_that_becomes_a_link_to_a_folder_of_documents_deletes_nothing_there: green(
        "implement; mv \"$TM_WORKTREE\" \"$own/w\"; ln -s \"$home/documents\" \"$TM_WORKTREE\"",
    ).then_another_task().refused();
    a_folder_of_worktrees_that_becomes_a_link_deletes_nothing_there: green(
        "implement; all=$(dirname \"$TM_WORKTREE\"); mkdir -p \"$home/documents/$(basename \"$TM_WORKTREE\")\"
         mv \"$all\" \"$own/all\"; ln -s \"$home/documents\" \"$all\"",
    ).then_another_task().ends();
    a_worktree_that_git_was_told_to_move_is_the_agents_failure: green("implement; git worktree unlock .; git worktree move . \"$own/w\"").refused();
    a_worktree_that_git_was_told_to_remove_is_the_agents_failure: green("implement; git worktree remove --force --force .").refused();

    a_hook_that_an_agent_makes_is_not_run: green(
        "pretend; weaken; git add --all; git reset --quiet; implement; git checkout --quiet t
         planted \"$user/.git/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'",
    ).which_changes(&[".git/hooks"]).refused_as(ESCAPED);
    every_other_hook_that_an_agent_makes_is_not_run: green(
        "implement; for hook in prepare-commit-msg commit-msg post-commit post-checkout pre-merge-commit reference-transaction post-index-change post-rewrite; do
             planted \"$user/.git/hooks/$hook\" ''; done",
    ).which_changes(&[".git/hooks", "ran"]).then_another_task().refused_as(ESCAPED);
    a_hook_of_the_users_that_an_agent_changes_is_run_as_it_was: green(
        "implement; planted \"$user/.git/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'",
    )
        .whose_user("printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")
        .which_changes(&[".git/hooks"])
        .refused_as(ESCAPED);
    a_folder_of_hooks_that_an_agent_names_is_not_run: green(
        "implement; mkdir \"$own/hooks\"; planted \"$own/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'
         git -C \"$user\" config core.hooksPath \"$own/hooks\"",
    ).which_changes(CONFIG).refused_as(ESCAPED);
    a_folder_of_hooks_in_the_tree_is_what_it_was_at_the_start: green(
        "implement; planted .hooks/pre-commit 'echo BACK\"\"DOOR > evil; git add evil'",
    )
        .in_a_project("mkdir .hooks; printf '#!/bin/sh\\nexit 0\\n' > .hooks/pre-commit; chmod +x .hooks/pre-commit")
        .whose_user("git config core.hooksPath .hooks")
        .lands_or_is_refused();
    programs_for_paging_and_comparing_that_an_agent_names_are_not_run: green(
        "implement; planted \"$own/tool\" cat
         for name in core.pager diff.external core.editor core.fsmonitor core.sshCommand pager.diff pager.log; do
             git -C \"$user\" config $name \"$own/tool\"; done",
    ).which_changes(CONFIG).afterwards(TOOLS).ends();
    programs_for_signing_that_an_agent_names_are_not_run: green(
        "implement; planted \"$own/tool\" 'exit 1'; git -C \"$user\" config gpg.program \"$own/tool\"
         git -C \"$user\" config commit.gpgSign true",
    ).which_changes(CONFIG).refused_as(ESCAPED);
    merge_programs_that_an_agent_names_are_not_run: green(
        "implement; planted \"$own/tool\" 'exit 0'; git -C \"$user\" config merge.evil.driver \"$own/tool %A\"
         echo '* merge=evil' > .gitattributes",
    ).which_changes(CONFIG).then_another_task().refused_as(ESCAPED);
    another_worktree_in_the_users_settings_is_an_escape: green("implement; git -C \"$user\" config core.worktree \"$home/documents\"")
        .which_changes(CONFIG)
        .refused_as(ESCAPED);
    settings_that_can_not_be_read_are_an_escape: green("implement; echo '[broken' >> \"$user/.git/config\"")
        .which_changes(CONFIG)
        .ends();
    settings_that_include_others_are_an_escape: green(
        "implement; mkdir \"$own/hooks\"; planted \"$own/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'
         git config --file \"$own/more\" core.hooksPath \"$own/hooks\"; git -C \"$user\" config include.path \"$own/more\"",
    ).which_changes(CONFIG).refused_as(ESCAPED);
    settings_that_the_user_includes_count_as_they_were: green(
        "implement; mkdir \"$own/hooks\"; planted \"$own/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'
         git config --file \"$home/more\" core.hooksPath \"$own/hooks\"",
    )
        .whose_user("git config --file \"$home/more\" color.ui false; git config include.path \"$home/more\"")
        .which_changes(&["home/more"])
        .lands_or_is_refused();
    settings_of_the_users_home_count_as_they_were: green(
        "implement; mkdir \"$own/hooks\"; planted \"$own/hooks/pre-commit\" 'echo BACKDOOR > evil; git add evil'
         git config --file \"$home/.gitconfig\" core.hooksPath \"$own/hooks\"",
    )
        .with_variable("GIT_CONFIG_GLOBAL", "{home}/.gitconfig")
        .which_changes(&["home/.gitconfig"])
        .lands_or_is_refused();
}
