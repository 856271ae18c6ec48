//! Prompts: each preset of loops as one piece of work, and the way through a task with autopilot.

use crate::answer::Refusal;
use crate::instructions;
use crate::server::Server;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    Role,
};
use tm_presets::{LoopContext, PromptTemplate, loop_presets};
use tm_runtime::autopilot::{Project, prompt};
use tm_scheduler::quoted;

/// The prompt that leads through a task.
const AUTOPILOT: &str = "autopilot";

/// Returns all prompts.
pub(crate) async fn list(server: &Server) -> Result<Vec<Prompt>, ErrorData> {
    let presets = server.blocking(presets).await;
    let presets =
        presets.map_err(|refusal| ErrorData::internal_error(refusal.to_string(), None))?;
    let mut prompts = vec![Prompt::new(
        AUTOPILOT,
        Some("Do a task, subtask by subtask: failing tests, code that makes them pass, a commit"),
        Some(vec![argument(
            "task",
            "The task, such as 7; the one under way when not given",
        )]),
    )];
    let what = "The tag of the backlog; the current one when not given";
    let of_preset = |preset: &PromptTemplate| {
        let title = preset.title().to_owned();
        let arguments = vec![argument("tag", what)];
        Prompt::new(preset.name.clone(), Some(title), Some(arguments))
    };
    let others = presets.iter().filter(|preset| preset.name != AUTOPILOT);
    prompts.extend(others.map(of_preset));
    Ok(prompts)
}

fn argument(name: &str, what: &str) -> PromptArgument {
    PromptArgument::new(name)
        .with_description(what)
        .with_required(false)
}

/// Returns a prompt with its arguments filled in.
pub(crate) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let words = server.blocking(move |server| {
        if request.name == AUTOPILOT {
            let project = server.project(None)?;
            return Ok(lead(&project, text(&arguments, "task").as_deref()));
        }
        filled(server, &request.name, text(&arguments, "tag"))
    });
    let words = words
        .await
        .map_err(|refusal| ErrorData::invalid_params(refusal.to_string(), None))?;
    let message = PromptMessage::new_text(Role::User, words);
    Ok(GetPromptResult::new(vec![message]))
}

/// The words of a preset.
fn filled(server: &Server, name: &str, tag: Option<String>) -> Result<String, Refusal> {
    let presets = presets(server)?;
    let known = quoted(presets.iter().map(|preset| &preset.name));
    let Some(found) = presets.into_iter().find(|preset| preset.name == name) else {
        let words = format!("find the prompt `{name}`, there are {known}");
        return Err(Refusal::of_words(&words, None));
    };
    let context = context(&server.project(None)?, tag);
    let words = found.body(&context);
    words.map_err(|error| Refusal::new(&error, None))
}

/// What an agent is told that does a task, or goes on with the one under way.
fn lead(project: &Project, task: Option<&str>) -> String {
    let begin = match task {
        Some(task) => {
            format!("Work on task {task}: call `autopilot_start` with `taskId` \"{task}\".")
        }
        None => match prompt(project) {
            Ok(step) => format!("A run is under way. Its step is this:\n\n{step}"),
            Err(_none_is) => {
                "Ask which task to work on, unless it is clear: `next_task` names the next one."
                    .to_owned()
            }
        },
    };
    format!("{}\n\n# Now\n\n{begin}", instructions::AUTOPILOT)
}

/// One piece of work: there is no loop around it.
fn context(project: &Project, tag: Option<String>) -> LoopContext {
    LoopContext {
        iteration: 1,
        iterations: 1,
        flags: tag
            .as_ref()
            .map_or_else(String::new, |tag| format!(" --tag={tag}")),
        tag,
        tm: "tm".to_owned(),
        progress_file: ".taskmaster/progress.txt".to_owned(),
        ..LoopContext::of(&project.settings)
    }
}

fn presets(server: &Server) -> Result<Vec<PromptTemplate>, Refusal> {
    let folders = tm_app::presets(server.project(None)?.root());
    loop_presets(&folders).map_err(|error| Refusal::new(&error, None))
}

/// An argument that was given; flags and line breaks in it are no part of a tag or of a task.
fn text(arguments: &JsonObject, name: &str) -> Option<String> {
    let given = arguments.get(name)?.as_str()?.trim();
    let is_word =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/' | ':');
    (!given.is_empty() && !given.starts_with('-') && given.chars().all(is_word))
        .then(|| given.to_owned())
}
