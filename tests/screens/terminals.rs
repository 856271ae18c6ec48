//! What people see on terminals of 80 and 120 columns, with and without colour.

use super::commands::{ended, planned, settings};
use crate::scene::Scene;
use console::{measure_text_width, strip_ansi_codes};
use regex::Regex;
use std::process::Command;

/// What a call prints on a terminal of so many columns.
fn shown(mut call: Command, columns: &str) -> String {
    let output = call.env("COLUMNS", columns).output().expect("tm");
    let [shown, told] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    shown + &told
}

/// A command as it looks with so many columns. In colour it says the same, and no line is wider than there is room.
fn screen(scene: &Scene, words: &str, columns: &str) -> String {
    let call = |first: &[&str]| {
        let words = first.iter().copied().chain(words.split(' '));
        scene.tm(&words.collect::<Vec<_>>())
    };
    let plain = shown(call(&[]), columns);
    let coloured = shown(call(&["--color", "always"]), columns);
    assert_eq!(
        strip_ansi_codes(&coloured),
        plain,
        "colour says nothing that words do not"
    );
    let width: usize = columns.parse().expect("a number");
    let too_wide = plain.lines().find(|line| measure_text_width(line) > width);
    assert_eq!(too_wide, None, "{words}");
    plain
}

/// The same in colour, with each colour as a word.
fn coloured(scene: &Scene, words: &str) -> String {
    coloured_at(scene, words, "80")
}

fn coloured_at(scene: &Scene, words: &str, columns: &str) -> String {
    let words = ["--color", "always"].into_iter().chain(words.split(' '));
    in_words(&shown(scene.tm(&words.collect::<Vec<_>>()), columns))
}

fn in_words(text: &str) -> String {
    let colours = [
        ("0", "/"),
        ("1", "bold"),
        ("2", "dim"),
        ("31", "red"),
        ("32", "green"),
        ("33", "yellow"),
        ("36", "cyan"),
    ];
    colours.iter().fold(text.to_owned(), |text, (code, word)| {
        text.replace(&format!("\u{1b}[{code}m"), &format!("<{word}>"))
    })
}

/// Without the findings that name folders, which are as long as they are.
fn without_folders(findings: &str) -> String {
    let begins = findings.find("tests").map_or(0, |at| {
        findings[..at].rfind('\n').map_or(0, |line| line + 1)
    });
    let ends = findings
        .find("agent")
        .and_then(|at| findings[..at].rfind('\n'));
    findings[begins..ends.unwrap_or(findings.len())].to_owned()
}

