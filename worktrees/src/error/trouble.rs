//! The words by which git tells of trouble that is not the work's: a disk, a lock, objects that are gone.

/// What git and the system say when a disk, a lock or a limit is the trouble, and may not be for long.
const PASSING_WORDS: [&str; 13] = [
    "No space left on device",
    "Disk quota exceeded",
    "Input/output error",
    "Stale file handle",
    "Too many open files",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
    ".lock': File exists",
    "could not lock config file",
    // What git says of a full disk without the system's words.
    "unable to write file",
    "unable to write new index file",
    "unable to write new_index file",
    "write error. Out of diskspace",
];

/// What they say when somebody has to see to it.
const LASTING_WORDS: [&str; 3] = [
    "Read-only file system",
    "Permission denied",
    "insufficient permission",
];

/// What git says when objects that nothing holds yet were collected by another git.
pub(super) const COLLECTED_WORDS: [&str; 15] = [
    "bad object",
    "invalid object",
    "error building trees",
    "not a valid object",
    "nonexistent object",
    "Not a valid commit name",
    "not a tree object",
    "bad tree object",
    "invalid reference",
    "missing blob object",
    "missing tree object",
    "failed to unpack tree object",
    "could not read",
    "unable to read",
    "does not exist",
];

/// Tells whether git says that something is in the way which may be gone soon.
pub(crate) fn says_passing_trouble(words: &str) -> bool {
    says(words, &PASSING_WORDS)
}

/// Tells whether git says that the disk or the repository can't be written, rather than that a file can't be read.
pub(crate) fn says_trouble_of_disk(words: &str) -> bool {
    says_passing_trouble(words)
        || says(words, &["Read-only file system", "insufficient permission"])
}

/// Tells whether git says anything of trouble of the machine.
pub(crate) fn says_trouble_of_machine(words: &str) -> bool {
    words.lines().any(|line| trouble_in(line).is_some())
}

/// Returns a line in which git tells of trouble of the machine; `None` for any other.
pub(crate) fn trouble_in(line: &str) -> Option<&str> {
    let is_told = says_passing_trouble(line) || says(line, &LASTING_WORDS);
    is_told.then_some(line)
}

/// Tells whether git itself says one of the words; what a hook says is no business of tm's.
pub(super) fn says(words: &str, known: &[&str]) -> bool {
    let is_of_git = |line: &str| {
        let starts = ["fatal:", "error:", "warning:"];
        starts.iter().any(|start| line.starts_with(start))
    };
    words
        .lines()
        .any(|line| is_of_git(line) && known.iter().any(|known| line.contains(known)))
}
