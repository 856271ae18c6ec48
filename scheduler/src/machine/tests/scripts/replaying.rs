//! A journal, read back, comes to where the run stood.

use super::*;

/// Hands the inputs on as a journal does, and returns where they lead.
fn replayed(
    edges: &[(&str, &[&str])],
    limits: &Limits,
    inputs: &[Input],
) -> (Vec<State>, Vec<Vec<AttemptRecord>>) {
    let kept = serde_json::to_string(&(limits, inputs)).expect("written");
    let (limits, inputs): (Limits, Vec<Input>) = serde_json::from_str(&kept).expect("read");
    let mut script = Script::with_limits(edges, TddMode::Off, limits);
    for input in inputs {
        script
            .scheduler
            .handle(Timestamp(0), input)
            .expect("a legal input");
    }
    (script.scheduler.states, script.scheduler.attempts)
}

fn answer(task: &str, attempt: u32, answer: Answer) -> Input {
    Input::Answer {
        task: task.into(),
        attempt: AttemptNumber(attempt),
        answer,
    }
}

#[test]
fn the_tree_of_a_proof_and_what_was_seen_of_the_commit_are_kept() {
    let limits = Limits::with_slots(NonZeroU32::MIN);
    let proof = |tree: &str| Proof {
        tree: Some(tree.to_owned()),
        passed: 3,
        ..Proof::default()
    };
    let mut inputs = vec![
        Input::Begin,
        answer("1", 1, prepared()),
        answer("1", 1, exited(0)),
        answer("1", 1, Answer::Proved(proof("tree-of-the-work"))),
    ];
    let (_, attempts) = replayed(&[("1", &[])], &limits, &inputs);
    assert_eq!(attempts[0][0].proof(), Some(&proof("tree-of-the-work")));
    let as_it_was = Answer::Committed {
        commit: "c1".into(),
        proof: None,
    };
    let (_, attempts) = replayed(
        &[("1", &[])],
        &limits,
        &[inputs.as_slice(), &[answer("1", 1, as_it_was)]].concat(),
    );
    assert_eq!(attempts[0][0].proof(), Some(&proof("tree-of-the-work")));
    let by_hooks = Answer::Committed {
        commit: "c1".into(),
        proof: Some(Box::new(proof("tree-of-the-hooks"))),
    };
    inputs.push(answer("1", 1, by_hooks));
    inputs.push(answer("1", 1, landed("m1")));
    let (states, attempts) = replayed(&[("1", &[])], &limits, &inputs);
    assert_eq!(attempts[0][0].proof(), Some(&proof("tree-of-the-hooks")));
    assert_eq!(
        states,
        [State::Landed {
            commit: "c1".into(),
            merge: "m1".into()
        }]
    );
}

/// Until version 4 a slot was kept until its work was a commit; whoever takes such a run up frees it at once.
#[test]
fn slots_that_a_journal_of_version_4_keeps_are_free_when_the_run_is_taken_up() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.edition = Edition::Third;
    let edges: &[(&str, &[&str])] = &[("1", &[]), ("2", &[]), ("3", &[])];
    let mut inputs = vec![
        Input::Begin,
        answer("1", 1, prepared()),
        answer("1", 1, exited(0)),
    ];
    let (states, _) = replayed(edges, &limits, &inputs);
    assert_eq!(states[2], State::Ready);
    limits.edition = Edition::NEWEST;
    inputs.push(Input::Resumed(limits.clone()));
    limits.edition = Edition::Third;
    let (states, _) = replayed(edges, &limits, &inputs);
    assert_eq!(states[2], State::Preparing);
}

/// Under the rules of today the second attempt of task 1 waits for a moment, and task 2 for the landing.
#[test]
fn a_journal_of_before_is_replayed_by_the_rules_of_before_and_goes_on_by_those_of_today() {
    let mut limits = Limits::with_slots(NonZeroU32::MIN);
    limits.edition = Edition::First;
    let edges: &[(&str, &[&str])] = &[("1", &[]), ("2", &[])];
    let mut inputs = vec![Input::Begin];
    for attempt in 1..=15 {
        inputs.extend([
            answer("1", attempt, prepared()),
            answer("1", attempt, ended(Ended::Lost)),
        ]);
    }
    inputs.extend([
        answer("1", 16, prepared()),
        answer("1", 16, exited(0)),
        answer("1", 16, proved(None)),
    ]);
    inputs.extend([
        answer("1", 16, committed("c1")),
        answer("2", 1, prepared()),
        answer("1", 16, landed("m1")),
    ]);
    let (states, _) = replayed(edges, &limits, &inputs);
    assert_eq!(states[1], State::Running);
    inputs.push(Input::Resumed(Limits {
        edition: Edition::NEWEST,
        ..limits.clone()
    }));
    inputs.push(answer("2", 1, ended(Ended::Lost)));
    let (states, _) = replayed(edges, &limits, &inputs);
    assert_eq!(
        states[1],
        State::Paused {
            until: Timestamp(1_000)
        }
    );
    let old: Limits = serde_json::from_value({
        let mut value = serde_json::to_value(&limits).expect("written");
        value.as_object_mut().expect("an object").remove("edition");
        value
    })
    .expect("read");
    assert_eq!(old, limits, "limits that name no edition are of the first");
}
