//! Reads graphs of tasks from files: `.stg` of the Standard Task Graph Set, `.rcp` in Patterson's format (without its
//! resources), JSON of `WfFormat`, and backlogs, each tag of which is a graph of equally long tasks.

use crate::graphs::{Graph, milliseconds};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_scheduler::{PlanOptions, Status, TddMode, WavePlan};
use tm_store::backlog::{BacklogSource, ReadOptions};

/// A unit of `.stg` and `.rcp` is so long.
const UNIT_MS: u64 = 1_000;

/// A task of a backlog is so long.
const BACKLOG_MS: u64 = 60_000;

/// No file is longer.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Smaller graphs tell nothing of an order.
const LEAST_TASKS: usize = 8;

/// Returns the graphs of all files below a folder, in the order of their paths; files that hold none are left out.
pub fn graphs_below(folder: &Path) -> Vec<Graph> {
    let mut files = files_below(folder);
    files.sort();
    let graphs = files.iter().flat_map(|path| graphs_in(path));
    graphs
        .filter(|graph| graph.times.len() >= LEAST_TASKS)
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&path),
            Ok(kind) if kind.is_file() => vec![path],
            Ok(_) | Err(_) => Vec::new(),
        }
    });
    files.collect()
}

fn graphs_in(path: &Path) -> Vec<Graph> {
    let Ok(bytes) = tm_untrusted::read(path, MOST_BYTES) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    let end = path.extension().and_then(|end| end.to_str());
    match end {
        Some("stg") => of_stg(&text).into_iter().collect(),
        Some("rcp") => of_rcp(&text).into_iter().collect(),
        Some("json") => match serde_json::from_str::<Value>(&text) {
            Ok(document) if document["workflow"].is_object() => {
                of_workflow(&document).into_iter().collect()
            }
            Ok(_) => of_backlog(path),
            Err(_) => Vec::new(),
        },
        Some(_) | None => Vec::new(),
    }
}

/// A line a task: id, time, number of predecessors, predecessors.
fn of_stg(text: &str) -> Option<Graph> {
    let lines = text.lines().skip(1);
    let rows = lines.map_while(numbers).filter(|row| row.len() >= 3);
    let rows: Vec<Vec<u64>> = rows.collect();
    let edges = rows.iter().enumerate().flat_map(|(task, row)| {
        let before = row[3..].iter();
        before.map(move |&before| (usize::try_from(before).unwrap_or(0), task))
    });
    let times = rows.iter().map(|row| row[1] * UNIT_MS).collect::<Vec<_>>();
    in_order(&times, &edges.collect::<Vec<_>>())
}

