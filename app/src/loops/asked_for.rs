//! What a loop is asked for, looked up and checked before anything is started.

use super::LoopOrder;
use crate::error::Error;
use crate::notice::Notice;
use crate::project::Project;
use crate::setup::{find_program, presets, test_command};
use std::collections::BTreeSet;
use tm_config::{AgentCommand, Argument, PromptDelivery};
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, LoopPrompt, Recipe, loop_prompt, recipe};
use tm_scheduler::iteration::Goal;
use tm_scheduler::{Status, Tag};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};

/// The prompt, told apart as a preset or a path.
pub(super) fn prompt(order: &LoopOrder) -> Result<LoopPrompt, Error> {
    let prompt = loop_prompt(&order.prompt, &order.start, &presets(&order.start))?;
    // A mistake in a preset of the user's own is told now.
    prompt.render(&LoopContext::default())?;
    Ok(prompt)
}

/// The preset `default` works through the backlog, whoever wrote it; all others end when the agent says so.
pub(super) fn goal(prompt: &LoopPrompt) -> Goal {
    match prompt {
        LoopPrompt::Preset(preset) if preset.name == "default" => Goal::Backlog,
        LoopPrompt::Preset(_) | LoopPrompt::File { .. } => Goal::Marker,
    }
}

/// The agent, whose program must be there.
pub(super) fn agent(project: &Project, order: &LoopOrder) -> Result<Recipe, Error> {
    let settings = &project.loaded.settings;
    if order.sandbox {
        let claude = recipe("claude", settings)?;
        let words = ["docker", "sandbox", "run", "claude", "-p"]
            .map(|word| Argument::Single(word.to_owned()));
        let recipe = Recipe {
            command: Some(AgentCommand::Arguments(words.into())),
            prompt: PromptDelivery::Arg,
            ..claude
        };
        find_program(&recipe).map_err(|error| Error::NoSandbox(Box::new(error)))?;
        return Ok(recipe);
    }
    let recipe = recipe(settings.agent.for_phase("none"), settings)?;
    find_program(&recipe)?;
    if order.max_cost.is_some() && !recipe.output.tells_cost() {
        project.tell(&Notice::CostUntold(&recipe.name));
    }
    Ok(recipe)
}

/// The test command, when one must pass after each iteration.
pub(super) fn verification(
    project: &Project,
    order: &LoopOrder,
) -> Result<Option<TestCommand>, Error> {
    if !order.verify {
        return Ok(None);
    }
    test_command(project)
        .map(Some)
        .ok_or(Error::NothingToVerifyWith)
}

/// The statuses that are asked for.
pub(super) fn statuses(order: &LoopOrder) -> Result<Vec<Status>, Error> {
    let read = |text: &String| match Status::from(text.trim()) {
        Status::Other(other) => Err(Error::UnknownStatus(other)),
        status => Ok(status),
    };
    order.status.iter().map(read).collect()
}

/// The tags of the lanes; `None` for the one that is current.
pub(super) fn tags(
    order: &LoopOrder,
    backlog: Option<&(BacklogSource, Backlog)>,
) -> Result<Vec<Option<Tag>>, Error> {
    let given = order.tag.iter().map(|tag| Tag::from(tag.as_str()));
    let given: BTreeSet<Tag> = given.collect();
    let tags = match (order.parallel, given.len()) {
        (false, 0) => return Ok(vec![None]),
        (false, 2..) => return Err(Error::SeveralTags),
        (true, 0) => backlog.map(open_tags).transpose()?.unwrap_or_default(),
        (false, 1) | (true, 1..) => given.into_iter().collect(),
    };
    if tags.is_empty() {
        return Err(Error::NoOpenTags);
    }
    Ok(tags.into_iter().map(Some).collect())
}

/// The tags that have open tasks.
fn open_tags((source, backlog): &(BacklogSource, Backlog)) -> Result<Vec<Tag>, Error> {
    let mut open = Vec::new();
    for tag in &backlog.tags {
        let read = source.read(&ReadOptions::of_tag(tag))?;
        if read.tasks.iter().any(|task| task.status.is_open()) {
            open.push(tag.clone());
        }
    }
    Ok(open)
}
