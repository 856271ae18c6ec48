//! One row of the table: what an agent does, in which project and settings, and what may come of it.

use super::language::Language;

/// Tasks of a backlog: id, title, dependencies.
pub(super) type Tasks = &'static [(&'static str, &'static str, &'static [&'static str])];

const ONE: Tasks = &[("1", "Add the parser", &[])];
const CHAIN: Tasks = &[
    ("1", "Add the parser", &[]),
    ("2", "Add the printer", &["1"]),
];
const BOTH: Tasks = &[("1", "Add the parser", &[]), ("2", "Add the printer", &[])];

/// What may come of a case, besides what has to be true of all.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expectation {
    /// Each task lands in its first attempt.
    Lands,
    /// The first attempt is refused as one of these (`failure` or `failure/reason`, or anything when there is none), and
    /// the honest one after it lands.
    Refused(&'static [&'static str]),
    /// The first attempt lands or is refused, the honest one after it lands.
    LandsOrIsRefused,
    /// Everything lands, after however many attempts.
    LandsInTheEnd,
    /// Task 1 never lands, since no attempt is any good.
    NeverLands,
    /// Only what has to be true of all.
    Ends,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) language: Language,
    pub(super) tasks: Tasks,
    /// The phase in which the agent cheats, or `any`.
    pub(super) phase: &'static str,
    pub(super) cheat: &'static str,
    /// What RED does instead of the usual, in every attempt.
    pub(super) red: Option<&'static str>,
    /// What GREEN does instead of the usual, in every attempt but the one that cheats.
    pub(super) green: Option<&'static str>,
    /// Changes the project before its first commit, in the checkout.
    pub(super) project: &'static str,
    /// What the user does after it: settings, hooks.
    pub(super) user: &'static str,
    pub(super) settings: Vec<&'static str>,
    pub(super) variables: Vec<(&'static str, &'static str)>,
    /// What of the user's the agent itself changes: beginnings of names as in `belongings.rs`.
    pub(super) agent_changes: &'static [&'static str],
    /// Files and folders that decide how tests are run, besides those of the language.
    pub(super) runner: &'static [&'static str],
    /// What the prompt of the second attempt has to say.
    pub(super) told: &'static str,
    /// Calls of tm after the run.
    pub(super) afterwards: &'static [&'static [&'static str]],
    pub(super) expectation: Expectation,
    pub(super) seconds: u64,
    /// Whether the run gets a bound on its memory: node reserves more than it uses.
    pub(super) is_bounded: bool,
}

/// A case whose agent does this in its first attempt at making the tests pass.
pub(super) fn green(cheat: &'static str) -> Case {
    cheating("green", cheat)
}

/// A case whose agent does this in its first attempt at writing failing tests.
pub(super) fn red(cheat: &'static str) -> Case {
    cheating("red", cheat)
}

/// A case whose agent does this in its first attempt in both phases.
pub(super) fn both(cheat: &'static str) -> Case {
    cheating("any", cheat)
}

fn cheating(phase: &'static str, cheat: &'static str) -> Case {
    Case {
        language: Language::Shell,
        tasks: ONE,
        phase,
        cheat,
        red: None,
        green: None,
        project: "",
        user: "",
        settings: vec!["--max-parallel", "1"],
        variables: Vec::new(),
        agent_changes: &[],
        runner: &[],
        told: "",
        afterwards: &[],
        expectation: Expectation::Ends,
        seconds: 60,
        is_bounded: true,
    }
}

impl Case {
    pub(super) fn python(self) -> Self {
        Self {
            language: Language::Python,
            ..self
        }
    }

    /// A second task, which depends on the first.
    pub(super) fn then_another_task(self) -> Self {
        Self {
            tasks: CHAIN,
            ..self
        }
    }

    /// A second task at the same time as the first.
    pub(super) fn beside_another_task(self) -> Self {
        Self {
            tasks: BOTH,
            settings: vec!["--max-parallel", "2"],
            ..self
        }
    }

    pub(super) fn with_red(self, red: &'static str) -> Self {
        Self {
            red: Some(red),
            ..self
        }
    }

    pub(super) fn with_green(self, green: &'static str) -> Self {
        Self {
            green: Some(green),
            ..self
        }
    }

    pub(super) fn in_a_project(self, project: &'static str) -> Self {
        Self { project, ..self }
    }

    pub(super) fn whose_user(self, user: &'static str) -> Self {
        Self { user, ..self }
    }

    pub(super) fn with(mut self, settings: &[&'static str]) -> Self {
        self.settings.extend(settings);
        self
    }

    pub(super) fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(super) fn which_changes(self, agent_changes: &'static [&'static str]) -> Self {
        Self {
            agent_changes,
            ..self
        }
    }

    pub(super) fn run_by(self, runner: &'static [&'static str]) -> Self {
        Self { runner, ..self }
    }

    pub(super) fn told(self, told: &'static str) -> Self {
        Self { told, ..self }
    }

    pub(super) fn afterwards(self, afterwards: &'static [&'static [&'static str]]) -> Self {
        Self { afterwards, ..self }
    }

    pub(super) fn with_all_memory(self) -> Self {
        Self {
            is_bounded: false,
            ..self
        }
    }

    pub(super) fn lands(self) -> Self {
        Self {
            expectation: Expectation::Lands,
            ..self
        }
    }

    pub(super) fn refused(self) -> Self {
        self.refused_as(&[])
    }

    pub(super) fn refused_as(self, failures: &'static [&'static str]) -> Self {
        Self {
            expectation: Expectation::Refused(failures),
            ..self
        }
    }

    pub(super) fn lands_or_is_refused(self) -> Self {
        Self {
            expectation: Expectation::LandsOrIsRefused,
            ..self
        }
    }

    pub(super) fn lands_in_the_end(self) -> Self {
        Self {
            expectation: Expectation::LandsInTheEnd,
            ..self
        }
    }

    pub(super) fn never_lands(self) -> Self {
        Self {
            expectation: Expectation::NeverLands,
            ..self
        }
    }

    pub(super) fn ends(self) -> Self {
        Self {
            expectation: Expectation::Ends,
            ..self
        }
    }

    pub(super) fn within(self, seconds: u64) -> Self {
        Self { seconds, ..self }
    }
}