#[test]
#[expect(clippy::too_many_lines, reason = "what is printed is long")]
fn a_plan_and_what_is_found_before_it() {
    let scene = planned();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "waves plan", "80"), @"
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
          `sh run-tests.sh`, read test by test where it can be, else exit status only;
          TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or
          `test.results`)
          a new test has to fail in a RED (`tdd.strictness: normal`)
        ");
        insta::assert_snapshot!(screen(&scene, "waves plan", "120"), @"
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
          `sh run-tests.sh`, read test by test where it can be, else exit status only; TAP can be, and JUnit XML in the file
          that `$TM_RESULTS` names (or `test.results`)
          a new test has to fail in a RED (`tdd.strictness: normal`)
        ");
        insta::assert_snapshot!(coloured(&scene, "waves plan"), @"
        4 tasks in 4 waves, 4 pairs of RED and GREEN, at most 5 agents at the same time
        each task starts when what it depends on has landed; at most 4 attempts each

        <bold>Waves 1 and 2</> (2 tasks)
          RED GREEN  1  Lower case
          RED GREEN  3  Read settings

        <bold>Waves 3 and 4</> (2 tasks)
          RED GREEN  2  Upper case — after 1
          RED GREEN  4  Explain the settings — after 3

        Agents
          RED    mine
          GREEN  mine
          `mine` may do what its own command lets it do

        Tests
          `sh run-tests.sh`, read test by test where it can be, else exit status only;
          TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or
          `test.results`)
          a new test has to fail in a RED (`tdd.strictness: normal`)
        ");
        insta::assert_snapshot!(without_folders(&screen(&scene, "doctor", "80")), @"
        ok    tests     sh run-tests.sh (found by run-tests.sh); results: read test by
                        test where it can be, else exit status only; TAP can be, and
                        JUnit XML in the file that `$TM_RESULTS` names (or
                        `test.results`)
        ok    signing   commits are not signed
        note  sandbox   none: what runs in a worktree can change what you can
                        hint: `sandbox.level: auto` in .taskmaster/tm.yaml takes what
                        works here
        note  remote    there is none: `tm pr` has nowhere to send work
                        hint: `git remote add origin ADDRESS`; without one `tm waves
                        land` brings work home
        ");
        insta::assert_snapshot!(without_folders(&screen(&scene, "doctor", "120")), @"
        ok    tests     sh run-tests.sh (found by run-tests.sh); results: read test by test where it can be, else exit status
                        only; TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or `test.results`)
        ok    signing   commits are not signed
        note  sandbox   none: what runs in a worktree can change what you can
                        hint: `sandbox.level: auto` in .taskmaster/tm.yaml takes what works here
        note  remote    there is none: `tm pr` has nowhere to send work
                        hint: `git remote add origin ADDRESS`; without one `tm waves land` brings work home
        ");
        insta::assert_snapshot!(without_folders(&coloured(&scene, "doctor")), @"
        <green>ok  </>  tests     sh run-tests.sh (found by run-tests.sh); results: read test by
                        test where it can be, else exit status only; TAP can be, and
                        JUnit XML in the file that `$TM_RESULTS` names (or
                        `test.results`)
        <green>ok  </>  signing   commits are not signed
        <yellow>note</>  sandbox   none: what runs in a worktree can change what you can
                        <dim>hint:</> `sandbox.level: auto` in .taskmaster/tm.yaml takes what
                        works here
        <yellow>note</>  remote    there is none: `tm pr` has nowhere to send work
                        <dim>hint:</> `git remote add origin ADDRESS`; without one `tm waves
                        land` brings work home
        ");
    });
}

