//! What real tools write, and damaged reports.

use super::*;
use proptest::prelude::*;

const LCOV: &str = "TN:\nSF:src/a.rs\nFN:1,a\nDA:1,5\nDA:2,0\nDA:3,1,abc\nLF:3\nLH:2\nend_of_record\nSF:src/b.rs\nDA:1,0\nend_of_record\n";
const COBERTURA: &str = r#"<?xml version="1.0" ?><!DOCTYPE coverage SYSTEM "x.dtd"><coverage line-rate="0.5"><packages><package name="."><classes><class name="a.py" filename="a.py"><methods><method name="m"><lines><line number="1" hits="2"/></lines></method></methods><lines><line number="1" hits="2"/><line number="2" hits="0"/></lines></class><class name="b.py" filename="b.py"><lines><line number="1" hits="1"/></lines></class></classes></package></packages></coverage>"#;
const COVERAGE_PY: &str = r#"{"meta":{"version":"7"},"files":{},"totals":{"covered_lines":8,"num_statements":10,"percent_covered":80.0}}"#;
const LLVM: &str = r#"{"data":[{"files":[],"totals":{"lines":{"count":4,"covered":3,"percent":75}}}],"type":"llvm.coverage.json.export"}"#;
const ISTANBUL: &str = r#"{"total":{"lines":{"total":20,"covered":5,"skipped":0,"pct":25}}}"#;

#[test]
fn each_format_gives_its_lines() {
    assert_eq!(lcov(LCOV), Some((2, 4)));
    assert_eq!(cobertura(COBERTURA), Some((2, 3)));
    assert_eq!(json(COVERAGE_PY), Some((8, 10)));
    assert_eq!(json(LLVM), Some((3, 4)));
    assert_eq!(json(ISTANBUL), Some((5, 20)));
}

#[test]
fn of_a_long_report_nothing_but_its_sums_is_held() {
    let numbers = format!("\"files\":[{}0],", "0,".repeat(1_000_000));
    let long = COVERAGE_PY.replacen("\"files\":{},", &numbers, 1);
    assert_eq!(json(&long), Some((8, 10)));
    // Copied for each line, the name would take a hundred gigabytes.
    let (name, lines) = ("x".repeat(4 << 20), 25_000);
    let line = |number| format!("<line number=\"{number}\" hits=\"1\"/>");
    let of_file: String = (0..lines).map(line).collect();
    let long = format!("<coverage><class filename=\"{name}\">{of_file}</class></coverage>");
    assert_eq!(cobertura(&long), Some((lines, lines)));
}

#[test]
fn only_a_fresh_report_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lcov.info");
    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    std::fs::write(&path, LCOV).expect("a file");
    let coverage = read(folder.path(), SystemTime::UNIX_EPOCH).expect("coverage");
    assert_eq!(
        (coverage.percent(), coverage.source.as_str()),
        (50.0, "lcov.info")
    );
    let later = SystemTime::now() + Duration::from_hours(1);
    assert_eq!(read(folder.path(), later), None);
}

#[test]
fn a_report_behind_a_link_or_a_pipe_counts_nothing() {
    let (folder, elsewhere) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    std::fs::write(elsewhere.path().join("lcov.info"), LCOV).expect("a file");
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("coverage")).expect("a link");
    std::os::unix::fs::symlink(
        elsewhere.path().join("lcov.info"),
        folder.path().join("lcov.info"),
    )
    .expect("a link");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = folder.path().join("coverage.xml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    assert_eq!(read(folder.path(), SystemTime::UNIX_EPOCH), None);
}

#[test]
fn damaged_reports_tell_nothing() {
    for text in [
        "",
        "{",
        "<coverage>",
        "SF:a\nDA:1,1\n",
        "DA:1,1\nend_of_record\n",
        "[]",
        "{\"totals\":{}}",
    ] {
        assert_eq!(
            (lcov(text), cobertura(text), json(text)),
            (None, None, None),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn anything_can_be_read(text in "(?s).{0,200}") {
        let _any = (lcov(&text), cobertura(&text), json(&text), json(&text));
    }

    #[test]
    fn a_cut_report_is_whole_or_tells_nothing_or_less(keep in 0..LCOV.len()) {
        let lines = lcov(&LCOV[..keep]);
        prop_assert!(lines.is_none_or(|(covered, total)| covered <= total && total <= 4));
        prop_assert_eq!(cobertura(&COBERTURA[..keep.min(COBERTURA.len() - 1)]), None);
    }
}
