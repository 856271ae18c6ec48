//! What objects of a cluster may be called, and what tm's are. Pure.
//!
//! The rules are those of <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>.

use crate::engine::node::JobFolder;

/// So many characters have a label's value and a DNS label at the most.
const MOST_OF_LABEL: usize = 63;
/// What [`is_label`] asks for.
pub(super) const LABEL: &str =
    "small letters, digits and `-`, a letter or digit at both ends, 63 at the most";
/// So many has a DNS subdomain.
const MOST_OF_SUBDOMAIN: usize = 253;
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

/// Whether a text is a DNS label, as names of namespaces, containers and volumes are.
pub(super) fn is_label(text: &str) -> bool {
    text.len() <= MOST_OF_LABEL && is_part(text)
}

/// Whether a text is a DNS subdomain, as names of most objects are.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= MOST_OF_SUBDOMAIN && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let is_whole = !text.is_empty() && !text.starts_with('-') && !text.ends_with('-');
    is_whole && text.bytes().all(is_plain)
}

/// Whether a text is a name with or without the domain of who gave it, as those of resources are.
pub(super) fn is_qualified(text: &str) -> bool {
    let (domain, name) = text.split_once('/').unwrap_or(("given", text));
    is_subdomain(domain) && !name.is_empty() && label_value(name) == name
}
