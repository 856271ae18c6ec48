//! Finds mistakes of tests themselves in what Python and JavaScript print: a name that the file of the test never binds,
//! an import of something that an installed module does not have.
//!
//! An item of the project that is missing is no mistake, so wherever a name may come from elsewhere, it is none.

use super::project::Project;
use crate::testing::reading::without_colours;
use std::path::PathBuf;
use tm_scheduler::TestMistake;

/// So many are kept, each with so many bytes.
const MOST: usize = 50;
const MOST_BYTES: usize = 300;

patterns! {
    SIGN_OF_PYTHON = "NameError|UnboundLocalError|ImportError|ModuleNotFoundError|AttributeError";
    FRAME = r#"^\s*(?:[#E|]\s+)*File "([^"]+)", line (\d+)"#;
    RAISED = r"^(?:[#|]\s+)*(E\s+)?((?:NameError|UnboundLocalError|ImportError|ModuleNotFoundError|AttributeError): .+)$";
    PYTEST_PLACE = r"^(\S+\.py):(\d+): (?:in .+|\w*Error)$";
    UNBOUND = r"^(?:NameError: name '|UnboundLocalError: )";
    FOREIGN_NAME = r"^ImportError: cannot import name '[^']+' from '([^'.]+)[^']*' \((/[^)]+)\)";
    FOREIGN_MODULE = r"^ModuleNotFoundError: No module named '([^'.]+)[^']*'";
    FOREIGN_ATTRIBUTE = r"^AttributeError: module '([^'.]+)[^']*' has no attribute ";
    PYTHON_FROM_ELSEWHERE = r"import\s*\*|\bexec\(|\bglobals\(|\bbuiltins\b|\beval\(";
    REFERENCE = r"ReferenceError: ((\S+) is not defined)";
    NODE_ERROR = r"^[#\s]*error: '((\S+) is not defined)'$";
    SCRIPT_PLACE = r"(?:file://)?(/[^\s()'\x22]+\.[cm]?[jt]sx?):(\d+)(?::\d+)?";
    SCRIPT_FROM_ELSEWHERE = r#"(?m)^\s*(?:import\s+['"]|(?:await\s+)?import\(|require\()|globalThis|\bglobal\b|\bwindow\.|\bvm\b|\beval\(|loadScript"#;
}

/// Modules that every Python has.
const STANDARD: &str = " abc argparse array ast asyncio base64 bisect builtins bz2 calendar cmath codecs collections \
     concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal difflib dis email enum errno \
     fractions functools gc glob gzip hashlib heapq hmac html http importlib inspect io ipaddress itertools json logging \
     lzma math mimetypes multiprocessing numbers operator os pathlib pickle platform pprint queue random re secrets select \
     shlex shutil signal socket sqlite3 ssl stat statistics string struct subprocess sys tempfile textwrap threading time \
     traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo ";

/// So many lines can stand between an error and its place.
const LINES_TO_PLACE: usize = 8;

/// Returns the mistakes that an output tells of, each once, in its order.
pub(in crate::testing) fn mistakes(output: &str, folders: &[PathBuf]) -> Vec<TestMistake> {
    let output = &*without_colours(output);
    let mut found = Found {
        project: Project::new(folders),
        folders,
        mistakes: Vec::new(),
    };
    if SIGN_OF_PYTHON.is_match(output) {
        python(output, &mut found);
    }
    if output.contains(" is not defined") {
        javascript(output, &mut found);
    }
    found.mistakes
}

struct Found<'a> {
    project: Project,
    folders: &'a [PathBuf],
    mistakes: Vec<TestMistake>,
}

