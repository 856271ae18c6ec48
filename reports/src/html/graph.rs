//! Where each task stands in the picture of the dependency graph: a column a wave, an edge a dependency.

use crate::{Summary, TaskSummary};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Units of the picture.
const NODE_WIDTH: usize = 168;
const NODE_HEIGHT: usize = 36;
const COLUMN: usize = 220;
const ROW: usize = 46;
const MARGIN: usize = 6;

/// A node has room for so many letters of an id.
const MOST_LETTERS: usize = 10;
/// A picture of more tasks than this tells nobody anything.
const MOST: usize = 400;

/// The picture.
#[derive(Debug, Serialize)]
pub(super) struct Graph<'a> {
    width: usize,
    height: usize,
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge>,
    description: String,
}

/// One task.
#[derive(Debug, Serialize)]
struct Node<'a> {
    x: usize,
    y: usize,
    is_critical: bool,
    task: &'a TaskSummary,
    id: String,
}

/// One dependency, as the points of a curve.
#[derive(Debug, Serialize)]
struct Edge {
    x1: usize,
    y1: usize,
    bend: usize,
    x2: usize,
    y2: usize,
    is_critical: bool,
}

impl<'a> Graph<'a> {
    /// Lays the tasks out; `None` when there are none, or too many to see anything.
    pub(super) fn new(summary: &'a Summary, critical: &BTreeSet<&str>) -> Option<Self> {
        if summary.tasks.is_empty() || summary.tasks.len() > MOST {
            return None;
        }
        let places = places(summary);
        let is_critical = |id: &str| critical.contains(id);
        let node = |task: &'a TaskSummary| {
            let (x, y) = places[task.id.as_str()];
            Node {
                x,
                y,
                is_critical: is_critical(&task.id),
                id: tm_untrusted::line(&task.id, MOST_LETTERS),
                task,
            }
        };
        let nodes: Vec<Node<'_>> = summary.tasks.iter().map(node).collect();
        let mut edges = Vec::new();
        for task in &summary.tasks {
            let (x2, y2) = places[task.id.as_str()];
            for dependency in &task.dependencies {
                let Some(&(x, y)) = places.get(dependency.as_str()) else {
                    continue;
                };
                let (x1, y1, y2) = (x + NODE_WIDTH, y + NODE_HEIGHT / 2, y2 + NODE_HEIGHT / 2);
                let is_critical = is_critical(&task.id) && is_critical(dependency);
                edges.push(Edge {
                    x1,
                    y1,
                    bend: x1.midpoint(x2),
                    x2,
                    y2,
                    is_critical,
                });
            }
        }
        let most =
            |coordinate: fn(&Node<'_>) -> usize| nodes.iter().map(coordinate).max().unwrap_or(0);
        Some(Self {
            width: most(|node| node.x) + NODE_WIDTH + MARGIN,
            height: most(|node| node.y) + NODE_HEIGHT + MARGIN,
            description: format!("{} tasks and {} dependencies", nodes.len(), edges.len()),
            nodes,
            edges,
        })
    }
}

/// Places by id: within its wave, a task stands beside what it depends on.
fn places(summary: &Summary) -> BTreeMap<&str, (usize, usize)> {
    let mut columns: BTreeMap<u32, Vec<&TaskSummary>> = BTreeMap::new();
    for task in &summary.tasks {
        columns.entry(task.wave).or_default().push(task);
    }
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (column, (_, mut tasks)) in columns.into_iter().enumerate() {
        tasks.sort_by_cached_key(|task| middle(task, &places));
        for (row, task) in tasks.into_iter().enumerate() {
            places.insert(&task.id, (MARGIN + column * COLUMN, MARGIN + row * ROW));
        }
    }
    places
}

/// The mean height of what a task depends on.
fn middle(task: &TaskSummary, places: &BTreeMap<&str, (usize, usize)>) -> usize {
    let heights: Vec<usize> = task
        .dependencies
        .iter()
        .filter_map(|id| Some(places.get(id.as_str())?.1))
        .collect();
    heights.iter().sum::<usize>() / heights.len().max(1)
}
