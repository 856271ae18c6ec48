//! Finds the line on which a key of a YAML file stands, by indentation alone.
//!
//! Knows block maps only; a key within `{…}` has the line of the innermost block key around it, which is where a
//! person looks first.

use crate::key::Key;

/// Returns the line of a key, counted from 1; `None` when not even its first name is found.
pub(crate) fn line_of(text: &str, key: &Key) -> Option<usize> {
    let lines: Vec<Line<'_>> = text.lines().enumerate().filter_map(Line::read).collect();
    let mut block = lines.as_slice();
    let mut found = None;
    for name in key.names() {
        let Some((line, rest)) = find(block, name) else {
            break;
        };
        found = Some(line);
        block = rest;
    }
    found
}

struct Line<'text> {
    number: usize,
    indentation: usize,
    content: &'text str,
}

impl<'text> Line<'text> {
    fn read((index, text): (usize, &'text str)) -> Option<Self> {
        let content = text.trim_start_matches(' ');
        let is_empty =
            content.trim().is_empty() || content.starts_with('#') || content.starts_with("---");
        let indentation = text.len() - content.len();
        (!is_empty).then_some(Self {
            number: index + 1,
            indentation,
            content,
        })
    }

    fn has_key(&self, name: &str) -> bool {
        let Some(rest) = after_name(self.content, name) else {
            return false;
        };
        let Some(value) = rest.trim_start().strip_prefix(':') else {
            return false;
        };
        value.is_empty() || value.starts_with([' ', '\t'])
    }
}

fn after_name<'text>(content: &'text str, name: &str) -> Option<&'text str> {
    let quoted = |quote: char| {
        content
            .strip_prefix(quote)?
            .strip_prefix(name)?
            .strip_prefix(quote)
    };
    content
        .strip_prefix(name)
        .or_else(|| quoted('"'))
        .or_else(|| quoted('\''))
}

/// Returns the line of a name in a block, and the lines of the block below it.
fn find<'lines, 'text>(
    block: &'lines [Line<'text>],
    name: &str,
) -> Option<(usize, &'lines [Line<'text>])> {
    let indentation = block.first()?.indentation;
    let position = block
        .iter()
        .position(|line| line.indentation == indentation && line.has_key(name))?;
    let rest = &block[position + 1..];
    let end = rest
        .iter()
        .position(|line| line.indentation <= indentation)
        .unwrap_or(rest.len());
    Some((block[position].number, &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# waves: in a comment
waves: { max_parallel: 5 }   # line 2

test:
  # command: no
  command: |
    timeout: not this one
  timeout: 5m
agents:
    'mine':
        env:
            command: x
        \"command\" : [a]
agent: {
  default: mine }
";

    fn line(key: &str) -> Option<usize> {
        line_of(TEXT, &Key::from(key))
    }

    #[test]
    fn key_of_a_block_has_its_own_line() {
        assert_eq!(line("test"), Some(4));
        assert_eq!(line("test.command"), Some(6));
        assert_eq!(line("test.timeout"), Some(8));
        assert_eq!(line("agents.mine.env.command"), Some(12));
        assert_eq!(line("agents.mine.command"), Some(13));
        assert_eq!(line("agent.default"), Some(15));
    }

    #[test]
    fn key_in_braces_has_the_line_of_the_block_key_around_it() {
        assert_eq!(line("waves.max_parallel"), Some(2));
    }

    #[test]
    fn key_that_is_not_there_has_no_line() {
        assert_eq!(line("git.land"), None);
        assert_eq!(line_of("", &Key::from("a")), None);
    }
}
