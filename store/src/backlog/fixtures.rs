//! Every fixture, and damaged copies of them: read or refused, never a panic, and nothing is lost on the way.

use super::{
    Backlog, BacklogSource, Change, ReadOptions, Repair, RollUp, SourceKind, StatusChange,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tm_scheduler::{CycleRepair, Status, Task, repairs};

const COUNT: usize = 10;

/// The fixtures, and the backlogs of the folder that `TM_CORPUS` names, if any.
fn all() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let entries = |folder: PathBuf| {
        std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
    };
    let mut found: Vec<PathBuf> = entries(own).collect();
    assert_eq!(found.len(), COUNT, "{found:?}");
    if let Some(corpus) = std::env::var_os("TM_CORPUS")
        .map(PathBuf::from)
        .filter(|path| path.exists())
    {
        let before = found.len();
        found.extend(entries(corpus).filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        }));
        assert!(found.len() > before, "TM_CORPUS holds no backlog");
    }
    found.sort();
    found
}

/// A copy of a fixture that may be changed.
struct Copy {
    _folder: TempDir,
    path: PathBuf,
}

impl Copy {
    fn of(fixture: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(fixture.file_name().expect("a name"));
        if fixture.is_dir() {
            std::fs::create_dir(&path).expect("a folder");
            for entry in std::fs::read_dir(fixture).expect("a folder").flatten() {
                std::fs::copy(entry.path(), path.join(entry.file_name())).expect("a copy");
            }
        } else {
            std::fs::copy(fixture, &path).expect("a copy");
        }
        Self {
            _folder: folder,
            path,
        }
    }

    fn source(&self) -> BacklogSource {
        BacklogSource::at(&self.path).expect("a source")
    }

    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = if self.path.is_dir() {
            std::fs::read_dir(&self.path)
                .expect("a folder")
                .flatten()
                .map(|entry| entry.path())
                .collect()
        } else {
            vec![self.path.clone()]
        };
        files
            .into_iter()
            .map(|file| (file.clone(), std::fs::read(file).expect("a file")))
            .collect()
    }

    fn tags(&self) -> Vec<ReadOptions> {
        let tags = self
            .source()
            .read(&ReadOptions::default())
            .expect("a backlog")
            .tags;
        tags.into_iter()
            .map(|tag| ReadOptions {
                tag: Some(tag),
                ..ReadOptions::default()
            })
            .collect()
    }

    fn read(&self, options: &ReadOptions) -> Backlog {
        self.source().read(options).expect("a backlog")
    }

    fn repairs(&self, options: &ReadOptions) -> Vec<Repair> {
        let source = self.source();
        let backlog = source.snapshot().expect("a backlog");
        backlog.repairs(options).expect("repairs")
    }
}

fn with_subtasks(tasks: &[Task]) -> impl Iterator<Item = &Task> {
    tasks
        .iter()
        .flat_map(|task| std::iter::once(task).chain(&task.subtasks))
}

#[test]
fn a_status_goes_there_and_back_and_leaves_every_byte() {
    let mut changed = 0;
    for fixture in all() {
        let copy = Copy::of(&fixture);
        let before = copy.bytes();
        for options in copy.tags() {
            let backlog = copy.read(&options);
            let known = |task: &&Task| Status::KNOWN.contains(&task.status);
            // Who is alone of its id, and whose status says what it is read as.
            for task in with_subtasks(&backlog.tasks)
                .filter(known)
                .filter(|task| task.status == Status::Pending)
                .take(4)
            {
                if backlog
                    .warnings
                    .iter()
                    .any(|warning| warning.task.as_ref() == Some(&task.id))
                {
                    continue;
                }
                for status in [Status::Done, task.status.clone()] {
                    let change = StatusChange {
                        id: task.id.clone(),
                        status,
                    };
                    copy.source()
                        .set_statuses(&backlog.tag, &[change], RollUp::None, None)
                        .expect("set");
                }
                changed += 1;
            }
        }
        assert_eq!(copy.bytes(), before, "{}", fixture.display());
    }
    assert!(changed >= 12, "{changed}");
}

