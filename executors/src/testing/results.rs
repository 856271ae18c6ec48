//! Finds the results of one run of the tests: in files that it wrote, or in what it printed.
//!
//! What was there before the run is no result of it, whoever put it there.

use super::asking::{Expected, Report};
use super::command::TestCommand;
use super::matching::{Matches, matches};
use super::{Parsed, formats, reading};
use std::io;
use std::path::{Path, PathBuf};
use tm_scheduler::ResultFormat;

/// So much is read at the most, of all files together.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Files from before the run, out of its way.
#[derive(Debug)]
pub(super) struct SetAside {
    /// Where each was, and where it is.
    files: Vec<(PathBuf, PathBuf)>,
}

impl SetAside {
    /// Moves the files away that match the command's pattern.
    pub(super) fn new(command: &TestCommand, worktree: &Path) -> io::Result<Self> {
        let mut set_aside = Self { files: Vec::new() };
        let Some(pattern) = &command.results else {
            return Ok(set_aside);
        };
        let found = results_in(worktree, pattern);
        if found.is_cut {
            // What is not moved would count as a result of the run.
            return Err(io::Error::other(too_much_for(pattern)));
        }
        for path in found.files {
            let aside = path.with_file_name(tm_untrusted::unguessable_name(".tm-before-"));
            std::fs::rename(&path, &aside)?;
            set_aside.files.push((path, aside));
        }
        Ok(set_aside)
    }

    /// Moves those back that the run did not write anew.
    pub(super) fn put_back(self) {
        for (path, aside) in self.files {
            // A file that can't be put back stays beside its place, under its other name.
            let _stays_aside = if path.exists() {
                std::fs::remove_file(&aside)
            } else {
                std::fs::rename(&aside, &path)
            };
        }
    }
}

/// Returns the files that a pattern matches in a folder of the worktree itself: a link in the place of a folder leads to
/// what tm sees and neither the agent nor the tests do.
fn results_in(worktree: &Path, pattern: &str) -> Matches {
    let Ok(root) = worktree.canonicalize() else {
        return Matches::default();
    };
    let is_its_own = |path: &PathBuf| {
        let folder = path.parent().unwrap_or(worktree);
        let within = folder.strip_prefix(worktree);
        within.is_ok_and(|within| {
            let real = folder.canonicalize();
            real.is_ok_and(|real| real == root.join(within))
        })
    };
    let mut found = matches(worktree, pattern);
    found.files.retain(is_its_own);
    found
}

fn too_much_for(pattern: &str) -> String {
    format!("there are too many files to look for `{pattern}` among them")
}

/// Where results may have been written.
pub(super) struct Written<'a> {
    /// Where the command ran.
    pub(super) worktree: &'a Path,
    /// The file that tm named.
    pub(super) file: &'a Path,
    /// What was printed; read when it is asked for, since results in a file may be as long.
    pub(super) output: &'a dyn Fn() -> &'a str,
}

/// Reads the results; `None` when only the exit status tells anything.
pub(super) fn read(
    command: &TestCommand,
    expected: &Expected,
    written: &Written<'_>,
) -> Option<Parsed> {
    match (&command.results, expected) {
        (Some(pattern), Expected::OneOf(formats)) => {
            Some(of_files(pattern, formats, written.worktree))
        }
        (None, Expected::OneOf(formats)) => of_choice(command, formats, written),
        (_, Expected::Asked(Report::Printed(format))) => {
            formats::parse(&[*format], (written.output)())
        }
        (_, Expected::Asked(Report::File(format))) => Some(of_report(*format, "", written.file)),
        (_, Expected::Asked(Report::NamedFile(format))) => {
            let name = written
                .file
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy();
            Some(of_report(*format, &name, written.file))
        }
    }
}

fn of_files(pattern: &str, formats: &[ResultFormat], worktree: &Path) -> Parsed {
    let (mut all, mut budget) = (Parsed::default(), FILE_BYTES);
    let Matches { files, is_cut } = results_in(worktree, pattern);
    if is_cut {
        all.breaks(too_much_for(pattern));
    } else if files.is_empty() {
        all.breaks(format!("the tests wrote no results to `{pattern}`"));
    }
    for file in &files {
        let text = reading::whole(file, budget);
        budget -= text
            .as_ref()
            .map_or(0, |text| u64::try_from(text.len()).unwrap_or(u64::MAX))
            .min(budget);
        all.merge(parsed(formats, file, text));
    }
    all
}

/// What the command wrote where it likes: into the file that tm names, or what it prints.
fn of_choice(
    command: &TestCommand,
    formats: &[ResultFormat],
    written: &Written<'_>,
) -> Option<Parsed> {
    if written.file.symlink_metadata().is_ok() {
        return Some(parsed(
            formats,
            written.file,
            reading::whole(written.file, FILE_BYTES),
        ));
    }
    let printed = formats::parse(formats, (written.output)());
    if printed.is_none() && command.names_results_file() {
        return Some(Parsed::broken("the tests wrote no results".to_owned()));
    }
    printed
}

/// A report that the runner was asked for, which has to hold this name.
fn of_report(format: ResultFormat, name: &str, file: &Path) -> Parsed {
    match reading::whole(file, FILE_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Parsed::broken(
            "the tests wrote no results: their runner ended before its report".to_owned(),
        ),
        Ok(text) if !text.contains(name) => {
            Parsed::broken("the results are not those of this run".to_owned())
        }
        text => parsed(&[format], file, text),
    }
}

fn parsed(formats: &[ResultFormat], path: &Path, text: std::io::Result<String>) -> Parsed {
    let shown = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match text {
        Ok(text) => formats::parse(formats, &text).unwrap_or_else(|| {
            Parsed::broken(format!("the results in `{shown}` are in no known format"))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Parsed::broken(format!("the results in `{shown}` are too large"))
        }
        Err(error) => Parsed::broken(format!("the results in `{shown}` can't be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn results_behind_a_link_in_the_place_of_a_folder_are_nobodys() {
        let place = tempfile::tempdir().expect("a folder");
        let (worktree, home) = (place.path().join("work"), place.path().join("home"));
        for folder in [worktree.join("out"), home.clone()] {
            fs::create_dir_all(&folder).expect("a folder");
            fs::File::create(folder.join("a.xml")).expect("a file");
        }
        std::os::unix::fs::symlink("../home", worktree.join("evil")).expect("a link");
        let own = |pattern: &str| results_in(&worktree, pattern).files;
        for pattern in ["*/*.xml", "./out/a.xml", "**/*.xml", "out/*"] {
            assert_eq!(own(pattern).len(), 1, "{pattern}");
            assert!(own(pattern)[0].ends_with("out/a.xml"), "{pattern}");
        }
        assert!(own("evil/a.xml").is_empty());
        let command = TestCommand {
            results: Some("*/*.xml".to_owned()),
            ..TestCommand::shell("true", None)
        };
        let aside = SetAside::new(&command, &worktree).expect("set aside");
        assert!(own("*/*.xml").is_empty() && home.join("a.xml").exists());
        aside.put_back();
        assert_eq!(own("*/*.xml").len(), 1);
    }
}
