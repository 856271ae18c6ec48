//! `tm init`: a backlog and a settings file to start from; nothing that is there is touched.

use crate::display::print_line;
use crate::failure::CommandFailure;
use std::path::Path;
use tm_store::backlog::BacklogSource;
use tm_worktrees::Repository;

const BACKLOG: &str = "\
# The backlog. Statuses are written by tm; everything else is yours.
tasks:
  - id: 1
    title: Say what the first task is
    description: A sentence or two on what is to be done, and how one sees that it is.
    status: deferred # pending, when it may be worked on
    priority: medium # low, medium, high, critical
    dependencies: []
";

const SETTINGS: &str = "\
# Settings of this project; `tm config show` prints all of them with where each comes from.
# waves: { max_parallel: 5 }
# test: { command: \"make test\" }
# agent: { default: claude } # or codex, gemini, opencode, custom
";

pub(crate) fn init(start: &Path) -> Result<u8, CommandFailure> {
    let repository = Repository::discover(start)
        .map_err(|error| CommandFailure::from(error).hint("run `git init` and make a first commit"))?;
    let root = repository.checkout_root();
    match BacklogSource::find(root) {
        Ok(source) => print_line(&format!("there is a backlog already: {}", source.path().display())),
        Err(_) => make(&root.join("backlog.yaml"), BACKLOG)?,
    }
    make(&root.join(".taskmaster/tm.yaml"), SETTINGS)?;
    print_line("next: fill in the backlog, then `tm doctor` and `tm waves plan`");
    Ok(0)
}

fn make(path: &Path, text: &str) -> Result<(), CommandFailure> {
    if path.exists() {
        print_line(&format!("{} is there already", path.display()));
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    tm_store::atomic::replace(path, text.as_bytes())?;
    print_line(&format!("made {}", path.display()));
    Ok(())
}
