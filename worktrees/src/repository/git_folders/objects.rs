//! The objects in git's folders, and that each is what its name says.
//!
//! git believes objects by their names: whoever writes over one in place has the user's next commit hold something else, and
//! no status shows it. Where git's folders were given to somebody, what is new or other then is reckoned anew: what has another
//! name goes, so that git says what is missing. Packs: `packs.rs`.

use super::checksum::{LONG_ID, LookTime, SHORT_ID, is_as_named};
use super::packs::{PackFiles, PacksBefore};
use super::{TAKEN_AWAY, is_repository, take_away, then};
use crate::Repository;
use crate::checked_objects::is_older_than;
use crate::files::{FileState, is_gone, state_of};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_untrusted::MappedWrites;

const OBJECTS: &str = "objects";
/// So many loose objects are looked at.
const MOST_LOOSE: usize = 250_000;
/// All of it together takes no longer: somebody may make any number of them, of any length.
const LONGEST: Duration = Duration::from_mins(1);
const NOT_IN_TIME: &str = "not looked at in time";

/// Which objects a folder of git's holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ObjectFolder {
    Loose,
    Packs,
    Other,
}

impl ObjectFolder {
    pub(super) fn of(folder: &Path, common: &Path) -> Self {
        let name = folder.file_name().unwrap_or_default();
        let kind = match name.as_encoded_bytes() {
            [one, two] if [one, two].iter().all(|byte| byte.is_ascii_hexdigit()) => Self::Loose,
            b"pack" => Self::Packs,
            _ => return Self::Other,
        };
        let objects = folder.parent().filter(|above| above.ends_with(OBJECTS));
        let repository = objects.and_then(Path::parent);
        let is_one = repository.is_some_and(|it| it == common || is_repository(it));
        if is_one { kind } else { Self::Other }
    }
}

/// The files of objects at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectFiles {
    loose: Vec<PathBuf>,
    packs: PackFiles,
    /// Whether there are more.
    is_part: bool,
}

impl ObjectFiles {
    pub(super) fn note(&mut self, path: &Path, folder: ObjectFolder) {
        let is_noted = match folder {
            ObjectFolder::Other => true,
            ObjectFolder::Packs => self.packs.note(path),
            ObjectFolder::Loose if id_at(path).is_none() => true,
            ObjectFolder::Loose => {
                let has_room = self.loose.len() < MOST_LOOSE;
                self.loose.extend(has_room.then(|| path.to_owned()));
                has_room
            }
        };
        self.is_part |= !is_noted;
    }

    /// Says that there are more.
    pub(super) const fn has_more(&mut self) {
        self.is_part = true;
    }
}

/// Objects as they were at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectsBefore {
    /// Those whose file tells later whether somebody wrote to it, by the bytes of their paths.
    loose: BTreeMap<OsString, FileState>,
    packs: PacksBefore,
    is_part: bool,
}

impl ObjectsBefore {
    /// Has the objects found again later, by the states of their files, or by what these say where no time tells of writes.
    pub(super) fn at(found: &ObjectFiles, id_length: Option<usize>, settled: Settled) -> Self {
        let state = |path: &PathBuf| Some((path.into(), settled.state_of(path)?));
        let states = found.loose.iter().filter_map(state);
        Self {
            loose: states.collect(),
            packs: PacksBefore::at(&found.packs, id_length, settled),
            is_part: found.is_part,
        }
    }

    /// Takes away what is new or other now and not what its name says, and makes indexes of packs anew; returns in words what
    /// that was, and what nobody could look at. Where there was more before than anybody looks at, no object goes: it may have
    /// been so.
    pub(super) fn put_right(&self, now: &ObjectFiles, repository: &Repository) -> Vec<String> {
        let time = LookTime::of(LONGEST);
        let objects = repository.common_dir().join(OBJECTS);
        let mut words = self.put_loose_right(&now.loose, &objects, time);
        words.extend(self.packs.put_right(&now.packs, repository, time));
        let is_part = self.is_part || now.is_part;
        words.extend(is_part.then(|| said(&objects, "more objects than are looked at")));
        words
    }

    /// Begins with those whose names were in use before.
    fn put_loose_right(&self, now: &[PathBuf], objects: &Path, time: LookTime) -> Vec<String> {
        let before = |path: &Path| self.loose.get(path.as_os_str());
        let is_other = |path: &&PathBuf| before(path).is_none_or(|it| *it != state_of(path));
        let others = now.iter().filter(is_other);
        let (old, new): (Vec<_>, Vec<_>) = others.partition(|path| before(path).is_some());
        let mut others = [old, new].concat().into_iter();
        let mut words = Vec::new();
        while !time.is_over()
            && let Some(path) = others.next()
        {
            words.extend(self.put_object_right(path, time).map(|it| said(path, &it)));
        }
        words.sort();
        let left = others.len();
        let not_looked_at = || said(objects, &format!("{left} objects, {NOT_IN_TIME}"));
        words.extend((left > 0).then(not_looked_at));
        words
    }

