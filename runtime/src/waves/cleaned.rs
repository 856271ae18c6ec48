//! Makes safe what comes in with an answer: what agents, tests and hooks said, before it is journaled, told or asked of
//! anybody. Names of tests and files stay as they are, since they are compared.

use tm_scheduler::{
    AgentReport, Answer, Claim, Ended, LandingRefusal, PrepareRefusal, Proof, ResultFile,
};

/// Returns an answer whose texts have no orders to a terminal and no secrets in them.
pub(crate) fn cleaned(mut answer: Answer) -> Answer {
    match &mut answer {
        // Names of branches, files and commits, none of which anybody words.
        Answer::Prepared(_)
        | Answer::Landed { .. }
        | Answer::PrepareRefused(PrepareRefusal::Conflict { .. }) => {}
        Answer::LandingRefused(LandingRefusal::Conflict { tried, .. }) => {
            tried.iter_mut().for_each(clean);
        }
        Answer::AgentEnded(report) => clean_report(report),
        Answer::Proved(proof) => clean_proof(proof),
        Answer::LandingRefused(LandingRefusal::Regression { proof, .. }) => clean_proof(proof),
        Answer::Committed { proof, .. } => proof.iter_mut().for_each(|proof| clean_proof(proof)),
        Answer::Refactored(refactored) => {
            refactored.report.iter_mut().for_each(clean_report);
            refactored.proof.iter_mut().for_each(clean_proof);
            refactored.dropped.iter_mut().for_each(clean);
        }
        Answer::Unreviewed { why, review } => {
            clean(why);
            review.findings.iter_mut().for_each(clean);
        }
        Answer::CommitRefused(words)
        | Answer::WorkLost(words)
        | Answer::InfrastructureFailed(words)
        | Answer::PrepareRefused(PrepareRefusal::Failed(words))
        | Answer::LandingRefused(LandingRefusal::Failed(words)) => clean(words),
    }
    answer
}

fn clean_report(report: &mut AgentReport) {
    if let Ended::NotStarted(why) = &mut report.ended {
        clean(why);
    }
    match &mut report.result {
        ResultFile::Missing => {}
        ResultFile::Malformed(why) => clean(why),
        ResultFile::Claimed(Claim { files, issues, .. }) => {
            files.iter_mut().chain(issues).for_each(clean);
        }
    }
    clean(&mut report.last_words);
    report
        .escape
        .iter_mut()
        .chain(&mut report.noticed)
        .for_each(clean);
}

fn clean_proof(proof: &mut Proof) {
    clean(&mut proof.evidence);
    proof.notes.iter_mut().for_each(clean);
    proof
        .gates
        .iter_mut()
        .flat_map(|gate| &mut gate.findings)
        .for_each(clean);
}

fn clean(text: &mut String) {
    *text = tm_untrusted::clean(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{Failure, Reason, Timestamp};

    #[test]
    fn what_tests_agents_and_hooks_say_comes_in_clean() {
        const HOSTILE: &str = "a\u{1b}]52;c;ZXZpbA==\u{7} ghp_0123456789abcdef0123456789";
        let report = || AgentReport {
            last_words: HOSTILE.to_owned(),
            noticed: vec![HOSTILE.to_owned()],
            ..AgentReport::new(
                "x",
                Timestamp(0),
                Timestamp(0),
                Ended::NotStarted(HOSTILE.to_owned()),
            )
        };
        let proof = || Proof::refused(Failure::Regression, Reason::OldTestFailed, HOSTILE);
        for answer in [
            Answer::AgentEnded(report()),
            Answer::Proved(proof()),
            Answer::CommitRefused(HOSTILE.to_owned()),
            Answer::LandingRefused(LandingRefusal::Regression {
                proof: Box::new(proof()),
                with: Vec::new(),
            }),
        ] {
            let clean = format!("{:?}", cleaned(answer));
            assert!(
                clean.contains("a [redacted]")
                    && !clean.contains("ghp_")
                    && !clean.contains("u{1b}"),
                "{clean}"
            );
        }
    }
}
