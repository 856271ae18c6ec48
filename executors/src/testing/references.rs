//! What a text of a script refers to: files that it calls or sources, modules that it imports, scripts of packages and
//! targets of makefiles that it runs.
//!
//! Knows no tree: a reference is a list of paths that it may mean. Whoever wrote the text may have written it so that it
//! refers to anything: what is found is bounded, and the work with it.

use super::{name_in, names};
use crate::patterns::part;

patterns! {
    PYTHON_IMPORT = r"(?m)^\s*import\s+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)";
    PYTHON_FROM = r"(?m)^\s*from\s+(\.*[\w.]*)\s+import\s+\(?\s*([\w, \t\r\n]+)";
    JAVASCRIPT = r#"(?:\bfrom|\bimport|\brequire|\bimport\s*\(|\brequire\s*\()\s*\(?\s*['"](\.{1,2}/[^'"]+)['"]"#;
    SCRIPT_WORD = r#"['"]((?:\.{0,2}/)?[\w./-]+\.(?:sh|bash|py|js|mjs|cjs|ts|rb|pl))['"]"#;
}

/// So many references of a text are found.
const MOST: usize = 10_000;
/// So many words behind a program are looked at.
const MOST_WORDS: usize = 64;
/// A module has no longer name, in bytes.
const LONGEST_MODULE: usize = 512;

/// What a text calls.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Calls {
    /// Words that stand where a file to be run or sourced stands.
    pub(super) files: Vec<String>,
    /// Words that stand where a file to be sourced stands; a script often sources one only where there is one.
    pub(super) sourced: Vec<String>,
    /// Modules that are run by their names.
    pub(super) modules: Vec<String>,
    /// Scripts of packages, perhaps with a `*` at the end.
    pub(super) scripts: Vec<String>,
    /// Targets of makefiles.
    pub(super) targets: Vec<String>,
}

impl Calls {
    fn is_full(&self) -> bool {
        let Self {
            files,
            sourced,
            modules,
            scripts,
            targets,
        } = self;
        let all = [files, sourced, modules, scripts, targets];
        all.map(Vec::len).into_iter().sum::<usize>() >= MOST
    }
}

/// Programs that run or source the file that is named next.
const INTERPRETERS: &str =
    ". source sh bash dash zsh ksh python python3 node deno bun tsx ts-node perl ruby php exec env";

/// Returns what the commands in a text call.
pub(super) fn calls(text: &str) -> Calls {
    let mut calls = Calls::default();
    for command in text.split(['\n', ';', '&', '|', '`', '{', '}']) {
        let words =
            command.split(|character: char| character.is_whitespace() || "\"'".contains(character));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        of_command(&words, &mut calls);
    }
    calls.files.extend(
        SCRIPT_WORD
            .captures_iter(text)
            .map(|found| found[1].to_owned())
            .take(MOST),
    );
    calls
}

fn of_command(words: &[&str], calls: &mut Calls) {
    for (index, word) in words.iter().enumerate() {
        if calls.is_full() {
            return;
        }
        let rest = &words[index + 1..];
        let rest = &rest[..rest.len().min(MOST_WORDS)];
        let program = word
            .trim_start_matches(['(', '$', '@', '-', '!'])
            .trim_end_matches(')');
        match name_in(program) {
            "make" | "gmake" | "MAKE" | "just" => calls.targets.extend(targets(rest)),
            "npm" | "pnpm" | "yarn" => calls.scripts.extend(script(rest)),
            "npm-run-all" | "run-s" | "run-p" | "npm-run-all2" => calls.scripts.extend(plain(rest)),
            _ if program.starts_with("python") && rest.first() == Some(&"-m") => {
                calls.modules.extend(rest.get(1).map(ToString::to_string));
            }
            _ if is_sourcing(words, index) => calls.sourced.extend(plain(rest).take(1)),
            _ if names(INTERPRETERS, program) => calls.files.extend(plain(rest).take(2)),
            // A path is called where it stands first, or where it is named as scripts are.
            _ if index == 0 || word.starts_with("./") || has_end_of_script(word) => {
                calls.files.push((*word).to_owned());
            }
            _ => {}
        }
    }
}

/// Tells whether the word is the command by which a shell reads another file.
fn is_sourcing(words: &[&str], index: usize) -> bool {
    let begins = index == 0 || matches!(words[index - 1], "then" | "else" | "do" | "(" | "!");
    begins && matches!(words[index], "." | "source")
}

fn has_end_of_script(word: &str) -> bool {
    ".sh .bash .py .js .mjs .cjs .rb .pl .mk"
        .split(' ')
        .any(|end| word.ends_with(end))
}

