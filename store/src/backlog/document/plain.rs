//! Finds where a string stops being plain, many bytes at once.

/// So many bytes of a string are looked at together.
const WORD: usize = size_of::<u64>();
/// The lowest bit of every byte of a word.
const LOWEST: u64 = u64::MAX / 0xFF;
/// The highest bit of every byte of a word.
const HIGHEST: u64 = LOWEST << 7;

/// Returns how many bytes stand before the first one that a string can't hold as it is: its end, an escape, a control
/// character.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<WORD>();
    for (place, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return place * WORD + special.trailing_zeros() as usize / 8;
        }
    }
    let done = words.len() * WORD;
    let rest = bytes[done..].iter();
    let is_plain = |byte: &&u8| !matches!(**byte, b'"' | b'\\' | 0..0x20);
    done + rest.take_while(is_plain).count()
}

/// Marks bytes that end what is plain: the lowest mark is that of the first one, those above may be wrong.
fn special_bytes(word: u64) -> u64 {
    let control = word.wrapping_sub(LOWEST * 0x20) & !word;
    let is = |byte: u8| zero_bytes(word ^ (LOWEST * u64::from(byte)));
    (control | is(b'"') | is(b'\\')) & HIGHEST
}

const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOWEST) & !word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes at the edges of what is plain, among any others.
    fn byte() -> impl Strategy<Value = u8> {
        let edges = b"\"\\\0\x01\x1f\x20\x21\x23\x5b\x5d\x7f\x80\x9f\xa0\xa2\xdc\xff";
        prop_oneof![2 => prop::sample::select(&edges[..]), 3 => b' '..=b'~', 1 => any::<u8>()]
    }

    proptest! {
        #[test]
        fn bytes_together_are_as_plain_as_each_of_them(
            bytes in prop::collection::vec(byte(), 0..40),
            plain in 0_usize..20,
        ) {
            let bytes = [vec![b'x'; plain], bytes].concat();
            let is_plain = |byte: &&u8| !matches!(**byte, b'"' | b'\\' | 0..0x20);
            let expected = bytes.iter().take_while(is_plain).count();
            prop_assert_eq!(plain_length(&bytes), expected);
        }
    }
}
