//! The kernel's word on which files in folders of tm's own somebody has opened: only such a one can have been written through
//! a mapping. Asked for where the times of files do not tell of that.

use crate::indexed::{Indexed, Known};
use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FsWord, statfs};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What is told of a folder: whoever opens one of its files, by whatever way.
const OPENED: WatchFlags = WatchFlags::OPEN
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// The file systems that are nowhere but in the memory of this kernel: tmpfs and ramfs (statfs(2)).
const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58f6];
/// So much is read of the queue at once, in bytes.
const BUFFER: usize = 16 * 1024;

/// Which files were opened since they were compared with what an index says of them.
#[derive(Debug, Default)]
pub(crate) struct OpenedFiles(Mutex<Option<Told>>);

/// What the kernel tells: of folders whose files were all compared, and of no other ones, since tm itself opens the files that
/// it has to read, and so many of one folder would have those of others forgotten.
#[derive(Debug)]
struct Told {
    inotify: OwnedFd,
    /// The kernel's numbers of the folders, by path: a folder that came in the place of another one has another number.
    numbers: HashMap<PathBuf, i32>,
    /// What was opened in each since it was compared, by number.
    opened: HashMap<i32, HashSet<Box<OsStr>>>,
}

impl OpenedFiles {
    /// Has the files in a checkout count as known by their times that nobody has opened since they were compared.
    pub(crate) fn vouch_for(&self, root: &Path, known: &mut Known) {
        let mut told = self.0.lock();
        // Without the kernel's word all of them are read.
        let Some(told) = &mut *told else { return };
        told.hear();
        for (folder, files) in &mut known.folders {
            let Some(opened) = told.opened_in(&root.join(Path::new(folder))) else {
                continue;
            };
            for (name, file) in files {
                if let Indexed::File(Some(written)) = file
                    && !opened.contains(name)
                {
                    written.is_known_by_its_times();
                }
            }
        }
    }

    /// Says that every file there is in these folders of a checkout was compared with the index, or is gone, but for what is
    /// kept, and that nobody was at work there meanwhile.
    pub(crate) fn compared(&self, root: &Path, known: &Known, kept: &[PathBuf]) {
        if !is_in_memory(root) {
            return;
        }
        let mut told = self.0.lock();
        if told.is_none() {
            *told = Told::begin();
        }
        let Some(told) = &mut *told else { return };
        told.hear();
        let is_kept = |folder: &Path| kept.iter().any(|kept| folder.starts_with(kept));
        for folder in known.folders.keys().map(Path::new) {
            if !is_kept(folder) {
                told.listen(root.join(folder));
            }
        }
    }
}

/// Elsewhere others may open what this kernel knows nothing of: a server, or another machine.
pub(crate) fn is_in_memory(root: &Path) -> bool {
    statfs(root).is_ok_and(|found| IN_MEMORY.contains(&found.f_type))
}

