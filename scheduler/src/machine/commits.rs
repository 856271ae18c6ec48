//! What follows when proven work is a commit: it is improved, held or landed.

use super::attempt_record::Reached;
use super::{Scheduler, State, TaskIndex};
use crate::{
    CommitId, Event, GateResult, Keep, Landing, Phase, Proof, Refactor, Refactored, Status,
};

impl Scheduler {
    pub(super) fn committed(&mut self, rank: TaskIndex, commit: CommitId) {
        self.tell_commit(rank, &commit);
        if self.end_if_stopped(rank, None) {
            return;
        }
        let wants_refactor = self.wants_refactor(rank);
        if wants_refactor && self.may_ask_again(rank) {
            self.set_state(rank, State::Refactoring { commit });
            return self.ask_for_step(rank);
        }
        if wants_refactor {
            let why = "the service behind its agent refused meanwhile";
            self.tell(Event::RefactorEnded {
                task: self.id(rank),
                commit: commit.clone(),
                dropped: Some(why.to_owned()),
            });
        }
        self.finish_attempt(rank, commit);
    }

    /// What was seen of the tree that the hooks made stands in place of what was seen before.
    pub(super) fn take_proof_of_commit(&mut self, rank: TaskIndex, proof: Option<Box<Proof>>) {
        if let Some(mut proof) = proof {
            self.spend_on_gates(&proof.gates);
            // What was spent before on the work of the attempt stays spent.
            let record = self.last_attempt(rank);
            let before: Vec<GateResult> = record
                .proof()
                .into_iter()
                .flat_map(|proof| &proof.gates)
                .filter(|gate| gate.tokens.is_some() || gate.cost_usd.is_some())
                .cloned()
                .collect();
            proof.gates.splice(0..0, before);
            record.reach(Reached::Proof(proof));
        }
    }

    fn tell_commit(&mut self, rank: TaskIndex, commit: &CommitId) {
        let task = self.id(rank);
        let record = self.last_attempt(rank);
        record.reach(Reached::Commit(commit.clone()));
        if let Some(place) = record.place() {
            let event = Event::CommitCreated {
                task,
                commit: commit.clone(),
                branch: place.branch.clone(),
            };
            self.tell(event);
        }
    }

    /// A run that stops starts no further agent, nor does a task that has spent its budget.
    fn wants_refactor(&self, rank: TaskIndex) -> bool {
        let is_wanted = self.limits.refactor == Refactor::On && self.phase(rank) == Phase::Green;
        is_wanted && self.stop_reason.is_none() && !self.is_over_budget(rank)
    }

    pub(super) fn refactored(&mut self, rank: TaskIndex, refactored: Refactored) {
        let commit = refactored.commit.clone();
        if let Some(proof) = &refactored.proof {
            self.spend_on_gates(&proof.gates);
        }
        if let Some(report) = &refactored.report {
            self.spend(report);
            self.note_refusal(rank, report);
        }
        self.tell(Event::RefactorEnded {
            task: self.id(rank),
            commit: refactored.commit.clone(),
            dropped: refactored.dropped.clone(),
        });
        self.last_attempt(rank)
            .reach(Reached::Refactored(Box::new(refactored)));
        if !self.end_if_stopped(rank, None) {
            self.finish_attempt(rank, commit);
        }
    }

    /// Gives the worktree back and has the commit landed, or held.
    fn finish_attempt(&mut self, rank: TaskIndex, commit: CommitId) {
        self.release(rank, Keep::Nothing);
        if self.phase(rank) == Phase::Red || self.limits.landing == Landing::Off {
            self.held(rank, commit);
        } else {
            self.set_state(rank, State::Landing { commit });
            self.last_attempt(rank).queued_at = Some(self.now);
            self.landing.push(rank);
        }
    }

    fn held(&mut self, rank: TaskIndex, commit: CommitId) {
        self.set_state(rank, State::Held { commit });
        self.end_attempt_well(rank, None);
        if self.phase(rank) != Phase::Red {
            self.write_status(rank, Status::Review);
        }
        self.ready_dependants(rank);
    }
}
