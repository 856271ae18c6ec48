//! Ways to change a file behind its name: orders to file systems by which it becomes another one, or is kept from its
//! owner or from whoever opens it, and second names. They are refused at each level; orders that only ask or copy are not.

use super::has;
use crate::scene::tm_binary;
use std::path::Path;
use std::process::Command;
use tm_sandbox::{Access, Confinement, Layers, Level, Limits, Network, Sandbox, View, line};

/// Says of each order by which error it ended, then of a new form of them, and of a lease, which whoever opens the file
/// waits for.
const GIVING: &str = r#"
open(my $file, '+>', 'a-file') or die "$!";
for my $order (@ARGV) {
    my $argument = "\0" x 4096;
    my $ended = syscall(16, fileno($file), hex($order), $argument);
    printf "%s\n", $ended == -1 ? $! + 0 : 0;
}
my ($name, $attributes) = ("a-file\0", "\0" x 24);
printf "%s\n", syscall(469, -100, $name, $attributes, 24, 0) == -1 ? $! + 0 : 0;
printf "%s\n", syscall(72, fileno($file), 1024, 1) == -1 ? $! + 0 : 0;
"#;

/// `EOPNOTSUPP`.
const NOT_SUPPORTED: &str = "95";

const REFUSED: [(&str, &str); 13] = [
    ("EXT4_IOC_MOVE_EXT", "c028660f"),
    ("EXT4_IOC_SWAP_BOOT", "6611"),
    ("FS_IOC_SETFLAGS", "40086602"),
    ("the same with more than 32 bits", "100000040086602"),
    ("FS_IOC_SETVERSION", "40087602"),
    ("FS_IOC_SET_ENCRYPTION_POLICY", "800c6613"),
    ("FS_IOC_ENABLE_VERITY", "40806685"),
    ("FS_IOC_FSSETXATTR", "401c5820"),
    ("XFS_IOC_SWAPEXT", "c0c0586d"),
    ("XFS_IOC_EXCHANGE_RANGE", "40285881"),
    ("BTRFS_IOC_SUBVOL_SETFLAGS", "4008941a"),
    ("F2FS_IOC_MOVE_RANGE", "c020f509"),
    ("FAT_IOCTL_SET_ATTRIBUTES", "40047211"),
];

const KEPT: [(&str, &str); 6] = [
    ("FS_IOC_GETFLAGS", "80086601"),
    ("FS_IOC_FSGETXATTR", "801c581f"),
    ("FICLONE", "40049409"),
    ("FIONREAD", "541b"),
    ("FIOCLEX", "5451"),
    ("TCGETS", "5401"),
];

/// Returns by which error each order ended.
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn given(line: &[std::ffi::OsString], folder: &Path) -> Vec<String> {
    let output = Command::new(&line[0])
        .args(&line[1..])
        .current_dir(folder)
        .output()
        .expect("started");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().map(str::to_owned).collect()
}

fn held(level: Level, root: &Path, command: Vec<std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    let mut view = View::of_system();
    for folder in ["work", "own/tmp", "store/more"] {
        std::fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for folder in ["work", "own", "store"] {
        view.add(&root.join(folder), Access::Write);
    }
    let confinement = Confinement {
        view,
        working_folder: root.join("work"),
        own_folder: root.join("own"),
        layers: Layers::Gone,
        network: Network::Off,
        limits: Limits::default(),
    };
    let sandbox = Sandbox {
        level,
        confinement,
        group: None,
        stamp: None,
        tm_program: tm_binary(),
    };
    line(&sandbox, command, None).expect("a line")
}

fn at(level: Level) {
    if std::env::consts::ARCH != "x86_64" || !has(level.as_str()) {
        return;
    }
    for place in ["/dev/shm", env!("CARGO_TARGET_TMPDIR")] {
        let folder = tempfile::tempdir_in(place).expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let orders = REFUSED
            .iter()
            .chain(&KEPT)
            .map(|(_, order)| (*order).into());
        let program = ["perl", "-e", GIVING].map(std::ffi::OsString::from);
        let command: Vec<_> = program.into_iter().chain(orders).collect();
        let (line, work) = (held(level, &root, command.clone()), root.join("work"));
        let (within, outside) = (given(&line, &work), given(&command, &work));
        let (refused, kept) = within.split_at(REFUSED.len());
        for ((name, _), ended) in REFUSED.iter().zip(refused) {
            assert_eq!(ended, NOT_SUPPORTED, "{name} in {place}");
        }
        let kept_outside = &outside[REFUSED.len()..];
        assert_eq!(kept[..KEPT.len()], kept_outside[..KEPT.len()], "in {place}");
        assert_eq!(kept[KEPT.len()..], [NOT_SUPPORTED; 2], "in {place}");
    }
}

/// What a set-up tries with a store that it may write to as well, and that has the same device.
const LINKING: &str = "\
ln ../store/file linked 2> /dev/null && echo linked
ln ../own/file own && echo between its own
ln ../store/file ../store/more/second && echo within the store
mv ../store/more/second ../store/third && echo moved there
echo written >> ../store/file && echo written there
mv ../store/third . && test -e third && echo copied
";

fn linking_at(level: Level) {
    if !has(level.as_str()) {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let command = ["sh", "-c", LINKING].map(std::ffi::OsString::from);
    let line = held(level, &root, command.to_vec());
    for file in ["store/file", "own/file"] {
        std::fs::File::create(root.join(file)).expect("made");
    }
    let mut said = given(&line, &root.join("work"));
    // Bubblewrap lays its own folders one by one, and there is no link from one to another.
    said.retain(|line| level == Level::Landlock || line != "between its own");
    let mut expected = vec!["within the store", "moved there", "written there", "copied"];
    if level == Level::Landlock {
        expected.insert(0, "between its own");
    }
    assert_eq!(said, expected);
}

#[test]
fn nothing_of_a_store_has_a_second_name_in_a_checkout_within_bubblewrap() {
    linking_at(Level::Bwrap);
}

#[test]
fn nothing_of_a_store_has_a_second_name_in_a_checkout_within_landlock() {
    linking_at(Level::Landlock);
}

#[test]
fn orders_that_change_a_file_beside_its_times_are_refused_within_bubblewrap() {
    at(Level::Bwrap);
}

#[test]
fn orders_that_change_a_file_beside_its_times_are_refused_within_landlock() {
    at(Level::Landlock);
}
