//! Completions of arguments: tags and tasks of prompts, runs and files of resources.
//!
//! A project that can't be read completes to nothing: nobody waits for an error while typing.

use crate::answer::Refusal;
use crate::resources::{files_of, runs_of};
use crate::server::Server;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use tm_runtime::autopilot::Project;

/// Returns what an argument can be.
pub(crate) async fn complete(server: &Server, request: CompleteRequestParams) -> CompleteResult {
    let found = server.blocking(move |server| {
        let project = server.project(None)?;
        let name = request.argument.name.as_str();
        let mut values = match &request.r#ref {
            Reference::Prompt(_) => of_backlog(&project, name),
            Reference::Resource(template) if name == "run" => runs_of(&project, &template.uri),
            Reference::Resource(template) if name == "file" => files_of(&template.uri),
            _ => Vec::new(),
        };
        values.retain(|value| value.starts_with(&request.argument.value));
        Ok::<_, Refusal>(values)
    });
    let mut values = found.await.unwrap_or_default();
    let total = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompleteResult::new(
        CompletionInfo::with_pagination(values, Some(total), has_more).unwrap_or_default(),
    )
}

fn of_backlog(project: &Project, name: &str) -> Vec<String> {
    let Ok((_, backlog)) = project.backlog(None) else {
        return Vec::new();
    };
    let open = backlog.tasks.iter().filter(|task| task.status.is_open());
    match name {
        "tag" => backlog.tags.iter().map(ToString::to_string).collect(),
        "task" => open.map(|task| task.id.to_string()).collect(),
        _ => Vec::new(),
    }
}
