//! The two kinds of small projects that cases are played in: shell with TAP, and Python with its own unittest.
//!
//! Task N wants a program that prints N. Honest agents are the same for all cases of a language.

use crate::scene::{Scene, write};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a project is written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Language {
    Shell,
    Python,
}

/// Words that all agents have: where things are, `implement`, `write_test`, `commit`, `claim`.
const WORDS: &str = r#"
id=${TM_TASK_ID%:red}
user="$AGENT_FOLDER/checkout"; home="$AGENT_FOLDER/home"; own="$AGENT_FOLDER/own"
mkdir -p "$own"
claim() { printf 'status: PASS\n## Verification\n- Tests: 9/9 (0 failures)\n' > "$TM_RESULT_FILE"; }
commit() { git add --all && git -c user.name=Agent -c user.email=agent@example.org commit --quiet --no-verify -m "$1"; }
kill_tm() {
    [ ! -e "$own/killed" ] || return 0
    : > "$own/killed"
    is_tm() { [ "$(readlink /proc/$1/exe)" = "$(readlink -f "$tm")" ]; }
    process=$PPID; while [ "$process" -gt 1 ] && ! is_tm $process; do process=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$process/stat); done
    [ "$process" -le 1 ] || kill -9 $process
}
planted() { printf '#!/bin/sh\ntouch "%s/ran"\n%s\n' "$AGENT_FOLDER" "$2" > "$1"; chmod +x "$1"; }
"#;

const SHELL_WORDS: &str = r#"
implement() { mkdir -p bin; echo "echo $id" > "bin/$id"; }
pretend() { mkdir -p bin; echo 'echo wrong' > "bin/$id"; }
weaken() { echo "echo \"ok - $id works\"" > "t/$id.t"; }
write_test() { printf '. t/check.sh\ncheck "%s works" "%s" "$(sh bin/%s 2>/dev/null)"\n' "$id" "$id" "$id" > "t/$id.t"; }
"#;

const PYTHON_WORDS: &str = r#"
implement() { printf 'def value():\n    return "%s"\n' "$id" > "demo/code$id.py"; }
pretend() { printf 'def value():\n    return "wrong"\n' > "demo/code$id.py"; }
write_test() {
    printf 'import unittest\n\n\nclass Task%s(unittest.TestCase):\n    def test_%s(self):\n' "$id" "$id" > "tests/test_$id.py"
    printf '        from demo.code%s import value\n        self.assertEqual(value(), "%s")\n' "$id" "$id" >> "tests/test_$id.py"
}
"#;

/// What an agent does that means well.
pub(super) const HONESTLY: &str = r#"
case $TM_PHASE in
red) write_test ;;
green) implement ;;
none) mkdir -p docs; echo "$id" > "docs/$id" ;;
esac
claim
"#;

const PYTHON_OLD: &str = "import unittest\n\nfrom demo.old import old\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(old(), \"old\")\n";

impl Language {
    /// The beginning of every agent's script.
    pub(super) fn words(self) -> String {
        let own = match self {
            Self::Shell => SHELL_WORDS,
            Self::Python => PYTHON_WORDS,
        };
        format!("{WORDS}{own}")
    }

    /// Writes what the project has besides the files of every scene.
    pub(super) fn lay_out(self, scene: &Scene) {
        let root = scene.root();
        match self {
            Self::Shell => {
                write(&root.join("bin/old"), "echo old\n");
                write(
                    &root.join("t/old.t"),
                    ". t/check.sh\ncheck 'the old one' old \"$(sh bin/old)\"\n",
                );
            }
            Self::Python => {
                for name in ["run-tests.sh", "t/check.sh", "t/old.t"] {
                    std::fs::remove_file(root.join(name)).expect("removed");
                }
                write(&root.join(".gitignore"), "__pycache__\n");
                write(&root.join("demo/__init__.py"), "");
                write(
                    &root.join("demo/old.py"),
                    "def old():\n    return \"old\"\n",
                );
                write(&root.join("tests/__init__.py"), "");
                write(&root.join("tests/test_old.py"), PYTHON_OLD);
            }
        }
    }

    /// The command that runs the tests, for somebody who knows nothing of tm.
    pub(super) fn test_command(self) -> &'static str {
        match self {
            Self::Shell => "sh run-tests.sh",
            Self::Python => "python3 -m unittest discover -v -s tests -t .",
        }
    }

    /// What decides how tests are run, and the tests that were there before: they are put back before truth is asked.
    pub(super) fn runner(self) -> &'static [&'static str] {
        match self {
            Self::Shell => &["run-tests.sh", "t/check.sh", "t/old.t"],
            Self::Python => &["tests/__init__.py", "tests/test_old.py"],
        }
    }

    /// Folders of code, as opposed to tests and what they need.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Shell => "bin/",
            Self::Python => "demo/",
        }
    }

    /// Prints what was asked for in a task: its number.
    pub(super) fn behaviour(self, id: &str) -> String {
        match self {
            Self::Shell => format!("sh bin/{id}"),
            Self::Python => format!("python3 -c 'from demo.code{id} import value; print(value())'"),
        }
    }

    /// Which tests passed, from what the test command printed.
    pub(super) fn results(self, printed: &str) -> BTreeMap<String, bool> {
        match self {
            Self::Shell => printed.lines().filter_map(tap).collect(),
            Self::Python => printed.lines().filter_map(unittest).collect(),
        }
    }

    /// The search path: a Python that is not looked up anew by a wrapper at each call.
    pub(super) fn search_path(self) -> std::ffi::OsString {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let Some(folder) = (self == Self::Python).then(python_folder).flatten() else {
            return usual;
        };
        let folders = std::iter::once(folder.clone()).chain(std::env::split_paths(&usual));
        std::env::join_paths(folders).unwrap_or(usual)
    }
}

fn tap(line: &str) -> Option<(String, bool)> {
    let (passed, rest) = match line.strip_prefix("not ok - ") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok - ")?),
    };
    let name = rest.split(" # ").next().unwrap_or(rest);
    Some((name.to_owned(), passed && name == rest))
}

fn unittest(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.split_once(" ... ")?;
    name.starts_with("test_")
        .then(|| (name.to_owned(), result == "ok"))
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn python_folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ask = || {
        let output = std::process::Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        Path::new(path.trim())
            .parent()
            .filter(|folder| folder.is_absolute())
            .map(Path::to_path_buf)
    };
    FOLDER.get_or_init(ask).as_ref()
}
