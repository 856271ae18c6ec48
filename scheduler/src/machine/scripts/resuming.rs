//! Runs that another process takes up.

use super::*;

#[test]
fn a_run_that_is_taken_up_before_it_began_begins() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    let limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:started 1 in 1",
            "say wave:opened 1 of 1",
            "say task:started 1 none",
            "status 1 in-progress",
            "prepare 1#1 on [] with []",
        ],
    );
}

#[test]
fn an_agent_that_was_running_when_tm_died_is_adopted() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script.scheduler.handle(Timestamp(0), Input::Begin).expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    let limits = script.scheduler.limits().clone();
    script
        .gives(Input::Resumed(limits), &["say run:resumed 0 landed, 1 under way", "status 1 in-progress", "adopt 1#1"]);
    script.answer(
        "1",
        ended(Ended::Lost),
        &["release 1#1 Salvage", "say attempt:ended 1 lost", "prepare 1#2 on [] with []"],
    );
    assert!(!script.scheduler.task(&"1".into()).expect("a task").attempts[0].charged);
}
