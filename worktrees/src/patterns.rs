//! Patterns for paths that are never committed, read as `.gitignore` reads them.

use crate::{Error, Result};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Path, PathBuf};

/// A set of patterns for paths relative to the repository.
///
/// As in `.gitignore`, a pattern without a slash holds in every folder, one with a slash from the top, and one that
/// names a folder covers everything in it.
#[derive(Debug, Default)]
pub struct PathPatterns {
    set: GlobSet,
}

impl PathPatterns {
    /// Reads the patterns.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            add(&mut builder, pattern.as_ref())?;
        }
        let set = builder.build().map_err(|source| Error::Pattern {
            pattern: "(all together)".to_owned(),
            source,
        })?;
        Ok(Self { set })
    }

    /// Reads the patterns, and adds files, by their paths from the top.
    ///
    /// # Errors
    /// A pattern can't be read.
    pub fn with_files<T: AsRef<str>>(patterns: &[T], files: &[PathBuf]) -> Result<Self> {
        let patterns = patterns.iter().map(|pattern| pattern.as_ref().to_owned());
        let files = files.iter().map(|path| path.display().to_string());
        let files = files.map(|path| format!("/{}", globset::escape(&path)));
        Self::new(&patterns.chain(files).collect::<Vec<_>>())
    }

    /// Tells whether a path is covered.
    pub fn covers(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }
}

fn add(builder: &mut GlobSetBuilder, pattern: &str) -> Result<()> {
    let stem = pattern.trim_end_matches("/**").trim_end_matches('/');
    if stem.is_empty() {
        return Ok(());
    }
    let anchored = match stem.strip_prefix('/') {
        Some(from_top) => from_top.to_owned(),
        None if stem.contains('/') || stem.len() + "/**".len() == pattern.len() => stem.to_owned(),
        None => format!("**/{stem}"),
    };
    for glob in [anchored.clone(), format!("{anchored}/**")] {
        builder.add(
            GlobBuilder::new(&glob)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|source| Error::Pattern {
                    pattern: pattern.to_owned(),
                    source,
                })?,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, path: &str) -> bool {
        PathPatterns::new(&[pattern])
            .expect("valid")
            .covers(Path::new(path))
    }

    #[test]
    fn folder_pattern_covers_everything_in_it_and_itself() {
        for pattern in [
            ".taskmaster/**",
            ".taskmaster/",
            "/.taskmaster",
            ".taskmaster",
        ] {
            assert!(covers(pattern, ".taskmaster/tasks/tasks.json"), "{pattern}");
            assert!(covers(pattern, ".taskmaster"), "{pattern}");
            assert!(!covers(pattern, ".taskmasters/x"), "{pattern}");
        }
    }

    #[test]
    fn pattern_without_a_slash_holds_in_every_folder() {
        assert!(covers("*.log", "a/b/c.log"));
        assert!(!covers("/*.log", "a/c.log"));
        assert!(!covers("a/*.log", "a/b/c.log"));
        assert!(!covers(".taskmaster/**", "x/.taskmaster/y"));
    }

    #[test]
    fn a_file_is_covered_by_its_path_whatever_stands_in_it() {
        let files = ["app [v2]/tasks.json", "a*b", "tasks.json"].map(PathBuf::from);
        let patterns = PathPatterns::with_files(&["*.log"], &files).expect("valid");
        let covered = files.iter().all(|path| patterns.covers(path));
        assert!(covered && patterns.covers(Path::new("x/y.log")));
        for other in ["app v/tasks.json", "axb", "x/tasks.json"] {
            assert!(!patterns.covers(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn unreadable_pattern_is_named() {
        let error = PathPatterns::new(&["a[b"]).expect_err("an open bracket");
        assert_eq!(error.to_string(), "read the pattern `a[b`");
    }
}
