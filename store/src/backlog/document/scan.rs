//! Finds the place of every value in a JSON text, in one pass and without recursion; in a long one parts of it at the same
//! time.
//!
//! As strict as RFC 8259, but for a byte order mark at the start. Copies nothing and does not know what the values
//! mean.

use super::super::in_order::in_order;
use super::SyntaxError;
use super::node::{Kind, Node};
use super::parts::parts_behind_first;
use super::plain::plain_length;
use std::ops::Range;
use std::thread;

/// The largest text: offsets are kept in 32 bits.
const MAXIMUM_BYTES: usize = 1 << 30;

/// Typical bytes per value in a backlog, to reserve space for the nodes once.
const BYTES_PER_NODE: usize = 24;

/// A text of so many bytes is scanned in parts.
const LEAST_IN_PARTS: usize = 1 << 19;

/// A part has so many bytes: what is found in it, and the tasks that are read from it, fit into a processor's own memory.
const BYTES_OF_PART: usize = 1 << 16;

/// The byte order mark of UTF-8.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// The root first; none when the text is blank.
    pub(super) all: Vec<Node>,
    /// Of long lists each with some entries, far from each other and in order.
    pub(super) entries: Vec<(usize, usize)>,
}

/// Finds the nodes of `text`.
pub(super) fn scan(text: &str) -> Result<Nodes, SyntaxError> {
    if text.len() > MAXIMUM_BYTES {
        return Err(SyntaxError {
            line: 1,
            column: 1,
            why: "larger than 1 GiB".to_owned(),
        });
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let is_in_parts = threads > 1 && text.len() >= LEAST_IN_PARTS;
    let parts = if is_in_parts {
        text.len() / BYTES_OF_PART
    } else {
        1
    };
    scan_in_parts(text, parts)
}

fn scan_in_parts(text: &str, count: usize) -> Result<Nodes, SyntaxError> {
    let parts = match count {
        0 | 1 => Vec::new(),
        _ => parts_behind_first(text, count),
    };
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        position: if text.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        },
        nodes: Vec::with_capacity(text.len() / BYTES_PER_NODE),
        open: Vec::new(),
    };
    match scanner.run(parts) {
        Ok(entries) => Ok(Nodes {
            all: scanner.nodes,
            entries,
        }),
        Err(why) => Err(SyntaxError::at(text, scanner.position, why)),
    }
}

struct Scanner<'t> {
    bytes: &'t [u8],
    position: usize,
    nodes: Vec<Node>,
    /// The indices of the containers that are open, the innermost last.
    open: Vec<usize>,
}

type Scan<T> = Result<T, &'static str>;

impl<'t> Scanner<'t> {
    /// Scans it all; returns where parts begin that were scanned at the same time, each with its list.
    fn run(&mut self, parts: Vec<Range<usize>>) -> Scan<Vec<(usize, usize)>> {
        let mut begun = Vec::new();
        self.skip_blanks();
        if self.position == self.bytes.len() {
            return Ok(begun);
        }
        let bytes = self.bytes;
        let mut is_more = true;
        let entries = |part: Range<usize>| (part.start, Scanner::entries(bytes, part));
        in_order(parts, entries, |(start, entries)| {
            is_more = is_more && self.run_to(start)?;
            if let (Some(list), Some(entries)) = (self.list_at(start), entries) {
                begun.push((list, self.nodes.len()));
                self.nodes.extend_from_slice(&entries.nodes[1..]);
                self.position = entries.position;
            }
            Scan::Ok(())
        })?;
        if is_more {
            self.run_to(usize::MAX)?;
        }
        Ok(begun)
    }

    /// Scans from one entry of a list to another one; `None` where that is not what stands there.
    fn entries(bytes: &'t [u8], part: Range<usize>) -> Option<Self> {
        let mut scanner = Self {
            bytes,
            position: part.start - 1,
            nodes: Vec::with_capacity(part.len() / BYTES_PER_NODE),
            open: Vec::new(),
        };
        // The list that they are in.
        scanner.open_container(Kind::Array);
        let is_more = scanner.run_to(part.end).ok()?;
        (is_more && scanner.list_at(part.end) == Some(0)).then_some(scanner)
    }