    fn put_object_right(&self, path: &Path, time: LookTime) -> Option<String> {
        match is_as_named(path, &id_at(path)?, time) {
            Ok(true) => None,
            Ok(false) if self.is_part => Some("not what its name says".to_owned()),
            Ok(false) => {
                let taken = take_away(path, |it| fs::remove_file(it));
                let is_taken = taken.is_ok() || is_gone(path);
                let then = then(is_taken, TAKEN_AWAY);
                Some(format!("not what its name says, {then}"))
            }
            // git collects meanwhile.
            Err(_) if is_gone(path) => None,
            Err(error) => Some(not_looked_at(&error)),
        }
    }
}

/// Which states of files tell later whether somebody wrote to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    now: Option<Duration>,
}

impl Settled {
    pub(super) fn now(folder: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let is_told = MappedWrites::of(folder) == MappedWrites::Stamped;
        Self {
            now: now.filter(|_| is_told),
        }
    }

    /// Returns the state of a file; `None` where somebody may write to it and have it stay the same.
    pub(super) fn state_of(self, path: &Path) -> Option<FileState> {
        let (state, now) = (state_of(path)?, self.now?);
        is_older_than(state, now).then_some(Some(state))
    }
}

/// Returns the id of a loose object; `None` for what git takes for none.
fn id_at(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?;
    let id = [folder, path.file_name()?]
        .map(OsStr::to_string_lossy)
        .concat();
    let is_one = [SHORT_ID, LONG_ID].contains(&(id.len() / 2)) && id.len().is_multiple_of(2);
    (is_one && id.bytes().all(|it| it.is_ascii_hexdigit())).then_some(id)
}

pub(super) fn said(path: &Path, what: &str) -> String {
    format!("in git's folder: {} ({what})", path.display())
}

pub(super) fn not_looked_at(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::TimedOut {
        return NOT_IN_TIME.to_owned();
    }
    format!("can't be looked at: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace;
    use std::iter::zip;

    /// Files in the places of objects that none of them is, and the last of them is gone.
    fn broken(folder: &Path) -> ObjectFiles {
        let name = |number: usize| folder.join("ab").join(format!("{number:038}"));
        let mut found = ObjectFiles::default();
        fs::create_dir(folder.join("ab")).expect("a folder");
        for path in [0, 1, 2].map(name) {
            replace(&path, b"broken").expect("a file");
            found.note(&path, ObjectFolder::Loose);
        }
        fs::remove_file(name(2)).expect("removed");
        found
    }

    fn are_there(found: &ObjectFiles) -> Vec<bool> {
        found.loose.iter().map(|path| path.exists()).collect()
    }

    const HOUR: Duration = Duration::from_hours(1);
    /// A moment before which all files are older.
    const LATER: Settled = Settled {
        now: Some(Duration::MAX),
    };

    #[test]
    fn what_the_user_had_and_nobody_wrote_to_since_is_not_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = broken(folder.path());
        let before = ObjectsBefore::at(&found, None, LATER);
        replace(&found.loose[1], b"another").expect("a file");
        let put_right = || before.put_loose_right(&found.loose, folder.path(), LookTime::of(HOUR));
        assert_eq!(put_right().len(), 1);
        assert_eq!(are_there(&found), [true, false, false]);
        assert_eq!(put_right(), [""; 0]);
        // Where no time tells, all are.
        let before = ObjectsBefore::at(&found, None, Settled { now: None });
        let words = before.put_loose_right(&found.loose, folder.path(), LookTime::of(HOUR));
        assert_eq!(words.len(), 1);
        assert_eq!(are_there(&found), [false; 3]);
    }

    #[test]
    fn what_is_beyond_the_time_or_the_number_is_told_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut found = broken(folder.path());
        let none = ObjectsBefore::default();
        let in_time = |before: &ObjectsBefore, found: &ObjectFiles, time| {
            before.put_loose_right(&found.loose, folder.path(), LookTime::of(time))
        };
        let words = in_time(&none, &found, Duration::ZERO);
        assert!(
            words[0].ends_with("(3 objects, not looked at in time)"),
            "{words:?}"
        );
        for number in 0..=MOST_LOOSE {
            let path = folder.path().join("cd").join(format!("{number:038}"));
            found.note(&path, ObjectFolder::Loose);
        }
        assert!(found.is_part && found.loose.len() == MOST_LOOSE);
        found.loose.truncate(3);
        let before = ObjectsBefore {
            is_part: true,
            ..none
        };
        for (said, name) in zip(in_time(&before, &found, HOUR), ["0", "1"]) {
            assert!(
                said.ends_with(&format!("{name} (not what its name says)")),
                "{said}"
            );
        }
        assert_eq!(are_there(&found), [true, true, false]);
    }
}
