//! Agents, services and machines that never let anything end well.

use super::*;

/// What comes back, always.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hostile {
    Lost,
    Limited,
    LimitedForYears,
    /// Every GREEN says that its RED is wrong.
    Doubtful,
    Mixture,
}

const ALL: [Hostile; 5] = [
    Hostile::Lost,
    Hostile::Limited,
    Hostile::LimitedForYears,
    Hostile::Doubtful,
    Hostile::Mixture,
];

impl World {
    /// The answer to a step of a task when nothing may end well; `None` where only an honest answer is possible.
    pub(super) fn hostile_answer(
        &mut self,
        hostile: Hostile,
        task: &TaskId,
        owed: &Owed,
    ) -> Option<Answer> {
        let kind = match hostile {
            Hostile::Mixture if self.random.usize(..4) == 0 => return None,
            Hostile::Mixture => ALL[self.random.usize(..4)],
            other => other,
        };
        match (owed, kind) {
            (Owed::Agent, Hostile::Lost | Hostile::Mixture) => {
                let ended = if self.random.usize(..2) == 0 {
                    Ended::Lost
                } else {
                    Ended::Killed
                };
                Some(Answer::AgentEnded(AgentReport::new(
                    "hostile", self.now, self.now, ended,
                )))
            }
            (Owed::Agent, Hostile::Limited) => Some(self.limited(task, None)),
            (Owed::Agent, Hostile::LimitedForYears) => {
                Some(self.limited(task, Some(Timestamp(u64::MAX))))
            }
            (Owed::Proof, Hostile::Doubtful)
                if self.scheduler.task(task)?.placed.task.phase == Phase::Green =>
            {
                Some(Answer::Proved(Proof {
                    failure: Some(Failure::GreenFailing),
                    ..self.doubtful()
                }))
            }
            (
                Owed::Proof | Owed::Commit,
                Hostile::Lost | Hostile::Limited | Hostile::LimitedForYears | Hostile::Mixture,
            ) => Some(Answer::WorkLost("gone".into())),
            (_, Hostile::Doubtful) | (Owed::Prepare | Owed::Refactor(_) | Owed::Landing, _) => None,
        }
    }

    fn limited(&mut self, task: &TaskId, until: Option<Timestamp>) -> Answer {
        let account = self.account(task);
        self.ledger.note_limit((account, task), until, self.now);
        let refusal = Some(ServiceRefusal::RateLimited { until });
        Answer::AgentEnded(AgentReport {
            refusal,
            ..AgentReport::new("hostile", self.now, self.now, Ended::Exited(Some(1)))
        })
    }
}

#[test]
fn whatever_comes_back_every_run_ends_and_no_task_is_tried_more_often_than_allowed() {
    for seed in 0..SEEDS / 4 {
        let hostile = ALL[usize::try_from(seed).expect("a small number") % ALL.len()];
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            (world.hostile, world.requests, world.failure_percent) = (Some(hostile), 0, 20);
            world.run();
            world.check_end();
            world
                .ledger
                .check_without_people(world.scheduler.limits().retries);
        });
        assert!(outcome.is_ok(), "seed {seed}, {hostile:?}");
    }
}
