//! Finds files of a worktree by a pattern: through no link, and within bounds, whatever somebody has made there.

use glob::Pattern;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

/// So many files are given out at the most.
const MOST_FILES: usize = 20_000;
/// So many files and folders are looked at, which takes some seconds.
const MOST_LOOKED_AT: usize = 3_000_000;

/// The files that a pattern matches.
#[derive(Debug, Default)]
pub(super) struct Matches {
    /// In order.
    pub(super) files: Vec<PathBuf>,
    /// Whether there is more than anybody looks through.
    pub(super) is_cut: bool,
}

/// Returns the files within a folder that a pattern matches, in order.
pub(crate) fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    matches(folder, pattern).files
}

/// As [`matching`], with whether these are all.
pub(super) fn matches(folder: &Path, pattern: &str) -> Matches {
    let mut parts = Vec::new();
    for part in Path::new(pattern).components() {
        match part {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            _ => return Matches::default(),
        }
    }
    if pattern.contains(['*', '?', '[']) {
        return Walk::of(&parts).map_or_else(Matches::default, |walk| walk.through(folder));
    }
    let file = folder.join(parts.iter().collect::<PathBuf>());
    Matches {
        files: Some(file)
            .filter(|file| file.is_file())
            .into_iter()
            .collect(),
        is_cut: false,
    }
}

/// One part of a pattern.
enum Part {
    /// `**`: any folders, or none.
    Folders,
    Name(Pattern),
}

struct Walk {
    parts: Vec<Part>,
    looked_at: usize,
    found: Matches,
}

/// A folder, and the parts of the pattern that what is in it can be.
type ToSee = (PathBuf, Vec<usize>);

impl Walk {
    fn of(parts: &[&OsStr]) -> Option<Self> {
        let part = |part: &&OsStr| match part.to_str()? {
            "**" => Some(Part::Folders),
            name => Pattern::new(name).ok().map(Part::Name),
        };
        Some(Self {
            parts: parts.iter().map(part).collect::<Option<_>>()?,
            looked_at: 0,
            found: Matches::default(),
        })
    }

    fn through(mut self, folder: &Path) -> Matches {
        let mut folders = vec![(folder.to_owned(), self.and_without_folders(vec![0]))];
        while let Some((folder, parts)) = folders.pop() {
            for entry in tm_untrusted::entries(&folder) {
                self.looked_at += 1;
                self.found.is_cut |=
                    self.looked_at > MOST_LOOKED_AT || self.found.files.len() > MOST_FILES;
                if self.found.is_cut {
                    return self.found;
                }
                folders.extend(self.see(&entry, &parts));
            }
        }
        self.found.files.sort();
        self.found
    }

    /// Takes a file that is matched; returns a folder in which one may be.
    fn see(&mut self, entry: &DirEntry, parts: &[usize]) -> Option<ToSee> {
        let after = self.after(parts, entry.file_name().to_str()?);
        let (kind, path) = (entry.file_type().ok()?, entry.path());
        if kind.is_dir() {
            let leads_on = after.iter().any(|&part| part < self.parts.len());
            return leads_on.then_some((path, after));
        }
        let is_whole = after.contains(&self.parts.len());
        // A link to a folder is none, and no file either.
        if is_whole && !(kind.is_symlink() && path.is_dir()) {
            self.found.files.push(path);
        }
        None
    }

    /// Returns the parts that can come after a name that stands for one of these.
    fn after(&self, parts: &[usize], name: &str) -> Vec<usize> {
        let next = |&at: &usize| match self.parts.get(at)? {
            Part::Folders => Some(at),
            Part::Name(pattern) => pattern.matches(name).then_some(at + 1),
        };
        self.and_without_folders(parts.iter().filter_map(next).collect())
    }

    /// Adds those to which one comes where `**` stands for no folder.
    fn and_without_folders(&self, mut parts: Vec<usize>) -> Vec<usize> {
        let mut at = 0;
        while let Some(&part) = parts.get(at) {
            if matches!(self.parts.get(part), Some(Part::Folders)) && !parts.contains(&(part + 1)) {
                parts.push(part + 1);
            }
            at += 1;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, create_dir_all};
    use std::os::unix::fs::symlink;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let file = folder.path().join(file);
            create_dir_all(file.parent().expect("a folder")).expect("a folder");
            File::create(file).expect("a file");
        }
        folder
    }

    #[test]
    fn patterns_match_as_shells_have_it() {
        let files = [
            "a.xml",
            "b/a.xml",
            "b/c/a.xml",
            "b/c/d.txt",
            ".e/a.xml",
            "[x/a.xml",
        ];
        let folder = folder(&files);
        let cases = [
            ("a.xml", "a.xml"),
            ("./b/a.xml", "b/a.xml"),
            ("*.xml", "a.xml"),
            ("*/a.xml", ".e/a.xml [x/a.xml b/a.xml"),
            ("**/a.xml", ".e/a.xml [x/a.xml a.xml b/a.xml b/c/a.xml"),
            ("b/**/a.xml", "b/a.xml b/c/a.xml"),
            ("**/c/*", "b/c/a.xml b/c/d.txt"),
            ("**/**/d.tx?", "b/c/d.txt"),
            ("b/**", "b/a.xml b/c/a.xml b/c/d.txt"),
            ("[[]x/*", "[x/a.xml"),
            ("b/[ad]*", "b/a.xml"),
            ("b", ""),
            ("*", "a.xml"),
            ("../*", ""),
            ("/*", ""),
            ("[", ""),
        ];
        for (pattern, expected) in cases {
            let found = matches(folder.path(), pattern);
            let within = |path: &PathBuf| {
                let within = path.strip_prefix(folder.path()).expect("within");
                within.display().to_string()
            };
            let names: Vec<String> = found.files.iter().map(within).collect();
            assert_eq!(names.join(" "), expected, "{pattern}");
            assert!(!found.is_cut, "{pattern}");
        }
    }

    #[test]
    fn links_that_lead_in_circles_are_not_followed() {
        let folder = folder(&["b/a.xml"]);
        for link in ["one", "two", "b/three"] {
            symlink(".", folder.path().join(link)).expect("a link");
        }
        symlink("b/a.xml", folder.path().join("a.xml")).expect("a link");
        let found = matches(folder.path(), "**/*");
        let expected = ["a.xml", "b/a.xml"].map(|file| folder.path().join(file));
        assert_eq!(found.files, expected);
    }

    #[test]
    fn a_folder_of_too_many_files_is_cut_and_says_so() {
        let folder = folder(&[]);
        for number in 0..=MOST_FILES {
            File::create(folder.path().join(number.to_string())).expect("a file");
        }
        assert!(!matches(folder.path(), "*.xml").is_cut);
        let found = matches(folder.path(), "*");
        assert_eq!(found.files.len(), MOST_FILES + 1);
        File::create(folder.path().join("another")).expect("a file");
        assert!(matches(folder.path(), "*").is_cut);
    }
}
