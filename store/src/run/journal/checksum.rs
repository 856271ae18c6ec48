//! CRC-32 as in Ethernet and zip, which notices every flipped bit.

use std::fmt;

/// The checksum of some bytes, shown as eight hex digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Checksum(u32);

impl Checksum {
    /// Returns the checksum of the parts, one after the other.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let bytes = parts.iter().copied().flatten();
        Self(!bytes.fold(u32::MAX, |state, byte| TABLE[usize::from(*byte ^ state.to_le_bytes()[0])] ^ (state >> 8)))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

/// What each byte does to the state.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut state: u32 = 0;
    while state < 256 {
        table[state as usize] = after_eight_bits(state);
        state += 1;
    }
    table
}

const fn after_eight_bits(mut state: u32) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let mut bit = 0;
    while bit < 8 {
        state = if state & 1 == 1 { (state >> 1) ^ POLYNOMIAL } else { state >> 1 };
        bit += 1;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_the_standard_example_is_the_standard_one() {
        assert_eq!(Checksum::of(&[b"123456789"]).to_string(), "cbf43926");
        assert_eq!(Checksum::of(&[b"1234", b"", b"56789"]).to_string(), "cbf43926");
        assert_eq!(Checksum::of(&[]).to_string(), "00000000");
    }
}