    /// Scans values up to one that begins there, or behind it; tells whether there is one.
    fn run_to(&mut self, end: usize) -> Scan<bool> {
        while self.position < end {
            self.value()?;
            if !self.go_to_next_value()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the list of which an entry is next, where that begins there.
    fn list_at(&self, start: usize) -> Option<usize> {
        let open = self.open.last().copied();
        open.filter(|&list| self.position == start && self.nodes[list].kind() == Kind::Array)
    }

    /// Scans a plain value, or the opening of a container.
    fn value(&mut self) -> Scan<()> {
        match self.peek() {
            Some(b'{') => self.open_container(Kind::Object),
            Some(b'[') => self.open_container(Kind::Array),
            Some(b'"') => return self.text(),
            Some(b'-' | b'0'..=b'9') => return self.number(),
            Some(b't') => return self.word("true", Kind::Boolean),
            Some(b'f') => return self.word("false", Kind::Boolean),
            Some(b'n') => return self.word("null", Kind::Null),
            _ => return Err(self.unexpected("expected a value")),
        }
        Ok(())
    }

    /// Returns what is wrong here: what was expected, or that nothing comes any more.
    fn unexpected(&self, expected: &'static str) -> &'static str {
        match self.peek() {
            Some(_) => expected,
            None => UNEXPECTED_END,
        }
    }

    /// Goes from behind a value or an opening bracket to the next value, closing what ends between; tells whether
    /// there is one.
    #[inline]
    fn go_to_next_value(&mut self) -> Scan<bool> {
        loop {
            self.skip_blanks();
            let Some(&container) = self.open.last() else {
                return if self.position == self.bytes.len() {
                    Ok(false)
                } else {
                    Err("expected the end of the file")
                };
            };
            let is_empty = container + 1 == self.nodes.len();
            let is_object = self.nodes[container].kind() == Kind::Object;
            match (self.peek(), is_object) {
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.position += 1;
                    self.close_container();
                    continue;
                }
                (Some(b','), _) if !is_empty => {
                    self.position += 1;
                    self.skip_blanks();
                }
                (Some(_), _) if is_empty => {}
                (_, true) => return Err(self.unexpected("expected `,` or `}`")),
                (_, false) => return Err(self.unexpected("expected `,` or `]`")),
            }
            if is_object {
                self.key()?;
            }
            return Ok(true);
        }
    }

    #[inline]
    fn open_container(&mut self, kind: Kind) {
        self.open.push(self.nodes.len());
        self.push(self.position, kind);
        self.position += 1;
    }

    #[inline]
    fn close_container(&mut self) {
        let container = self.open.pop().expect("only an open container is closed");
        let within = self.nodes.len() - container - 1;
        let node = &mut self.nodes[container];
        *node = Node::new(node.start as usize, self.position, within, node.kind());
    }

    /// Scans a key and the colon behind it.
    #[inline]
    fn key(&mut self) -> Scan<()> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("expected a key in double quotes"));
        }
        self.text()?;
        self.skip_blanks();
        if !self.skip_one_of(b":") {
            return Err(self.unexpected("expected `:`"));
        }
        self.skip_blanks();
        Ok(())
    }

    fn text(&mut self) -> Scan<()> {
        let start = self.position;
        let mut kind = Kind::Text;
        self.position += 1;
        loop {
            self.position += plain_length(&self.bytes[self.position..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => {
                    let why = "a control character in a string; it has to be escaped";
                    return Err(self.unexpected(why));
                }
            }
            kind = Kind::EscapedText;
        }
        self.position += 1;
        self.push(start, kind);
        Ok(())
    }

    fn escape(&mut self) -> Scan<()> {
        let length = match self.bytes.get(self.position + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = self
                    .bytes
                    .get(self.position + 2..self.position + 6)
                    .ok_or(UNEXPECTED_END)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err("expected four hexadecimal digits after `\\u`");
                }
                6
            }
            Some(_) => return Err("an unknown escape in a string"),
            None => return Err(UNEXPECTED_END),
        };
        self.position += length;
        Ok(())
    }

    fn number(&mut self) -> Scan<()> {
        let start = self.position;
        self.skip_one_of(b"-");
        match self.peek() {
            Some(b'0') => self.position += 1,
            _ => self.digits()?,
        }
        if self.skip_one_of(b".") {
            self.digits()?;
        }
        if self.skip_one_of(b"eE") {
            self.skip_one_of(b"+-");
            self.digits()?;
        }
        self.push(start, Kind::Number);
        Ok(())
    }

    fn digits(&mut self) -> Scan<()> {
        if self.skip_while(|byte| byte.is_ascii_digit()) == 0 {
            return Err("expected a digit");
        }
        Ok(())
    }

    fn word(&mut self, word: &str, kind: Kind) -> Scan<()> {
        let start = self.position;
        if !self.bytes[start..].starts_with(word.as_bytes()) {
            return Err("expected a value");
        }
        self.position += word.len();
        self.push(start, kind);
        Ok(())
    }

    /// Adds a node that ends here and holds no others.
    #[inline]
    fn push(&mut self, start: usize, kind: Kind) {
        let node = Node::new(start, self.position, 0, kind);
        self.nodes.push(node);
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    #[inline]
    fn skip_one_of(&mut self, wanted: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| wanted.contains(&byte));
        self.position += usize::from(found);
        found
    }

    #[inline]
    fn skip_blanks(&mut self) {
        // Mostly there is none, or one.
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
        }
    }

    /// Passes over such bytes, and returns how many there were.
    fn skip_while(&mut self, is_one: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes[self.position..].iter();
        let length = rest.take_while(|byte| is_one(**byte)).count();
        self.position += length;
        length
    }
}

const UNEXPECTED_END: &str = "the file ends in the middle";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists of lists on lines of their own, in which a letter may be another one.
    fn lists() -> impl Strategy<Value = String> {
        let entry = prop::sample::select(
            &[
                "{}",
                "{\"a\": \"b\", \"c\": 1}",
                "{\"d\": [\n  {},\n  {\"e\": []}\n ]}",
                "[\n {}\n ]",
                "2",
            ][..],
        );
        let entries = prop::collection::vec(entry, 0..12).prop_map(|all| all.join(",\n "));
        let tags = prop::collection::vec(entries, 1..3);
        let text = tags.prop_map(|tags| {
            let tag = |entries: String| format!("\"t\": {{\"tasks\": [\n {entries}\n]}}");
            format!(
                "{{{}}}",
                tags.into_iter().map(tag).collect::<Vec<_>>().join(", ")
            )
        });
        let other = prop::option::of((any::<prop::sample::Index>(), r#"[\]\[{}",: \n]"#));
        (text, other).prop_map(|(mut text, other)| {
            if let Some((place, other)) = other {
                let place = place.index(text.len());
                text.replace_range(place..=place, &other);
            }
            text
        })
    }

    proptest! {
        #[test]
        fn parts_at_the_same_time_are_what_one_after_the_other_is(
            text in lists(),
            count in 2_usize..6,
        ) {
            let nodes = |count| scan_in_parts(&text, count).map(|nodes| nodes.all);
            prop_assert_eq!(nodes(count), nodes(1));
        }
    }
}
