//! How long tasks are expected to keep their agents at work, by how long those of earlier runs did.
//!
//! Knows no clock and no file: what earlier runs came to is an argument. What is expected of a task becomes part of the
//! plan, so a journal is replayed by what was known when its run began.

use crate::{Complexity, Dispatch, Limits, Phase, PlannedTask, Tag, TaskId};
use std::collections::BTreeMap;

/// Fewer tasks than this tell nothing of others.
const LEAST_SAMPLES: usize = 3;

/// A file makes a task so many times as long at the most, or as short, in thousandths.
const MOST_BY_FILE: u64 = 4_000;
const LEAST_BY_FILE: u64 = 250;

/// A task whose work an earlier run has proven and landed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastTask {
    /// The tag of its run.
    pub tag: Tag,
    /// The id within that run.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// The kind of work.
    pub phase: Phase,
    /// The size in the backlog.
    pub complexity: Option<Complexity>,
    /// The files that its work touched.
    pub touched: Vec<String>,
    /// How long its agents worked, those of failed attempts too, in milliseconds.
    pub worked_ms: u64,
}

/// What tasks have in common, from much to little.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Likeness {
    TagPhaseSize(Phase, Option<Complexity>),
    PhaseSize(Phase, Option<Complexity>),
    TagPhase(Phase),
    Phase(Phase),
    Nothing,
}

impl Likeness {
    /// What a task of the tag that is planned has in common with others.
    fn of(phase: Phase, size: Option<Complexity>) -> [Self; 5] {
        [
            Self::TagPhaseSize(phase, size),
            Self::PhaseSize(phase, size),
            Self::TagPhase(phase),
            Self::Phase(phase),
            Self::Nothing,
        ]
    }

    const fn is_of_one_tag(self) -> bool {
        matches!(self, Self::TagPhaseSize(..) | Self::TagPhase(_))
    }

    const fn is_of_one_size(self) -> bool {
        matches!(self, Self::TagPhaseSize(..) | Self::PhaseSize(..))
    }

    /// A time of a task of that size, as one of medium size would take where tasks of several sizes are put together.
    fn levelled(self, worked_ms: u64, size: Option<Complexity>) -> u64 {
        if self.is_of_one_size() {
            return worked_ms;
        }
        worked_ms.saturating_mul(Complexity::M.weight()) / weight(size)
    }

    fn for_size(self, levelled_ms: u64, size: Option<Complexity>) -> u64 {
        if self.is_of_one_size() {
            return levelled_ms;
        }
        levelled_ms.saturating_mul(weight(size)) / Complexity::M.weight()
    }
}

/// How long tasks are expected to take; of none where too little is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations {
    /// By title, id and kind of work: the very same task.
    same: BTreeMap<(String, String, Phase), u64>,
    alike: BTreeMap<Likeness, u64>,
    /// How many times as long tasks take that touch a file, in thousandths.
    by_file: BTreeMap<String, u64>,
    /// What bounds the attempts at a task.
    limits: Option<Limits>,
}

impl Durations {
    /// Returns what earlier tasks tell of those of a tag; nothing where they are fewer than three.
    pub fn learned(past: &[PastTask], tag: &Tag) -> Self {
        let mut durations = Self {
            same: same(past, tag),
            alike: alike(past, tag),
            ..Self::default()
        };
        durations.by_file = durations.by_file(past);
        durations
    }

    /// Returns the same, but that no task is expected to take longer than all its attempts may by these limits.
    #[must_use]
    pub fn within(self, limits: &Limits) -> Self {
        Self {
            limits: Some(limits.clone()),
            ..self
        }
    }

    /// Returns how many tasks run at the same time, where any of them starts once it is ready.
    pub(crate) fn slots(&self) -> Option<usize> {
        let limits = self.limits.as_ref()?;
        (limits.dispatch == Dispatch::Rolling).then_some(limits.slots.get() as usize)
    }

    /// Returns how long a task's agents will probably work, in milliseconds: as long as they did on that very task, else as
    /// on those most like it. Of all tasks or of none, so that what is expected of two can be compared.
    pub(crate) fn expected_ms(&self, task: &PlannedTask) -> Option<u64> {
        let like_others = self.like_others(task.phase, task.complexity)?;
        let id = (task.title.to_string(), task.id.to_string(), task.phase);
        let expected = match self.same.get(&id) {
            Some(&same) => same,
            None => like_others.saturating_mul(self.factor(task)) / 1_000,
        };
        Some(expected.min(self.most_ms(task)).max(1))
    }