impl Told {
    fn begin() -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self {
            inotify,
            numbers: HashMap::new(),
            opened: HashMap::new(),
        })
    }

    /// Has the kernel tell of a folder from now on, as of one in which nothing was opened yet.
    fn listen(&mut self, path: PathBuf) {
        self.forget(&path);
        if let Ok(number) = inotify::add_watch(&self.inotify, &path, OPENED) {
            self.numbers.insert(path, number);
            self.opened.insert(number, HashSet::new());
        }
    }

    /// Returns what was opened in a folder since it was compared; `None` where that was never done, or it is another folder by
    /// now.
    fn opened_in(&mut self, path: &Path) -> Option<&HashSet<Box<OsStr>>> {
        let number = *self.numbers.get(path)?;
        match inotify::add_watch(&self.inotify, path, OPENED) {
            Ok(found) if found == number => self.opened.get(&number),
            found => {
                self.forget(path);
                let _gone = found.map(|found| inotify::remove_watch(&self.inotify, found));
                None
            }
        }
    }

    fn forget(&mut self, path: &Path) {
        let number = self.numbers.remove(path);
        number.map(|number| self.opened.remove(&number));
    }

    /// Takes note of what was told since.
    fn hear(&mut self) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => break,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Some were not told of.
                break;
            }
            if event.events().contains(ReadFlags::IGNORED) {
                self.opened.remove(&event.wd());
            } else if let Some(name) = event.file_name()
                && let Some(opened) = self.opened.get_mut(&event.wd())
            {
                opened.insert(OsStr::from_bytes(name.to_bytes()).into());
            }
        }
        self.begin_again();
    }

    /// Forgets all of it.
    fn begin_again(&mut self) {
        self.numbers.clear();
        self.opened.clear();
        // With the old one everything ends that it was to tell of.
        if let Some(anew) = Self::begin() {
            *self = anew;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace;
    use tm_untrusted::MappedWrites;

    /// A folder in memory, where there is one.
    fn in_memory() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        is_in_memory(folder.path()).then_some(folder)
    }

    /// An index that knows `a/one` and `a/two`, each as it was long ago.
    fn index(root: &Path) -> PathBuf {
        let index = root.join("index");
        let mut bytes = [&b"DIRC"[..], &2_u32.to_be_bytes(), &2_u32.to_be_bytes()].concat();
        for name in ["a/one", "a/two"] {
            let mut entry = vec![0; 62];
            entry[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
            entry[61] = u8::try_from(name.len()).expect("a short name");
            entry.extend_from_slice(name.as_bytes());
            entry.resize((entry.len() + 8) / 8 * 8, 0);
            bytes.extend(entry);
        }
        bytes.extend([0; 20]);
        replace(&index, &bytes).expect("written");
        index
    }

    fn known(root: &Path, index: &Path, opened: &OpenedFiles) -> Known {
        let mut known = Known::read(index, MappedWrites::Unnoticed).expect("an index");
        opened.vouch_for(root, &mut known);
        known
    }

    fn to_read(known: &Known) -> Vec<PathBuf> {
        let files = known.files_written();
        let to_read = files.filter(|(_, written)| written.is_to_be_read());
        let mut names: Vec<_> = to_read.map(|(path, _)| path).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_known_by_its_times_from_when_it_was_compared_until_somebody_opens_it() {
        let Some(root) = in_memory() else { return };
        let folder = root.path().join("a");
        std::fs::create_dir(&folder).expect("made");
        for name in ["one", "two"] {
            replace(&folder.join(name), b"").expect("written");
        }
        let (opened, index) = (OpenedFiles::default(), index(root.path()));
        let known = || known(root.path(), &index, &opened);
        let to_read = || to_read(&known());
        let both = ["a/one", "a/two"].map(PathBuf::from);
        assert_eq!(to_read(), both, "nobody has compared them");
        opened.compared(root.path(), &known(), &[]);
        assert_eq!(to_read(), both[2..]);
        drop(std::fs::File::open(folder.join("two")).expect("opened"));
        assert_eq!(to_read(), both[1..]);
        assert_eq!(to_read(), both[1..], "that is not forgotten");
        opened.compared(root.path(), &known(), &[]);
        assert_eq!(to_read(), both[2..]);
        // By another way, through a folder that has another name by then.
        let elsewhere = root.path().join("b");
        std::fs::rename(&folder, &elsewhere).expect("moved");
        drop(std::fs::File::open(elsewhere.join("one")).expect("opened"));
        std::fs::rename(&elsewhere, &folder).expect("moved back");
        assert_eq!(to_read(), both[..1]);
        opened.compared(root.path(), &known(), &[]);
        // Another folder in its place.
        std::fs::rename(&folder, &elsewhere).expect("moved");
        std::fs::create_dir(&folder).expect("made");
        assert_eq!(to_read(), both);
    }

    #[test]
    fn where_not_all_is_told_all_are_read() {
        let Some(root) = in_memory() else { return };
        let folder = root.path().join("a");
        std::fs::create_dir(&folder).expect("made");
        replace(&folder.join("one"), b"").expect("written");
        let (opened, index) = (OpenedFiles::default(), index(root.path()));
        let known = || known(root.path(), &index, &opened);
        let count = || to_read(&known()).len();
        opened.compared(root.path(), &known(), &[]);
        assert_eq!(count(), 0);
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
        let most: usize = most.expect("a bound").trim().parse().expect("a number");
        let names = ["one", "other"].map(|name| folder.join(name));
        replace(&names[1], b"").expect("written");
        // Two that are alike, one after the other, are told of once.
        for name in names.iter().cycle().take(most + 2) {
            drop(std::fs::File::open(name).expect("opened"));
        }
        assert_eq!(count(), 2);
    }
}
