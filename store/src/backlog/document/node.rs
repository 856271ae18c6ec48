//! What stands where in a text, in few bytes: a million tasks have more than ten million values.
//!
//! Does not know the text.

/// What a value is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// `{…}`.
    Object,
    /// `[…]`.
    Array,
    /// A string without escapes.
    Text,
    /// A string with at least one escape.
    EscapedText,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

impl Kind {
    const BITS: u32 = 3;
    const MASK: u32 = (1 << Self::BITS) - 1;
    /// All of them in their order, and one more than there are for each pattern of the bits to be one.
    const ALL: [Self; 1 << Self::BITS] = [
        Self::Object,
        Self::Array,
        Self::Text,
        Self::EscapedText,
        Self::Number,
        Self::Boolean,
        Self::Null,
        Self::Null,
    ];
}

/// Where one value stands. Nodes are in the order of the text; a key comes right before its value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Node {
    /// The first byte.
    pub(super) start: u32,
    /// The byte after the last.
    pub(super) end: u32,
    /// How many nodes are within it, and what it is, in the lowest bits: half as many values as bytes fit into a text.
    within_and_kind: u32,
}

impl Node {
    /// Returns the node of a value that stands there, with so many nodes within it.
    #[inline]
    pub(super) const fn new(start: usize, end: usize, within: usize, kind: Kind) -> Self {
        Self {
            start: as_offset(start),
            end: as_offset(end),
            within_and_kind: as_offset(within) << Kind::BITS | kind as u32,
        }
    }

    /// Returns how many nodes belong to it, itself among them.
    #[inline]
    pub(super) const fn size(self) -> usize {
        (self.within_and_kind >> Kind::BITS) as usize + 1
    }

    /// Returns what it is.
    #[inline]
    pub(super) const fn kind(self) -> Kind {
        Kind::ALL[(self.within_and_kind & Kind::MASK) as usize]
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a text has at most 1 GiB, and half as many values"
)]
const fn as_offset(value: usize) -> u32 {
    value as u32
}
