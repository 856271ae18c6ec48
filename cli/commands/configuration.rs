//! `tm config`: every setting with its source, changes of the settings files, and the schema.

use super::Perform;
use crate::display::{print_json, print_table};
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_config::{Inputs, PROJECT_FILE, TypedSetting, settings_text};
use tm_runtime::repository_of_project;
use tm_store::settings::with_setting;

commands! {
    /// Commands on settings.
    ConfigCommand {
        /// Print each setting with where it comes from.
        Show(ShowSettings),
        /// Write a setting into the settings file of the project, and leave all else there as it is.
        Set(SetSetting),
        /// Take a setting out of the settings file of the project.
        Unset(UnsetSetting),
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

/// `tm config set`.
#[derive(Args)]
pub(crate) struct SetSetting {
    /// The setting, as `tm config show` names it.
    key: String,
    /// Its value: a text as it is, everything else as in YAML (`5`, `true`, `[npm, test]`, `null`).
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Where.
    #[command(flatten)]
    file: SettingsFile,
}

/// `tm config unset`.
#[derive(Args)]
pub(crate) struct UnsetSetting {
    /// The setting.
    key: String,
    /// Where.
    #[command(flatten)]
    file: SettingsFile,
}

/// Which file is changed.
#[derive(Args)]
struct SettingsFile {
    /// Your own settings for all projects (`~/.config/tm/config.yaml`) instead of the project's.
    #[arg(long)]
    user: bool,
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

impl Perform for SetSetting {
    async fn perform(self, start: &Path) -> Result {
        let typed = TypedSetting::parse(&self.key, &self.value)?;
        let root = self.file.root(start)?;
        let path = self.file.change(&root, &typed.names, Some(&typed.value))?;
        say!("{} = {} in {}", self.key, typed.value, path.display());
        tell_where_else(&root, &self.key, &path)
    }
}

impl Perform for UnsetSetting {
    async fn perform(self, start: &Path) -> Result {
        let names = TypedSetting::names(&self.key)?;
        let root = self.file.root(start)?;
        let path = self.file.change(&root, &names, None)?;
        say!("{} is not set in {}", self.key, path.display());
        Ok(0)
    }
}

impl SettingsFile {
    /// Where settings are read from; your own need no project.
    fn root(&self, start: &Path) -> Result<PathBuf> {
        Ok(match repository_of_project(start) {
            Err(_) if self.user => start.to_owned(),
            found => found?.checkout_root().to_owned(),
        })
    }

    /// Changes the file, and returns which one it is.
    fn change(&self, root: &Path, names: &[String], value: Option<&Value>) -> Result<PathBuf> {
        let path = if self.user {
            let place = Inputs::from_process(root).user_config;
            place.ok_or_else(|| failure!("find your settings: there is no home folder"))?
        } else {
            root.join(PROJECT_FILE)
        };
        let before = settings_text(&path)?;
        let after = with_setting(&path, &before, names, value)?;
        if after != before {
            let write = || {
                std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
                tm_store::atomic::replace(&path, after.as_bytes())
            };
            write().map_err(|error| failure!("write `{}`: {error}", path.display()))?;
        }
        Ok(path)
    }
}

/// Says where a setting stands that counts more than the file that was changed.
fn tell_where_else(root: &Path, key: &str, path: &Path) -> Result {
    let loaded = tm_config::load(&Inputs::from_process(root))?;
    let found = loaded.explained.iter().find(|one| one.key == key);
    let Some(place) = found.map(|one| one.source.to_string()) else {
        return Ok(0);
    };
    let file = path.strip_prefix(root).unwrap_or(path);
    if !place.starts_with(&file.display().to_string()) {
        say!("warning: `{key}` of {place} counts more");
    }
    Ok(0)
}
