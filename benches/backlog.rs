//! What the commands on a backlog do, with 100 to 1,000,000 tasks: read, plan, list, next, validate, set a status. Ten times
//! the tasks should take ten times as long.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tm_benches::{layered_backlog, tasks_json};
use tm_scheduler::{Candidates, PlanOptions, Status, TddMode, WavePlan, next, problems};
use tm_store::backlog::{BacklogSource, ReadOptions, RollUp, StatusChange};

fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("backlog");
    group.sample_size(10);
    let folder = tempfile::tempdir().expect("a folder");
    for count in [100, 1_000, 10_000, 100_000, 1_000_000] {
        group.throughput(Throughput::Elements(count as u64));
        let path = folder.path().join(format!("{count}.json"));
        tm_store::atomic::replace(&path, tasks_json(&layered_backlog(count)).as_bytes())
            .expect("a file");
        let source = BacklogSource::at(&path).expect("a source");
        let options = ReadOptions::default();
        let plan = PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        let read = || source.read(&options).expect("a backlog");
        group.bench_function(BenchmarkId::new("read", count), |bencher| {
            bencher.iter(|| black_box(read()));
        });
        group.bench_function(BenchmarkId::new("read and plan", count), |bencher| {
            bencher.iter(|| black_box(WavePlan::new(&read().tasks, &plan).expect("a plan")));
        });
        group.bench_function(BenchmarkId::new("list", count), |bencher| {
            bencher.iter(|| {
                let snapshot = source.snapshot().expect("a backlog");
                let backlog = snapshot.read(&options).expect("tasks");
                let entries = snapshot.entries(&backlog);
                serde_json::to_writer_pretty(std::io::sink(), &entries).expect("written");
            });
        });
        group.bench_function(BenchmarkId::new("next", count), |bencher| {
            bencher.iter(|| {
                black_box(next(&read().tasks, Candidates::Open).map(|task| task.id.clone()))
            });
        });
        group.bench_function(BenchmarkId::new("validate", count), |bencher| {
            bencher.iter(|| black_box(problems(&read().tasks)));
        });
        let mut is_done = false;
        group.bench_function(BenchmarkId::new("set-status", count), |bencher| {
            bencher.iter(|| {
                is_done = !is_done;
                let status = if is_done {
                    Status::Done
                } else {
                    Status::Pending
                };
                let change = StatusChange {
                    id: count.to_string().into(),
                    status,
                };
                source
                    .set_statuses(&"master".into(), &[change], RollUp::Relatives, None)
                    .expect("set")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, commands);
criterion_main!(benches);