    fn like_others(&self, phase: Phase, size: Option<Complexity>) -> Option<u64> {
        self.alike.get(&Likeness::Nothing)?;
        let mut known = Likeness::of(phase, size).into_iter();
        known.find_map(|likeness| Some(likeness.for_size(*self.alike.get(&likeness)?, size)))
    }

    /// How many times as long as others like it the task takes, in thousandths: by the slowest file that it names.
    fn factor(&self, task: &PlannedTask) -> u64 {
        let known = task.files.iter().filter_map(|file| self.by_file.get(file));
        known.max().copied().unwrap_or(1_000)
    }

    fn most_ms(&self, task: &PlannedTask) -> u64 {
        self.limits.as_ref().map_or(u64::MAX, |limits| {
            let attempts = u64::from(limits.retries).saturating_add(1);
            limits.timeout_ms(task).saturating_mul(attempts)
        })
    }

    fn by_file(&self, past: &[PastTask]) -> BTreeMap<String, u64> {
        let mut ratios: BTreeMap<&String, Vec<u64>> = BTreeMap::new();
        for task in past {
            let expected = self.like_others(task.phase, task.complexity).unwrap_or(0);
            let ratio = task.worked_ms.saturating_mul(1_000) / expected.max(1);
            for file in &task.touched {
                ratios.entry(file).or_default().push(ratio);
            }
        }
        let known = ratios.into_iter().filter_map(|(file, mut ratios)| {
            ratios.sort_unstable();
            let median = (ratios.len() >= LEAST_SAMPLES).then(|| quantile(&ratios, 500))?;
            Some((file.clone(), median.clamp(LEAST_BY_FILE, MOST_BY_FILE)))
        });
        known.collect()
    }
}

/// A task without a size weighs as much as one of medium size.
pub(crate) fn weight(size: Option<Complexity>) -> u64 {
    size.unwrap_or(Complexity::M).weight()
}

fn same(past: &[PastTask], tag: &Tag) -> BTreeMap<(String, String, Phase), u64> {
    let mut samples: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for task in past.iter().filter(|task| task.tag == *tag) {
        let id = (task.title.clone(), task.id.to_string(), task.phase);
        samples.entry(id).or_default().push(task.worked_ms);
    }
    let samples = samples.into_iter();
    samples.map(|(id, samples)| (id, usual(samples))).collect()
}

fn alike(past: &[PastTask], tag: &Tag) -> BTreeMap<Likeness, u64> {
    let mut samples: BTreeMap<Likeness, Vec<u64>> = BTreeMap::new();
    for task in past {
        let all = Likeness::of(task.phase, task.complexity).into_iter();
        for likeness in all.filter(|likeness| !likeness.is_of_one_tag() || task.tag == *tag) {
            let levelled = likeness.levelled(task.worked_ms, task.complexity);
            samples.entry(likeness).or_default().push(levelled);
        }
    }
    samples.retain(|_, samples| samples.len() >= LEAST_SAMPLES);
    let samples = samples.into_iter();
    samples
        .map(|(like, samples)| (like, usual(samples)))
        .collect()
}

/// The mean of skewed samples, as far as outliers let it be told: 30 % of the tenth, 40 % of the fiftieth and 30 % of the
/// ninetieth percentile (Swanson's rule).
fn usual(mut samples: Vec<u64>) -> u64 {
    samples.sort_unstable();
    let parts = [(100, 3), (500, 4), (900, 3)].into_iter();
    let sum =
        parts.map(|(thousandth, tenths)| quantile(&samples, thousandth).saturating_mul(tenths));
    sum.fold(0, u64::saturating_add) / 10
}

