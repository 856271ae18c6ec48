//! What benchmarks measure with: backlogs of any size, layered graphs in the shape of real ones, the same for the same size;
//! graphs of tasks with their times, made or read, and the time in which they are carried out.

pub mod graph_files;
pub mod graphs;
pub mod simulated;

use tm_scheduler::Task;

/// Returns so many tasks, each depending on up to three among the hundred before it.
pub fn layered_backlog(count: usize) -> Vec<Task> {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |limit: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % limit as u64).unwrap_or(0)
    };
    (1..=count)
        .map(|number| {
            let mut task = Task::new(number.to_string(), "Add a part");
            for _ in 0..random(4) {
                let before = number.saturating_sub(1 + random(100));
                let id = before.to_string().into();
                if before > 0 && !task.dependencies.contains(&id) {
                    task.dependencies.push(id);
                }
            }
            task
        })
        .collect()
}

/// Returns the same backlog as Task Master writes it.
pub fn tasks_json(tasks: &[Task]) -> String {
    let entry = |task: &Task| {
        let dependencies: Vec<&str> = task
            .dependencies
            .iter()
            .map(tm_scheduler::TaskId::as_str)
            .collect();
        format!(
            "{{\"id\": {}, \"title\": \"{}\", \"status\": \"pending\", \"dependencies\": [{}], \"subtasks\": []}}",
            task.id,
            task.title,
            dependencies.join(", ")
        )
    };
    let entries: Vec<String> = tasks.iter().map(entry).collect();
    format!(
        "{{\"master\": {{\"tasks\": [\n{}\n]}}}}\n",
        entries.join(",\n")
    )
}
