//! `tm presets`: what a loop can be told to do, and a file to start from for something else.

use crate::arguments::NewPreset;
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_config::Inputs;
use tm_presets::{PresetFolders, PresetSource, is_path, loop_presets, loop_prompt, new_preset, prompt_templates};
use tm_worktrees::Repository;

/// Where prompts of the user's own are.
fn prompts_folder(start: &Path) -> PathBuf {
    let root = Repository::discover(start).map_or_else(|_| start.to_owned(), |found| found.checkout_root().to_owned());
    root.join(".taskmaster/prompts")
}

/// Where presets of the user's own are; outside of a repository, `.taskmaster/presets` of the folder itself.
pub(crate) fn folders(start: &Path) -> PresetFolders {
    let root = Repository::discover(start).map_or_else(|_| start.to_owned(), |found| found.checkout_root().to_owned());
    let config = Inputs::from_process(&root).user_config;
    PresetFolders {
        project: root.join(".taskmaster/presets"),
        user: config.and_then(|file| Some(file.parent()?.join("presets"))),
    }
}

pub(crate) fn list(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let presets = loop_presets(&folders(start))?;
    let prompts = prompt_templates(&prompts_folder(start)).map_err(with_hint)?;
    let source = |source: &PresetSource| match source {
        PresetSource::BuiltIn => "built in".to_owned(),
        PresetSource::File(path) => path.display().to_string(),
    };
    if json {
        let of_loops = presets.iter().map(|preset| {
            json!({"kind": "loop", "name": preset.name, "title": preset.title(), "source": source(&preset.source)})
        });
        let of_runs = prompts.iter().map(|prompt| {
            let own = prompt.own.as_ref().map_or_else(|| "built in".to_owned(), |path| path.display().to_string());
            json!({"kind": "run", "name": prompt.name, "title": null, "source": own})
        });
        let rows: Vec<_> = of_loops.chain(of_runs).collect();
        print_data(&format!("{}\n", serde_json::to_string_pretty(&rows)?));
        return Ok(0);
    }
    let width = presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    for preset in &presets {
        let place = match &preset.source {
            PresetSource::BuiltIn => String::new(),
            PresetSource::File(path) => format!("  ({})", path.display()),
        };
        print_data(&format!("{:width$}  {}{place}\n", preset.name, preset.title()));
    }
    let names: Vec<String> = prompts
        .iter()
        .map(|prompt| match &prompt.own {
            Some(path) => format!("{} ({})", prompt.name, path.display()),
            None => prompt.name.to_owned(),
        })
        .collect();
    print_data(&format!("\nPrompts of `tm waves run`, and their parts: {}\n", names.join(", ")));
    print_data("A file in .taskmaster/prompts/, such as red.md, stands in for the one of its name.\n");
    Ok(0)
}

pub(crate) fn show(start: &Path, name: &str) -> Result<u8, CommandFailure> {
    let shown = match loop_prompt(name, start, &folders(start)) {
        Ok(prompt) => prompt.text().to_owned(),
        Err(error) => {
            let prompts = prompt_templates(&prompts_folder(start)).map_err(with_hint)?;
            let prompt = prompts.into_iter().find(|prompt| prompt.name == name);
            prompt.map(|prompt| prompt.text).ok_or_else(|| with_hint(error))?
        }
    };
    print_data(&shown);
    Ok(0)
}

pub(crate) fn new(start: &Path, arguments: &NewPreset) -> Result<u8, CommandFailure> {
    let folders = folders(start);
    let in_place = |from: &String| if is_path(from) { start.join(from).display().to_string() } else { from.clone() };
    let from = arguments.from.as_ref().map(in_place);
    let text = new_preset(&arguments.name, from.as_deref(), &folders).map_err(with_hint)?;
    let folder = match (arguments.user, folders.user) {
        (false, _) => folders.project,
        (true, Some(folder)) => folder,
        (true, None) => return Err(CommandFailure::new("find your configuration folder").hint("set XDG_CONFIG_HOME")),
    };
    let path = folder.join(format!("{}.md", arguments.name));
    if path.exists() {
        return Err(CommandFailure::new(format!("make `{}`: it is there already", path.display()))
            .hint(format!("edit it, then `tm loop --prompt {}`", arguments.name)));
    }
    std::fs::create_dir_all(&folder)?;
    tm_store::atomic::replace(&path, text.as_bytes())?;
    print_line(&format!("made {}", path.display()));
    print_line(&format!("next: edit it, then `tm loop --prompt {}`", arguments.name));
    Ok(0)
}

/// The hint that the error itself knows.
pub(crate) fn with_hint(error: tm_presets::Error) -> CommandFailure {
    let hint = error.hint();
    let failure = CommandFailure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
