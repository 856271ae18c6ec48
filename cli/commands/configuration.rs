//! `tm config`: every setting with its source, and the schema.

use super::Perform;
use crate::display::{print_json, print_table};
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::Path;

commands! {
    /// Commands on settings.
    ConfigCommand {
        /// Print each setting with where it comes from.
        Show(ShowSettings),
        /// Print the JSON schema of the settings file.
        Schema(SettingsSchema),
    }
}

/// `tm config show`.
#[derive(Args)]
pub(crate) struct ShowSettings {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm config schema`.
#[derive(Args)]
pub(crate) struct SettingsSchema {}

impl Perform for ShowSettings {
    async fn perform(self, start: &Path) -> Result {
        let loaded = open(start)?.loaded;
        let settings = loaded.explained.iter();
        if self.json {
            let row = settings.map(
                |one| json!({"key": one.key, "value": one.value, "source": one.source.to_string()}),
            );
            return print_json(&row.collect_vec());
        }
        let row = settings.map(|one| {
            [
                one.key.clone(),
                format!("= {}  # {}", one.value, one.source),
            ]
        });
        print_table(&row.collect_vec());
        for warning in &loaded.warnings {
            say!("warning: {warning}");
        }
        Ok(0)
    }
}

impl Perform for SettingsSchema {
    async fn perform(self, _: &Path) -> Result {
        print_json(&tm_config::schema())
    }
}
