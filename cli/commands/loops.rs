//! Commands that look at loops from elsewhere, and stop the live one: `tm loop status|list|watch|stop`.

use super::Perform;
use super::steering::stop;
use crate::display::{print_either, print_json};
use crate::failure::Result;
use crate::project::open;
use clap::{Args, Subcommand};
use std::path::Path;
use std::time::Duration;
use tm_app::{LoopStanding, Project, live_loop, loop_standing, loop_standings};
use tm_reports::{Sheet, laid_out};

/// How often a loop that is watched is looked at.
const LOOK: Duration = Duration::from_millis(300);

/// What can be asked of loops.
#[derive(Subcommand)]
pub(crate) enum LoopCommand {
    /// Show where a loop stands.
    Status(NamedLoop),
    /// Say what happens in a loop until it is over.
    Watch(NamedLoop),
    /// List the loops of this repository.
    List {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Stop the live loop; twice, or with --now, at once.
    Stop {
        /// Don't give agents the grace period.
        #[arg(long)]
        now: bool,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
}

/// A loop.
#[derive(Args)]
pub(crate) struct NamedLoop {
    /// The loop; the live or last one when not given.
    #[arg(value_name = "LOOP")]
    name: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for LoopCommand {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        match self {
            Self::Status(of) => {
                let standing = loop_standing(&project, of.name.as_deref())?;
                print_either(of.json, &standing, || {
                    let logs = standing.directory.display();
                    format!("{}logs: {logs}\n", laid_out("loops.txt", &[&standing]))
                })
            }
            Self::Watch(of) => watch(&project, &of).await,
            Self::List { json } => {
                let standings = loop_standings(&project)?;
                if standings.is_empty() && !json {
                    say!("there has been no loop; `tm loop` starts one");
                    return Ok(0);
                }
                print_either(json, &standings, || laid_out("loops.txt", &standings))
            }
            Self::Stop { now, json } => {
                if live_loop(&project)?.is_none() {
                    return Err(failure!("stop a loop: none is live").hint(
                        "`tm loop list` lists those there were, `tm waves stop` stops a run",
                    ));
                }
                stop(start, now, json)
            }
        }
    }
}

/// Says where a loop stands each time that changes, until it is over.
async fn watch(project: &Project, of: &NamedLoop) -> Result {
    let mut standing = loop_standing(project, of.name.as_deref())?;
    let id = standing.loop_id.to_string();
    let mut told = Vec::new();
    loop {
        for line in lines(&standing) {
            if !of.json && !told.contains(&line) {
                data!("{line}\n");
                told.push(line);
            }
        }
        if !standing.is_live {
            break;
        }
        tokio::time::sleep(LOOK).await;
        standing = loop_standing(project, Some(&id))?;
    }
    if of.json {
        return print_json(&standing);
    }
    Ok(0)
}

/// Where the loop of each tag stands, in a line.
fn lines(standing: &LoopStanding) -> Vec<String> {
    let table = Sheet::PLAIN.set(&laid_out("loops.txt", &[standing]));
    table.lines().map(ToOwned::to_owned).collect()
}
