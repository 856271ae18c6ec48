//! Cleaning up: `tm waves prune`, what of ended runs can go, and `tm worktrees prune`.

use super::Perform;
use crate::display::{print_json, print_text};
use crate::failure::Result;
use crate::flags::Flags;
use crate::project::{open, open_with};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::{AfterRun, PrunedItem, Session, Waiting};
use tm_reports::laid_out;
use tm_scheduler::counted;
use tm_worktrees::{PruneOutcome, Pruned, Pruning};

/// `tm waves prune`.
#[derive(Args)]
pub(crate) struct PruneRuns {
    /// Only what is of runs and loops that ended so long ago, with their folders; `waves.keep` of the settings when not given.
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// How much, and for whom.
    #[command(flatten)]
    how: PruneWorktrees,
}

/// `tm worktrees prune`.
#[derive(Args)]
pub(crate) struct PruneWorktrees {
    /// Remove nothing; say what would go, and why the rest stays.
    #[arg(long)]
    dry_run: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl PruneWorktrees {
    const fn pruning(&self) -> Pruning {
        if self.dry_run {
            Pruning::Foreseen
        } else {
            Pruning::Done
        }
    }

    /// What becomes of something, in a word.
    const fn word(&self, goes: bool) -> &'static str {
        match (goes, self.dry_run) {
            (true, true) => "would go",
            (true, false) => "removed",
            (false, _) => "kept",
        }
    }

    fn print(&self, items: &impl Serialize, lines: &[Value], nothing: &str) -> Result {
        if self.json {
            return print_json(items);
        }
        print_text(&laid_out("pruned.txt", &lines));
        if lines.is_empty() {
            say!("{nothing}");
        }
        Ok(0)
    }
}

impl Perform for PruneWorktrees {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        tm_app::refuse_live(&project, "clean up while a run")?;
        let outcomes = tm_app::prune_worktrees(&project, self.pruning())?;
        let items = outcomes.iter().map(|PruneOutcome { path, outcome, why }| {
            let goes = *outcome == Pruned::Removed;
            json!({"path": path, "removed": goes && !self.dry_run, "outcome": self.word(goes), "why": why})
        });
        let items: Vec<Value> = items.collect();
        self.print(&items, &items, "there is no worktree of tm's")
    }
}

impl Perform for PruneRuns {
    async fn perform(self, start: &Path) -> Result {
        let flags = Flags::default().set("waves.keep", "--older-than", self.older_than);
        let project = open_with(start, flags.given())?;
        let session = Session::open(project, AfterRun::default(), Waiting::Refuse).await?;
        let mut items = session.prune(self.how.pruning())?;
        items.sort_by_cached_key(|item| (item.run.clone(), item.kind, item.why.clone()));
        let row = |item: &PrunedItem| {
            let PrunedItem {
                kind,
                name,
                run,
                goes,
                why,
            } = item;
            json!({"kind": kind, "name": name, "run": run, "outcome": self.how.word(*goes), "why": why})
        };
        let rows: Vec<Value> = items.iter().map(row).collect();
        let lines = lines(&items, |goes| self.how.word(goes));
        self.how
            .print(&rows, &lines, "there has been no run and no loop")
    }
}

/// What becomes of things: those of a run with which the same happens for the same reason in one line.
fn lines(items: &[PrunedItem], word: impl Fn(bool) -> &'static str) -> Vec<Value> {
    let alike = items.chunk_by(|one, other| {
        (&one.run, one.kind, one.goes, &one.why) == (&other.run, other.kind, other.goes, &other.why)
    });
    let line = |items: &[PrunedItem]| {
        let PrunedItem {
            kind,
            name,
            run,
            goes,
            why,
        } = items.first()?;
        let path = match (items.len(), run) {
            (count @ 2.., Some(run)) => format!("{} of {run}", counted(count, kind.as_str())),
            _ => format!("{kind} {name}"),
        };
        Some(json!({"outcome": word(*goes), "path": path, "why": why}))
    };
    alike.filter_map(line).collect()
}
