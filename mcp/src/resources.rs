//! What runs leave behind, for clients to read: reports of waves, the files of autopilot's runs.
//!
//! Only files of a known name are read, in folders of runs that tm itself made.

use crate::answer::Refusal;
use crate::server::Server;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tm_reports::REPORTS;
use tm_runtime::autopilot::Project;
use tm_scheduler::RunId;

/// Runs on one page of the list.
const PAGE: usize = 25;
/// Longer files are left to programs that read files.
const LONGEST: u64 = 4 * 1024 * 1024;

/// A file that runs leave, with its type and what it is.
type Kind = (&'static str, &'static str, &'static str);

const WAVES: &str = "tm://waves/";
static OF_WAVES: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let reports = REPORTS.iter();
    let reports = reports.map(|report| (report.file, report.media_type, report.about));
    reports.chain(BESIDE_REPORTS).collect()
});
const BESIDE_REPORTS: [Kind; 4] = [
    (
        "summary.json",
        "application/json",
        "the summary of the run, for programs",
    ),
    (
        "plan.md",
        "text/markdown",
        "the plan that the run began with",
    ),
    (
        "context.md",
        "text/markdown",
        "what the agents of the run found out",
    ),
    (
        "activity.jsonl",
        "application/jsonl",
        "the events of the run, one a line",
    ),
];

const AUTOPILOT: &str = "tm://autopilot/";
const OF_AUTOPILOT: [Kind; 5] = [
    (
        "report.md",
        "text/markdown",
        "the report of the run of autopilot",
    ),
    (
        "state.json",
        "application/json",
        "the state of the run of autopilot",
    ),
    (
        "manifest.json",
        "application/json",
        "what the run of autopilot is",
    ),
    (
        "work-units.json",
        "application/json",
        "the pieces of work of the run of autopilot",
    ),
    (
        "activity.jsonl",
        "application/jsonl",
        "the events of the run of autopilot, one a line",
    ),
];

/// Returns a page of what there is, the latest runs first.
pub(crate) async fn list(
    server: &Server,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let offset = match page.and_then(|page| page.cursor) {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| ErrorData::invalid_params("unknown cursor", None))?,
    };
    let listed = server.blocking(move |server| {
        let runs = runs(&server.project(None)?);
        let page = runs.iter().skip(offset).take(PAGE);
        let resources = page.flat_map(Run::resources).collect();
        let end = offset.saturating_add(PAGE);
        Ok::<_, Refusal>(ListResourcesResult {
            next_cursor: (end < runs.len()).then(|| end.to_string()),
            ..ListResourcesResult::with_all_items(resources)
        })
    });
    listed.await.map_err(|refusal| trouble(&refusal))
}

/// Returns how addresses are made.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let one = |start: &str, name: &str, what: &str, kinds: &[Kind]| {
        let names: Vec<&str> = kinds.iter().map(|(name, _, _)| *name).collect();
        ResourceTemplate::new(format!("{start}{{run}}/{{file}}"), name)
            .with_description(format!("{what}; the file is one of {}", names.join(", ")))
    };
    ListResourceTemplatesResult::with_all_items(vec![
        one(WAVES, "run-of-waves", "a file of a run of waves", &OF_WAVES),
        one(
            AUTOPILOT,
            "run-of-autopilot",
            "a file of a run of autopilot in this checkout",
            &OF_AUTOPILOT,
        ),
    ])
}

