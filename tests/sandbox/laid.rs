//! What a program sees is the same whether bubblewrap lays all of it or the entry most.

use crate::scene::{tm_binary, write};
use crate::skipping::lacks_what_a_machine_may_have;
use std::path::Path;
use std::process::Command;
use tm_sandbox::{
    Access, Confinement, Layers, Level, Limits, Network, Sandbox, View, Wanted, find, lay_before,
    line,
};

/// Says of each path what it is, what it holds and whether it can be changed, as everything below it; and where it is.
const LOOKING: &str = r#"
for path in "$@"; do
    find "$path" -printf '%p %y\n' 2> /dev/null || echo "$path is not there"
    for file in "$path" "$path"/*; do
        [ -f "$file" ] && { cat "$file" 2> /dev/null || echo "$file can not be read"; }
        [ -f "$file" ] && { (true >> "$file") 2> /dev/null && echo "$file can be changed"; }
        [ -d "$file" ] && mkdir "$file/new" 2> /dev/null && echo "$file takes more" && rmdir "$file/new"
    done
done | sort
pwd
echo "$PWD"
find /home /root /media /mnt /run /var/spool -maxdepth 1 | sort
touch /tmp/a /var/tmp/b /dev/shm/c && ls /tmp /var/tmp
ls /dev/shm
mv "$1/../open/work/between" "$1/../open/work/moved" 2> /dev/null && echo moved
(true > /dev/tty) 2> /dev/null || echo no terminal
touch /a /etc/a /usr/a /dev/a /proc/sys/kernel/a 2> /dev/null
ls -d /a /etc/a /usr/a 2> /dev/null
true
"#;

/// What may be done with each path; the last word says whether it is a folder.
const RULES: &[(&str, Access, bool)] = &[
    ("hidden", Access::Hidden, true),
    ("hidden/a-file", Access::Read, false),
    ("hidden/read", Access::Read, true),
    ("hidden/read/hidden", Access::Hidden, true),
    ("hidden/read/hidden/work", Access::Write, true),
    ("hidden/read/a-hidden-file", Access::Hidden, false),
    ("hidden/work", Access::Write, true),
    ("hidden/work/hidden", Access::Hidden, true),
    ("hidden/work/hidden/read", Access::Read, true),
    ("hidden/work/read", Access::Read, true),
    ("hidden/work/read/work", Access::Write, true),
    ("open/hidden", Access::Hidden, true),
    ("open/hidden/a/b/c", Access::Read, true),
    ("open/hidden/of nothing", Access::Hidden, true),
    ("open/work", Access::Write, true),
    ("open/work/a-file", Access::Read, false),
    ("open/work/between/two/a-file", Access::Read, false),
    ("open/a-written-file", Access::Write, false),
];

fn sandbox(root: &Path, mut view: View) -> Sandbox {
    // What lies among everybody's temporary files is hidden already.
    view.add(root, Access::Read);
    for (path, _, is_folder) in RULES {
        let path = root.join(path);
        if *is_folder {
            write(&path.join("within"), "what is within\n");
        } else {
            write(&path, "what it says\n");
        }
    }
    for (path, access, _) in RULES {
        view.add(&root.join(path), *access);
    }
    let own_folder = root.join("own");
    write(&own_folder.join("of the program"), "");
    std::fs::create_dir_all(own_folder.join("tmp")).expect("a folder");
    view.add(&own_folder, Access::Write);
    Sandbox {
        level: Level::Bwrap,
        confinement: Confinement {
            view,
            working_folder: root.join("hidden/work"),
            own_folder,
            layers: Layers::Gone,
            network: Network::Off,
            limits: Limits::default(),
        },
        group: None,
        stamp: None,
        tm_program: tm_binary(),
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn seen(sandbox: &Sandbox, root: &Path) -> String {
    let mut command = vec!["sh".into(), "-c".into(), LOOKING.into(), "sh".into()];
    command.push(root.join("own").into());
    command.extend(RULES.iter().map(|(path, _, _)| root.join(path).into()));
    let line = line(sandbox, command, None).expect("a line");
    let output = Command::new(&line[0])
        .args(&line[1..])
        .current_dir(&sandbox.confinement.working_folder)
        .output()
        .expect("started");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let own = root.join("own/tmp");
    std::fs::remove_dir_all(&own).expect("removed");
    std::fs::create_dir(&own).expect("made");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_program_sees_the_same_whoever_lays_it() {
    for place in ["/tmp", "/dev/shm", env!("CARGO_TARGET_TMPDIR")] {
        let Ok(folder) = tempfile::tempdir_in(place) else {
            lacks_what_a_machine_may_have(&format!("a place in {place}"));
            continue;
        };
        let root = folder.path().canonicalize().expect("a path");
        let mut with_tmp = View::of_system();
        with_tmp.add(Path::new("/tmp"), Access::Write);
        for view in [View::of_system(), with_tmp, View::default()] {
            has_the_same(&root, view, place);
        }
    }
}

fn has_the_same(root: &Path, view: View, place: &str) {
    let sandbox = sandbox(root, view);
    let level = Wanted::Exactly(Level::Bwrap);
    let found = find(level, &sandbox.confinement, &sandbox.tm_program);
    if found.level.is_none() {
        lacks_what_a_machine_may_have(&format!("bubblewrap: {:?}", found.refused));
        return;
    }
    let [within, before] = [false, true].map(|all| {
        lay_before(all);
        seen(&sandbox, root)
    });
    lay_before(false);
    assert_eq!(within, before, "in {place}");
    for line in [
        "hidden/work takes more",
        "hidden/read/hidden/work takes more",
        "hidden/work/read/work takes more",
        "open/a-written-file can be changed",
        "no terminal",
        "own/of the program f",
    ] {
        assert!(within.contains(line), "{line}:\n{within}");
    }
    for line in [
        "hidden/within",
        "hidden/read/hidden/within",
        "hidden/work/hidden/within",
        "hidden/read takes more",
        "hidden takes more",
        "/etc/a",
        "moved",
    ] {
        assert!(!within.contains(line), "{line}:\n{within}");
    }
}
