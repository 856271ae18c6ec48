//! Cobertura's XML, which coverage.py, gcovr, tarpaulin and many others write.

use super::Lines;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// Sums the lines of all classes; those that are listed under methods as well count once.
pub(super) fn cobertura(text: &str) -> Option<Lines> {
    let mut reader = Reader::from_str(text);
    let mut lines: BTreeMap<(String, u64), bool> = BTreeMap::new();
    let (mut file, mut is_coverage, mut levels) = (String::new(), false, 0_u32);
    loop {
        let event = reader.read_event().ok()?;
        let element = match &event {
            Event::Start(element) => {
                levels += 1;
                element
            }
            Event::Empty(element) => element,
            Event::End(_) => {
                levels = levels.checked_sub(1)?;
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        match element.name().as_ref() {
            "coverage" => is_coverage = true,
            "class" => file = attribute(element, "filename").unwrap_or_default(),
            "line" => {
                let number = attribute(element, "number").and_then(|number| number.parse().ok());
                let hits = attribute(element, "hits").and_then(|hits| hits.parse::<u64>().ok());
                if let (Some(number), Some(hits)) = (number, hits) {
                    *lines.entry((file.clone(), number)).or_default() |= hits > 0;
                }
            }
            _ => {}
        }
    }
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let is_whole = is_coverage && levels == 0;
    is_whole.then(|| {
        (
            count(lines.values().filter(|covered| **covered).count()),
            count(lines.len()),
        )
    })
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    element
        .try_get_attribute(name)
        .ok()
        .flatten()
        .map(|attribute| attribute.value.to_string())
}