/// Returns what stands in a file of a run.
pub(crate) async fn read(server: &Server, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let unknown = json!({"uri": uri});
    let found = server.blocking(move |server| {
        let project = server.project(None)?;
        let Some((path, mime_type)) = place(&project, &uri) else {
            return Ok(None);
        };
        let bytes = match read_beneath_runs(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let words = format!("send `{}`: {error}", path.display());
                return Err(Refusal::of_words(&words, Some("look at the file itself")));
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = if mime_type.contains("json") {
            tm_untrusted::clean_json(&text)
        } else {
            tm_untrusted::clean(&text)
        };
        let contents = ResourceContents::text(text, uri).with_mime_type(mime_type);
        Ok(Some(ReadResourceResult::new(vec![contents])))
    });
    match found.await.map_err(|refusal| trouble(&refusal))? {
        Some(result) => Ok(result),
        None => Err(ErrorData::resource_not_found(
            "there is no such resource",
            Some(unknown),
        )),
    }
}

/// Reads a file of a run. Agents can write there: neither it nor the run's folder may be a link.
fn read_beneath_runs(path: &Path) -> std::io::Result<Vec<u8>> {
    let runs = path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"));
    tm_untrusted::read_beneath(runs, path.strip_prefix(runs).unwrap_or(path), LONGEST)
}

/// Returns the ids of runs, for the `run` of a template.
pub(crate) fn runs_of(project: &Project, template: &str) -> Vec<String> {
    let of_template = runs(project).into_iter();
    of_template
        .filter(|run| template.starts_with(run.start))
        .map(|run| run.id.to_string())
        .collect()
}

/// Returns the names of files, for the `file` of a template.
pub(crate) fn files_of(template: &str) -> Vec<String> {
    let kinds: &[Kind] = if template.starts_with(AUTOPILOT) {
        &OF_AUTOPILOT
    } else {
        OF_WAVES.as_slice()
    };
    kinds.iter().map(|(name, ..)| (*name).to_owned()).collect()
}

/// A run with the files that are there.
struct Run {
    start: &'static str,
    kinds: &'static [Kind],
    id: RunId,
    folder: PathBuf,
}

impl Run {
    fn resources(&self) -> Vec<Resource> {
        let there = self.kinds.iter().filter(|(name, _, _)| {
            std::fs::symlink_metadata(self.folder.join(name)).is_ok_and(|found| found.is_file())
        });
        there
            .map(|(name, mime_type, what)| {
                Resource::new(
                    format!("{}{}/{name}", self.start, self.id),
                    format!("{}/{name}", self.id),
                )
                .with_description(*what)
                .with_mime_type(*mime_type)
            })
            .collect()
    }
}

/// Every run of the project, the latest first; a folder that can't be read holds none.
fn runs(project: &Project) -> Vec<Run> {
    let run = |start, kinds| {
        move |(id, folder)| Run {
            start,
            kinds,
            id,
            folder,
        }
    };
    let waves = &project.waves;
    let of_waves = waves.runs().unwrap_or_default().into_iter().rev();
    let of_waves = of_waves.filter_map(|id| {
        let folder = waves.run(&id).ok()?.path().to_owned();
        Some((id, folder))
    });
    let of_autopilot = project.autopilot_runs().into_iter();
    of_waves
        .map(run(WAVES, &OF_WAVES))
        .chain(of_autopilot.map(run(AUTOPILOT, &OF_AUTOPILOT)))
        .collect()
}

/// Where an address leads, and the type of what is there.
fn place(project: &Project, uri: &str) -> Option<(PathBuf, &'static str)> {
    let known = |kinds: &[Kind], rest: &str| {
        let (run, file) = rest.split_once('/')?;
        let (name, mime_type, _) = *kinds.iter().find(|(name, ..)| *name == file)?;
        Some((RunId::from(run), name, mime_type))
    };
    if let Some(rest) = uri.strip_prefix(WAVES) {
        let (id, name, mime_type) = known(&OF_WAVES, rest)?;
        let run = project.waves.run(&id).ok()?;
        return Some((run.path().join(name), mime_type));
    }
    let (id, name, mime_type) = known(&OF_AUTOPILOT, uri.strip_prefix(AUTOPILOT)?)?;
    Some((project.autopilot_file(&id, name)?, mime_type))
}

fn trouble(refusal: &Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_of_an_agent_is_read() {
        let place = tempfile::tempdir().expect("a folder");
        let (runs, secret) = (place.path().join("runs"), place.path().join("summary.md"));
        std::fs::create_dir_all(runs.join("r1")).expect("a folder");
        tm_store::atomic::replace(&secret, b"secret").expect("a file");
        std::os::unix::fs::symlink("../../summary.md", runs.join("r1/summary.md")).expect("a link");
        std::os::unix::fs::symlink("..", runs.join("r2")).expect("a link");
        for run in ["r1", "r2"] {
            assert!(
                read_beneath_runs(&runs.join(run).join("summary.md")).is_err(),
                "{run}"
            );
        }
        tm_store::atomic::replace_own(&runs.join("r1/summary.md"), b"text").expect("a file");
        assert_eq!(
            read_beneath_runs(&runs.join("r1/summary.md")).expect("read"),
            b"text"
        );
    }
}
