//! Planning backlogs of 100 to 100,000 tasks.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tm_benches::layered_backlog;
use tm_scheduler::{PlanOptions, TddMode, WavePlan};

fn planning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    for count in [100, 1_000, 10_000, 100_000] {
        let tasks = layered_backlog(count);
        for (name, tdd) in [("plain", TddMode::Off), ("pairs", TddMode::Auto)] {
            let options = PlanOptions {
                tdd,
                ..PlanOptions::default()
            };
            group.bench_with_input(BenchmarkId::new(name, count), &tasks, |bencher, tasks| {
                bencher.iter(|| black_box(WavePlan::new(tasks, &options).expect("a plan")));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
