//! Which agents may do which kind of work, in which order, and who shares an account.
//!
//! Knows names alone; how an agent is started is written in its recipe.

use crate::{AccountName, AgentName, AttemptNumber, Phase, TaskId};
use serde::{Deserialize, Serialize};

/// An agent that may work.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AgentCandidate {
    /// The agent.
    pub agent: AgentName,
    /// The account behind it: a limit of its service holds up all who share it.
    pub account: AccountName,
    /// What to do when the service refuses its credentials, in words; empty when nobody knows.
    pub if_refused: String,
}

/// The agents of a run by kind of work, the first choice first; the others take over while the service behind those
/// before refuses.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AgentPool {
    /// Those who write failing tests.
    pub red: Vec<AgentCandidate>,
    /// Those who make them pass.
    pub green: Vec<AgentCandidate>,
    /// Those who do everything else.
    pub plain: Vec<AgentCandidate>,
    /// What makes the pauses of this run unlike those of others; see `AgentPool::seed_of`.
    pub seed: u64,
}

impl AgentPool {
    /// Returns a roster of one agent that has an account of its own.
    pub fn of_one(agent: &str) -> Self {
        let [red, green, plain] = std::array::from_fn(|_| {
            vec![AgentCandidate {
                agent: agent.into(),
                account: agent.into(),
                if_refused: String::new(),
            }]
        });
        Self {
            red,
            green,
            plain,
            seed: 0,
        }
    }

    /// Returns those who may do a kind of work, the first choice first.
    pub fn candidates(&self, phase: Phase) -> &[AgentCandidate] {
        match phase {
            Phase::Red => &self.red,
            Phase::Green => &self.green,
            Phase::None => &self.plain,
        }
    }

    /// Returns the seat of an agent that does a kind of work.
    pub fn candidate(&self, phase: Phase, agent: &AgentName) -> Option<&AgentCandidate> {
        self.candidates(phase)
            .iter()
            .find(|candidate| candidate.agent == *agent)
    }

    /// Returns a seed for a run, the same each time that it is asked for.
    pub fn seed_of(run_id: &str) -> u64 {
        digest(0, run_id.as_bytes())
    }

    /// Returns up to a quarter of a pause, to be waited on top of it, so that those who share an account don't come
    /// back at the same moment. The same attempt of the same run always gets the same.
    pub(crate) fn jitter_ms(&self, pause_ms: u64, task: &TaskId, attempt: AttemptNumber) -> u64 {
        let quarter = pause_ms / 4;
        let mixed = digest(
            digest(self.seed, task.as_str().as_bytes()),
            &attempt.0.to_le_bytes(),
        );
        mixed % (quarter + 1)
    }
}

impl Default for AgentPool {
    fn default() -> Self {
        Self::of_one("agent")
    }
}

/// FNV-1a, which stays the same on every machine and in every version.
pub(crate) fn digest(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ seed;
    bytes.iter().fold(start, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_at_most_a_quarter_and_differs_by_run_task_and_attempt() {
        let of = |seed: &str, task: &str, attempt| {
            let roster = AgentPool {
                seed: AgentPool::seed_of(seed),
                ..AgentPool::default()
            };
            roster.jitter_ms(30_000, &task.into(), AttemptNumber(attempt))
        };
        let all = [
            of("r1", "1", 1),
            of("r2", "1", 1),
            of("r1", "2", 1),
            of("r1", "1", 2),
        ];
        assert!(all.iter().all(|&jitter| jitter <= 7_500), "{all:?}");
        assert_eq!(
            all.iter().collect::<std::collections::BTreeSet<_>>().len(),
            4,
            "{all:?}"
        );
        assert_eq!(of("r1", "1", 1), all[0]);
        assert_eq!(
            AgentPool::default().jitter_ms(0, &"1".into(), AttemptNumber(1)),
            0
        );
    }
}