/// A quantile of sorted samples, between two of them in proportion.
fn quantile(sorted: &[u64], thousandth: usize) -> u64 {
    let place = (sorted.len() - 1) * thousandth;
    let (low, beyond) = (sorted[place / 1_000], place % 1_000);
    let high = sorted.get(place / 1_000 + 1).copied().unwrap_or(low);
    low + (high - low) / 1_000 * beyond as u64 + (high - low) % 1_000 * beyond as u64 / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedStart, Task, TddMode, pair};
    use std::num::NonZeroU32;

    fn planned(id: &str, size: Option<Complexity>, text: &str) -> PlannedTask {
        let mut task = Task::new(id, "Build it");
        task.complexity = size;
        task.details = text.into();
        pair(&[&task], TddMode::Off, RedStart::AfterDependencies)
            .tasks
            .remove(0)
    }

    fn past(id: &str, size: Option<Complexity>, worked_ms: u64) -> PastTask {
        PastTask {
            tag: "master".into(),
            id: id.into(),
            title: "Add it".into(),
            phase: Phase::None,
            complexity: size,
            touched: Vec::new(),
            worked_ms,
        }
    }

    fn expected(samples: &[PastTask], task: &PlannedTask) -> Option<u64> {
        Durations::learned(samples, &"master".into()).expected_ms(task)
    }

    #[test]
    fn fewer_than_three_tasks_tell_nothing_even_of_themselves() {
        let mut samples = vec![past("1", None, 10), past("2", None, 20)];
        samples[0].title = "Build it".into();
        let task = planned("1", None, "");
        assert_eq!(expected(&samples, &task), None);
        samples.push(past("3", None, 30));
        assert_eq!(expected(&samples, &task), Some(10), "what it took before");
        assert_eq!(expected(&samples, &planned("9", None, "")), Some(20));
    }

    #[test]
    fn the_most_alike_of_which_three_are_known_tell() {
        use Complexity::{L, M, S};
        let mut samples: Vec<PastTask> = (0..3)
            .flat_map(|_| [past("1", Some(S), 100), past("1", Some(M), 1_000)])
            .collect();
        for sample in &mut samples[..3] {
            sample.tag = "other".into();
        }
        assert_eq!(expected(&samples, &planned("9", Some(S), "")), Some(100));
        // Of no size three are known in the tag; of L none, and all together say 20 to 1,000 for M.
        let of_l = expected(&samples, &planned("9", Some(L), "")).unwrap();
        assert!((400..2_000).contains(&of_l), "{of_l}");
        let of_m = expected(&samples, &planned("9", Some(M), "")).unwrap();
        assert_eq!(of_m, 1_000);
    }

    #[test]
    fn one_outlier_among_many_counts_for_little() {
        let mut samples: Vec<PastTask> = (0..19).map(|_| past("1", None, 100)).collect();
        samples.push(past("1", None, 1_000_000));
        assert_eq!(expected(&samples, &planned("9", None, "")), Some(100));
    }

    #[test]
    fn skewed_times_are_expected_longer_than_their_median() {
        let times = [10, 20, 30, 40, 50, 60, 70, 80, 400, 800, 1_600];
        let samples: Vec<PastTask> = times.iter().map(|&time| past("1", None, time)).collect();
        // 0.3 * 20 + 0.4 * 60 + 0.3 * 800
        assert_eq!(expected(&samples, &planned("9", None, "")), Some(270));
    }

    #[test]
    fn a_task_that_names_a_slow_file_takes_longer() {
        let mut samples: Vec<PastTask> = (0..9).map(|_| past("1", None, 1_000)).collect();
        for sample in &mut samples[..3] {
            sample.touched = vec!["src/slow.rs".into()];
            sample.worked_ms = 2_000;
        }
        let plain = expected(&samples, &planned("9", None, "")).unwrap();
        let slow = expected(&samples, &planned("9", None, "Change src/slow.rs.")).unwrap();
        assert!(plain < 1_500 && slow > 1_900, "{plain} {slow}");
    }

    #[test]
    fn no_more_is_expected_than_the_limits_of_all_attempts_allow() {
        let samples: Vec<PastTask> = (0..3).map(|_| past("1", None, 9_000_000)).collect();
        let limits = Limits {
            attempt_timeout_ms: Some(60_000),
            retries: 1,
            ..Limits::with_slots(NonZeroU32::MIN)
        };
        let durations = Durations::learned(&samples, &"master".into()).within(&limits);
        let expected = durations.expected_ms(&planned("9", None, ""));
        assert_eq!(expected, Some(120_000));
    }

    #[test]
    fn times_beyond_all_measure_are_no_trouble() {
        use Complexity::{XL, XS};
        let samples: Vec<PastTask> = (0..3).map(|_| past("1", Some(XS), u64::MAX)).collect();
        assert!(expected(&samples, &planned("9", Some(XL), "")).is_some());
    }
}
