//! Reading 100,000 test results in each format.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::fmt::Write as _;
use std::hint::black_box;
use tm_executors::testing::read_output;
use tm_scheduler::ResultFormat;

const TESTS: usize = 100_000;

/// An output with as many tests, one in a thousand of which fails.
fn output(format: ResultFormat) -> String {
    let mut text = match format {
        ResultFormat::Tap => format!("TAP version 13\n1..{TESTS}\n"),
        ResultFormat::Cargo => {
            format!(
                "     Running unittests src/lib.rs (target/debug/deps/demo-0123)\n\nrunning {TESTS} tests\n"
            )
        }
        ResultFormat::Junit => "<testsuites><testsuite name=\"all\">".to_owned(),
        ResultFormat::Jest => {
            r#"{"testResults":[{"name":"a.test.js","status":"failed","assertionResults":["#
                .to_owned()
        }
        _ => String::new(),
    };
    for number in 0..TESTS {
        let fails = number % 1_000 == 0;
        let line = match format {
            ResultFormat::Tap => {
                format!(
                    "{}ok {} - module test {number}\n",
                    if fails { "not " } else { "" },
                    number + 1
                )
            }
            ResultFormat::Cargo => format!(
                "test module::test_{number} ... {}\n",
                if fails { "FAILED" } else { "ok" }
            ),
            ResultFormat::Junit => {
                let inner = if fails {
                    "<failure message=\"no\">expected 1</failure>"
                } else {
                    ""
                };
                format!("<testcase classname=\"module\" name=\"test {number}\">{inner}</testcase>")
            }
            ResultFormat::Jest => {
                let status = if fails { "failed" } else { "passed" };
                let comma = if number == 0 { "" } else { "," };
                format!(
                    r#"{comma}{{"ancestorTitles":["module"],"title":"test {number}","status":"{status}"}}"#
                )
            }
            _ => {
                let action = if fails { "fail" } else { "pass" };
                format!(
                    "{{\"Action\":\"run\",\"Package\":\"demo\",\"Test\":\"Test{number}\"}}\n{{\"Action\":\"{action}\",\"Package\":\"demo\",\"Test\":\"Test{number}\"}}\n"
                )
            }
        };
        text.push_str(&line);
    }
    let end = match format {
        ResultFormat::Cargo => "\ntest result: FAILED. 99900 passed; 100 failed\n",
        ResultFormat::Junit => "</testsuite></testsuites>",
        ResultFormat::Jest => "]}]}",
        ResultFormat::Go => "{\"Action\":\"fail\",\"Package\":\"demo\"}\n",
        _ => "",
    };
    let _ = write!(text, "{end}");
    text
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("results");
    group.sample_size(10);
    let formats = [
        ResultFormat::Tap,
        ResultFormat::Cargo,
        ResultFormat::Junit,
        ResultFormat::Jest,
        ResultFormat::Go,
    ];
    for format in formats {
        let text = output(format);
        let read = read_output(format, &text).expect("results");
        assert_eq!(read.len(), TESTS, "{format:?}");
        group.bench_with_input(
            BenchmarkId::new(format!("{format:?}"), TESTS),
            &text,
            |bencher, text| {
                bencher.iter(|| black_box(read_output(format, text)));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