fn numbers(line: &str) -> Option<Vec<u64>> {
    line.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

/// Numbers one after the other: tasks, resources, capacities; then of each task its time, what it uses of each resource,
/// the number of those that follow it, and they, counted from 1.
fn of_rcp(text: &str) -> Option<Graph> {
    let mut words = text.split_whitespace().map(str::parse::<usize>);
    let mut next = move || words.next()?.ok();
    let (tasks, resources) = (next()?, next()?);
    for _ in 0..resources {
        next()?;
    }
    let (mut times, mut edges) = (Vec::new(), Vec::new());
    for task in 0..tasks {
        times.push(next()? as u64 * UNIT_MS);
        for _ in 0..resources {
            next()?;
        }
        for _ in 0..next()? {
            edges.push((task, next()?.checked_sub(1)?));
        }
    }
    in_order(&times, &edges)
}

fn of_workflow(document: &Value) -> Option<Graph> {
    let tasks = document["workflow"]["specification"]["tasks"].as_array()?;
    let executed = document["workflow"]["execution"]["tasks"].as_array()?;
    let seconds = executed.iter().filter_map(|task| {
        let seconds = task["runtimeInSeconds"].as_f64()?;
        Some((task["id"].as_str()?, milliseconds(seconds * 1_000.0)))
    });
    let seconds: BTreeMap<&str, u64> = seconds.collect();
    let id = |task: &'_ Value| task["id"].as_str().map(str::to_owned);
    let ids = tasks.iter().filter_map(id).zip(0..);
    let positions: BTreeMap<String, usize> = ids.collect();
    let edges = tasks.iter().enumerate().flat_map(|(position, task)| {
        let parents = task["parents"].as_array().into_iter().flatten();
        let parents = parents.filter_map(|parent| positions.get(parent.as_str()?).copied());
        parents.map(move |parent| (parent, position))
    });
    let time = |task: &Value| seconds.get(task["id"].as_str().unwrap_or("")).copied();
    let times = tasks.iter().map(|task| time(task).unwrap_or(0));
    in_order(&times.collect::<Vec<_>>(), &edges.collect::<Vec<_>>())
}

/// The graphs of a backlog's tags, as if no task had been begun; a tag that can't be planned has none.
fn of_backlog(path: &Path) -> Vec<Graph> {
    let source = BacklogSource::at(path).ok();
    let tags = source.as_ref().and_then(|source| {
        let backlog = source.read(&ReadOptions::default()).ok()?;
        Some(backlog.tags)
    });
    let tags = tags.into_iter().flatten();
    tags.filter_map(|tag| {
        let read = source.as_ref()?.read(&ReadOptions::of_tag(&tag));
        let mut tasks = read.ok()?.tasks;
        for task in &mut tasks {
            task.status = Status::Pending;
        }
        let options = PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        of_plan(&WavePlan::new(&tasks, &options).ok()?)
    })
    .collect()
}

fn of_plan(plan: &WavePlan) -> Option<Graph> {
    let mut tasks: Vec<_> = plan.tasks.iter().map(|placed| &placed.task).collect();
    tasks.sort_by_key(|task| &task.id);
    let ids = tasks.iter().map(|task| &task.id).zip(0..);
    let positions: BTreeMap<_, usize> = ids.collect();
    let edges = tasks.iter().enumerate().flat_map(|(position, task)| {
        let before = task.dependencies.iter();
        let before = before.filter_map(|id| positions.get(id).copied());
        before.map(move |before| (before, position))
    });
    in_order(&vec![BACKLOG_MS; tasks.len()], &edges.collect::<Vec<_>>())
}

/// Puts each task behind those that it waits for, and otherwise leaves the order; `None` where tasks wait for each other.
fn in_order(times: &[u64], edges: &[(usize, usize)]) -> Option<Graph> {
    let mut before = vec![Vec::new(); times.len()];
    for &(first, second) in edges {
        before.get_mut(second)?.push(first);
    }
    let mut place = vec![None; times.len()];
    let mut order = Vec::with_capacity(times.len());
    while order.len() < times.len() {
        let placed = order.len();
        for task in 0..times.len() {
            let mut waits = before[task].iter();
            if place[task].is_none()
                && waits.all(|&other| place.get(other).is_some_and(Option::is_some))
            {
                place[task] = Some(order.len());
                order.push(task);
            }
        }
        if order.len() == placed {
            return None;
        }
    }
    let before = order.iter().map(|&task| {
        let waits = before[task].iter();
        waits.filter_map(|&other| place[other]).collect()
    });
    let before = before.collect();
    Some(Graph::new(
        order.iter().map(|&task| times[task]).collect(),
        before,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_format_gives_the_same_diamond() {
        let before = vec![vec![], vec![0], vec![0], vec![1, 2]];
        let diamond = Graph::new(vec![1_000, 2_000, 3_000, 1_000], before);
        let stg = "4\n0 1 0\n1 2 1 0\n2 3 1 0\n3 1 2 1 2\n# Tasks : 4\n";
        assert_eq!(of_stg(stg).as_ref(), Some(&diamond));
        let rcp = "4 1\n9\n1 0 2 2 3\n2 4 1 4\n3 4 1 4\n1 0 0\n";
        assert_eq!(of_rcp(rcp).as_ref(), Some(&diamond));
        let tasks = json!([
            {"id": "d", "parents": ["b", "c"]}, {"id": "a", "parents": []},
            {"id": "b", "parents": ["a"]}, {"id": "c", "parents": ["a"]},
        ]);
        let times = json!([
            {"id": "a", "runtimeInSeconds": 1}, {"id": "b", "runtimeInSeconds": 2.0},
            {"id": "c", "runtimeInSeconds": 3}, {"id": "d", "runtimeInSeconds": 1.0},
        ]);
        let workflow =
            json!({"workflow": {"specification": {"tasks": tasks}, "execution": {"tasks": times}}});
        assert_eq!(of_workflow(&workflow).as_ref(), Some(&diamond));
    }

    #[test]
    fn what_waits_for_itself_is_no_graph() {
        assert_eq!(of_stg("2\n0 1 1 1\n1 1 1 0\n"), None);
        assert_eq!(of_rcp("1 1\n9\n"), None);
    }

    #[test]
    fn each_tag_of_a_backlog_is_a_graph_and_files_of_other_kinds_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let chain = (1..=8).map(|id| {
            json!({"id": id, "title": "x", "status": "done",
                   "dependencies": if id > 1 { vec![id - 1] } else { Vec::new() }})
        });
        let tag = json!({"tasks": chain.collect::<Vec<_>>()});
        let text = json!({"one": tag, "two": tag}).to_string();
        for name in ["tasks.json", "notes.txt"] {
            tm_store::atomic::replace(&folder.path().join(name), text.as_bytes()).unwrap();
        }
        let graphs = graphs_below(folder.path());
        assert_eq!(graphs.len(), 2);
        assert_eq!(graphs[0].longest_chain(), 8 * BACKLOG_MS);
    }
}
