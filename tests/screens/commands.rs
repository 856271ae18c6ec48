//! What every command prints for people, pinned line by line: after a change of words, read the difference and accept it
//! with `cargo insta`.

use crate::scene::{HONEST, Scene, write};

/// Task 3 is never done, so that 4 is never begun.
const TASKS: [(&str, &str, &[&str]); 4] = [
    ("1", "Lower case", &[]),
    ("2", "Upper case", &["1"]),
    ("3", "Read settings", &[]),
    ("4", "Explain the settings", &["3"]),
];

pub(super) fn planned() -> Scene {
    let agent = format!(
        "case $TM_TASK_ID in 3*) echo 'I can not' >&2; printf 'status: FAIL\\nsummary: there are none\\n' > \"$TM_RESULT_FILE\"; exit ;; esac\n{HONEST}"
    );
    let scene = Scene::new(&TASKS, &agent);
    let settings = format!(
        "agents: {{ mine: {{ command: [sh, {}], prompt: file, output: text }} }}\nagent: {{ default: mine }}\n",
        scene.path("agent.sh").display()
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

pub(super) fn ended() -> Scene {
    let scene = planned();
    let run = [
        "waves",
        "run",
        "--yes",
        "--max-parallel",
        "1",
        "--retries",
        "0",
    ];
    assert_eq!(scene.tm(&run).status().expect("tm").code(), Some(3));
    scene
}

/// What a command prints, standard error after standard output, and its exit code where it is not 0.
fn screen(scene: &Scene, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let output = scene.tm(&words).output().expect("tm");
    let [shown, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let code = match output.status.code() {
        Some(0) => String::new(),
        code => format!("exit code {code:?}\n"),
    };
    let folder = scene.path("").display().to_string();
    format!("{shown}{told}{code}").replace(folder.trim_end_matches('/'), "FOLDER")
}

/// What differs from run to run and from machine to machine.
pub(super) fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    for (pattern, word) in [
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z?(-[0-9a-f]+)?", "[TIME]"),
        (r"\b\d{8}[-T]\d{4,6}Z?(-[0-9a-z]+)?", "[RUN]"),
        (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
        (r"\b[0-9a-f]{7,12}\b", "[SHORT]"),
        (r" *\b\d+(\.\d+)?(ms|s)\b", " [SECONDS]"),
        (r" *\b\d+(\.\d+)? ([KMG]i?B|bytes)\b", " [SIZE]"),
    ] {
        settings.add_filter(pattern, word);
    }
    settings
}

#[test]
#[expect(clippy::too_many_lines, reason = "what is printed is long")]
fn a_backlog_before_a_run() {
    let scene = planned();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "list"), @"
        tag master, 4 tasks: 4 pending
        ID  STATUS   PRIORITY  DEPENDS ON  TITLE
        1   pending  medium                Lower case
        2   pending  medium    1           Upper case
        3   pending  medium                Read settings
        4   pending  medium    3           Explain the settings
        ");
        insta::assert_snapshot!(screen(&scene, "list --with-subtasks"), @"
        tag master, 4 tasks: 4 pending
        ID  STATUS   PRIORITY  DEPENDS ON  TITLE
        1   pending  medium                Lower case
        2   pending  medium    1           Upper case
        3   pending  medium                Read settings
        4   pending  medium    3           Explain the settings
        ");
        insta::assert_snapshot!(screen(&scene, "next"), @"
        1  Lower case
        status pending, priority medium, waited for by 2
        ");
        insta::assert_snapshot!(screen(&scene, "show 1"), @"
        1  Lower case
        status pending, priority medium, waited for by 2
        ");
        insta::assert_snapshot!(screen(&scene, "validate-dependencies"), @"tag master, 4 tasks: all dependencies are valid");
        insta::assert_snapshot!(screen(&scene, "tags"), @"* master                   4 tasks, 0 done, 2 ready");
        insta::assert_snapshot!(screen(&scene, "tasks check"), @"tag master, 4 tasks: 0 errors, 0 warnings");
        insta::assert_snapshot!(screen(&scene, "tasks stats"), @"
        tag master, 4 tasks, 0 subtasks
        by status       4 pending
        by priority     4 medium
        by complexity   4 none
        by tag          4 master
        open            2 ready, 2 blocked
        plan            4 open tasks, critical path 2 tasks, widest wave 2
        ");
        insta::assert_snapshot!(screen(&scene, "tdd pair"), @"
        5 tests 1: Write tests for Lower case
        6 tests 2, after 1: Write tests for Upper case
        7 tests 3: Write tests for Read settings
        8 tests 4, after 3: Write tests for Explain the settings
        tag master: 4 pairs to write; `tm tdd pair --write` writes them
        ");
        insta::assert_snapshot!(screen(&scene, "waves plan"), @"
        4 tasks in 4 waves, 4 pairs of RED and GREEN, at most 5 agents at the same time
        each task starts when what it depends on has landed; at most 4 attempts each

        Waves 1 and 2 (2 tasks)
          RED GREEN  1  Lower case
          RED GREEN  3  Read settings

        Waves 3 and 4 (2 tasks)
          RED GREEN  2  Upper case — after 1
          RED GREEN  4  Explain the settings — after 3

        Agents
          RED    mine
          GREEN  mine
          `mine` may do what its own command lets it do

        Tests
          `sh run-tests.sh`, read test by test where it can be, else exit status only; TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or `test.results`)
          a new test has to fail in a RED (`tdd.strictness: normal`)
        ");
        insta::assert_snapshot!(screen(&scene, "waves plan --tdd off"), @"
        4 tasks in 2 waves, at most 5 agents at the same time
        each task starts when what it depends on has landed; at most 4 attempts each

        Wave 1 (2 tasks)
          1  Lower case
          3  Read settings

        Wave 2 (2 tasks)
          2  Upper case — after 1
          4  Explain the settings — after 3

        Agents
          other  mine
          `mine` may do what its own command lets it do

        Tests
          `sh run-tests.sh`, read test by test where it can be, else exit status only; TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or `test.results`)
        ");
        insta::assert_snapshot!(screen(&scene, "waves status"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "waves list"), @"there has been no run; `tm waves run` starts one");
        insta::assert_snapshot!(screen(&scene, "agents show codex"), @r#"
        name: "codex"
        command: ["codex","exec","--json","--ephemeral","{permissions}","-C","{worktree}",["-m","{model}"],"-"]
        prompt: "stdin"
        output: "codex-jsonl"
        model: null
        env: {}
        drop: ["GIT_ALTERNATE_OBJECT_DIRECTORIES","GIT_COMMON_DIR","GIT_DIR","GIT_INDEX_FILE","GIT_NAMESPACE","GIT_OBJECT_DIRECTORY","GIT_PREFIX","GIT_QUARANTINE_PATH","GIT_WORK_TREE"]
        refusal: {"rate_limited":[],"auth":[]}
        account: "codex"
        if_refused: "run `codex login`, or set the key that its provider needs"
        permissions: "bypass"
        permission_modes: {"bypass":{"arguments":["--dangerously-bypass-approvals-and-sandbox"],"why":"no sandbox and no questions, since its sandbox can't commit in a linked worktree and fails within another one"},"sandbox":{"arguments":["-s","workspace-write","--add-dir","{attempt_folder}"],"why":"its own sandbox lets it write into its worktree and temporary folders and nowhere else, without network; tm commits"}}
        version: ["--version"]
        polite_stop: "term"
        reports: {"tokens":true,"cost":false}
        "#);
        insta::assert_snapshot!(screen(&scene, "presets list"), @"
        default        One task of the backlog
        test-coverage  One test for something that users rely on
        linting        One finding of the linter or the type checker
        duplication    One piece of code that exists twice
        entropy        One place that is hard to read

        Prompts of `tm waves run`, and their parts: red, green, refactor, task, resolve, about, rejected, conflict, retry, rules, result
        A file in .taskmaster/prompts/, such as red.md, stands in for the one of its name.
        ");
        insta::assert_snapshot!(screen(&scene, "autopilot status"), @"there has been no run in this checkout; `tm autopilot start ID` begins one");
        insta::assert_snapshot!(screen(&scene, "worktrees list"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "review"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "pr --dry-run"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
    });
}

#[test]
fn a_run_that_is_over() {
    let scene = ended();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "waves list"), @"
        RUN                   STATUS  LANDED        TAG
        [RUN]  failed  2 of 4 tasks  master
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 3"), @"
        stderr
        I can not

        attempt 1 failed: claimed-fail
        the result says fail and gives no reason
        ");
        insta::assert_snapshot!(screen(&scene, "waves land --yes"), @"
        ID  RED     GREEN   TASK
        1   landed  landed  Lower case
        2   landed  landed  Upper case
        4 files, 6 lines more, 0 lines less, from `tm/master/run-[RUN]` to `main`
        `main` is at [COMMIT]
        the statuses of 1, 2 are committed on `main` (`git.commit_backlog`)
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees list"), @"
        ID  RED     GREEN    BRANCH
        1   landed  landed   tm/master/task-1-lower-case
        2   landed  landed   tm/master/task-2-upper-case
        3   failed  blocked  tm/master/task-3-read-settings-red
        all tm/master/run-[RUN]
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees show 1"), @"
        1 Lower case
          branch     tm/master/task-1-lower-case, landed
          RED        pass after 1 attempt, claim pass; 1 passed, 1 failed, 1 new
          change     1 file, +2 −0 lines
          GREEN      pass after 1 attempt, claim pass; 2 passed, 0 failed, 0 new, 1 failed before
          change     1 file, +1 −0 lines
          conflicts  none with `main`
          review     none yet
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees salvage"), @"nothing is kept: all work has landed, or was never done");
        insta::assert_snapshot!(screen(&scene, "worktrees prune"), @"there is no worktree of tm's");
        insta::assert_snapshot!(screen(&scene, "pr --dry-run"), @"
        error: failed to find a remote to push to
        hint: `git remote add origin URL`, or `--remote NAME`
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "audit"), @"
        [SHORT]..[SHORT], tests by: sh run-tests.sh
        task   commit        kind            tests
        1:red  [SHORT]  red      shown  1 passed, 1 failed  its new tests fail for what is missing
        1      [SHORT]  green    shown  2 passed            the tests of its RED are unchanged and pass, nothing that passed before fails
        1      [SHORT]  landing  shown                      its tree is what its parents give, and was shown before
        2:red  [SHORT]  red      shown  2 passed, 1 failed  its new tests fail for what is missing
        2      [SHORT]  green    shown  3 passed            the tests of its RED are unchanged and pass, nothing that passed before fails
        2      [SHORT]  landing  shown                      its tree is what its parents give, and was shown before
               [SHORT]  whole    shown  3 passed            nothing that passed at the beginning fails at the end, and no new test fails

        7 shown
        ");
        insta::assert_snapshot!(screen(&scene, "list"), @"
        tag master, 4 tasks: 2 pending, 2 done
        ID  STATUS   PRIORITY  DEPENDS ON  TITLE
        3   pending  medium                Read settings
        4   pending  medium    3           Explain the settings
        1   done     medium                Lower case
        2   done     medium    1           Upper case
        ");
        insta::assert_snapshot!(screen(&scene, "next"), @"
        3  Read settings
        status pending, priority medium, waited for by 4
        ");
    });
}

#[test]
fn changes_of_the_backlog() {
    let scene = planned();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "add-task --title Fourth --description More"), @"added task 5");
        insta::assert_snapshot!(screen(&scene, "add-subtask --parent 1 --title Part"), @"added subtask 1.1");
        insta::assert_snapshot!(screen(&scene, "add-dependency --id 4 --depends-on 2"), @"4 depends on 2");
        insta::assert_snapshot!(screen(&scene, "remove-dependency --id 4 --depends-on 2"), @"4 no longer depends on 2");
        insta::assert_snapshot!(screen(&scene, "set-status --id 2 --status done"), @"2: pending → done");
        insta::assert_snapshot!(screen(&scene, "move --from 4 --to 7"), @"moved 4 to 7");
        insta::assert_snapshot!(screen(&scene, "remove-task --id 7 --yes"), @"removed 7");
        insta::assert_snapshot!(screen(&scene, "tags add other"), @"added tag other");
        insta::assert_snapshot!(screen(&scene, "tags use other"), @"tag other is the current one");
        insta::assert_snapshot!(screen(&scene, "fix-dependencies"), @"nothing had to be removed");
        insta::assert_snapshot!(screen(&scene, "tasks fix"), @"nothing has to be repaired");
    });
}

#[test]
fn what_goes_wrong() {
    let scene = planned();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "list --status nope"), @"
        error: `nope` is no status
        hint: use one of pending, in-progress, done, review, deferred, cancelled, blocked
        exit code Some(2)
        ");
        insta::assert_snapshot!(screen(&scene, "show 99"), @"
        error: failed to find `99` in `FOLDER/checkout/.taskmaster/tasks/tasks.json`, tag `master`
        hint: `tm list --with-subtasks` lists the ids
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "set-status --id 99 --status done"), @"
        error: failed to find `99` in `FOLDER/checkout/.taskmaster/tasks/tasks.json`
        hint: `tm list --with-subtasks` lists the ids
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "waves run --tag nope"), @"
        error: failed to find the tag `nope` in `FOLDER/checkout/.taskmaster/tasks/tasks.json`; there are `master`
        hint: name one of these with `--tag`
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "waves run --max-parallel 0"), @"
        error: invalid value '0' for '--max-parallel <N>': number would be zero for non-zero type

        For more information, try '--help'.
        exit code Some(2)
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 1"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "waves stop"), @"no run is live");
        insta::assert_snapshot!(screen(&scene, "waves land"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "autopilot next"), @"
        error: failed to find a run of autopilot in this checkout: none is under way
        hint: `tm autopilot start ID` begins one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "review approve 1"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees show 1"), @"
        error: failed to find a run: there has been none
        hint: `tm waves run` starts one
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "config show --nope"), @"
        error: unexpected argument '--nope' found

        Usage: tm config show [OPTIONS]

        For more information, try '--help'.
        exit code Some(2)
        ");
        insta::assert_snapshot!(screen(&scene, "audit nowhere"), @"
        error: there is no such range, commit or run: failed to find a commit for `refs/remotes/origin/nowhere`
        hint: `tm audit FROM..TO` names a range, as `tm audit origin/main..HEAD`; `tm waves list` lists runs
        exit code Some(2)
        ");
        insta::assert_snapshot!(screen(&scene, "lst"), @"
        error: unrecognized subcommand 'lst'

          tip: some similar subcommands exist: 'ls', 'list'

        Usage: tm [OPTIONS] <COMMAND>

        For more information, try '--help'.
        exit code Some(2)
        ");
    });
}
