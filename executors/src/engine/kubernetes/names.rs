//! What objects of a cluster may be called, and what tm's are. Pure.
//!
//! The rules are those of <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>.

use crate::engine::node::JobFolder;

/// So many characters has a label's value at the most.
const MOST_OF_LABEL: usize = 63;
/// So much of a project's name is in its label, to which what tells it from others is added.
const MOST_OF_PROJECT: usize = 24;
/// So much of a project's label is in the names of Jobs, to which Kubernetes adds some for those of pods.
const MOST_OF_PROJECT_LABEL: usize = 36;

/// Returns the Job of a job's folder: whoever asks for it twice asks for the same.
pub(super) fn job_name(project_label: &str, job: &JobFolder) -> String {
    let project: String = project_label.chars().take(MOST_OF_PROJECT_LABEL).collect();
    // Names of folders tell small letters from capitals, those of Jobs don't.
    let own = job.name().strip_prefix("job-").unwrap_or(job.name());
    let own: Vec<String> = own.bytes().map(|byte| format!("{byte:02x}")).collect();
    let own = own.concat();
    let own = &own[own.len().saturating_sub(18)..];
    let name = format!("tm-{}-{own}", project.trim_matches('-'));
    name.trim_end_matches('-').to_owned()
}

/// Returns the name of a project as labels and names have it.
pub(super) fn project_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let name = name.to_lowercase().replace(|letter| !is_plain(letter), "-");
    let name: String = (name.trim_matches('-').chars())
        .take(MOST_OF_PROJECT)
        .collect();
    match name.trim_end_matches('-') {
        "" => "project".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns a text as a label may have it.
pub(super) fn label_value(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let plain = text.replace(|letter| !is_plain(letter), "_");
    let short: String = plain.chars().take(MOST_OF_LABEL).collect();
    let is_end = |letter: char| !letter.is_ascii_alphanumeric();
    short.trim_matches(is_end).to_owned()
}
