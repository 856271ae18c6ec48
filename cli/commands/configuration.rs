//! `tm config`: every setting with its source, and the schema.

use crate::display::{print_data, print_json, print_line};
use crate::failure::CommandFailure;
use crate::project::open;
use serde_json::json;
use std::path::Path;
use tm_config::Explained;
use tm_reports::columns;

pub(crate) fn show(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    let explained = &project.loaded.explained;
    if json {
        let rows: Vec<_> = explained
            .iter()
            .map(
                |one| json!({"key": one.key, "value": one.value, "source": one.source.to_string()}),
            )
            .collect();
        print_json(&rows)?;
        return Ok(0);
    }
    let row = |one: &Explained| {
        [
            one.key.clone(),
            format!("= {}  # {}", one.value, one.source),
        ]
    };
    let rows: Vec<_> = explained.iter().map(row).collect();
    print_data(&columns(&rows, None));
    for warning in &project.loaded.warnings {
        print_line(&format!("warning: {warning}"));
    }
    Ok(0)
}

pub(crate) fn schema() -> Result<u8, CommandFailure> {
    print_json(&tm_config::schema())?;
    Ok(0)
}
