//! `tm presets`: what a loop can be told to do, and a file to start from for something else.

use crate::arguments::NewPreset;
use crate::display::{print_data, print_json, print_line};
use crate::failure::CommandFailure;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_app::presets as presets_of;
use tm_presets::{
    LoopPreset, PresetSource, is_path, loop_presets, loop_prompt, new_preset, prompt_templates,
};
use tm_reports::columns;
use tm_worktrees::Repository;

/// Where prompts of the user's own are.
fn prompts_folder(start: &Path) -> PathBuf {
    let root = Repository::discover(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    root.join(".taskmaster/prompts")
}

pub(crate) fn list(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let presets = loop_presets(&presets_of(start))?;
    let prompts = prompt_templates(&prompts_folder(start))?;
    let source = |source: &PresetSource| match source {
        PresetSource::BuiltIn => "built in".to_owned(),
        PresetSource::File(path) => path.display().to_string(),
    };
    if json {
        let of_loops = presets.iter().map(|preset| {
            json!({"kind": "loop", "name": preset.name, "title": preset.title(), "source": source(&preset.source)})
        });
        let of_runs = prompts.iter().map(|prompt| {
            let own = prompt
                .own
                .as_ref()
                .map_or_else(|| "built in".to_owned(), |path| path.display().to_string());
            json!({"kind": "run", "name": prompt.name, "title": null, "source": own})
        });
        let rows: Vec<_> = of_loops.chain(of_runs).collect();
        print_json(&rows)?;
        return Ok(0);
    }
    let row = |preset: &LoopPreset| {
        let place = match &preset.source {
            PresetSource::BuiltIn => String::new(),
            PresetSource::File(path) => format!("  ({})", path.display()),
        };
        [preset.name.clone(), format!("{}{place}", preset.title())]
    };
    let rows: Vec<_> = presets.iter().map(row).collect();
    print_data(&columns(&rows, None));
    let names: Vec<String> = prompts
        .iter()
        .map(|prompt| match &prompt.own {
            Some(path) => format!("{} ({})", prompt.name, path.display()),
            None => prompt.name.to_owned(),
        })
        .collect();
    print_data(&format!(
        "\nPrompts of `tm waves run`, and their parts: {}\n",
        names.join(", ")
    ));
    print_data(
        "A file in .taskmaster/prompts/, such as red.md, stands in for the one of its name.\n",
    );
    Ok(0)
}

pub(crate) fn show(start: &Path, name: &str) -> Result<u8, CommandFailure> {
    let shown = match loop_prompt(name, start, &presets_of(start)) {
        Ok(prompt) => prompt.text().to_owned(),
        Err(error) => {
            let prompts = prompt_templates(&prompts_folder(start))?;
            let prompt = prompts.into_iter().find(|prompt| prompt.name == name);
            prompt
                .map(|prompt| prompt.text)
                .ok_or_else(|| CommandFailure::from(error))?
        }
    };
    print_data(&shown);
    Ok(0)
}

pub(crate) fn new(start: &Path, arguments: &NewPreset) -> Result<u8, CommandFailure> {
    let folders = presets_of(start);
    let in_place = |from: &String| {
        if is_path(from) {
            start.join(from).display().to_string()
        } else {
            from.clone()
        }
    };
    let from = arguments.from.as_ref().map(in_place);
    let text = new_preset(&arguments.name, from.as_deref(), &folders)?;
    let folder = match (arguments.user, folders.user) {
        (false, _) => folders.project,
        (true, Some(folder)) => folder,
        (true, None) => {
            return Err(
                CommandFailure::new("find your configuration folder").hint("set XDG_CONFIG_HOME")
            );
        }
    };
    let path = folder.join(format!("{}.md", arguments.name));
    if path.exists() {
        return Err(
            CommandFailure::new(format!("make `{}`: it is there already", path.display())).hint(
                format!("edit it, then `tm loop --prompt {}`", arguments.name),
            ),
        );
    }
    std::fs::create_dir_all(&folder)?;
    tm_store::atomic::replace(&path, text.as_bytes())?;
    print_line(&format!("made {}", path.display()));
    print_line(&format!(
        "next: edit it, then `tm loop --prompt {}`",
        arguments.name
    ));
    Ok(0)
}
