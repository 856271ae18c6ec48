//! Agents that mean well, in projects with habits: they lose nothing by what is done against the others.

use super::case::{green, red};

cases! {
    an_honest_pair_lands: green("implement").lands();
    two_honest_pairs_land_one_after_the_other: green("implement").then_another_task().lands();
    two_honest_pairs_land_at_the_same_time: green("implement").beside_another_task().lands();
    an_honest_pair_in_python_lands: green("implement").python().lands();
    agents_that_commit_their_own_work_lose_nothing: green("implement; commit 'my own words'").then_another_task().lands();
    an_agent_that_commits_as_somebody_else_loses_nothing: green(
        "implement; git add --all
         git -c user.name=Linus -c user.email=linus@example.org commit --quiet --no-verify -m 'in the name of another'",
    ).lands();
    an_agent_that_starts_a_history_of_its_own_loses_nothing: green(
        "implement; git checkout --quiet --orphan elsewhere; commit 'without parents'",
    ).which_changes(&["ref refs/heads/elsewhere"]).lands_or_is_refused();
    work_that_is_only_meant_to_be_added_lands: green("implement; git add --intent-to-add bin/1").lands();
    a_file_that_must_be_executable_is_so_in_a_clone: green("implement; chmod +x bin/1")
        .with_red(r#"printf '. t/check.sh\ncheck "1 runs" 1 "$(./bin/1 2>/dev/null)"\n' > t/1.t"#)
        .with_green("implement; chmod +x bin/1")
        .lands();
    a_file_that_must_be_executable_is_so_where_git_was_told_not_to_look: green("implement; chmod +x bin/1")
        .with_red(r#"printf '. t/check.sh\ncheck "1 runs" 1 "$(./bin/1 2>/dev/null)"\n' > t/1.t"#)
        .with_green("implement; chmod +x bin/1; git update-index --add --chmod=+x bin/1")
        .whose_user("git config core.fileMode false")
        .ends();
    a_link_within_the_tree_lands: green("mkdir -p bin lib; echo 'echo 1' > lib/1; ln -s ../lib/1 bin/1").lands();
    files_with_odd_names_land: green(
        r#"implement; mkdir -p odd
           : > "odd/$(printf 'new\nline')"; : > "odd/$(printf '\303\251')"; : > "odd/$(printf 'e\314\201')"
           : > "odd/$(printf '\377')"; : > 'odd/-rf'; : > 'odd/"quoted" $(x) `y`'; : > 'odd/ space '; : > 'odd/:(top)'"#,
    ).lands();
    folders_two_hundred_deep_land: green(
        "implement; deep=d; for n in $(seq 200); do deep=$deep/d; done; mkdir -p $deep; echo x > $deep/x",
    ).lands();
    attributes_that_only_others_heed_harm_nobody: green("implement; echo '* export-ignore -diff merge=ours' > .gitattributes").lands();
    a_hook_of_the_users_that_stages_a_file_is_heeded: green("implement")
        .whose_user(
            "printf '#!/bin/sh\\nmkdir -p docs; git log --oneline | wc -l > docs/stamp; git add docs/stamp\\n' > .git/hooks/pre-commit
             chmod +x .git/hooks/pre-commit",
        )
        .lands();
    a_hook_of_the_users_that_changes_the_message_is_heeded: green("implement")
        .whose_user(
            "printf '#!/bin/sh\\nprintf \"%%s\\\\n\" \"Words of the hook\" > \"$1\"\\n' > .git/hooks/commit-msg
             chmod +x .git/hooks/commit-msg",
        )
        .then_another_task()
        .lands();
    ignored_leftovers_of_one_task_are_no_business_of_the_next: green("implement; echo '[ ! -e t/2.t ] || exit 1' > .local.sh")
        .in_a_project("sed -i '2i [ ! -e .local.sh ] || . ./.local.sh' run-tests.sh; echo .local.sh > .gitignore")
        .then_another_task()
        .lands();
    a_cache_that_one_task_poisons_does_not_reach_the_next: green(
        "implement; mkdir -p node_modules; echo 'check() { echo \"ok - $1\"; }' > node_modules/check.sh",
    )
        .in_a_project(
            "echo node_modules > .gitignore
             echo '[ ! -e t/2.t ] || [ ! -e node_modules/check.sh ] || . node_modules/check.sh' >> t/check.sh",
        )
        .then_another_task()
        .lands();
    tests_that_write_into_the_tree_land: green("implement")
        .with_red("write_test; echo 'mkdir -p made; date > made/when; echo x >> README' >> t/1.t")
        .then_another_task()
        .lands();
    tests_that_write_into_folders_beside_theirs_do_not_reach_the_next_task: green("implement")
        .with_red(
            "write_test; echo 'for other in ../*/ ../../*/*/; do [ ! -e \"$other/run-tests.sh\" ] || [ \"$other\" -ef . ] || echo \"echo 2\" > \"$other/bin/2\"; done' >> t/1.t",
        )
        .then_another_task()
        .lands();
    a_project_that_prints_a_foreign_test_document_lands: green("implement")
        .in_a_project("printf 'print(\"TAP version 13\\\\n1..1\\\\nok 1 - foreign\")\\n' >> demo/__init__.py")
        .python()
        .lands();
    an_agent_that_prints_fifty_megabytes_lands: green("head -c 50000000 /dev/zero | tr '\\0' x; echo; implement").lands();
    an_agent_with_two_hundred_children_lands: green("for n in $(seq 200); do sleep 1000 & done; implement").lands();
    an_honest_red_after_one_that_failed_lands: red("claim; kill -9 $$").refused();
    an_agent_whose_words_are_those_of_a_limit_is_not_waited_for: green(
        "echo 'Claude AI usage limit reached|4102444800'; echo 'usage limit reached|4102444800' >&2; exit 1",
    ).refused();
}
