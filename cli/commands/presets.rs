//! `tm presets`: what a loop can be told to do, and a file to start from for something else.

use super::Perform;
use crate::display::{print_data, print_json, print_table};
use crate::failure::{CommandFailure, Result};
use crate::project::root_around;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::presets as presets_of;
use tm_presets::{
    PromptTemplate, is_path, loop_presets, loop_prompt, new_preset, prompt_templates,
};

commands! {
    /// Commands on presets of `tm loop`.
    Presets {
        /// List the presets with what one iteration of each does, and the prompts of runs.
        List(ListPresets),
        /// Print a preset, or a prompt of runs: red, green, refactor, task, or a part of them such as conflict and retry.
        Show(PresetChoice),
        /// Make a preset of your own, to be filled in.
        New(NewPreset),
    }
}

/// `tm presets list`.
#[derive(Args)]
pub(crate) struct ListPresets {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// A preset to look at.
#[derive(Args)]
pub(crate) struct PresetChoice {
    /// The preset or prompt.
    name: String,
}

/// `tm presets new`.
#[derive(Args)]
pub(crate) struct NewPreset {
    /// Its name; that of a built-in preset makes yours stand in for it.
    name: String,
    /// Begin with the text of this preset, or of the file at this path.
    #[arg(long, value_name = "PRESET")]
    from: Option<String>,
    /// For all your projects, in `$XDG_CONFIG_HOME/tm/presets/`, instead of `.taskmaster/presets/` of this one.
    #[arg(long)]
    user: bool,
}

/// The prompts of runs, with those of the user's own.
fn prompts(start: &Path) -> Result<Vec<PromptTemplate>> {
    Ok(prompt_templates(
        &root_around(start).join(".taskmaster/prompts"),
    )?)
}

impl Perform for ListPresets {
    async fn perform(self, start: &Path) -> Result {
        let (presets, prompts) = (loop_presets(&presets_of(start))?, prompts(start)?);
        if self.json {
            return print_json(&document(&presets, &prompts));
        }
        let row = |preset: &PromptTemplate| {
            let place = preset.own.as_ref();
            let place = place.map_or_else(String::new, |path| format!("  ({})", path.display()));
            [preset.name.clone(), format!("{}{place}", preset.title())]
        };
        print_table(&presets.iter().map(row).collect_vec());
        let name = |prompt: &PromptTemplate| match &prompt.own {
            Some(path) => format!("{} ({})", prompt.name, path.display()),
            None => prompt.name.clone(),
        };
        let names = prompts.iter().map(name).join(", ");
        data!("\nPrompts of `tm waves run`, and their parts: {names}\n");
        data!(
            "A file in .taskmaster/prompts/, such as red.md, stands in for the one of its name.\n"
        );
        Ok(0)
    }
}

fn document(presets: &[PromptTemplate], prompts: &[PromptTemplate]) -> Vec<Value> {
    let row = |kind: &str, template: &PromptTemplate, title: Option<&str>| {
        let own = template.own.as_ref();
        let source = own.map_or_else(|| "built in".to_owned(), |path| path.display().to_string());
        json!({"kind": kind, "name": template.name, "title": title, "source": source})
    };
    let of_loops = presets
        .iter()
        .map(|preset| row("loop", preset, Some(preset.title())));
    let of_runs = prompts.iter().map(|prompt| row("run", prompt, None));
    of_loops.chain(of_runs).collect()
}

impl Perform for PresetChoice {
    async fn perform(self, start: &Path) -> Result {
        let shown = match loop_prompt(&self.name, start, &presets_of(start)) {
            Ok(prompt) => prompt.text,
            Err(error) => {
                prompts(start)?
                    .into_iter()
                    .find(|prompt| prompt.name == self.name)
                    .ok_or_else(|| CommandFailure::from(error))?
                    .text
            }
        };
        print_data(&shown);
        Ok(0)
    }
}

impl Perform for NewPreset {
    async fn perform(self, start: &Path) -> Result {
        let (name, folders) = (self.name, presets_of(start));
        let from = self.from.map(|from| {
            if is_path(&from) {
                start.join(from).display().to_string()
            } else {
                from
            }
        });
        let text = new_preset(&name, from.as_deref(), &folders)?;
        let folder = match (self.user, folders.user) {
            (false, _) => folders.project,
            (true, Some(folder)) => folder,
            (true, None) => {
                return Err(failure!("find your configuration folder").hint("set XDG_CONFIG_HOME"));
            }
        };
        let path = folder.join(format!("{name}.md"));
        let (place, next) = (
            path.display(),
            format!("edit it, then `tm loop --prompt {name}`"),
        );
        if path.exists() {
            return Err(failure!("make `{place}`: it is there already").hint(next));
        }
        super::demo::write(&path, &text)?;
        say!("made {place}");
        say!("next: {next}");
        Ok(0)
    }
}
