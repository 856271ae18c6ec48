//! Presets of loops: what one iteration does, embedded Markdown, each replaceable by a file of the user's own.
//!
//! A preset is a template; a prompt that is named by its path is text and stays as it is. Both stand in one frame, which
//! says what the loop knows and how it ends.

use crate::Error;
use crate::template::{PromptTemplate, filled, is_not_there, own_text};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_config::Settings;
use tm_scheduler::quoted;

/// The embedded presets, in the order in which people think of them.
const PRESETS: [(&str, &str); 5] = embedded!(
    "loop",
    ".md",
    [
        "default",
        "test-coverage",
        "linting",
        "duplication",
        "entropy",
    ]
);
const FRAME: &str = include_str!("../../loop/frame.md");
const NEW: &str = include_str!("../../loop/new.md");

/// Where presets of the user's own are; the first folder that has one decides.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PresetFolders {
    /// `.taskmaster/presets` of the project.
    pub project: PathBuf,
    /// `tm/presets` in the user's configuration folder.
    pub user: Option<PathBuf>,
}

/// Everything that a preset and its frame can speak of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoopContext {
    /// The number of the iteration.
    pub iteration: u32,
    /// The number of the last one.
    pub iterations: u32,
    /// The tag, when one was asked for.
    pub tag: Option<String>,
    /// How tm is called.
    pub tm: String,
    /// The flags that its commands on tasks need, each after a space.
    pub flags: String,
    /// The statuses that were asked for, with commas; empty for the usual ones.
    pub statuses: String,
    /// The progress file.
    pub progress_file: String,
    /// The end of what it holds, bounded.
    pub progress: String,
    /// What went wrong in the iteration before.
    pub last_failure: Option<String>,
    /// The command that is run after each iteration.
    pub test_command: Option<String>,
    /// The line coverage in percent that `test-coverage` goes for.
    pub coverage_target: String,
}

/// The line coverage in percent that `test-coverage` goes for when the settings name none.
const DEFAULT_COVERAGE: &str = "80";

impl LoopContext {
    /// Returns a context with what the settings say.
    pub fn of(settings: &Settings) -> Self {
        let threshold = settings.tdd.coverage_threshold;
        let target = threshold.map(|threshold| threshold.percent().to_string());
        Self {
            coverage_target: target.unwrap_or_else(|| DEFAULT_COVERAGE.to_owned()),
            ..Self::default()
        }
    }
}

/// Tells whether a prompt is named by its path: it holds a `/` or `\`, or ends like the name of a file.
pub fn is_path(prompt: &str) -> bool {
    let has_extension = Path::new(prompt).extension().is_some();
    has_extension || prompt.contains(['/', '\\'])
}

/// Returns all presets, those of tm first; one of the user's own stands in for one of the same name.
pub fn loop_presets(folders: &PresetFolders) -> Result<Vec<PromptTemplate>, Error> {
    let mut own = own_presets(folders)?;
    let mut presets: Vec<PromptTemplate> = PRESETS
        .iter()
        .map(|(name, text)| {
            own.remove(*name).unwrap_or_else(|| PromptTemplate {
                name: (*name).to_owned(),
                text: (*text).to_owned(),
                own: None,
            })
        })
        .collect();
    presets.extend(own.into_values());
    Ok(presets)
}

fn own_presets(folders: &PresetFolders) -> Result<BTreeMap<String, PromptTemplate>, Error> {
    let mut presets = BTreeMap::new();
    for folder in folders.user.iter().chain([&folders.project]) {
        let entries = match std::fs::read_dir(folder) {
            Err(error) if is_not_there(&error) => continue,
            entries => entries.map_err(Error::prompt_file(folder))?,
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let is_markdown = path.extension().is_some_and(|extension| extension == "md");
            let name = name.filter(|name| is_markdown && is_name(name));
            if let Some(name) = name.map(ToOwned::to_owned) {
                presets.insert(name.clone(), of_file(name, path)?);
            }
        }
    }
    Ok(presets)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
}

fn of_file(name: String, path: PathBuf) -> Result<PromptTemplate, Error> {
    let text = own_text(&path).map_err(Error::prompt_file(&path))?;
    if text.trim().is_empty() {
        return Err(Error::EmptyPrompt { path });
    }
    Ok(PromptTemplate {
        name,
        text,
        own: Some(path),
    })
}

/// Returns the prompt of that name, or at that path, seen from `start`.
///
/// # Errors
/// There is no such preset, or the file can't be read or is empty.
pub fn loop_prompt(
    prompt: &str,
    start: &Path,
    folders: &PresetFolders,
) -> Result<PromptTemplate, Error> {
    if is_path(prompt) {
        let path = start.join(prompt);
        return of_file(path.display().to_string(), path);
    }
    let presets = loop_presets(folders)?;
    let known = quoted(presets.iter().map(|preset| &preset.name));
    presets
        .into_iter()
        .find(|preset| preset.name == prompt)
        .ok_or_else(|| Error::UnknownPreset {
            name: prompt.to_owned(),
            known,
        })
}

/// Returns the text that a new preset begins with: that of another, or one to be filled in.
///
/// # Errors
/// The name can't be that of a preset, or there is none of the other name.
pub fn new_preset(
    name: &str,
    from: Option<&str>,
    folders: &PresetFolders,
) -> Result<String, Error> {
    if !is_name(name) {
        return Err(Error::PresetName {
            name: name.to_owned(),
        });
    }
    match from {
        None => Ok(NEW.to_owned()),
        Some(from) => Ok(loop_prompt(from, Path::new(""), folders)?.text),
    }
}

impl PromptTemplate {
    /// Returns the heading of a preset: what one iteration does.
    pub fn title(&self) -> &str {
        let mut lines = self.text.lines();
        let heading = lines.find_map(|line| line.trim().strip_prefix('#'));
        heading.map_or("", |heading| heading.trim_start_matches('#').trim())
    }

    /// Returns what one iteration does, without the words about the loop around it.
    ///
    /// # Errors
    /// As for [`PromptTemplate::framed`].
    pub fn body(&self, context: &LoopContext) -> Result<String, Error> {
        if is_path(&self.name) {
            return Ok(self.text.clone());
        }
        filled(&self.name, &self.text, context)
    }

    /// Returns what the agent of one iteration is asked.
    ///
    /// # Errors
    /// The preset is the user's own, and there is a mistake in it.
    pub fn framed(&self, context: &LoopContext) -> Result<String, Error> {
        let body = self.body(context)?;
        let framed = Framed {
            context,
            body: body.trim_end(),
        };
        filled("frame", FRAME, &framed)
    }
}

/// The frame's own context.
#[derive(Serialize)]
struct Framed<'a> {
    #[serde(flatten)]
    context: &'a LoopContext,
    body: &'a str,
}

#[cfg(test)]
mod tests;
