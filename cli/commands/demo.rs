//! `tm demo`: makes a small repository with a backlog and runs it with recorded agents, the very way that any run goes.

use super::run::run;
use crate::arguments::{Demo, RunArguments};
use crate::display::{json_text, print_line};
use crate::failure::CommandFailure;
use std::path::{Path, PathBuf};

/// A file of the demo's repository.
type DemoFile = (&'static str, &'static str);

const FILES: [DemoFile; 6] = [
    ("README.md", include_str!("../demo/repository/README.md")),
    (
        "run-tests.sh",
        include_str!("../demo/repository/run-tests.sh"),
    ),
    ("bin/greet", include_str!("../demo/repository/bin/greet")),
    ("t/check.sh", include_str!("../demo/repository/t/check.sh")),
    ("t/greet.t", include_str!("../demo/repository/t/greet.t")),
    (
        ".taskmaster/tasks/tasks.json",
        include_str!("../demo/tasks.json"),
    ),
];

macro_rules! recordings {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../demo/recordings/", $name)))),*]
    };
}

const RECORDINGS: [DemoFile; 18] = recordings![
    "1+red.1.patch",
    "1.1.patch",
    "2+red.1.patch",
    "2.1.patch",
    "3+red.1.patch",
    "3.1.patch",
    "4+red.1.patch",
    "4.1.patch",
    "4.2.patch",
    "5+red.1.patch",
    "5.1.patch",
    "6+red.1.patch",
    "6.1.patch",
    "7+red.1.patch",
    "7.1.patch",
    "8+red.1.patch",
    "8.1.patch",
    "9.1.patch",
];

pub(crate) async fn demo(arguments: &Demo) -> Result<u8, CommandFailure> {
    let folder = match &arguments.folder {
        Some(folder) => new_folder(folder)?,
        None => tempfile::Builder::new()
            .prefix("tm-demo-")
            .tempdir()?
            .keep(),
    };
    let recordings = folder.join(".taskmaster/recordings");
    for (path, text) in FILES {
        write(&folder.join(path), text)?;
    }
    for (path, text) in RECORDINGS {
        write(&recordings.join(path), text)?;
    }
    let settings = serde_json::json!({
        "agent": {"default": "replay"},
        "agents": {"replay": {"env": {"TM_REPLAY_DIR": recordings}}},
    });
    // JSON is YAML.
    write(&folder.join(".taskmaster/tm.yaml"), &json_text(&settings)?)?;
    tm_worktrees::create_repository(&folder, "Start of the demo")?;
    print_line(&format!(
        "a repository with a backlog of 9 tasks is in {}\n",
        folder.display()
    ));
    let mut run_arguments = RunArguments {
        yes: true,
        ..RunArguments::default()
    };
    run_arguments.choice.max_parallel = Some(arguments.max_parallel);
    let code = Box::pin(run(&folder, &run_arguments)).await?;
    print_line(&format!("\nlook around: cd {}", folder.display()));
    print_line("  tm waves report                 the summary again");
    print_line("  tm waves logs 4 --attempt 1     the attempt that its tests refused");
    print_line("  tm worktrees diff 5             what a task changed");
    Ok(code)
}

fn new_folder(folder: &Path) -> Result<PathBuf, CommandFailure> {
    let is_free = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if !is_free {
        return Err(CommandFailure::new(format!(
            "make the demo in `{}`: it is not empty",
            folder.display()
        ))
        .hint("name a folder that is not there"));
    }
    std::fs::create_dir_all(folder)?;
    Ok(folder.canonicalize()?)
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    tm_store::atomic::replace(path, text.as_bytes())?;
    Ok(())
}