#[test]
fn every_change_keeps_what_it_does_not_touch() {
    for fixture in all() {
        let copy = Copy::of(&fixture);
        for options in copy.tags() {
            let before = copy.read(&options);
            let bytes = copy.bytes();
            let fields = vec![(
                "title".to_owned(),
                serde_json::json!("New: \"one\"\nwith # and {}"),
            )];
            let added = copy.source().change(&options, |_| {
                vec![Change::AddTasks {
                    tasks: vec![(None, fields.clone())],
                }]
            });
            let id = added.unwrap_or_else(|error| panic!("{}: {error}", fixture.display()))[0].ids
                [0]
            .clone();
            let after = copy.read(&options);
            assert_eq!(after.tasks.len(), before.tasks.len() + 1);
            assert!(before.tasks.iter().all(|task| after.tasks.contains(task)));
            copy.source()
                .change(&options, |_| {
                    vec![Change::Remove {
                        ids: vec![id.clone()],
                    }]
                })
                .expect("removed");
            let mut left = copy.bytes();
            left.retain(|path, _| !path.ends_with(".highwatermark"));
            let mut expected = bytes;
            expected.retain(|path, _| !path.ends_with(".highwatermark"));
            assert_eq!(left, expected, "{}", fixture.display());
        }
    }
}

