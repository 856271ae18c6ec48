//! Turns ids into names of files and folders that are safe anywhere and never the same for two ids.
//!
//! Ids come from backlogs and command lines, so nothing in them is trusted.

use super::json::digest;
use crate::Error;
use std::fmt::Write as _;
use std::path::Path;
use tm_scheduler::{RunId, Tag, TaskId, Timestamp};

/// The longest name that [`safe_name`] makes: file systems end at 255 bytes, and worktrees add to it.
const LONGEST_NAME: usize = 100;
/// Marks a shortened name; every `=` of an id is encoded, so no whole name can hold one.
const SHORTENED: char = '=';
/// How many hex digits of a hash keep two shortened names apart.
const HASH_DIGITS: usize = 16;
/// How many hex digits of a hash keep two projects of the same name apart.
const PROJECT_HASH_DIGITS: usize = 12;
const LONGEST_RUN_ID: usize = 64;
/// Stands between tag and task in every run id, and in no id of another kind of run.
const MARK: &str = "__task-";
/// The longest id of a run of autopilot.
const LONGEST_AUTOPILOT_ID: usize = 250;

/// Returns the name of a task's folder: `[A-Za-z0-9._-]` stay, `:` becomes `+`, all else `%hh`.
///
/// A leading `.` is encoded too, and what is longer than 100 bytes ends in a hash. Different ids have different names
/// (but for case, where the file system ignores it).
pub fn safe_name(task: &TaskId) -> String {
    encode(task.as_str())
}

/// Encodes any text as described at [`safe_name`].
pub(crate) fn encode(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'.' if position == 0 => push_encoded(&mut name, byte),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                name.push(char::from(byte));
            }
            b':' => name.push('+'),
            _ => push_encoded(&mut name, byte),
        }
    }
    if name.is_empty() {
        // A lone `%` is the code of no byte.
        name.push('%');
    }
    if name.len() > LONGEST_NAME {
        name.truncate(LONGEST_NAME - HASH_DIGITS - SHORTENED.len_utf8());
        name.push(SHORTENED);
        name.push_str(&hash(text.as_bytes(), HASH_DIGITS));
    }
    name
}

fn push_encoded(name: &mut String, byte: u8) {
    write!(name, "%{byte:02x}").expect("writing to a string can't fail");
}

/// Returns the first hex digits of the SHA-256 of `bytes`.
fn hash(bytes: &[u8], digits: usize) -> String {
    let mut text = digest(bytes);
    text.truncate(digits);
    text
}

/// Returns the name of a project's folder: the name of its work tree, readable, and a hash of the whole path, unique.
pub(super) fn project_name(canonical_common_git_dir: &Path) -> String {
    let path = canonical_common_git_dir;
    let within_work_tree = path.parent().filter(|_| path.ends_with(".git"));
    let named = within_work_tree.unwrap_or(path).file_name();
    let name = named.unwrap_or_default().to_string_lossy();
    let readable = readable(name.strip_suffix(".git").unwrap_or(&name));
    let hash = hash(path.as_os_str().as_encoded_bytes(), PROJECT_HASH_DIGITS);
    format!("{readable}-{hash}")
}

/// Keeps what is safe in a name and puts `_` for the rest; two texts may give the same.
fn readable(name: &str) -> String {
    let is_odd = |character: char| {
        !character.is_ascii_alphanumeric() && !matches!(character, '.' | '_' | '-')
    };
    let safe = name.replace(is_odd, "_");
    match safe.trim_start_matches(['.', '-']) {
        "" => "repository".to_owned(),
        name => name.chars().take(LONGEST_NAME).collect(),
    }
}

/// Returns a new run id, `20261121-014512-3fa9`: the time in UTC, then the milliseconds before six bits of chance, so that
/// ids sort by time also where a run follows another one at once.
pub fn new_run_id(now: Timestamp, entropy: u32) -> RunId {
    let suffix = ((now.0 % 1_000) << 6) | u64::from(entropy & 0x3f);
    RunId::new(format!(
        "{}-{suffix:04x}",
        calendar_time(now).strftime("%Y%m%d-%H%M%S")
    ))
}

/// Returns the moment in the calendar; moments past the year 9999 count as its end.
pub(crate) fn calendar_time(moment: Timestamp) -> jiff::Timestamp {
    let milliseconds = i64::try_from(moment.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX)
}

/// Refuses a run id that could lead out of the folder of runs or be taken for an option.
pub(super) fn check_run_id(run_id: &RunId) -> Result<(), Error> {
    let id = run_id.as_str().as_bytes();
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let starts_well = id.first().is_some_and(|byte| *byte != b'-');
    if starts_well && id.len() <= LONGEST_RUN_ID && id.iter().all(is_safe) {
        Ok(())
    } else {
        Err(Error::UnsafeRunId {
            id: run_id.to_string(),
        })
    }
}

/// Returns the id of a run of autopilot that begins now: `master__task-7__2026-11-21T05-30-00-123Z`.
pub fn autopilot_run_id(tag: &Tag, task: &TaskId, now: Timestamp) -> RunId {
    let time = format!("{:.3}", calendar_time(now)).replace([':', '.'], "-");
    RunId::new(format!(
        "{}{MARK}{}__{time}",
        encode(tag.as_str()),
        encode(task.as_str())
    ))
}

/// Tells whether a run is one of autopilot's.
pub fn is_autopilot_run(id: &RunId) -> bool {
    id.as_str().contains(MARK)
}

