//! Further kinds of projects, from `git init` to landed: those whose tools CI installs, and those that need a tool of the
//! machine's, without which a test says so.

use super::projects::{Fresh, NODE, PYTHON, packages};
use crate::frameworks::{folder_of, on_this_machine};
use crate::scene::Scene;
use crate::skipping::lacks;
use std::path::{Path, PathBuf};

/// The folder of a program that was installed for these tests, or that is in the search path.
pub(super) fn installed(folder: &str, program: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/tools")
        .join(folder);
    if own.join(program).is_file() {
        return Some(own);
    }
    let found = on_this_machine(program);
    if found.is_none() {
        lacks(program);
    }
    found
}

impl Fresh {
    /// With a folder in front of the search path.
    pub(super) fn with_tools(self, folder: &Path) -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        self.with("PATH", format!("{}:{path}", folder.display()))
    }

    /// Runs a command in the project before anything else.
    pub(super) fn prepared(self, command: &str) -> Self {
        let mut shell = self.scene.shell(command);
        self.prepare(&mut shell);
        let output = shell.output().expect("sh");
        assert!(
            output.status.success(),
            "{command}: {}",
            super::words(&output)
        );
        self
    }
}

#[test]
fn a_project_of_python_with_packages_of_uv_lands_with_what_init_wrote() {
    let (Some(folder), Some(uv)) = (packages(), installed("python/bin", "uv")) else {
        return;
    };
    // A lock file covers every Python and every system; the folder has packages for those of this machine.
    let asked = "import sys; print('%d.%d' % sys.version_info[:2], sys.platform)";
    let printed = Scene::new(&[], "")
        .shell(&format!("python3 -c \"{asked}\""))
        .output()
        .expect("python3")
        .stdout;
    let printed = String::from_utf8(printed).expect("text");
    let (version, system) = printed.trim().split_once(' ').expect("two words");
    let manifest = format!(
        "[project]\nname = \"demo\"\nversion = \"0.1\"\nrequires-python = \">={version}\"\n\n[dependency-groups]\n\
         dev = [\"pytest\"]\n\n[tool.pytest.ini_options]\npythonpath = [\".\"]\n\n[tool.uv]\nno-index = true\n\
         find-links = [\"{}\"]\nenvironments = [\"sys_platform == '{system}'\"]\n",
        folder.join("wheels").display()
    );
    let files = [
        (".gitignore", ".venv\n__pycache__\n.pytest_cache\n"),
        ("pyproject.toml", manifest.as_str()),
        ("demo/__init__.py", ""),
        ("tests/test_old.py", "def test_old():\n    assert True\n"),
    ];
    // uv is found by its place alone: nothing else of that folder is to be in front.
    let project = Fresh::new(&files, PYTHON, &[]);
    let place = project.scene.path("uv");
    std::fs::create_dir_all(&place).expect("a folder");
    std::os::unix::fs::symlink(uv.join("uv"), place.join("uv")).expect("a link");
    let project = project
        .with_tools(&place)
        .with("UV_PYTHON_DOWNLOADS", "never")
        .passing("UV_PYTHON_DOWNLOADS", "never")
        .prepared("uv lock --quiet");
    project.goes_all_the_way(&["uv sync --locked", ".venv/bin/python -m pytest"]);
}

/// A package with a dependency that lies in the project, which every package manager installs without a network.
fn package(script: &str) -> String {
    format!(
        r#"{{"name": "demo", "version": "1.0.0", "license": "MIT", "type": "module", "scripts": {{"test": "{script}"}}, "dependencies": {{"ms": "file:vendor/ms-2.1.3.tgz"}}}}"#
    )
}

impl Fresh {
    /// With the dependency, and the lock file that a command writes.
    fn locked(self, packages: &Path, command: &str) -> Self {
        let tarball = packages.join("ms-2.1.3.tgz");
        self.prepared(&format!(
            "mkdir vendor; cp '{}' vendor/; {command}",
            tarball.display()
        ))
    }
}

const NODE_TEST: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { one } from '../src/old.js';\ntest('old', () => assert.equal(one(), 60000));\n";
const OLD: (&str, &str) = (
    "src/old.js",
    "import ms from 'ms';\nexport const one = () => ms('1m');\n",
);

#[test]
fn a_project_of_node_with_packages_of_pnpm_lands_with_what_init_wrote() {
    let (Some(folder), Some(tools)) = (packages(), installed("managers/node_modules/.bin", "pnpm"))
    else {
        return;
    };
    let package = package("node --test");
    let files = [
        (".gitignore", "node_modules\n"),
        ("package.json", package.as_str()),
        OLD,
        ("test/old.test.js", NODE_TEST),
    ];
    let project = Fresh::new(&files, NODE, &[])
        .with_tools(&tools)
        .locked(&folder, "pnpm install --lockfile-only --offline");
    project.goes_all_the_way(&["pnpm install --frozen-lockfile", "pnpm run test"]);
}

