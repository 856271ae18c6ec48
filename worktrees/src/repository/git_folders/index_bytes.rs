//! The bytes of anybody's index (gitformat-index): which of its entries git doesn't look at, and the same index without what
//! git would believe in it.

use crate::index_entry::{COUNT, FORM, HEADER, extensions, names_length, number};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

/// The form in which a path says only how it differs from the one before.
const SHORTENED: u32 = 4;
/// Where an entry says what its file was; its mode is between.
const TIMES_AND_PLACE: Range<usize> = 0..24;
const OWNER_AND_SIZE: Range<usize> = 28..40;
/// Where the object's id begins; flags come after it, of two bytes, and more of them where one says so.
const ID: usize = 40;
const FLAGS: usize = 2;
/// Of the first byte of flags: the file counts as unchanged; there are more flags.
const ASSUMED: u8 = 0x80;
const EXTENDED: u8 = 0x40;
/// Of the first byte of the others: the file need not be there.
const LEFT_OUT: u8 = 0x40;
/// What says of which other index this one is a change.
const CHANGE_OF: &[u8] = b"link";
/// No path is longer, in bytes: each may hold most of the one before.
const LONGEST_PATH: usize = 16 * 1024;
/// The part of the first byte of flags that says which side of a conflict an entry is.
const SIDE: u8 = 0x30;

/// Digests of the paths of files at which git doesn't look.
pub(super) type Hidden = BTreeSet<u64>;

/// Who said that git need not look at some files.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaysHidden<'a> {
    /// They were so before.
    pub(super) before: &'a Hidden,
    /// Whether git itself leaves out files of this checkout, and looks whether they are there.
    pub(super) is_sparse: bool,
}

/// Returns which files git doesn't look at, by an index that is one file; `None` for another one, or none.
pub(super) fn hidden(mut bytes: Vec<u8>, id_length: usize) -> Option<Hidden> {
    let mut hidden = Hidden::new();
    let end = each_entry(&mut bytes, id_length, |path, flags| {
        let is_hidden =
            flags[0] & ASSUMED != 0 || flags.get(FLAGS).copied().is_some_and(is_left_out);
        hidden.extend(is_hidden.then(|| digest(path)));
    })?;
    let is_part = extensions(&bytes[end..]).any(|it| it.starts_with(CHANGE_OF));
    (!is_part).then_some(hidden)
}

/// Returns an index without what files were, without what git kept for its own comfort, and without a checksum; `None` where
/// it is none that git would write.
pub(super) fn without_belief(
    mut bytes: Vec<u8>,
    id_length: usize,
    stays: StaysHidden<'_>,
) -> Option<Vec<u8>> {
    let end = each_entry(&mut bytes, id_length, |path, flags| {
        if stays.before.contains(&digest(path)) {
            return;
        }
        flags[0] &= !ASSUMED;
        if let Some(more) = flags.get_mut(FLAGS).filter(|_| !stays.is_sparse) {
            *more &= !LEFT_OUT;
        }
    })?;
    bytes.truncate(end);
    bytes.extend(vec![0; id_length]);
    Some(bytes)
}

fn is_left_out(more: u8) -> bool {
    more & LEFT_OUT != 0
}

fn digest(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Takes from each entry what its file was, gives out its path and flags, and returns where the entries end.
fn each_entry(
    bytes: &mut [u8],
    id_length: usize,
    mut take: impl FnMut(&[u8], &mut [u8]),
) -> Option<usize> {
    let header = bytes.get(..HEADER)?;
    let (form, count) = (number(header, FORM), number(header, COUNT));
    let (mut at, mut path, mut before) = (HEADER, Vec::new(), None);
    for _ in 0..count {
        let entry = bytes.get_mut(at..)?;
        let flags = ID + id_length;
        let is_extended = entry.get(flags)? & EXTENDED != 0;
        let fixed = flags + if is_extended { 2 * FLAGS } else { FLAGS };
        let length = fixed + next_path(entry.get(fixed..)?, form, &mut path)?;
        // Git goes by the length and by the order that it would have written, without looking.
        let own = (path.clone(), entry[flags] & SIDE);
        let named = u16::from_be_bytes([entry[flags], entry[flags + 1]]);
        if !names_length(named, path.len()) || before.as_ref() >= Some(&own) {
            return None;
        }
        before = Some(own);
        entry[TIMES_AND_PLACE].fill(0);
        entry[OWNER_AND_SIZE].fill(0);
        take(&path, &mut entry[flags..fixed]);
        at += if form == SHORTENED {
            length
        } else {
            length.next_multiple_of(8)
        };
    }
    (at <= bytes.len()).then_some(at)
}

/// Makes the path of an entry from that of the one before; returns how many bytes say it, with the zero after it.
fn next_path(bytes: &[u8], form: u32, path: &mut Vec<u8>) -> Option<usize> {
    let (start, dropped) = if form == SHORTENED {
        variable(bytes)?
    } else {
        (0, path.len())
    };
    let rest = bytes.get(start..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    path.truncate(path.len().checked_sub(dropped)?);
    path.extend(&rest[..end]);
    (path.len() <= LONGEST_PATH).then_some(start + end + 1)
}

/// Reads a number of several bytes, as packs have them; returns how many bytes it takes, and the number.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 1;
    while bytes.get(at - 1)? & 0x80 != 0 {
        let next = usize::from(bytes.get(at)? & 0x7f);
        value = value.checked_add(1)?.checked_mul(0x80)? + next;
        at += 1;
    }
    Some((at, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID_LENGTH: usize = 20;

    /// An entry whose flags say this length and this side.
    fn entry(name: &[u8], length: usize, side: u16) -> Vec<u8> {
        let mut entry = vec![0; ID + ID_LENGTH];
        let flags = side << 12 | u16::try_from(length).expect("a length");
        entry.extend(flags.to_be_bytes());
        entry.extend(name);
        entry.resize((entry.len() + 1).next_multiple_of(8), 0);
        entry
    }

    fn is_taken(entries: &[Vec<u8>]) -> bool {
        let count = u32::try_from(entries.len()).expect("a count");
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(count.to_be_bytes());
        bytes.extend(entries.concat());
        bytes.extend([0; ID_LENGTH]);
        let before = Hidden::new();
        let stays = StaysHidden {
            before: &before,
            is_sparse: false,
        };
        without_belief(bytes, ID_LENGTH, stays).is_some()
    }

    #[test]
    fn an_index_is_read_as_git_reads_it_or_not_at_all() {
        let [one, other] = [entry(b"a", 1, 0), entry(b"b", 1, 0)];
        let long = vec![b'c'; 5_000];
        let long = entry(&long, 0xfff, 0);
        assert!(is_taken(&[one.clone(), other.clone(), long]));
        assert!(is_taken(&[entry(b"a", 1, 1), entry(b"a", 1, 3)]));
        for (entries, what) in [
            (vec![entry(b"a\0REUC", 6, 0)], "goes on after a zero"),
            (vec![entry(b"a", 2, 0)], "is longer than it is"),
            (vec![entry(b"a", 0xfff, 0)], "is long"),
            (vec![entry(b"", 0, 0)], "has no name"),
            (vec![other, one.clone()], "in no order"),
            (vec![one.clone(), one], "is there twice"),
            (
                vec![entry(b"a", 1, 3), entry(b"a", 1, 1)],
                "no order of sides",
            ),
        ] {
            assert!(!is_taken(&entries), "{what}");
        }
    }
}
