//! What is found in a text is what `serde_json` finds there, whatever the text is.

use super::scan::BYTE_ORDER_MARK;
use super::{Document, Kind, Value};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

/// Any JSON text, however oddly spelled.
pub(in crate::backlog) fn json() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        r#""([a-z é😀/\x7f]|\\["\\/bfnrt]|\\u[0-9a-fA-D]{4}|\\ud83d\\ude00){0,24}""#,
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("null".to_owned()),
    ];
    plain.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5)
                .prop_map(|all| format!("[{}]", all.join(" ,"))),
            proptest::collection::vec(("[ab]{1,2}", inner), 0..5).prop_map(|all| {
                let member = |(name, value)| format!("\"{name}\" :\r\n\t{value}");
                let all: Vec<String> = all.into_iter().map(member).collect();
                format!("{{ {} }}", all.join(","))
            }),
        ]
    })
}

/// A JSON text of which a part is gone or something else: most are none any more.
fn damaged() -> impl Strategy<Value = String> {
    let odd = r#"["\\\[\]{},:0-9eE.+\-a-z \n\x00\x1f\x7f\u{a0}\u{feff}é]{0,3}"#;
    let place = any::<prop::sample::Index>();
    (json(), place, 0_usize..4, odd).prop_map(|(text, place, gone, new)| {
        let mut letters: Vec<char> = text.chars().collect();
        let start = place.index(letters.len() + 1);
        let end = letters.len().min(start + gone);
        letters.splice(start..end, new.chars());
        letters.into_iter().collect()
    })
}

/// The value, told from where its parts were found.
fn told(value: Value<'_>) -> Option<Json> {
    Some(match value.kind() {
        Kind::Object => {
            let members = value.members();
            let told = members.map(|(name, value)| Some((name.into_owned(), told(value)?)));
            Json::Object(told.collect::<Option<_>>()?)
        }
        Kind::Array => Json::Array(value.elements().map(told).collect::<Option<_>>()?),
        Kind::Text | Kind::EscapedText => Json::String(value.text()?.into_owned()),
        Kind::Number => Json::Number(serde_json::from_str(value.raw()).ok()?),
        Kind::Boolean => Json::Bool(value.raw() == "true"),
        Kind::Null => Json::Null,
    })
}

/// Tells whether anything is there but blanks.
fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\n', '\r', '\t']).is_empty()
}

fn is_read_as_by_serde_json(text: &str) -> Result<(), TestCaseError> {
    // A byte order mark is no part of JSON, and passed over.
    let marked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // Neither refuses numbers, halves of letters or levels here: the syntax alone decides.
    let is_json = serde_json::from_str::<IgnoredAny>(marked).is_ok();
    let document = Document::parse(text.to_owned());
    prop_assert_eq!(document.is_ok(), is_json || is_blank(marked), "{:?}", text);
    if let (Ok(document), Ok(read)) = (&document, serde_json::from_str::<Json>(marked)) {
        let own = document.root().and_then(told);
        prop_assert_eq!(own, Some(read), "{:?}", text);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_json_is_found_as_serde_json_reads_it(text in json()) {
        is_read_as_by_serde_json(&text)?;
    }

    #[test]
    fn what_is_damaged_is_refused_where_serde_json_refuses_it(text in damaged()) {
        is_read_as_by_serde_json(&text)?;
    }
}

#[test]
fn a_text_that_is_cut_or_marked_is_refused_where_serde_json_refuses_it() {
    let text = r#" [{"id": -1.5e+3, "a\\b\"c\u00e9 long enough": [true, false, null, []], "é": "\ud83d\ude00"}, 0] "#;
    for (end, _) in text.char_indices() {
        is_read_as_by_serde_json(&text[..end]).expect("the same");
    }
    for odd in [
        format!("{text}\0"),
        format!("\u{feff}{text}"),
        format!("\u{feff}\u{feff}{text}"),
        format!("{text}\u{feff}"),
    ] {
        is_read_as_by_serde_json(&odd).expect("the same");
    }
}
