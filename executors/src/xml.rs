//! What the readers of XML share. Nothing is expanded but the predefined entities, so no document grows while it is read.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// A document is nested so deep at the most.
const MOST_LEVELS: usize = 64;

/// What comes next in a document.
pub(crate) enum Part<'a> {
    /// An element, whether there is anything in it or not.
    Begins(&'a BytesStart<'a>),
    /// A text.
    Says(&'a str),
    /// An element of this name.
    Ends(&'a str),
}

/// Goes through a whole document.
pub(crate) fn parts(text: &str, mut see: impl FnMut(Part<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_start());
    let mut levels = 0_usize;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(_) if levels == MOST_LEVELS => {
                return Err("it is nested too deep".to_owned());
            }
            Event::Start(element) => {
                levels += 1;
                see(Part::Begins(&element));
            }
            Event::Empty(element) => {
                see(Part::Begins(&element));
                see(Part::Ends(element.name().as_ref()));
            }
            Event::End(element) => {
                levels = levels.saturating_sub(1);
                see(Part::Ends(element.name().as_ref()));
            }
            Event::Text(text) => see(Part::Says(&text)),
            Event::CData(text) => see(Part::Says(&text)),
            Event::GeneralRef(entity) => see(Part::Says(entity_text(&entity))),
            Event::Eof if levels == 0 => return Ok(()),
            Event::Eof => return Err("it ends in the middle".to_owned()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Goes through the elements of a whole document in the order in which they begin.
pub(crate) fn elements(text: &str, mut see: impl FnMut(&BytesStart<'_>)) -> Result<(), String> {
    parts(text, |part| {
        if let Part::Begins(element) = part {
            see(element);
        }
    })
}

/// The predefined entities.
fn entity_text(name: &str) -> &str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        "#10" | "#xA" | "#xa" => "\n",
        _ => " ",
    }
}

/// Returns an attribute of an element; one that is not there is empty.
pub(crate) fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let found = element.try_get_attribute(name).ok().flatten();
    let value = found
        .map(|found| found.value.into_owned())
        .unwrap_or_default();
    quick_xml::escape::unescape(&value).map_or_else(|_| value.clone(), Into::into)
}