#[test]
fn a_project_of_node_with_packages_of_yarn_lands_with_what_init_wrote() {
    let (Some(folder), Some(tools)) = (packages(), installed("managers/node_modules/.bin", "yarn"))
    else {
        return;
    };
    let package = package("node --test");
    let files = [
        (".gitignore", "node_modules\n"),
        ("package.json", package.as_str()),
        OLD,
        ("test/old.test.js", NODE_TEST),
    ];
    let project = Fresh::new(&files, NODE, &[]).with_tools(&tools).locked(
        &folder,
        "yarn install --silent --offline; rm -rf node_modules",
    );
    project.goes_all_the_way(&["yarn install --frozen-lockfile", "yarn run test"]);
}

const BUN: &str = r#"
name=part$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
[ -d node_modules/ms ] || exit 9
case $TM_PHASE in
red) printf "import { test, expect } from 'bun:test';\nimport { value } from '../src/%s.js';\ntest('it works', () => { expect(value()).toBe(1000); });\n" $name > test/$name.test.js ;;
green) printf "import ms from 'ms';\nexport const value = () => ms('1s');\n" > src/$name.js ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_bun_lands_with_what_init_wrote() {
    let (Some(folder), Some(tools)) = (packages(), installed("managers/node_modules/.bin", "bun"))
    else {
        return;
    };
    let old = "import { test, expect } from 'bun:test';\nimport { one } from '../src/old.js';\ntest('it works', () => { expect(one()).toBe(60000); });\n";
    let package = package("bun test");
    let files = [
        (".gitignore", "node_modules\n"),
        ("package.json", package.as_str()),
        OLD,
        ("test/old.test.js", old),
    ];
    let project = Fresh::new(&files, BUN, &[])
        .with_tools(&tools)
        .locked(&folder, "bun install --lockfile-only");
    project.goes_all_the_way(&["bun install --frozen-lockfile", "bun run test"]);
}

const GO: &str = r#"
n=$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
case $TM_PHASE in
red) printf 'package demo\n\nimport "testing"\n\nfunc TestPart%s(t *testing.T) {\n\tif Part%s() != "%s" {\n\t\tt.Fatal("no")\n\t}\n}\n' $n $n $n > part${n}_test.go ;;
green) printf 'package demo\n\nfunc Part%s() string {\n\treturn "%s"\n}\n' $n $n > part$n.go ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_go_lands_with_what_init_wrote() {
    if folder_of("go").is_none() {
        return;
    }
    let files = [
        ("go.mod", "module example.org/demo\n\ngo 1.19\n"),
        ("demo.go", "package demo\n\nfunc One() int { return 1 }\n"),
        (
            "demo_test.go",
            "package demo\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
        ),
    ];
    Fresh::new(&files, GO, &[]).goes_all_the_way(&["go test -json ./..."]);
}

const RUBY: &str = r#"
n=$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
case $TM_PHASE in
red) printf 'require "part%s"\n\nRSpec.describe Part%s do\n  it "works" do\n    expect(Part%s.value).to eq "%s"\n  end\nend\n' $n $n $n $n > spec/part${n}_spec.rb ;;
green) printf 'module Part%s\n  def self.value = "%s"\nend\n' $n $n > lib/part$n.rb ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_ruby_lands_with_what_init_wrote() {
    if folder_of("rspec").is_none() {
        return;
    }
    let files = [
        ("lib/old.rb", "module Old\n  def self.value = 1\nend\n"),
        (
            "spec/old_spec.rb",
            "require \"old\"\n\nRSpec.describe Old do\n  it \"works\" do\n    expect(Old.value).to eq 1\n  end\nend\n",
        ),
    ];
    Fresh::new(&files, RUBY, &[]).goes_all_the_way(&["command: \"rspec\""]);
}

const PHP: &str = r#"
n=$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
case $TM_PHASE in
red) printf '<?php\nclass Part%sTest extends PHPUnit\\Framework\\TestCase {\n    public function testPart(): void { $this->assertSame("%s", Part%s::value()); }\n}\n' $n $n $n > tests/Part${n}Test.php ;;
green) printf '<?php\nclass Part%s { public static function value() { return "%s"; } }\n' $n $n > src/part$n.php ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_php_lands_with_what_init_wrote() {
    if folder_of("phpunit").is_none() || folder_of("php").is_none() {
        return;
    }
    let files = [
        (".gitignore", ".phpunit.result.cache\n"),
        (
            "phpunit.xml",
            "<?xml version=\"1.0\"?>\n<phpunit bootstrap=\"all.php\"><testsuites><testsuite name=\"all\"><directory>tests</directory></testsuite></testsuites></phpunit>\n",
        ),
        (
            "all.php",
            "<?php\nforeach (glob(__DIR__ . '/src/*.php') as $file) { require $file; }\n",
        ),
        (
            "src/old.php",
            "<?php\nclass Old { public static function value() { return 1; } }\n",
        ),
        (
            "tests/OldTest.php",
            "<?php\nclass OldTest extends PHPUnit\\Framework\\TestCase {\n    public function testOld(): void { $this->assertSame(1, Old::value()); }\n}\n",
        ),
    ];
    Fresh::new(&files, PHP, &[]).goes_all_the_way(&["phpunit --log-junit"]);
}
