//! The arguments of `tm presets`.

use super::JsonOutput;
use clap::{Args, Subcommand};

/// Commands on presets of `tm loop`.
#[derive(Debug, Subcommand)]
pub(crate) enum Presets {
    /// List the presets with what one iteration of each does, and the prompts of runs.
    List(JsonOutput),
    /// Print a preset, or a prompt of runs: red, green, refactor, task, or a part of them such as conflict and retry.
    Show(PresetChoice),
    /// Make a preset of your own, to be filled in.
    New(NewPreset),
}

/// A preset to look at.
#[derive(Args, Debug)]
pub(crate) struct PresetChoice {
    /// The preset or prompt.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// `tm presets new`.
#[derive(Args, Debug)]
pub(crate) struct NewPreset {
    /// Its name; that of a built-in preset makes yours stand in for it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Begin with the text of this preset, or of the file at this path.
    #[arg(long, value_name = "PRESET")]
    pub(crate) from: Option<String>,
    /// For all your projects, in `$XDG_CONFIG_HOME/tm/presets/`, instead of `.taskmaster/presets/` of this one.
    #[arg(long)]
    pub(crate) user: bool,
}
