//! Makes the merge of a landing a commit, which is on no branch yet, after the hooks that git runs on merges.

use super::blocking;
use super::commit::hook_words;
use super::context::StepContext;
use super::trailers::with_own_trailers;
use crate::proving::TestResultCache;
use crate::step_error::StepError;
use tm_config::CommitHooks;
use tm_executors::testing::TestCommand;
use tm_scheduler::CommitId;
use tm_worktrees::{Error, HookedWork, MergePreview};

/// Why there is no merge.
pub(super) enum NotMerged {
    /// A hook refused, or changed what the parents give.
    Refused(String),
    StepError(StepError),
}

impl From<StepError> for NotMerged {
    fn from(trouble: StepError) -> Self {
        Self::StepError(trouble)
    }
}

/// Makes the merge a commit, and asserts that it is what its parents give.
pub(super) async fn merge_of(
    context: &StepContext,
    preview: &MergePreview,
    command: Option<&TestCommand>,
    result_cache: &TestResultCache,
) -> Result<CommitId, NotMerged> {
    let message = hooked(context, preview, command, result_cache).await?;
    let (repository, preview) = (context.setup.repository.clone(), preview.clone());
    let made = blocking(move || {
        let merge = repository.merge_commit(&preview, &message)?;
        repository.assert_tree_of(&merge, &preview.tree)?;
        Ok::<_, Error>(merge)
    });
    Ok(made.await?)
}

/// The message after the hooks of a merge, where there are any: they are run in a checkout of the merged tree.
async fn hooked(
    context: &StepContext,
    preview: &MergePreview,
    command: Option<&TestCommand>,
    result_cache: &TestResultCache,
) -> Result<String, NotMerged> {
    let setup = &context.setup;
    if setup.settings.git.hooks == CommitHooks::Off
        || !setup.repository.may_have_hooks(HookedWork::Merge)
    {
        return Ok(message(
            context,
            &format!("Land task {}", context.id()),
            command,
        ));
    }
    // Checks of messages know a merge by git's own words.
    let subject = format!(
        "Merge task {} into {}",
        context.id(),
        setup.header.integration_branch
    );
    let message = message(context, &subject, command);
    let (repository, tree, head) = (
        setup.repository.clone(),
        preview.tree.clone(),
        preview.head.clone(),
    );
    let commit = blocking(move || repository.commit_to_test(&tree, &head)).await?;
    let mut checkout = result_cache
        .check_out(&commit)
        .await
        .map_err(StepError::from)?;
    let (name, value) = checkout.commit_mark();
    let _while_hooks_run = setup
        .executor
        .record(&[(name.to_owned(), value)])
        .map_err(StepError::from)?;
    let hooked = tokio::task::block_in_place(|| {
        checkout.run_merge_hooks(&preview.head, &preview.tree, &message)
    });
    drop(checkout);
    match hooked {
        Ok(hooked) if hooked.tree == preview.tree => {
            Ok(with_own_trailers(&hooked.message, &message))
        }
        Ok(_changed) => {
            let why = "a hook changed the merge, and tm lands nothing but what both sides give";
            Err(NotMerged::Refused(why.to_owned()))
        }
        Err(Error::HookRefused { hook, why, output }) => {
            Err(NotMerged::Refused(hook_words(hook, &why, &output)))
        }
        Err(error) => Err(StepError::of(&error).into()),
    }
}

fn message(context: &StepContext, subject: &str, command: Option<&TestCommand>) -> String {
    let header = &context.setup.header;
    let title = context
        .planned
        .title
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // A task's own command is named by the task's commit alone.
    let commands = if context.setup.parts.is_empty() {
        String::new()
    } else {
        context.command_trailers(command)
    };
    format!(
        "{subject}: {title}\n\nTask: {}\nRun: {}\n{commands}",
        context.id(),
        header.run_id
    )
}