#[test]
#[expect(clippy::too_many_lines, reason = "what is printed is long")]
fn a_run_its_summary_and_its_work() {
    let scene = ended();
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "waves report", "80"), @"
        ID  RED      GREEN    TASK
        1   landed   landed   Lower case
        2   landed   landed   Upper case
        3   failed   blocked  Read settings · RED claimed-fail after 1 attempt
        4   blocked  blocked  Explain the settings · by 3

        Failed and blocked
          3 Read settings
             RED claimed-fail after 1 attempt: the result says fail and gives no reason
             `tm waves logs 3:red`
          4 Explain the settings: blocked by 3

        base: 1 pass, 0 fail
        pairs: 2 of 4 were seen failing, then passing, and landed
        proof: 2 proven
        attempts: 5, of which 1 failed; at most 1 agent at the same time

        run [RUN] is failed
        2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
        branch tm/master/run-[RUN]
        ");
        insta::assert_snapshot!(screen(&scene, "waves report", "120"), @"
        ID  RED      GREEN    TASK
        1   landed   landed   Lower case
        2   landed   landed   Upper case
        3   failed   blocked  Read settings · RED claimed-fail after 1 attempt
        4   blocked  blocked  Explain the settings · by 3

        Failed and blocked
          3 Read settings
             RED claimed-fail after 1 attempt: the result says fail and gives no reason
             `tm waves logs 3:red`
          4 Explain the settings: blocked by 3

        base: 1 pass, 0 fail
        pairs: 2 of 4 were seen failing, then passing, and landed
        proof: 2 proven
        attempts: 5, of which 1 failed; at most 1 agent at the same time

        run [RUN] is failed
        2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
        branch tm/master/run-[RUN]
        ");
        insta::assert_snapshot!(coloured(&scene, "waves report"), @"
        <bold>ID</>  <bold>RED</>      <bold>GREEN</>    <bold>TASK</>
        1   <green>landed</>   <green>landed</>   Lower case
        2   <green>landed</>   <green>landed</>   Upper case
        3   <red>failed</>   <yellow>blocked</>  Read settings · RED claimed-fail after 1 attempt
        4   <yellow>blocked</>  <yellow>blocked</>  Explain the settings · by 3

        <bold>Failed and blocked</>
          3 Read settings
             RED <red>claimed-fail</> after 1 attempt: the result says fail and gives no reason
             `tm waves logs 3:red`
          4 Explain the settings: blocked by 3

        base: 1 pass, 0 fail
        pairs: 2 of 4 were seen failing, then passing, and landed
        proof: 2 proven
        attempts: 5, of which 1 failed; at most 1 agent at the same time

        run [RUN] is <red>failed</>
        2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
        branch tm/master/run-[RUN]
        ");
        insta::assert_snapshot!(screen(&scene, "waves status", "80"), @"
        run [RUN] is failed after [SECONDS]: 4 of 4 tasks settled
        branch tm/master/run-[RUN]
        base: 1 pass, 0 fail

        ID  RED      GREEN    TASK
        1   landed   landed   Lower case
        2   landed   landed   Upper case
        3   failed   blocked  Read settings · RED claimed-fail after 1 attempt
        4   blocked  blocked  Explain the settings · by 3
        ");
        insta::assert_snapshot!(screen(&scene, "waves status", "120"), @"
        run [RUN] is failed after [SECONDS]: 4 of 4 tasks settled
        branch tm/master/run-[RUN]
        base: 1 pass, 0 fail

        ID  RED      GREEN    TASK
        1   landed   landed   Lower case
        2   landed   landed   Upper case
        3   failed   blocked  Read settings · RED claimed-fail after 1 attempt
        4   blocked  blocked  Explain the settings · by 3
        ");
        insta::assert_snapshot!(coloured(&scene, "waves status"), @"
        run [RUN] is <red>failed</> after [SECONDS]: 4 of 4 tasks settled
        branch tm/master/run-[RUN]
        base: 1 pass, 0 fail

        <bold>ID</>  <bold>RED</>      <bold>GREEN</>    <bold>TASK</>
        1   <green>landed</>   <green>landed</>   Lower case
        2   <green>landed</>   <green>landed</>   Upper case
        3   <red>failed</>   <yellow>blocked</>  Read settings · RED claimed-fail after 1 attempt
        4   <yellow>blocked</>  <yellow>blocked</>  Explain the settings · by 3
        ");
        insta::assert_snapshot!(screen(&scene, "review", "80"), @"
        [1/2] 1 Lower case
          branch     tm/master/task-1-lower-case, landed
          RED        pass after 1 attempt, claim pass; 1 passed, 1 failed, 1 new
          change     1 file, +2 −0 lines
          GREEN      pass after 1 attempt, claim pass; 2 passed, 0 failed, 0 new, 1
                     failed before
          change     1 file, +1 −0 lines
          conflicts  none with `main`
          review     none yet
        1: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? 
        0 approved, 0 rejected, 2 open of 2 tasks
        `tm review` goes on with what is open
        ");
        insta::assert_snapshot!(screen(&scene, "review", "120"), @"
        [1/2] 1 Lower case
          branch     tm/master/task-1-lower-case, landed
          RED        pass after 1 attempt, claim pass; 1 passed, 1 failed, 1 new
          change     1 file, +2 −0 lines
          GREEN      pass after 1 attempt, claim pass; 2 passed, 0 failed, 0 new, 1 failed before
          change     1 file, +1 −0 lines
          conflicts  none with `main`
          review     none yet
        1: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? 
        0 approved, 0 rejected, 2 open of 2 tasks
        `tm review` goes on with what is open
        ");
        insta::assert_snapshot!(coloured(&scene, "review"), @"
        [1/2] <bold>1 Lower case</>
          branch     tm/master/task-1-lower-case, landed
          RED        <green>pass</> after 1 attempt, claim pass; 1 passed, 1 failed, 1 new
          change     1 file, +2 −0 lines
          GREEN      <green>pass</> after 1 attempt, claim pass; 2 passed, 0 failed, 0 new, 1
                     failed before
          change     1 file, +1 −0 lines
          conflicts  none with `main`
          review     none yet
        1: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? 
        0 approved, 0 rejected, 2 open of 2 tasks
        `tm review` goes on with what is open
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 3", "80"), @"
        stderr
        I can not

        attempt 1 failed: claimed-fail
        the result says fail and gives no reason
        ");
        insta::assert_snapshot!(coloured(&scene, "waves logs 3"), @"
        <bold>stderr</>
        I can not

        <red>attempt 1 failed: claimed-fail</>
        the result says fail and gives no reason
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 1 --tests", "80"), @"
        TAP version 13
        1..2
        ok - 1.t: 1 works
        ok - old.t: the old one
        ");
        insta::assert_snapshot!(screen(&scene, "waves logs 9", "80"), @"
        error: failed to find the task `9` in the run [RUN]
        hint: `tm waves status` lists its tasks; the tests of a pair are `ID:red`
        ");
        insta::assert_snapshot!(coloured(&scene, "waves logs 9"), @"
        <red>error:</> failed to find the task `9` in the run [RUN]
        <cyan>hint:</> `tm waves status` lists its tasks; the tests of a pair are `ID:red`
        ");
    });
}

/// What lists, and what is longer than 80 columns.
const LONG: &str = r#"{"master": {"tasks": [
    {"id": 1, "title": "Read the settings of a project from its own file and from that of whoever works in it, one over the other",
     "description": "The later one counts.", "status": "in-progress", "priority": "high", "complexity": "L", "dependencies": [],
     "subtasks": [{"id": 1, "title": "Read one", "status": "done", "dependencies": []},
                  {"id": 2, "title": "Read both", "status": "pending", "dependencies": [1]}]},
    {"id": 2, "title": "Explain them", "status": "pending", "priority": "low", "dependencies": [1]},
    {"id": 3, "title": "Begin", "status": "done", "priority": "medium", "dependencies": []}
]}}"#;

#[test]
fn a_backlog_as_a_list() {
    let scene = Scene::with_backlog(LONG, "");
    settings().bind(|| {
        insta::assert_snapshot!(screen(&scene, "list", "80"), @"
        tag master, 3 tasks: 1 pending, 1 in-progress, 1 done
        ID  STATUS       PRIORITY  SIZE  SUBTASKS  DEPENDS ON  TITLE
        1   in-progress  high      L     1/2                   Read the settings of a p…
        2   pending      low                       1           Explain them
        3   done         medium                                Begin
        ");
        insta::assert_snapshot!(screen(&scene, "list", "120"), @"
        tag master, 3 tasks: 1 pending, 1 in-progress, 1 done
        ID  STATUS       PRIORITY  SIZE  SUBTASKS  DEPENDS ON  TITLE
        1   in-progress  high      L     1/2                   Read the settings of a project from its own file and from that o…
        2   pending      low                       1           Explain them
        3   done         medium                                Begin
        ");
        insta::assert_snapshot!(coloured_at(&scene, "list", "80"), @"
        tag master, 3 tasks: 1 pending, 1 in-progress, 1 done
        <bold>ID</>  <bold>STATUS</>       <bold>PRIORITY</>  <bold>SIZE</>  <bold>SUBTASKS</>  <bold>DEPENDS ON</>  <bold>TITLE</>
        1   <cyan>in-progress</>  high      L     1/2                   Read the settings of a p…
        2   pending      low                       1           Explain them
        3   <green>done</>         medium                                Begin
        ");
        insta::assert_snapshot!(coloured_at(&scene, "list", "120"), @"
        tag master, 3 tasks: 1 pending, 1 in-progress, 1 done
        <bold>ID</>  <bold>STATUS</>       <bold>PRIORITY</>  <bold>SIZE</>  <bold>SUBTASKS</>  <bold>DEPENDS ON</>  <bold>TITLE</>
        1   <cyan>in-progress</>  high      L     1/2                   Read the settings of a project from its own file and from that o…
        2   pending      low                       1           Explain them
        3   <green>done</>         medium                                Begin
        ");
        insta::assert_snapshot!(screen(&scene, "list --with-subtasks", "80"), @"
        tag master, 3 tasks: 1 pending, 1 in-progress, 1 done
        ID   STATUS       PRIORITY  SIZE  SUBTASKS  DEPENDS ON  TITLE
        1    in-progress  high      L     1/2                   Read the settings of a …
        1.1  done         high                                  Read one
        1.2  pending      high                      1.1         Read both
        2    pending      low                       1           Explain them
        3    done         medium                                Begin
        ");
    });
}

#[test]
#[expect(clippy::too_many_lines, reason = "what is printed is long")]
fn every_screen_in_colour_at_120_columns() {
    let scene = planned();
    let of_plan = ["waves plan", "doctor"].map(|words| coloured_at(&scene, words, "120"));
    let scene = ended();
    let of_run = [
        "waves report",
        "waves status",
        "review",
        "waves logs 3",
        "waves logs 9",
    ];
    let of_run = of_run.map(|words| coloured_at(&scene, words, "120"));
    settings().bind(|| {
        insta::assert_snapshot!(of_plan[0], @"
        4 tasks in 4 waves, 4 pairs of RED and GREEN, at most 5 agents at the same time
        each task starts when what it depends on has landed; at most 4 attempts each

        <bold>Waves 1 and 2</> (2 tasks)
          RED GREEN  1  Lower case
          RED GREEN  3  Read settings

        <bold>Waves 3 and 4</> (2 tasks)
          RED GREEN  2  Upper case — after 1
          RED GREEN  4  Explain the settings — after 3

        Agents
          RED    mine
          GREEN  mine
          `mine` may do what its own command lets it do

        Tests
          `sh run-tests.sh`, read test by test where it can be, else exit status only; TAP can be, and JUnit XML in the file
          that `$TM_RESULTS` names (or `test.results`)
          a new test has to fail in a RED (`tdd.strictness: normal`)
        ");
        insta::assert_snapshot!(without_folders(&of_plan[1]), @"
        <green>ok  </>  tests     sh run-tests.sh (found by run-tests.sh); results: read test by test where it can be, else exit status
                        only; TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or `test.results`)
        <green>ok  </>  signing   commits are not signed
        <yellow>note</>  sandbox   none: what runs in a worktree can change what you can
                        <dim>hint:</> `sandbox.level: auto` in .taskmaster/tm.yaml takes what works here
        <yellow>note</>  remote    there is none: `tm pr` has nowhere to send work
                        <dim>hint:</> `git remote add origin ADDRESS`; without one `tm waves land` brings work home
        ");
        insta::assert_snapshot!(of_run.join("\n---\n"), @"
        <bold>ID</>  <bold>RED</>      <bold>GREEN</>    <bold>TASK</>
        1   <green>landed</>   <green>landed</>   Lower case
        2   <green>landed</>   <green>landed</>   Upper case
        3   <red>failed</>   <yellow>blocked</>  Read settings · RED claimed-fail after 1 attempt
        4   <yellow>blocked</>  <yellow>blocked</>  Explain the settings · by 3

        <bold>Failed and blocked</>
          3 Read settings
             RED <red>claimed-fail</> after 1 attempt: the result says fail and gives no reason
             `tm waves logs 3:red`
          4 Explain the settings: blocked by 3

        base: 1 pass, 0 fail
        pairs: 2 of 4 were seen failing, then passing, and landed
        proof: 2 proven
        attempts: 5, of which 1 failed; at most 1 agent at the same time

        run [RUN] is <red>failed</>
        2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
        branch tm/master/run-[RUN]

        ---
        run [RUN] is <red>failed</> after [SECONDS]: 4 of 4 tasks settled
        branch tm/master/run-[RUN]
        base: 1 pass, 0 fail

        <bold>ID</>  <bold>RED</>      <bold>GREEN</>    <bold>TASK</>
        1   <green>landed</>   <green>landed</>   Lower case
        2   <green>landed</>   <green>landed</>   Upper case
        3   <red>failed</>   <yellow>blocked</>  Read settings · RED claimed-fail after 1 attempt
        4   <yellow>blocked</>  <yellow>blocked</>  Explain the settings · by 3

        ---

        [1/2] <bold>1 Lower case</>
          branch     tm/master/task-1-lower-case, landed
          RED        <green>pass</> after 1 attempt, claim pass; 1 passed, 1 failed, 1 new
          change     1 file, +2 −0 lines
          GREEN      <green>pass</> after 1 attempt, claim pass; 2 passed, 0 failed, 0 new, 1 failed before
          change     1 file, +1 −0 lines
          conflicts  none with `main`
          review     none yet
        1: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? 
        0 approved, 0 rejected, 2 open of 2 tasks
        `tm review` goes on with what is open

        ---

        <bold>stderr</>
        I can not

        <red>attempt 1 failed: claimed-fail</>
        the result says fail and gives no reason

        ---
        <red>error:</> failed to find the task `9` in the run [RUN]
        <cyan>hint:</> `tm waves status` lists its tasks; the tests of a pair are `ID:red`
        ");
        insta::assert_snapshot!(ended_badly("120").split("report:").next().expect("a part"), @"
        </>
        3 Read settings
        RED <red>claimed-fail</> after 1 attempt: the result says fail and gives no reason
        `tm waves logs 3:red`
        4 Explain the settings: blocked by 3

        base: 1 pass, 0 fail
        pairs: 2 of 4 were seen failing, then passing, and landed
        proof: 2 proven
        attempts: 5, of which 1 failed; at most 1 agent at the same time

        run [RUN] is <red>failed</>
        2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
        branch tm/master/run-[RUN]
        4 tasks in 4 waves, 4 pairs of RED and GREEN, at most 1 agent at the same time
        each task starts when what it depends on has landed; at most 1 attempt each

        <bold>Waves 1 and 2</>, part 1 (1 task)
        RED GREEN 1 Lower case

        <bold>Waves 1 and 2</>, part 2 (1 task)
        RED GREEN 3 Read settings

        <bold>Waves 3 and 4</>, part 1 (1 task)
        RED GREEN 2 Upper case — after 1

        <bold>Waves 3 and 4</>, part 2 (1 task)
        RED GREEN 4 Explain the settings — after 3

        Agents
        RED mine
        GREEN mine
        `mine` may do what its own command lets it do

        Tests
        `sh run-tests.sh`, read test by test where it can be, else exit status only; TAP can be, and JUnit XML in the file
        that `$TM_RESULTS` names (or `test.results`)
        a new test has to fail in a RED (`tdd.strictness: normal`)

        base: 1 pass, 0 fail
        4 tasks in 4 waves, at most 1 agent at the same time
        wave 1 begins: RED of 2 tasks
        <dim> START</> 1 Lower case (RED)
        <green> DONE</> 1 Lower case (RED): 1 passed, 1 failed; proven
        <dim> START</> 3 Read settings (RED)
        <red>TRY 1 FAIL</> 3 Read settings (RED): claimed-fail: the result says fail and gives no reason
        <red> FAIL</> 3 Read settings (RED): claimed-fail: the result says fail and gives no reason
        <yellow> BLOCKED</> 4 Explain the settings, by 3
        wave 2 begins: GREEN of 2 tasks
        <dim> START</> 1 Lower case (GREEN)
        <green> DONE</> 1 Lower case (GREEN): 2 passed, 0 failed; proven
        <green> PASS</> 1 Lower case
        wave 3 begins: RED of 2 tasks
        <dim> START</> 2 Upper case (RED)
        <green> DONE</> 2 Upper case (RED): 2 passed, 1 failed; proven
        wave 4 begins: GREEN of 2 tasks
        <dim> START</> 2 Upper case (GREEN)
        <green> DONE</> 2 Upper case (GREEN): 3 passed, 0 failed; proven
        <green> PASS</> 2 Upper case
        the run is failed
        next:
        tm waves logs 3:red see why it failed
        tm waves run try again what failed
        tm review see each task, approve or reject it
        tm waves land merge it into your branch, when you are content
        git log --first-parent tm/master/run-[RUN]
        ");
    });
}

/// Each time of a run has its own width: it has one here.
fn without_times(text: &str) -> String {
    let is_time =
        |word: &str| word.ends_with("s]") && word.contains('.') || word.starts_with("[00:");
    let line = |line: &str| {
        let words = line
            .split_whitespace()
            .filter(|word| *word != "[" && !is_time(word));
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What a run tells in colour that ends badly, from its failures on.
fn ended_badly(columns: &str) -> String {
    let scene = planned();
    let words = [
        "waves",
        "run",
        "--yes",
        "--max-parallel",
        "1",
        "--retries",
        "0",
    ];
    let colour = ["--color", "always"].into_iter().chain(words);
    let text = in_words(&shown(scene.tm(&colour.collect::<Vec<_>>()), columns));
    let folder = scene.path("").display().to_string();
    let text = text.replace(folder.trim_end_matches('/'), "FOLDER");
    let told = text
        .split("<bold>Failed and blocked")
        .nth(1)
        .expect("it failed");
    without_times(told)
}

/// The words alone, without what each run has for itself: only where lines are folded is left to the width.
fn in_one_line(told: &str) -> String {
    let own = Regex::new(r"\d{8}-\d{6}-[0-9a-f]{4}|-[0-9a-f]{12}|\d+m?s;").expect("a pattern");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    own.replace_all(&words, "*").into_owned()
}

#[test]
fn what_fails_is_told_in_the_same_words_at_120_columns() {
    let told = ["80", "120"].map(|columns| in_one_line(&ended_badly(columns)));
    assert_eq!(told[0], told[1]);
    let scene = ended();
    for words in ["waves logs 3", "waves logs 1 --tests", "waves logs 9"] {
        let seen = ["80", "120"].map(|columns| in_one_line(&screen(&scene, words, columns)));
        assert_eq!(seen[0], seen[1], "{words}");
    }
}

#[test]
fn a_run_as_it_goes_on_and_ends_badly() {
    settings().bind(|| {
        insta::assert_snapshot!(ended_badly("80"), @"
    </>
    3 Read settings
    RED <red>claimed-fail</> after 1 attempt: the result says fail and gives no reason
    `tm waves logs 3:red`
    4 Explain the settings: blocked by 3

    base: 1 pass, 0 fail
    pairs: 2 of 4 were seen failing, then passing, and landed
    proof: 2 proven
    attempts: 5, of which 1 failed; at most 1 agent at the same time

    run [RUN] is <red>failed</>
    2 of 4 tasks landed in [SECONDS]; 1 failed, 1 blocked.
    branch tm/master/run-[RUN]
    4 tasks in 4 waves, 4 pairs of RED and GREEN, at most 1 agent at the same time
    each task starts when what it depends on has landed; at most 1 attempt each

    <bold>Waves 1 and 2</>, part 1 (1 task)
    RED GREEN 1 Lower case

    <bold>Waves 1 and 2</>, part 2 (1 task)
    RED GREEN 3 Read settings

    <bold>Waves 3 and 4</>, part 1 (1 task)
    RED GREEN 2 Upper case — after 1

    <bold>Waves 3 and 4</>, part 2 (1 task)
    RED GREEN 4 Explain the settings — after 3

    Agents
    RED mine
    GREEN mine
    `mine` may do what its own command lets it do

    Tests
    `sh run-tests.sh`, read test by test where it can be, else exit status only;
    TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or
    `test.results`)
    a new test has to fail in a RED (`tdd.strictness: normal`)

    base: 1 pass, 0 fail
    4 tasks in 4 waves, at most 1 agent at the same time
    wave 1 begins: RED of 2 tasks
    <dim> START</> 1 Lower case (RED)
    <green> DONE</> 1 Lower case (RED): 1 passed, 1 failed; proven
    <dim> START</> 3 Read settings (RED)
    <red>TRY 1 FAIL</> 3 Read settings (RED): claimed-fail: the result says fail and gives no reason
    <red> FAIL</> 3 Read settings (RED): claimed-fail: the result says fail and gives no reason
    <yellow> BLOCKED</> 4 Explain the settings, by 3
    wave 2 begins: GREEN of 2 tasks
    <dim> START</> 1 Lower case (GREEN)
    <green> DONE</> 1 Lower case (GREEN): 2 passed, 0 failed; proven
    <green> PASS</> 1 Lower case
    wave 3 begins: RED of 2 tasks
    <dim> START</> 2 Upper case (RED)
    <green> DONE</> 2 Upper case (RED): 2 passed, 1 failed; proven
    wave 4 begins: GREEN of 2 tasks
    <dim> START</> 2 Upper case (GREEN)
    <green> DONE</> 2 Upper case (GREEN): 3 passed, 0 failed; proven
    <green> PASS</> 2 Upper case
    the run is failed
    next:
    tm waves logs 3:red see why it failed
    tm waves run try again what failed
    tm review see each task, approve or reject it
    tm waves land merge it into your branch, when you are content
    git log --first-parent tm/master/run-[RUN]
    report:
    FOLDER/tm/projects/checkout-[SHORT]/runs/[RUN]/report.html
        ");
    });
}

#[test]
fn nobody_who_sets_no_color_gets_any_unless_it_is_asked_for() {
    let scene = planned();
    let has_colour = |words: &[&str]| {
        let mut call = scene.tm(words);
        call.env("NO_COLOR", "1");
        shown(call, "80").contains('\u{1b}')
    };
    assert!(!has_colour(&["waves", "plan"]));
    assert!(!has_colour(&["waves", "plan", "--color", "auto"]));
    assert!(!has_colour(&["waves", "fly", "--color=never"]));
    assert!(has_colour(&["waves", "plan", "--color", "always"]));
    assert!(has_colour(&["waves", "fly", "--color=always"]));
}
