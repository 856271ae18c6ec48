//! What was written is read back, and nothing else ever is.

use super::reader::parse_journal;
use super::*;
use crate::run::RunDirectory;
use crate::{Error, atomic};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tm_scheduler::{AttemptNumber, Timestamp};

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct Header {
    run_id: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
enum Record {
    Started { task: String, slots: Vec<u8> },
    Tick,
}

type Contents = JournalContents<Header, Record>;

fn header() -> Header {
    Header {
        run_id: "20261121-014512-3fa9".to_owned(),
    }
}

fn started(task: &str) -> Record {
    Record::Started {
        task: task.to_owned(),
        slots: vec![1, 2],
    }
}

fn write(path: &Path, records: &[(u64, Record)]) {
    let mut writer = JournalWriter::create(path, &header()).unwrap();
    for (at, record) in records {
        writer.append(Timestamp(*at), record).unwrap();
    }
    writer.sync().unwrap();
}

fn read(path: &Path) -> Result<Contents, Error> {
    read_journal(path)
}

fn journal_of(records: &[(u64, Record)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    write(&path, records);
    (folder, path)
}

fn three() -> Vec<(u64, Record)> {
    vec![
        (10, started("1")),
        (20, Record::Tick),
        (30, started("zwölf \"2\"\n")),
    ]
}

fn pairs(contents: &Contents) -> Vec<(u64, Record)> {
    contents
        .records
        .iter()
        .map(|line| (line.at.0, line.record.clone()))
        .collect()
}

/// Returns the line that is named as damaged.
fn damaged_line(result: Result<Contents, Error>) -> usize {
    match result {
        Err(Error::JournalDamaged { line, .. }) => line,
        other => panic!("should be damaged: {other:?}"),
    }
}

#[test]
fn format_of_version_5_stays_as_it_is() {
    let (_folder, path) = journal_of(&three());
    let text = "{\"version\":5,\"crc\":\"67fa17ec\",\"header\":{\"run_id\":\"20261121-014512-3fa9\"}}\n\
        {\"at\":10,\"seq\":1,\"crc\":\"84fec020\",\"record\":{\"Started\":{\"task\":\"1\",\"slots\":[1,2]}}}\n\
        {\"at\":20,\"seq\":2,\"crc\":\"64305f42\",\"record\":\"Tick\"}\n\
        {\"at\":30,\"seq\":3,\"crc\":\"cdd203e4\",\"record\":\
        {\"Started\":{\"task\":\"zwölf \\\"2\\\"\\n\",\"slots\":[1,2]}}}\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    atomic::replace(&path, text.as_bytes()).unwrap();
    assert_eq!(pairs(&read(&path).unwrap()), three());
}

#[test]
fn a_journal_of_an_older_version_is_read_and_becomes_one_of_the_newest_when_it_goes_on() {
    for (version, checksum) in [
        (1, "714659ea"),
        (2, "920fee48"),
        (3, "7a187ee9"),
        (4, "8fed874d"),
    ] {
        goes_on_in_the_newest(version, checksum);
    }
}

fn goes_on_in_the_newest(version: u64, checksum: &str) {
    let (_folder, path) = journal_of(&three());
    let newer = fs::read_to_string(&path).unwrap();
    let (_, records) = newer.split_once('\n').unwrap();
    let header = "\"header\":{\"run_id\":\"20261121-014512-3fa9\"}";
    let older = format!("{{\"version\":{version},\"crc\":\"{checksum}\",{header}}}\n");
    atomic::replace(&path, (older.clone() + records + "torn").as_bytes()).unwrap();
    let contents = read(&path).unwrap();
    assert_eq!(
        (pairs(&contents), contents.header),
        (three(), self::header())
    );
    assert!(
        fs::read_to_string(&path).unwrap().starts_with(&older),
        "reading changes nothing"
    );
    drop(JournalWriter::append_to(&path, contents.end).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    // Its checksum is that of its own version.
    atomic::replace(
        &path,
        older
            .replace(&format!("\"version\":{version}"), "\"version\":5")
            .as_bytes(),
    )
    .unwrap();
    assert_eq!(damaged_line(read(&path)), 1);
}

#[test]
fn everything_written_is_read_back() {
    let (_folder, path) = journal_of(&three());
    let contents = read(&path).unwrap();
    assert_eq!((&contents.header, contents.torn), (&header(), None));
    assert_eq!(pairs(&contents), three());
    assert_eq!(contents.end.length(), fs::metadata(&path).unwrap().len());
}

#[test]
fn journal_without_records_is_whole() {
    let (_folder, path) = journal_of(&[]);
    let contents = read(&path).unwrap();
    assert_eq!((contents.records.len(), contents.torn), (0, None));
}

#[test]
fn journal_goes_on_after_its_torn_line() {
    let (_folder, path) = journal_of(&three());
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"{\"at\":40,\"seq\":4,\"cr")
        .unwrap();
    let contents = read(&path).unwrap();
    assert_eq!(
        contents.torn,
        Some(TornLine {
            line: 5,
            length: 20
        })
    );
    let mut writer = JournalWriter::append_to(&path, contents.end).unwrap();
    writer.append(Timestamp(50), &Record::Tick).unwrap();
    writer.sync().unwrap();
    let contents = read(&path).unwrap();
    let expected: Vec<_> = three().into_iter().chain([(50, Record::Tick)]).collect();
    assert_eq!((pairs(&contents), contents.torn), (expected, None));
}

#[test]
fn torn_line_is_cut_off_even_when_nothing_follows() {
    let (_folder, path) = journal_of(&three());
    let whole = fs::read(&path).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(&[0; 4096])
        .unwrap();
    let contents = read(&path).unwrap();
    assert_eq!(
        (pairs(&contents), contents.torn.map(|torn| torn.length)),
        (three(), Some(4096))
    );
    JournalWriter::append_to(&path, contents.end)
        .unwrap()
        .sync()
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn last_line_that_is_no_json_is_torn_and_one_further_up_is_damage() {
    let (_folder, path) = journal_of(&three());
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"{\"at\":40,\"se\n")
        .unwrap();
    assert_eq!(read(&path).unwrap().torn.unwrap().line, 5);
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"{\"at\":40,\"se")
        .unwrap();
    assert_eq!(damaged_line(read(&path)), 5);
}

#[test]
fn changed_value_is_damage_on_any_line() {
    let (_folder, path) = journal_of(&three());
    let text = fs::read_to_string(&path).unwrap();
    for (old, new, line) in [
        ("014512", "014513", 1),
        ("\"at\":10", "\"at\":11", 2),
        ("\"seq\":2", "\"seq\":4", 3),
        ("Tick", "Tock", 3),
        ("zwölf", "zwolf", 4),
    ] {
        atomic::replace(&path, text.replacen(old, new, 1).as_bytes()).unwrap();
        assert_eq!(damaged_line(read(&path)), line, "{old}");
    }
}

#[test]
fn missing_doubled_and_swapped_lines_are_damage() {
    let (_folder, path) = journal_of(&three());
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (order, line) in [
        (&[0, 2, 3][..], 2),
        (&[0, 1, 3], 3),
        (&[0, 1, 1, 2, 3], 3),
        (&[0, 2, 1, 3], 2),
    ] {
        let changed: String = order.iter().map(|index| lines[*index]).collect();
        atomic::replace(&path, changed.as_bytes()).unwrap();
        assert_eq!(damaged_line(read(&path)), line, "{order:?}");
    }
}

#[test]
fn damage_is_reported_with_file_line_and_reason() {
    let (_folder, path) = journal_of(&three());
    let text = fs::read_to_string(&path)
        .unwrap()
        .replacen("Tick", "Tock", 1);
    atomic::replace(&path, text.as_bytes()).unwrap();
    let expected = format!(
        "read line 3 of the journal `{}`: its checksum does not match",
        path.display()
    );
    assert_eq!(read(&path).unwrap_err().to_string(), expected);
}

#[test]
fn whole_record_of_an_unknown_kind_is_an_error_even_at_the_end() {
    let (_folder, path) = journal_of(&three());
    let error = read_journal::<Header, u64>(&path).unwrap_err();
    assert!(
        matches!(error, Error::JournalDamaged { line: 2, .. }),
        "{error}"
    );
    let (_folder, path) = journal_of(&three()[..1]);
    let error = read_journal::<Header, u64>(&path).unwrap_err();
    assert!(
        error.to_string().contains("the record is not understood"),
        "{error}"
    );
}

#[test]
fn other_versions_are_named_whatever_else_they_hold() {
    let (_folder, path) = journal_of(&three());
    let text = "{\"compression\":\"none\",\"version\":6}\nanything\n";
    atomic::replace(&path, text.as_bytes()).unwrap();
    let error = read(&path).unwrap_err();
    assert!(
        matches!(
            error,
            Error::JournalVersion {
                found: 6,
                oldest: 1,
                newest: 5,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn journal_whose_first_line_has_no_end_never_began() {
    let (_folder, path) = journal_of(&[]);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        atomic::replace(&path, &whole[..length]).unwrap();
        assert!(
            matches!(read(&path), Err(Error::JournalUnstarted { .. })),
            "{length}"
        );
    }
}

#[test]
fn run_without_a_journal_never_began_unless_something_was_tried_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDirectory {
        path: folder.path().join("run"),
    };
    run.create().unwrap();
    assert!(matches!(
        read(&run.journal()),
        Err(Error::JournalUnstarted { .. })
    ));
    run.attempt(&"1".into(), AttemptNumber(1)).create().unwrap();
    assert!(matches!(read(&run.journal()), Err(Error::Read { .. })));
}

#[test]
fn missing_journal_is_a_read_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        read(&folder.path().join("none")),
        Err(Error::Read { .. })
    ));
}