/// Words that are no flags and no assignments.
fn plain<'a>(words: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    words
        .iter()
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .map(|word| word.trim_end_matches(')').to_owned())
}

/// Without a target, make takes the first rule; what is meant is then called so.
fn targets(words: &[&str]) -> Vec<String> {
    let found: Vec<String> = plain(words).collect();
    if found.is_empty() {
        vec!["all".to_owned(), "test".to_owned()]
    } else {
        found
    }
}

fn script(words: &[&str]) -> Option<String> {
    let mut words = plain(words).filter(|word| word != "silent");
    match words.next()?.as_str() {
        "run" | "run-script" => words.next(),
        "t" | "tst" => Some("test".to_owned()),
        "exec" | "dlx" | "install" | "ci" | "add" => None,
        name => Some(name.to_owned()),
    }
}

/// Tells whether a file is one whose calls are read: a script of a shell, or of a language that may start others.
pub(super) fn is_script(path: &str, text: &str) -> bool {
    let name = name_in(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => names("sh bash zsh mk py js mjs cjs ts rb pl t", extension),
        None => text.starts_with("#!"),
    }
}

/// Returns the paths that a word in a script may mean: from the top, and from the script's own folder.
pub(super) fn resolved(script: &str, word: &str) -> Vec<String> {
    // `$(dirname "$0")/x`, `$DIR/x` and `${DIR}/x` mostly mean the script's own folder.
    let word = match word.rfind(['$', ')', '}']) {
        Some(at) => word[at..].split_once('/').map_or("", |(_, rest)| rest),
        None => word,
    };
    [joined("", word), joined(folder_of(script), word)]
        .into_iter()
        .flatten()
        .filter(|path| !path.is_empty())
        .collect()
}

/// A path from a folder, plain; `None` where it leads out.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the paths of files that a file may mean by its imports.
pub(super) fn imports(path: &str, text: &str) -> Vec<String> {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("py") => of_python(path, text),
        Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") => {
            of_javascript(path, text)
        }
        _ => Vec::new(),
    }
}

fn of_python(path: &str, text: &str) -> Vec<String> {
    let folder = folder_of(path);
    let mut found = Vec::new();
    for import in PYTHON_IMPORT.captures_iter(text) {
        for module in part(&import, 1).split(',').map(str::trim) {
            if found.len() >= MOST {
                return found;
            }
            found.extend(module_files("", module));
            found.extend(module_files(folder, module));
        }
    }
    for import in PYTHON_FROM.captures_iter(text) {
        let module = part(&import, 1).trim_start_matches('.');
        let from = match part(&import, 1).len() - module.len() {
            0 => vec![String::new(), folder.to_owned()],
            dots => joined(folder, &"../".repeat(dots - 1))
                .into_iter()
                .collect(),
        };
        let names = part(&import, 2)
            .split([',', '\n'])
            .filter_map(|name| name.split_whitespace().next());
        let within = |name| format!("{module}.{name}");
        let modules = [module.to_owned()].into_iter().chain(names.map(within));
        for module in modules {
            if found.len() >= MOST {
                return found;
            }
            found.extend(from.iter().flat_map(|from| module_files(from, &module)));
        }
    }
    found
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The files of a module, and of the packages around it.
pub(super) fn module_files(folder: &str, module: &str) -> Vec<String> {
    let mut place = folder.to_owned();
    let mut files = Vec::new();
    if module.len() > LONGEST_MODULE {
        return files;
    }
    for part in module.split('.').filter(|part| !part.is_empty()) {
        place = if place.is_empty() {
            part.to_owned()
        } else {
            format!("{place}/{part}")
        };
        files.extend([format!("{place}.py"), format!("{place}/__init__.py")]);
    }
    files
}

fn of_javascript(path: &str, text: &str) -> Vec<String> {
    const ENDS: [&str; 9] = [
        "",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".tsx",
        ".json",
        "/index.js",
        "/index.ts",
    ];
    JAVASCRIPT
        .captures_iter(text)
        .filter_map(|import| joined(folder_of(path), &import[1]))
        .flat_map(|place| ENDS.map(|end| format!("{place}{end}")))
        .take(MOST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_refers_to_anything_refers_to_a_bounded_number() {
        let programs = "run-s ".repeat(50_000);
        let found = calls(&programs);
        assert!(found.scripts.len() < MOST + MOST_WORDS && !found.scripts.is_empty());
        let deep = format!("import {}\n", "a.".repeat(100_000));
        let wide = format!(
            "from {} import {}\n",
            "b".repeat(400),
            "x, ".repeat(100_000)
        );
        for text in [deep, wide] {
            let length: usize = imports("a.py", &text).iter().map(String::len).sum();
            assert!(length < 10_000_000, "{length}");
        }
    }
}
