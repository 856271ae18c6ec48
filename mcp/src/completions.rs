//! Completions of arguments: tags and tasks of prompts, runs and files of resources.
//!
//! A project that can't be read completes to nothing: nobody waits for an error while typing.

use crate::answer::{Refusal, blocking};
use crate::resources::{complete_file, complete_run};
use crate::server::Server;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use tm_runtime::autopilot::Project;

/// Returns what an argument can be.
pub(crate) async fn complete(server: Server, request: CompleteRequestParams) -> CompleteResult {
    let found = blocking(move || {
        let project = server.project(None)?;
        let (name, beginning) = (
            request.argument.name.as_str(),
            request.argument.value.as_str(),
        );
        Ok::<_, Refusal>(match &request.r#ref {
            Reference::Prompt(_) => of_backlog(&project, name, beginning),
            Reference::Resource(template) if name == "run" => {
                complete_run(&project, &template.uri, beginning)
            }
            Reference::Resource(template) if name == "file" => {
                complete_file(&template.uri, beginning)
            }
            _ => Vec::new(),
        })
    });
    let mut values = found.await.unwrap_or_default();
    let total = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompleteResult::new(
        CompletionInfo::with_pagination(values, Some(total), has_more).unwrap_or_default(),
    )
}

fn of_backlog(project: &Project, name: &str, beginning: &str) -> Vec<String> {
    let Ok((_, backlog)) = project.backlog(None) else {
        return Vec::new();
    };
    let values: Vec<String> = match name {
        "tag" => backlog.tags.iter().map(ToString::to_string).collect(),
        "task" => backlog
            .tasks
            .iter()
            .filter(|task| task.status.is_open())
            .map(|task| task.id.to_string())
            .collect(),
        _ => Vec::new(),
    };
    values
        .into_iter()
        .filter(|value| value.starts_with(beginning))
        .collect()
}
