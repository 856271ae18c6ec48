//! One entry of an index of git's: what it says, byte by byte (gitformat-index).

use git2::Oid;

/// Where an index says its form and how many entries it has, and how long that beginning is.
pub(crate) const FORM: usize = 4;
pub(crate) const COUNT: usize = 8;
pub(crate) const HEADER: usize = 12;

/// Where an entry's mode, object and flags are; its path comes after the flags, of which there may be more.
const MODE: usize = 24;
const ID: usize = 40;
const FLAGS: usize = 60;
const PATH: usize = 62;
/// The part of the flags that says how long the path is, or that it is that long or longer.
const NAMED_LENGTH: u16 = 0xfff;
/// The flag of an entry that has more flags, such as that it is left out of the folder.
const EXTENDED: u16 = 0x4000;

/// The name and the length of what comes after the entries.
const EXTENSION: usize = 8;

/// One entry of an index, in the form that git documents (gitformat-index).
pub(crate) struct Entry<'a> {
    /// The part of fixed length.
    pub(crate) fixed: &'a [u8],
    pub(crate) path: &'a [u8],
    /// How long it is in all.
    pub(crate) length: usize,
}

impl<'a> Entry<'a> {
    pub(crate) fn first_of(bytes: &'a [u8]) -> Option<Self> {
        let mut entry = Self {
            fixed: bytes.get(..PATH)?,
            path: &[],
            length: 0,
        };
        let start = if entry.is_extended() { PATH + 2 } else { PATH };
        let rest = bytes.get(start..)?;
        let end = start + rest.iter().position(|&byte| byte == 0)?;
        entry.path = &bytes[start..end];
        if !names_length(entry.flags(), entry.path.len()) {
            return None;
        }
        // Filled up with zeroes to a multiple of eight, by one at the least.
        entry.length = (end + 8) / 8 * 8;
        Some(entry)
    }

    pub(crate) fn mode(&self) -> i32 {
        number(self.fixed, MODE).cast_signed()
    }

    pub(crate) fn id(&self) -> Option<Oid> {
        Oid::from_bytes(&self.fixed[ID..FLAGS]).ok()
    }

    pub(crate) fn is_extended(&self) -> bool {
        self.flags() & EXTENDED != 0
    }

    fn flags(&self) -> u16 {
        u16::from_be_bytes([self.fixed[FLAGS], self.fixed[FLAGS + 1]])
    }
}

/// Tells whether flags say how long a path is up to the zero after it. Git goes by what they say, without looking: where it
/// is longer there are other entries for git than for whoever stops at the zero.
pub(crate) fn names_length(flags: u16, length: usize) -> bool {
    length > 0 && usize::from(flags & NAMED_LENGTH) == length.min(NAMED_LENGTH.into())
}

/// Gives out what comes after the entries, each with its name and its length before it.
pub(crate) fn extensions(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = EXTENSION + number(rest.get(..EXTENSION)?, 4) as usize;
        let (extension, others) = rest.split_at_checked(length)?;
        rest = others;
        Some(extension)
    })
}

/// Returns the number at a position.
pub(crate) fn number(bytes: &[u8], position: usize) -> u32 {
    bytes[position..position + 4]
        .iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte))
}