#[test]
fn a_second_repair_finds_nothing() {
    let mut count = 0;
    for fixture in all() {
        let copy = Copy::of(&fixture);
        for options in copy.tags() {
            let planned = copy.repairs(&options);
            assert_eq!(copy.source().repair(&options).expect("repaired"), planned);
            count += planned.len();
            assert_eq!(copy.repairs(&options), [], "{}", fixture.display());
            assert_eq!(repairs(&copy.read(&options).tasks, CycleRepair::Leave), []);
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn every_oddity_says_where_it_stands() {
    for fixture in all() {
        let copy = Copy::of(&fixture);
        for options in copy.tags() {
            for warning in copy.read(&options).warnings {
                assert!(
                    warning.position.is_some(),
                    "{}: {warning}",
                    fixture.display()
                );
            }
        }
    }
    let copy = Copy::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/odd-fields.json"));
    let warnings = copy.read(&ReadOptions::default()).warnings;
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.contains(
            &"task `1`, `priority` (line 2): `URGENT` is not known; read as `medium`".to_owned()
        ),
        "{told:?}"
    );
    assert!(
        told.contains(
            &"task `3`, `dependencies` (line 4): is not a list; read as ids between commas"
                .to_owned()
        ),
        "{told:?}"
    );
}

/// What a conversion has to keep.
fn model(tasks: &[Task]) -> Vec<Task> {
    let mut tasks = tasks.to_vec();
    for task in &mut tasks {
        task.acceptance_criteria.sort();
    }
    tasks.sort_by(|left, right| left.id.cmp(&right.id));
    tasks
}

#[test]
fn there_and_back_is_the_same_model_but_for_what_is_named() {
    for fixture in all() {
        let copy = Copy::of(&fixture);
        if copy
            .read(&ReadOptions::default())
            .tasks
            .iter()
            .any(|task| fixture.ends_with("unplannable.json") && task.id == "5".into())
        {
            continue;
        }
        for name in ["there.yaml", "there.json", "there"] {
            let there = copy.path.with_file_name(name);
            let conversion = copy
                .source()
                .convert(&ReadOptions::default(), &there)
                .expect("converted");
            let of_task = |task: &Task| {
                conversion
                    .losses
                    .iter()
                    .all(|loss| loss.task.as_ref() != Some(&task.id))
            };
            let back = there.with_file_name(format!("{name}-back.json"));
            let source = BacklogSource::at(&there).expect("a source");
            source
                .convert(&ReadOptions::default(), &back)
                .expect("converted back");
            for options in copy.tags() {
                let kept: Vec<Task> = copy
                    .read(&options)
                    .tasks
                    .into_iter()
                    .filter(of_task)
                    .collect();
                let tag = if conversion.kind == SourceKind::ClaudeTasks {
                    None
                } else {
                    options.tag.clone()
                };
                if conversion.kind == SourceKind::ClaudeTasks
                    && copy.read(&ReadOptions::default()).tag != options.tag.clone().expect("a tag")
                {
                    continue;
                }
                let options = ReadOptions {
                    tag,
                    ..ReadOptions::default()
                };
                let returned = BacklogSource::at(&back)
                    .expect("a source")
                    .read(&options)
                    .expect("a backlog")
                    .tasks;
                let returned: Vec<Task> = returned.into_iter().filter(of_task).collect();
                assert_eq!(
                    model(&returned),
                    model(&kept),
                    "{} by {name}",
                    fixture.display()
                );
            }
            assert!(
                copy.source()
                    .convert(&ReadOptions::default(), &there)
                    .is_err(),
                "nothing is written over"
            );
        }
    }
}

/// What is done to a document.
#[derive(Clone, Debug)]
enum Damage {
    Cut(usize),
    Remove(usize, usize),
    Replace(usize, &'static str),
    Double(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", "\"", ":", ",", "null", "-1", "1e999", "\\", "\u{0}", "\n", "#", "- ",
        "&a", "*a", "é", "\"id\"", "tasks", "  ",
    ]);
    prop_oneof![
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), 0..40_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        (any::<usize>(), piece).prop_map(|(at, piece)| Damage::Replace(at, piece)),
        (any::<usize>(), 1..200_usize).prop_map(|(at, length)| Damage::Double(at, length)),
    ]
}

fn damaged(text: &str, damage: &Damage) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let place = |at: usize| at % bytes.len().max(1);
    match damage {
        Damage::Cut(at) => bytes.truncate(place(*at)),
        Damage::Remove(at, length) => {
            let at = place(*at);
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Damage::Replace(at, piece) => {
            let at = place(*at);
            bytes.splice(at..(at + 1).min(bytes.len()), piece.bytes());
        }
        Damage::Double(at, length) => {
            let at = place(*at);
            let part = bytes[at..(at + length).min(bytes.len())].to_vec();
            bytes.splice(at..at, part);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn damaged_backlogs_are_read_or_refused_and_never_a_panic(
        number in 0..COUNT - 1,
        damages in proptest::collection::vec(damage(), 1..4),
    ) {
        let fixtures: Vec<PathBuf> = all().into_iter().filter(|path| path.is_file()).collect();
        let fixture = &fixtures[number % fixtures.len()];
        let text = std::fs::read_to_string(fixture).expect("a file");
        let text = damages.iter().fold(text, |text, damage| damaged(&text, damage));
        let copy = Copy::of(fixture);
        crate::atomic::replace(&copy.path, text.as_bytes()).expect("a file");
        let source = copy.source();
        let Ok(backlog) = source.read(&ReadOptions::default()) else { return Ok(()) };
        let options = ReadOptions { tag: Some(backlog.tag.clone()), ..ReadOptions::default() };
        if let Some(task) = backlog.tasks.first() {
            let change = StatusChange { id: task.id.clone(), status: Status::Review };
            drop(source.set_statuses(&backlog.tag, &[change], RollUp::Relatives, Some("now")));
        }
        drop(source.snapshot().and_then(|backlog| backlog.repairs(&options)));
        let fields = vec![("title".to_owned(), serde_json::json!("x"))];
        drop(source.change(&options, |_| vec![Change::AddTasks { tasks: vec![(None, fields.clone())] }]));
        prop_assert!(source.read(&ReadOptions::default()).is_ok(), "what could be read can still be read");
    }
}
