//! `tm tasks`: a backlog as a whole, checked, repaired, counted, written in another form.

mod check;
mod convert;
mod fix;
mod stats;

use crate::arguments::TasksCommand;
use crate::failure::CommandFailure;
use std::path::Path;

pub(crate) fn tasks(start: &Path, command: &TasksCommand) -> Result<u8, CommandFailure> {
    match command {
        TasksCommand::Check(arguments) => check::check(start, arguments),
        TasksCommand::Fix(arguments) => fix::fix(start, arguments),
        TasksCommand::Stats(arguments) => stats::stats(start, arguments),
        TasksCommand::Convert(arguments) => convert::convert(start, arguments),
    }
}
