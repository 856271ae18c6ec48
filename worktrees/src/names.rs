//! Paths in git as text, and back: bytes that are no UTF-8 are letters that stand for nothing else, so that no two paths
//! have one name.

/// The first of the 128 letters, of those that Unicode leaves to whoever wants them.
const FIRST: u32 = 0xF780;

/// Returns a path as text.
pub(crate) fn name_of(path: &[u8]) -> String {
    if path.is_ascii() {
        return String::from_utf8_lossy(path).into_owned();
    }
    let mut name = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if byte_of(letter).is_none() {
                name.push(letter);
            } else {
                name.extend(
                    letter
                        .encode_utf8(&mut [0; 4])
                        .bytes()
                        .filter_map(letter_of),
                );
            }
        }
        name.extend(chunk.invalid().iter().copied().filter_map(letter_of));
    }
    name
}

/// Returns the path that a name is of.
pub(crate) fn path_named(name: &str) -> Vec<u8> {
    let mut path = Vec::with_capacity(name.len());
    for letter in name.chars() {
        match byte_of(letter) {
            Some(byte) => path.push(byte),
            None => path.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    path
}

/// The letter for a byte of those that no text of ASCII has.
fn letter_of(byte: u8) -> Option<char> {
    char::from_u32(FIRST + u32::from(byte.checked_sub(0x80)?))
}

fn byte_of(letter: char) -> Option<u8> {
    let number = u32::from(letter).checked_sub(FIRST)?;
    u8::try_from(number).ok()?.checked_add(0x80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_text_stays_as_it_is() {
        assert_eq!(name_of("t/ä b\n.t".as_bytes()), "t/ä b\n.t");
        assert_ne!(name_of(b"l\xfe"), name_of(b"l\xff"));
    }

    proptest! {
        #[test]
        fn every_path_has_a_name_of_its_own(path in proptest::collection::vec(any::<u8>(), 0..40), text in "[a\u{F77F}-\u{F800}]{0,9}") {
            for path in [path, text.into_bytes()] {
                prop_assert_eq!(path_named(&name_of(&path)), path);
            }
        }
    }
}
