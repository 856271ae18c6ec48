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

fn planned() -> Scene {
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

fn ended() -> Scene {
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
fn settings() -> insta::Settings {
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
        status pending, priority medium
        ");
        insta::assert_snapshot!(screen(&scene, "show 1"), @"
        1  Lower case
        status pending, priority medium
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
        8 tasks in 4 waves, 4 pairs, at most 5 agents at the same time, each task starts when what it depends on has landed

        Wave 1 (2 tasks)
          RED    1:red  Lower case
          RED    3:red  Read settings

        Wave 2 (2 tasks)
          GREEN  1  Lower case
          GREEN  3  Read settings

        Wave 3 (2 tasks)
          RED    2:red  Upper case — after 1
          RED    4:red  Explain the settings — after 3

        Wave 4 (2 tasks)
          GREEN  2  Upper case — after 1
          GREEN  4  Explain the settings — after 3

        Agents
          RED    mine
          GREEN  mine
          `mine` may do what its own command lets it do

        Tests
          `sh run-tests.sh`, read test by test where its output can be, else exit status only; results are read test by test where it prints TAP, or writes JUnit XML into the file that `$TM_RESULTS` names (or `test.results`)
        ");
        insta::assert_snapshot!(screen(&scene, "waves plan --tdd off"), @"
        4 tasks in 2 waves, 0 pairs, at most 5 agents at the same time, each task starts when what it depends on has landed

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
          `sh run-tests.sh`, read test by test where its output can be, else exit status only; results are read test by test where it prints TAP, or writes JUnit XML into the file that `$TM_RESULTS` names (or `test.results`)
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
#[expect(clippy::too_many_lines, reason = "what is printed is long")]
fn a_run_that_is_over() {
    let scene = ended();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "waves status"), @"
        run [RUN] is failed after [SECONDS]: 8 of 8 tasks settled, branch tm/master/run-[RUN]
          base: 1 pass, 0 fail
          1      landed      Lower case
          1:red  landed      Lower case
          2      landed      Upper case
          2:red  landed      Upper case
          3      blocked     by 3:red · Read settings
          3:red  failed      claimed-fail after 1 attempts · Read settings
          4      blocked     by 3:red · Explain the settings
          4:red  blocked     by 3:red · Explain the settings
        ");
        insta::assert_snapshot!(screen(&scene, "waves list"), @"[RUN]  failed       4/8 landed        tm/master/run-[RUN]");
        insta::assert_snapshot!(screen(&scene, "waves report"), @"
        # Run [RUN]

        4 of 8 tasks landed on `tm/master/run-[RUN]` in [SECONDS]; 1 failed and 3 are blocked.

        - base: 1 pass, 0 fail
        - passed 4, partial 0, failed 1, blocked 3
        - 4 waves, at most 1 agents at the same time, 5 attempts
        - wall time [SECONDS], lower bound [SECONDS]
        - 4 proven

        ## TDD compliance

        2 of 4 pairs, 50 % of those that came to an end

        | Pair | RED fails first | Tests | GREEN passes | Proof | Worse | Landed | Compliant | Claim |
        |---|---|---|---|---|---|---|---|---|
        | 1 Lower case | yes | 1 | yes | proven | 0 | yes | yes | pass |
        | 2 Upper case | yes | 1 | yes | proven | 0 | yes | yes | pass |
        | 3 Read settings | no | 0 | no | – | 0 | no | no: RED: claimed-fail | – |
        | 4 Explain the settings | no | 0 | no | – | 0 | no | no: RED: blocked | – |

        ## Failed and blocked

        - 3 Read settings: blocked by 3:red
        - 3:red Read settings: claimed-fail after 1 attempts: 
          `tm waves logs 3:red`
        - 4 Explain the settings: blocked by 3:red
        - 4:red Explain the settings: blocked by 3:red

        ## Branches

        | Task | Branch | Commit | Landed |
        |---|---|---|---|
        | 1 | `tm/master/task-1-lower-case` | [SHORT] | yes |
        | 1:red | `tm/master/task-1-lower-case-red` | [SHORT] | yes |
        | 2 | `tm/master/task-2-upper-case` | [SHORT] | yes |
        | 2:red | `tm/master/task-2-upper-case-red` | [SHORT] | yes |
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 3"), @"
        error: failed to show what `3` printed: it has not been started
        exit code Some(1)
        ");
        insta::assert_snapshot!(screen(&scene, "waves land --yes"), @"
        1         pass      Lower case
        1:red     pass      Lower case
        2         pass      Upper case
        2:red     pass      Upper case
        4 files, 6 lines more, 0 lines less, from `tm/master/run-[RUN]` to `main`
        `main` is at [COMMIT]
        the statuses of 1, 2 are committed on `main` (`git.commit_backlog`)
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees list"), @"
        1         pass      landed      tm/master/task-1-lower-case
        1:red     pass      landed      tm/master/task-1-lower-case-red
        2         pass      landed      tm/master/task-2-upper-case
        2:red     pass      landed      tm/master/task-2-upper-case-red
        3:red     fail      failed      tm/master/task-3-read-settings-red
        all                             tm/master/run-[RUN]
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees show 1"), @"
        1 GREEN · Lower case
          branch    tm/master/task-1-lower-case, landed
          verdict   pass after 1 attempt
          claim     pass
          proof     2 passed, 0 failed, 0 new, 1 failed before
          change    1 file(s), +1 −0 lines
          conflicts none with `main`
          review    none yet
        ");
        insta::assert_snapshot!(screen(&scene, "worktrees salvage"), @"nothing is kept: all work has landed, or was never done");
        insta::assert_snapshot!(screen(&scene, "worktrees prune"), @"there is no worktree of tm's");
        insta::assert_snapshot!(screen(&scene, "review"), @"

        [1/4] 1:red RED · Lower case
          branch    tm/master/task-1-lower-case-red, landed
          verdict   pass after 1 attempt
          claim     pass
          proof     1 passed, 1 failed, 1 new
          change    1 file(s), +2 −0 lines
          conflicts none with `main`
          review    none yet
        1:red: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? 
        0 approved, 0 rejected, 4 open of 4 branches, two a pair
        `tm review` goes on with what is open
        ");
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
        1   done     medium                Lower case
        2   done     medium    1           Upper case
        3   pending  medium                Read settings
        4   pending  medium    3           Explain the settings
        ");
        insta::assert_snapshot!(screen(&scene, "next"), @"
        3  Read settings
        status pending, priority medium
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