impl Found<'_> {
    /// The text of a file of the project; `None` for one that lies elsewhere.
    fn text(&self, path: &str) -> Option<String> {
        let relative = self.project.relative(path);
        let is_installed = ["site-packages/", "dist-packages/", "node_modules/"]
            .iter()
            .any(|at| relative.contains(at));
        if relative.starts_with('/') || relative.starts_with("..") || is_installed {
            return None;
        }
        self.project.text(&relative)
    }

    fn add(&mut self, file: &str, line: &str, text: &str) {
        let text = text.trim();
        let mistake = TestMistake {
            file: self.project.relative(file),
            line: line.parse().unwrap_or(0),
            text: text[..text.floor_char_boundary(MOST_BYTES)].to_owned(),
        };
        if self.mistakes.len() < MOST && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    fn is_mistake_in_python(&self, error: &str, file: &str) -> bool {
        let Some(text) = self.text(file) else {
            return false;
        };
        if UNBOUND.is_match(error) {
            return !PYTHON_FROM_ELSEWHERE.is_match(&text);
        }
        let is_standard = |module: &str| STANDARD.contains(&format!(" {module} "));
        if let Some(import) = FOREIGN_NAME.captures(error) {
            let is_installed = import[2].contains("-packages/") || is_standard(&import[1]);
            return is_installed && !self.is_own(&import[1]);
        }
        let module = FOREIGN_MODULE
            .captures(error)
            .or_else(|| FOREIGN_ATTRIBUTE.captures(error));
        module.is_some_and(|module| is_standard(&module[1]) && !self.is_own(&module[1]))
    }

    /// The project's own package may be installed, too.
    fn is_own(&self, module: &str) -> bool {
        let is_there = |folder: &str| {
            self.folders.iter().any(|place| {
                let place = place.join(folder).join(module);
                place.exists() || place.with_extension("py").exists()
            })
        };
        self.project.owns(module) || ["", "src", "lib"].into_iter().any(is_there)
    }
}

/// The innermost place of a traceback stands right before the error; pytest's own style has it right after.
fn python(output: &str, found: &mut Found<'_>) {
    let mut frame: Option<(String, String)> = None;
    let mut raised: Option<String> = None;
    for line in output.lines() {
        if let Some(at) = FRAME.captures(line) {
            (frame, raised) = (Some((at[1].to_owned(), at[2].to_owned())), None);
        } else if let Some(at) = PYTEST_PLACE.captures(line) {
            let place = (at[1].to_owned(), at[2].to_owned());
            if let Some(error) = raised
                .take()
                .filter(|error| found.is_mistake_in_python(error, &place.0))
            {
                found.add(&place.0, &place.1, &error);
            }
            frame = Some(place);
        } else if let Some(error) = RAISED.captures(line) {
            let text = error[2].to_owned();
            match frame
                .take()
                .filter(|_| error.get(1).is_none() || is_short_style(line))
            {
                Some((file, number)) if found.is_mistake_in_python(&text, &file) => {
                    found.add(&file, &number, &text);
                }
                _ => raised = Some(text),
            }
        } else if line.trim().is_empty() {
            frame = None;
        }
    }
}

/// In pytest's short style, as of errors of collecting, the error follows its frame with three spaces between.
fn is_short_style(line: &str) -> bool {
    line.starts_with("E   ") && !line.starts_with("E    ")
}

fn javascript(output: &str, found: &mut Found<'_>) {
    let lines: Vec<&str> = output.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(error) = REFERENCE
            .captures(line)
            .or_else(|| NODE_ERROR.captures(line))
        else {
            continue;
        };
        let text = format!("ReferenceError: {}", &error[1]);
        let following = lines[index..].iter().take(LINES_TO_PLACE);
        let is_frame = |line: &&&str| line.contains("at ") || line.trim_end().ends_with(')');
        let place = following
            .filter(is_frame)
            .find_map(|line| SCRIPT_PLACE.captures(line));
        let Some((file, number)) = place.map(|place| (place[1].to_owned(), place[2].to_owned()))
        else {
            continue;
        };
        let Some(code) = found.text(&file) else {
            continue;
        };
        if !SCRIPT_FROM_ELSEWHERE.is_match(&code) {
            found.add(&file, &number, &text);
        }
    }
}