#[test]
fn journal_cut_anywhere_holds_exactly_its_whole_lines() {
    let (_folder, path) = journal_of(&three());
    let whole = fs::read(&path).unwrap();
    let header_length = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in header_length..=whole.len() {
        OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length as u64)
            .unwrap();
        let contents = read(&path).unwrap();
        let lines = whole[..length].split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(pairs(&contents), three()[..lines - 1], "{length}");
        assert_eq!(
            contents.torn.is_some(),
            whole[length - 1] != b'\n',
            "{length}"
        );
        atomic::replace(&path, &whole).unwrap();
    }
}

fn any_record() -> impl Strategy<Value = Record> {
    let started = (".{0,12}", vec(any::<u8>(), 0..4))
        .prop_map(|(task, slots)| Record::Started { task, slots });
    prop_oneof![Just(Record::Tick), started]
}

fn any_records() -> impl Strategy<Value = Vec<(u64, Record)>> {
    vec((any::<u64>(), any_record()), 1..6)
}

/// Writes a journal without a flush to disk, of which thousands would take long.
fn bytes_of(records: &[(u64, Record)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let mut writer = JournalWriter::begin(&path, &header()).unwrap();
    for (at, record) in records {
        writer.append(Timestamp(*at), record).unwrap();
    }
    writer.flush().unwrap();
    fs::read(&path).unwrap()
}

fn parse(bytes: &[u8]) -> Result<Contents, Error> {
    parse_journal(Path::new("journal.jsonl"), bytes)
}

/// Checks that reading gives an error or a start of what was written.
fn assert_no_wrong_record(bytes: &[u8], records: &[(u64, Record)]) {
    if let Ok(contents) = parse(bytes) {
        assert_eq!(contents.header, header());
        let found = pairs(&contents);
        assert!(
            records.starts_with(&found),
            "{found:?} should be a start of {records:?}"
        );
    }
}

#[test]
fn every_flipped_bit_is_an_error_or_a_torn_end() {
    let whole = bytes_of(&three());
    let last_line = whole.len()
        - whole
            .split_inclusive(|byte| *byte == b'\n')
            .next_back()
            .unwrap()
            .len();
    for bit in 0..whole.len() * 8 {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_no_wrong_record(&changed, &three());
        let is_noticed = parse(&changed).map_or(true, |contents| contents.torn.is_some());
        let may_be_torn = bit / 8 + 1 >= last_line;
        assert!(
            is_noticed && (parse(&changed).is_err() || may_be_torn),
            "bit {bit}"
        );
    }
}

proptest! {
    #[test]
    fn any_records_are_read_back(records in any_records()) {
        let contents = parse(&bytes_of(&records)).unwrap();
        prop_assert_eq!(pairs(&contents), records);
        prop_assert_eq!(contents.torn, None);
    }

    #[test]
    fn arbitrary_bytes_are_no_journal_and_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_behind_a_journal_add_no_record(
        records in any_records(),
        bytes in prop_oneof![vec(any::<u8>(), 1..200), "[\\[\\]{}\":,0-9a-z\n]{1,60}".prop_map(String::into_bytes)],
    ) {
        let whole = [bytes_of(&records), bytes].concat();
        assert_no_wrong_record(&whole, &records);
        if let Ok(contents) = parse(&whole) {
            prop_assert_eq!(pairs(&contents), records);
            prop_assert!(contents.torn.is_some());
        }
    }

    #[test]
    fn bytes_put_anywhere_into_a_journal_add_no_record(
        records in any_records(),
        at in any::<prop::sample::Index>(),
        removed in 0..40_usize,
        put in vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = bytes_of(&records);
        let start = at.index(bytes.len());
        let end = (start + removed).min(bytes.len());
        bytes.splice(start..end, put);
        assert_no_wrong_record(&bytes, &records);
    }

    #[test]
    fn journal_cut_at_any_length_goes_on_as_a_whole_one(records in any_records(), at in any::<prop::sample::Index>()) {
        let bytes = bytes_of(&records);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        fs::File::create(&path).unwrap().write_all(&bytes[..at.index(bytes.len() + 1)]).unwrap();
        if let Ok(contents) = read(&path) {
            let mut expected = pairs(&contents);
            let mut writer = JournalWriter::append_to(&path, contents.end).unwrap();
            writer.append(Timestamp(99), &Record::Tick).unwrap();
            drop(writer);
            expected.push((99, Record::Tick));
            prop_assert_eq!(pairs(&read(&path).unwrap()), expected);
        }
    }
}
