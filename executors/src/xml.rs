//! What the readers of XML share. Nothing is expanded but the predefined entities, so no document grows while it is read.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Goes through the elements of a whole document in the order in which they begin.
pub(crate) fn elements(text: &str, mut see: impl FnMut(&BytesStart<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(text);
    let mut levels = 0_usize;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(element) => {
                levels += 1;
                see(&element);
            }
            Event::Empty(element) => see(&element),
            Event::End(_) => levels = levels.saturating_sub(1),
            Event::Eof if levels == 0 => return Ok(()),
            Event::Eof => return Err("it ends in the middle".to_owned()),
            _ => {}
        }
    }
}

/// Returns an attribute of an element; one that is not there is empty.
pub(crate) fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let found = element.try_get_attribute(name).ok().flatten();
    let value = found.map(|found| found.value.into_owned());
    let value = value.unwrap_or_default();
    quick_xml::escape::unescape(&value).map_or_else(|_| value.clone(), Into::into)
}
