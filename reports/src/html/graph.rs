//! Where each task stands in the picture of the dependency graph: what it depends on stands in columns to its left.

use crate::rows::RowView;
use crate::{TaskSummary, Verdict};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{Half as _, Phase};

/// Units of the picture.
const NODE_WIDTH: usize = 200;
const NODE_HEIGHT: usize = 50;
const COLUMN: usize = 240;
const ROW: usize = 62;
const MARGIN: usize = 6;

/// A node has room for so many letters of an id, and of a title.
const ID_LETTERS: usize = 10;
const TITLE_LETTERS: usize = 26;
/// A picture of more tasks than this tells nobody anything.
const MOST: usize = 400;
/// What is told of a task where somebody points at it has so many letters.
const TOLD_LETTERS: usize = 80;

/// The picture.
#[derive(Debug, Serialize)]
pub(super) struct Graph<'a> {
    width: usize,
    height: usize,
    columns: usize,
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge>,
}

/// One task.
#[derive(Debug, Serialize)]
struct Node<'a> {
    x: usize,
    y: usize,
    is_critical: bool,
    verdict: Verdict,
    work: &'a TaskSummary,
    cells: Vec<Cell>,
    id: String,
    title: String,
    told: String,
}

/// One half of a pair.
#[derive(Debug, Serialize)]
struct Cell {
    x: usize,
    name: &'static str,
    verdict: Verdict,
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
    pub(super) fn new(rows: &[RowView<'a>], critical: &BTreeSet<&str>) -> Option<Self> {
        if rows.is_empty() || rows.len() > MOST {
            return None;
        }
        let tasks = Tasks::of(rows);
        let (places, columns) = tasks.places();
        let is_critical = |at: usize| {
            let mut halves = rows[at].halves();
            halves.any(|half| critical.contains(half.id.as_str()))
        };
        let mut edges = Vec::new();
        for (at, before) in tasks.before.iter().enumerate() {
            for &before in before {
                let ((x1, y1), (x2, y2)) = (places[before], places[at]);
                let x1 = x1 + NODE_WIDTH;
                edges.push(Edge {
                    x1,
                    y1: y1 + NODE_HEIGHT / 2,
                    bend: x1.midpoint(x2),
                    x2,
                    y2: y2 + NODE_HEIGHT / 2,
                    is_critical: is_critical(at) && is_critical(before),
                });
            }
        }
        let nodes = rows.iter().zip(&places).enumerate();
        let nodes = nodes.map(|(at, (row, place))| node(row, *place, is_critical(at)));
        let most = |coordinate: fn(&(usize, usize)) -> usize| places.iter().map(coordinate).max();
        Some(Self {
            width: most(|place| place.0)? + NODE_WIDTH + MARGIN,
            height: most(|place| place.1)? + NODE_HEIGHT + MARGIN,
            columns,
            nodes: nodes.collect(),
            edges,
        })
    }
}

fn node<'a>(row: &RowView<'a>, (x, y): (usize, usize), is_critical: bool) -> Node<'a> {
    let work = row.work;
    let cell = |half: &TaskSummary| Cell {
        x: x + if half.phase == Phase::Red { 108 } else { 146 },
        name: if half.phase == Phase::Red {
            "RED"
        } else {
            "GREEN"
        },
        verdict: half.verdict,
    };
    let states: Vec<String> = row.halves().map(half_told).collect();
    let title = tm_untrusted::line(&work.title, TOLD_LETTERS);
    Node {
        x,
        y,
        is_critical,
        verdict: row.verdict,
        cells: row
            .red
            .iter()
            .flat_map(|_| row.halves().map(cell))
            .collect(),
        id: tm_untrusted::line(&work.id, ID_LETTERS),
        title: tm_untrusted::line(&work.title, TITLE_LETTERS),
        told: format!("{} {title}: {}", work.id, states.join(", ")),
        work,
    }
}

fn half_told(half: &TaskSummary) -> String {
    match half.phase() {
        Phase::None => half.state.clone(),
        phase => format!("{} {}", phase.as_str().to_uppercase(), half.state),
    }
}

/// The tasks by number, with the numbers of those that each depends on.
struct Tasks<'r, 'a> {
    rows: &'r [RowView<'a>],
    before: Vec<BTreeSet<usize>>,
}

impl<'r, 'a> Tasks<'r, 'a> {
    fn of(rows: &'r [RowView<'a>]) -> Self {
        let numbered = rows.iter().enumerate();
        let halves =
            numbered.flat_map(|(at, row)| row.halves().map(move |half| (half.id.as_str(), at)));
        let numbers: BTreeMap<&str, usize> = halves.collect();
        let before = rows.iter().enumerate().map(|(at, row)| {
            let named = row.halves().flat_map(|half| &half.dependencies);
            let known = named.filter_map(|id| numbers.get(id.as_str()).copied());
            known.filter(|before| *before != at).collect()
        });
        Self {
            before: before.collect(),
            rows,
        }
    }

    /// Places by number, and how many columns there are: within its column, a task stands beside what it depends on.
    fn places(&self) -> (Vec<(usize, usize)>, usize) {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&at| self.rows[at].work.wave);
        let mut columns: Vec<Vec<usize>> = Vec::new();
        let mut column_of = vec![0; self.rows.len()];
        for at in order {
            let behind = self.before[at].iter().map(|&before| column_of[before] + 1);
            column_of[at] = behind.max().unwrap_or(0);
            columns.resize(columns.len().max(column_of[at] + 1), Vec::new());
            columns[column_of[at]].push(at);
        }
        let mut places = vec![(0, 0); self.rows.len()];
        for (column, tasks) in columns.iter_mut().enumerate() {
            tasks.sort_by_key(|&at| (self.height(at, &places), at));
            for (row, &at) in tasks.iter().enumerate() {
                places[at] = (MARGIN + column * COLUMN, MARGIN + row * ROW);
            }
        }
        (places, columns.len())
    }

    /// The mean height of what a task depends on.
    fn height(&self, at: usize, places: &[(usize, usize)]) -> usize {
        let before = &self.before[at];
        let heights: usize = before.iter().map(|&before| places[before].1).sum();
        heights / before.len().max(1)
    }
}
