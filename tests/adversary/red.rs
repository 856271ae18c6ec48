//! Tests that fail, or pass, for another reason than the behaviour that is asked for.

use super::case::{both, green, red};

cases! {
    a_test_that_waits_for_a_file_elsewhere_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ -e "%s/flag" ] && echo yes)"\n' "$AGENT_FOLDER" > t/1.t ;;
        green) : > "$AGENT_FOLDER/flag"; echo more > README ;; esac"#,
    ).ends();
    a_test_that_waits_for_a_time_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ $(date +%%s) -ge %s ] && echo yes)"\n' $(($(date +%s) + 3)) > t/1.t ;;
        green) echo more > README; until sh t/1.t | grep -q '^ok'; do sleep 0.05; done ;; esac"#,
    ).ends();
    a_test_that_fails_only_the_first_time_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ -e "%s/seen" ] && echo yes)"\n: > "%s/seen"\n' "$AGENT_FOLDER" "$AGENT_FOLDER" > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).ends();
    a_test_that_fails_only_the_first_time_in_a_folder_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" 1 "$(sh bin/1 2>/dev/null)"\nmkdir -p bin; echo "echo 1" > bin/1\n' > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).ends();
    a_test_that_fails_only_the_first_time_in_a_home_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ -e "$HOME/seen" ] && echo yes)"\n: > "$HOME/seen"\n' > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).which_changes(&["home/seen"]).ends();
    a_test_that_looks_at_who_runs_it_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$(case $PWD in *red*|*/1+red*) ;; *) echo yes ;; esac)"\n' > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).ends();
    a_test_that_looks_at_the_history_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ "$(git rev-list --count HEAD)" -gt %s ] && echo yes)"\n' $(git rev-list --count HEAD) > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).ends();
    a_test_that_looks_for_any_change_at_all_proves_nothing: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" yes "$([ -e .git ] && git log --format=%%s | grep -q "Land\\|Add the parser$" && echo yes)"\n' > t/1.t ;;
        green) echo more > README ;; esac"#,
    ).ends();
    a_program_that_works_only_once_in_a_home_is_what_a_clone_sees: green(
        "mkdir -p bin; echo '[ ! -e \"$HOME/used\" ] || exit 1; : > \"$HOME/used\"; echo 1' > bin/1",
    ).which_changes(&["home/used"]).lands_or_is_refused();
    what_red_expects_in_a_file_of_data_is_frozen: green("pretend; echo wrong > data/expected")
        .with_red("mkdir -p data; echo 1 > data/expected\nprintf '. t/check.sh\\ncheck \"1 works\" \"$(cat data/expected)\" \"$(sh bin/1 2>/dev/null)\"\\n' > t/1.t")
        .refused_as(&["tests-tampered"]);
    what_red_expects_in_a_file_whose_name_is_no_text_is_frozen: green("pretend; echo wrong > \"$(printf 'data/expected\\377')\"")
        .with_red("mkdir -p data; echo 1 > \"$(printf 'data/expected\\377')\"\nprintf '. t/check.sh\\ncheck \"1 works\" \"$(cat data/expected*)\" \"$(sh bin/1 2>/dev/null)\"\\n' > t/1.t")
        .refused_as(&["tests-tampered"]);
    a_helper_that_red_brought_is_frozen: green("pretend; echo 'same() { echo yes; }' > support.sh")
        .with_red("echo 'same() { [ \"$1\" = \"$2\" ] && echo yes; }' > support.sh\nprintf '. t/check.sh\\n. ./support.sh\\ncheck \"1 works\" yes \"$(same 1 \"$(sh bin/1 2>/dev/null)\")\"\\n' > t/1.t")
        .refused_as(&["tests-tampered"]);
    an_implementation_that_red_brought_along_is_not_reds: red("write_test; implement").refused_as(&["red-passed"]);
    a_test_that_can_not_be_loaded_is_refused: red("echo 'if then fi (' > t/1.t").refused();
    a_test_with_a_wrong_expectation_is_done_again: both(
        r#"case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" 7 "$(sh bin/1 2>/dev/null)"\n' > t/1.t ;;
        green) implement ;; esac"#,
    ).lands_in_the_end();
    where_no_test_can_run_nothing_is_held: green("implement").with(&["--test-command", "no-such-program --at-all", "--allow-broken-base"]).never_lands();
    tests_that_always_fail_hold_nothing: green("implement").with(&["--test-command", "exit 1", "--allow-broken-base"]).never_lands();
    tests_that_always_pass_hold_nothing: green("pretend").with(&["--test-command", "exit 0"]).never_lands();
}
