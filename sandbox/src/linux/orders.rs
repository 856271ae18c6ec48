//! Orders to file systems (`ioctl`). By some a file gets the content of another one while its times stay as they were, or
//! is kept from its owner, and rules for paths are not asked.

use seccompiler::SeccompCmpOp as Op;

/// Where the order stands among the arguments.
const ORDER: u8 = 1;
/// The byte of an order that says whose it is.
const OWNER: u64 = 0xff00;

/// The orders of file systems by their owner's byte, with those that only ask, or copy as a write does. What a file system
/// learns to do later is refused with the rest.
const OF_FILE_SYSTEMS: [(u8, &[u64]); 10] = [
    // ext4 and what others took over from it: `GETFLAGS` and `GETVERSION`, each for both widths, and `FIEMAP`.
    (
        b'f',
        &[
            0x8008_6601,
            0x8004_6601,
            0x8008_6603,
            0x8004_6603,
            0xc020_660b,
        ],
    ),
    // XFS and what others took over from it: `FSGETXATTR` and `DIOINFO`.
    (b'X', &[0x801c_581f, 0x800c_581e]),
    // `GETVERSION`, for both widths.
    (b'v', &[0x8008_7601, 0x8004_7601]),
    // FAT: both names of what is in a folder, `GET_ATTRIBUTES` and `GET_VOLUME_ID`.
    (b'r', &[0x8230_7201, 0x8230_7202, 0x8004_7210, 0x8004_7213]),
    // Btrfs: `FICLONE`, `FICLONERANGE`, `FIDEDUPERANGE`, `FS_INFO` and `GETFSLABEL`.
    (
        0x94,
        &[
            0x4004_9409,
            0x4020_940d,
            0xc018_9436,
            0x8400_941f,
            0x8100_9431,
        ],
    ),
    // ZFS, Ceph, bcachefs, CIFS, F2FS.
    (0x83, &[]),
    (0x97, &[]),
    (0xbc, &[]),
    (0xcf, &[]),
    (0xf5, &[]),
];

/// Returns which orders are refused: what all conditions of one of these say.
pub(super) fn to_file_systems() -> impl Iterator<Item = Vec<(u8, Op, u64)>> {
    OF_FILE_SYSTEMS.iter().map(|(owner, kept)| {
        let owned = (ORDER, Op::MaskedEq(OWNER), u64::from(*owner) << 8);
        let kept = kept.iter().map(|order| (ORDER, Op::Ne, *order));
        std::iter::once(owned).chain(kept).collect()
    })
}
