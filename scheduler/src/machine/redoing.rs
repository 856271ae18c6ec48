//! Does a RED again although its proof held: it conflicts with what has landed, or its GREEN shows that it may be wrong.
//!
//! A RED is questioned once for each cause, and twice in all: then its GREEN fails as any other, and the reason says that a
//! test may be wrong.

use super::{AttemptEnd, AttemptRecord, Scheduler, State, TaskIndex};
use crate::{Failure, Keep, Proof, Reason, ResultFile, quoted};

/// A RED is questioned so often.
const MOST_QUESTIONS: usize = 2;
/// So many tests are named, and so much is told of what GREEN's agent says.
const MOST_NAMES: usize = 12;
const MOST_CLAIM_BYTES: usize = 1024;

impl Scheduler {
    /// Takes the RED of a GREEN back whose base can't be made, since the two conflict with what has landed.
    pub(super) fn redo_conflicting_red(
        &mut self,
        red: TaskIndex,
        green: TaskIndex,
        evidence: String,
    ) {
        self.release(green, Keep::Nothing);
        self.attempts[green].pop();
        self.redo_red(red, green, Failure::Conflict, evidence);
    }

    /// Ends GREEN's attempt, uncharged, and has its RED done again with what both sides say.
    pub(super) fn question_red(&mut self, green: TaskIndex, doubt: Doubt, failure: Failure) {
        let Doubt { red, cause } = doubt;
        self.release(green, Keep::Salvage);
        let measured = self
            .last(green)
            .and_then(AttemptRecord::proof)
            .map(|proof| proof.evidence.clone());
        self.record_failure(green, failure, measured.unwrap_or_default());
        let evidence = self.words_of_both(red, green, cause);
        for position in self.witnesses(green, cause) {
            if let AttemptEnd::Failed(failed) = &mut self.attempts[green][position].end {
                failed.charged = false;
            }
        }
        self.last_failure(green)
            .evidence
            .push_str("\n\nRED is done again because of this: its tests may be others now.");
        self.redo_red(red, green, Failure::RedQuestioned, evidence);
        self.last_failure(red).questioned = Some(cause);
    }

    /// Takes a RED back; its GREEN, and whoever else builds on it, waits for the next one.
    fn redo_red(&mut self, red: TaskIndex, green: TaskIndex, failure: Failure, evidence: String) {
        self.record_failure(red, failure, evidence);
        self.set_state(red, State::Waiting { unmet: 0 });
        self.make_ready(green);
        for after in self.dependants[red].clone() {
            if self.states[after] == State::Ready {
                self.make_ready(after);
            }
        }
        self.retry_or_give_up(red, failure);
    }

    /// Returns what the failed proof of a GREEN's last attempt says against its RED.
    pub(super) fn doubt(&self, green: TaskIndex) -> Option<Doubt> {
        if self.is_of_first_edition() {
            return None;
        }
        let red = self.held_red_of(green)?;
        let cause = last_reason(&self.attempts[green])?;
        let witnesses = self.witnesses(green, cause).len();
        let before: Vec<Reason> = self.questions(red).collect();
        let is_new = before.len() < MOST_QUESTIONS && !before.contains(&cause);
        let may_be_tried = self.uncharged_left(red) > 1 && self.uncharged_left(green) > witnesses;
        (witnesses > 0 && is_new && may_be_tried).then_some(Doubt { red, cause })
    }

    /// Whether the RED of a GREEN was questioned for what its last attempt failed by again.
    pub(super) fn questioned_before(&self, green: TaskIndex) -> bool {
        self.red_of(green)
            .zip(last_reason(&self.attempts[green]))
            .is_some_and(|(red, cause)| self.questions(red).any(|before| before == cause))
    }

    fn questions(&self, red: TaskIndex) -> impl Iterator<Item = Reason> {
        self.attempts[red]
            .iter()
            .filter_map(|record| record.failed()?.questioned)
    }

    /// The attempts at a GREEN that speak against its RED: the last one where it shows that a test is wrong, the last two
    /// that were measured where the same test failed in both.
    fn witnesses(&self, green: TaskIndex, cause: Reason) -> Vec<usize> {
        let records = &self.attempts[green];
        let mut measured = (0..records.len())
            .rev()
            .filter_map(|at| Some((at, records[at].proof()?)));
        match (cause, measured.next(), measured.next()) {
            (Reason::RedNotFailing | Reason::TestMistake, Some((last, _)), _) => vec![last],
            (Reason::RedTestsFail, Some((last, proof)), Some((before, earlier)))
                if !shared(proof, earlier).is_empty() =>
            {
                vec![last, before]
            }
            _ => Vec::new(),
        }
    }

    fn words_of_both(&self, red: TaskIndex, green: TaskIndex, cause: Reason) -> String {
        let records = &self.attempts[green];
        let why = match (cause, self.witnesses(green, cause).as_slice()) {
            (Reason::RedTestsFail, &[last, before]) => {
                let proof = |at: usize| records[at].proof().cloned().unwrap_or_default();
                let tests = names(&shared(&proof(last), &proof(before)));
                format!("its GREEN failed on the same tests twice, so they may be wrong: {tests}")
            }
            (Reason::RedNotFailing, _) => {
                "its tests do not fail any more without GREEN's work".to_owned()
            }
            (_, _) => "its GREEN shows that a test fails by a mistake of its own".to_owned(),
        };
        let seen = self
            .last(red)
            .and_then(AttemptRecord::proof)
            .map(words_of_red)
            .unwrap_or_default();
        let failed = records.last().map(words_of_green).unwrap_or_default();
        format!("{why}\n\n{seen}\n\n{failed}")
    }
}

/// What speaks against a RED.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    red: TaskIndex,
    cause: Reason,
}

/// The reason for which the work of the last attempt was refused.
fn last_reason(records: &[AttemptRecord]) -> Option<Reason> {
    let proof = records.last()?.proof()?;
    proof.reason.filter(|_| !proof.holds())
}

/// Tests of RED that fail in both.
fn shared(one: &Proof, other: &Proof) -> Vec<String> {
    let mut names = one.red_failing.clone();
    names.retain(|name| other.red_failing.contains(name));
    names
}

fn words_of_red(proof: &Proof) -> String {
    let mut text = format!("What tm saw of RED: new tests: {}", names(&proof.new));
    for file in &proof.unloaded {
        text = format!("{text}\n- {file} could not be loaded yet");
    }
    for note in &proof.notes {
        text = format!("{text}\n- {note}");
    }
    text
}

fn words_of_green(record: &AttemptRecord) -> String {
    let seen = format!(
        "What tm saw of GREEN, attempt {}: {}",
        record.number,
        record.evidence().trim_end()
    );
    let issues = match record.report().map(|report| &report.result) {
        Some(ResultFile::Claimed(claim)) => claim.issues.join("; "),
        _ => String::new(),
    };
    if issues.is_empty() {
        return seen;
    }
    let issues = &issues[..issues.floor_char_boundary(MOST_CLAIM_BYTES)];
    format!("{seen}\n\nWhat GREEN's agent said of it: {issues}")
}

fn names(tests: &[String]) -> String {
    let named = quoted(tests.iter().take(MOST_NAMES));
    match tests.len() {
        0 => "none that have names".to_owned(),
        1..=MOST_NAMES => named,
        count => format!("{named}, and {} more", count - MOST_NAMES),
    }
}
