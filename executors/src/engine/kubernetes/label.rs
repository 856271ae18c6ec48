//! By which label the Jobs of a project are known: its name, with something that no other project has.
//!
//! Two projects may have the same name and the same path on machines of two people, and one is not to take the other's
//! Jobs for its own. So what tells them apart is in the folder that only one of them has.

use super::KubernetesRequest;
use super::names::project_name;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::Path;

/// The file, in the folder of all jobs.
const FILE: &str = "kubernetes-id";
/// No such file is longer: with the project's name it is a label's value.
const MOST_BYTES: u64 = 32;

/// Returns the label's value; one that is the project's alone once there are jobs.
pub(super) fn project_label(request: &KubernetesRequest) -> String {
    let name = project_name(&request.project);
    match read(&request.jobs.join(FILE)) {
        Some(own) => format!("{name}-{own}"),
        None => name,
    }
}

/// Returns the same, and sees to it that it is the project's alone.
pub(super) fn own_project_label(request: &KubernetesRequest) -> String {
    if let Err(error) = make(&request.jobs) {
        tracing::warn!(%error, "the label of the project's Jobs is not its alone");
    }
    project_label(request)
}

fn make(jobs: &Path) -> io::Result<()> {
    let path = jobs.join(FILE);
    if read(&path).is_some() {
        return Ok(());
    }
    fs::create_dir_all(jobs)?;
    let mut file = tempfile::NamedTempFile::new_in(jobs)?;
    let random = RandomState::new().build_hasher().finish();
    write!(file, "{:08x}", random >> 32)?;
    match file.persist_noclobber(path) {
        // Somebody else was first.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        kept => kept.map(drop).map_err(|error| error.error),
    }
}

fn read(path: &Path) -> Option<String> {
    let bytes = tm_untrusted::read(path, MOST_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_own = !text.is_empty() && text.bytes().all(is_digit);
    is_own.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_keeps_its_label_which_another_one_of_that_name_does_not_have() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [first, second] = folders.each_ref().map(|folder| KubernetesRequest {
            project: "shop".to_owned(),
            jobs: folder.path().join("jobs"),
            ..KubernetesRequest::default()
        });
        assert_eq!(project_label(&first), "shop");
        let label = own_project_label(&first);
        assert_eq!(label.len(), "shop-".len() + 8, "{label}");
        assert_eq!(own_project_label(&first), label);
        assert_eq!(project_label(&first), label);
        assert_ne!(own_project_label(&second), label);
    }
}