/// Refuses an id that is none of autopilot's, or could lead out of the folder of runs.
pub(crate) fn check_autopilot_run_id(id: &RunId) -> Result<(), Error> {
    let text = id.as_str();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%=".contains(&byte);
    let is_name = !text.starts_with(['.', '-'])
        && text.len() <= LONGEST_AUTOPILOT_ID
        && text.bytes().all(is_safe);
    if is_name && is_autopilot_run(id) {
        return Ok(());
    }
    Err(Error::NotAutopilot { id: id.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_ids_stay_readable() {
        let names = ["12", "3.2", "HAM-1", "12:red", "a_b"].map(|id| safe_name(&id.into()));
        assert_eq!(names, ["12", "3.2", "HAM-1", "12+red", "a_b"]);
    }

    #[test]
    fn hostile_ids_become_harmless_names() {
        let names = [
            "",
            ".",
            "..",
            "../../etc/passwd",
            "/",
            "a b",
            "a+b",
            "50%",
            "é",
            "a\0b\n",
        ];
        let safe = names.map(|id| safe_name(&id.into()));
        let expected = [
            "%",
            "%2e",
            "%2e.",
            "%2e.%2f..%2fetc%2fpasswd",
            "%2f",
            "a%20b",
            "a%2bb",
            "50%25",
            "%c3%a9",
        ];
        assert_eq!(safe[..9], expected);
        assert_eq!(safe[9], "a%00b%0a");
    }

    #[test]
    fn shortened_names_of_ids_with_the_same_start_differ() {
        let (left, right) = ("x".repeat(200) + "1", "x".repeat(200) + "2");
        let (left, right) = (safe_name(&left.into()), safe_name(&right.into()));
        assert_ne!(left, right);
        assert_eq!((left.len(), right.len()), (100, 100));
        assert_eq!(safe_name(&"x".repeat(100).into()), "x".repeat(100));
    }

    #[test]
    fn run_id_is_the_time_in_utc_and_four_digits() {
        assert_eq!(
            new_run_id(Timestamp(1_795_225_512_345), 0x3fa9).as_str(),
            "20261121-014512-5669"
        );
        assert_eq!(
            new_run_id(Timestamp(999), u32::MAX).as_str(),
            "19700101-000000-f9ff"
        );
    }

    #[test]
    fn unsafe_run_ids_are_refused() {
        for id in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "-a",
            "a.b",
            "a b",
            "a\n",
            "é",
            &"a".repeat(65),
        ] {
            assert!(
                matches!(check_run_id(&id.into()), Err(Error::UnsafeRunId { .. })),
                "{id:?}"
            );
        }
        for id in ["20261121-014512-3fa9", "a", "_", &"a".repeat(64)] {
            check_run_id(&id.into()).unwrap();
        }
    }

    #[test]
    fn project_is_called_after_its_work_tree() {
        let start_of = |path: &str| {
            let name = project_name(Path::new(path));
            name[..name.len() - PROJECT_HASH_DIGITS].to_owned()
        };
        assert_eq!(start_of("/home/me/my app/.git"), "my_app-");
        assert_eq!(start_of("/srv/tool.git"), "tool-");
        assert_eq!(start_of("/srv/.hidden/.git"), "hidden-");
        assert_eq!(start_of("/.git"), "repository-");
    }

    proptest! {
        #[test]
        fn different_ids_have_different_names(left in ".{0,40}", right in ".{0,40}") {
            prop_assert_eq!(left == right, encode(&left) == encode(&right));
        }

        #[test]
        fn similar_ids_have_different_names(left in "[.:+%=a2e]{0,5}", right in "[.:+%=a2e]{0,5}") {
            prop_assert_eq!(left == right, encode(&left) == encode(&right));
        }

        #[test]
        fn long_id_never_has_the_name_of_another(id in "[ab:]{101,300}") {
            let name = encode(&id);
            prop_assert_ne!(encode(&name), name);
        }

        #[test]
        fn names_are_safe(id in any::<String>()) {
            let name = encode(&id);
            prop_assert!(!name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.'));
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%=".contains(&byte);
            prop_assert!(name.bytes().all(is_safe));
        }

        #[test]
        fn different_projects_have_different_folders(left in "(/[a-b .]{1,3}){1,3}", right in "(/[a-b .]{1,3}){1,3}") {
            let (left, right) = (left + "/.git", right + "/.git");
            let same = project_name(Path::new(&left)) == project_name(Path::new(&right));
            prop_assert_eq!(left == right, same);
        }

        #[test]
        fn new_run_ids_are_safe_and_sort_by_time(now in any::<u64>(), later in any::<u64>(), entropy in any::<u32>()) {
            let now = Timestamp(now);
            let id = new_run_id(now, entropy);
            prop_assert!(check_run_id(&id).is_ok());
            let later = new_run_id(now.plus(1).plus(later % 1_000_000_000), 0);
            prop_assert!(id < later || id.as_str().starts_with("9999"));
        }
    }

    #[test]
    fn a_run_is_named_after_tag_task_and_time() {
        let id = autopilot_run_id(&"tdd".into(), &"1".into(), Timestamp(1_759_847_400_000));
        assert_eq!(id.as_str(), "tdd__task-1__2025-10-07T14-30-00-000Z");
        check_autopilot_run_id(&id).unwrap();
    }

    #[test]
    fn hostile_tags_and_tasks_make_safe_names() {
        for (tag, task) in [
            ("../..", "/etc"),
            (".", ""),
            ("a b", "1\n2"),
            (&*"x".repeat(900), "1"),
        ] {
            let id = autopilot_run_id(&tag.into(), &task.into(), Timestamp(0));
            check_autopilot_run_id(&id).unwrap();
        }
        for bad in [
            "",
            "..",
            "../a__task-1__x",
            "-a__task-1__x",
            "20261121-014512-3fa9",
        ] {
            assert!(check_autopilot_run_id(&bad.into()).is_err(), "{bad}");
        }
    }
}
