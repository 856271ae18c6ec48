//! Which processes run a program of a certain name, whoever started them.
//!
//! Knows command lines; does not know what the program does.

use super::{ProcessIdentity, system};
use std::path::{Path, PathBuf};

/// A process that runs a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunningProgram {
    /// The name of the program.
    pub name: String,
    /// The process.
    pub identity: ProcessIdentity,
    /// What follows the program on its command line.
    pub arguments: Vec<String>,
    /// Where it works, when that can be found out.
    pub working_folder: Option<PathBuf>,
}

/// Returns the processes that run a program of one of these names, itself or as the script of an interpreter.
pub fn running(names: &[&str]) -> Vec<RunningProgram> {
    let of_line = |(pid, words): (u32, Vec<String>)| {
        let (name, arguments) = names
            .iter()
            .find_map(|name| Some((*name, arguments_of(name, &words)?)))?;
        let (identity, working_folder) = (ProcessIdentity::of(pid)?, system::working_folder(pid));
        Some(RunningProgram {
            name: name.to_owned(),
            identity,
            arguments,
            working_folder,
        })
    };
    system::command_lines().filter_map(of_line).collect()
}

fn arguments_of(name: &str, words: &[String]) -> Option<Vec<String>> {
    let is_named = |word: &String| Path::new(word).file_name().is_some_and(|file| file == name);
    let place = words.iter().take(3).position(is_named)?;
    Some(
        words[place + 1..]
            .iter()
            .filter(|word| !word.is_empty())
            .cloned()
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_and_as_a_script() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let arguments = |line: &str| arguments_of("task-master", &words(line));
        assert_eq!(
            arguments("/usr/bin/task-master set-status 1"),
            Some(words("set-status 1"))
        );
        assert_eq!(arguments("node /a/b/task-master list"), Some(words("list")));
        assert_eq!(arguments("node /a/task-master-ai"), None);
        assert_eq!(arguments("vim a b c task-master"), None);
    }

    #[test]
    fn this_process_is_among_those_that_run() {
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            running(&[&name])
                .iter()
                .any(|program| program.identity.pid == std::process::id())
        );
    }
}
