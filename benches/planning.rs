//! Reading and planning backlogs of 100 to 100,000 tasks.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tm_benches::{layered_backlog, tasks_json};
use tm_scheduler::{PlanOptions, TddMode, WavePlan};
use tm_store::backlog::{BacklogSource, ReadOptions};

fn planning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    for count in [100, 1_000, 10_000, 100_000] {
        let tasks = layered_backlog(count);
        for (name, tdd) in [("plain", TddMode::Off), ("pairs", TddMode::Auto)] {
            let options = PlanOptions { tdd, ..PlanOptions::default() };
            group.bench_with_input(BenchmarkId::new(name, count), &tasks, |bencher, tasks| {
                bencher.iter(|| black_box(WavePlan::new(tasks, &options).expect("a plan")));
            });
        }
    }
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10);
    let folder = tempfile::tempdir().expect("a folder");
    for count in [100, 1_000, 10_000, 100_000] {
        let path = folder.path().join(format!("{count}.json"));
        tm_store::atomic::replace(&path, tasks_json(&layered_backlog(count)).as_bytes()).expect("a file");
        let source = BacklogSource::at(&path).expect("a source");
        group.bench_function(BenchmarkId::new("tasks.json", count), |bencher| {
            bencher.iter(|| black_box(source.read(&ReadOptions::default()).expect("a backlog")));
        });
    }
    group.finish();
}

criterion_group!(benches, planning, reading);
criterion_main!(benches);
