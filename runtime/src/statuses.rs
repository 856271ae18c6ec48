//! Writes statuses into the backlog, one after the other, several at a time where they come together.
//!
//! A status that can't be written now is written with the next one, and again when the run is taken up.

use crate::crew::{Heard, Told};
use crate::now;
use crate::setup::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use tm_scheduler::{Status, TaskId};
use tm_store::backlog::{RollUp, StatusChange};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The writer of statuses.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    sender: Option<mpsc::UnboundedSender<(TaskId, Status)>>,
    task: JoinHandle<Vec<String>>,
}

impl StatusWriter {
    pub(crate) fn start(setup: &Shared, told: mpsc::UnboundedSender<Heard>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender: Some(sender), task: tokio::spawn(write_all(Arc::clone(setup), receiver, told)) }
    }

    pub(crate) fn set(&self, task: TaskId, status: Status) {
        if let Some(sender) = &self.sender {
            // The writer lives as long as this sender.
            let _writer_is_gone = sender.send((task, status));
        }
    }

    /// Waits until everything is written; returns what could not be.
    pub(crate) async fn finish(&mut self) -> Vec<String> {
        self.sender = None;
        (&mut self.task).await.unwrap_or_default()
    }
}

async fn write_all(
    setup: Shared,
    mut receiver: mpsc::UnboundedReceiver<(TaskId, Status)>,
    told: mpsc::UnboundedSender<Heard>,
) -> Vec<String> {
    let mut pending: BTreeMap<TaskId, Status> = BTreeMap::new();
    while let Some((task, status)) = receiver.recv().await {
        pending.insert(task, status);
        while let Ok((task, status)) = receiver.try_recv() {
            pending.insert(task, status);
        }
        match write(&setup, &pending).await {
            Ok(()) => pending.clear(),
            Err(why) => {
                let _nobody_listens = told.send(Heard::Told(Told::Warning(why)));
            }
        }
    }
    match write(&setup, &pending).await {
        Ok(()) => Vec::new(),
        Err(why) => vec![why],
    }
}

async fn write(setup: &Shared, pending: &BTreeMap<TaskId, Status>) -> Result<(), String> {
    if pending.is_empty() {
        return Ok(());
    }
    let changes: Vec<StatusChange> =
        pending.iter().map(|(task, status)| StatusChange { id: task.clone(), status: status.clone() }).collect();
    let setup = Arc::clone(setup);
    let written = tokio::task::spawn_blocking(move || {
        let stamp = tm_store::backlog::stamp(now());
        setup.backlog.set_statuses(&setup.header.tag, &changes, RollUp::Parents, Some(&stamp))
    });
    match written.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("failed to {error}; the statuses are written with the next change")),
        Err(error) => Err(format!("failed to write statuses: {error}")),
    }
}
