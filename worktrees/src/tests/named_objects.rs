//! What somebody leaves in git's folders of the user's checkout in the place of objects that git believes by their names.

use super::*;
use std::fs;

/// Kinds of repositories.
const KINDS: [&[&str]; 2] = [&[], &["--object-format=sha256"]];

fn before(scene: &Scene) -> CheckoutSnapshot {
    CheckoutSnapshot::of_settings(&scene.of_user).expect("a look")
}

fn put_right(scene: &Scene, before: &CheckoutSnapshot) -> Vec<String> {
    before.put_git_right(&scene.of_user).expect("given").0
}

/// A repository with two commits, in which two folders and their files differ.
fn with_folders(scene: Scene) -> Scene {
    for name in ["sub/lib.txt", "other/lib.txt"] {
        write(&scene.of_user.checkout_root().join(name), name);
    }
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "--message", "second"]);
    scene
}

/// Repositories of each kind, in memory and on a disk.
fn scenes() -> impl Iterator<Item = Scene> {
    let places = || [own_folder(), tempfile::tempdir().expect("a folder")];
    let all = KINDS
        .into_iter()
        .flat_map(move |kind| places().map(|place| (place, kind)));
    all.map(|(place, kind)| with_folders(Scene::in_folder(place, kind).expect("git")))
}

fn objects(scene: &Scene) -> PathBuf {
    scene.of_user.common_dir().join("objects")
}

fn id(scene: &Scene, of: &str) -> String {
    scene.git(&["rev-parse", of])
}

fn file_of(scene: &Scene, id: &str) -> PathBuf {
    objects(scene).join(&id[..2]).join(&id[2..])
}

/// Writes over a file in place that git made read-only.
#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn overwrite(file: &Path, bytes: &[u8]) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("rights");
    fs::write(file, bytes).expect("a file");
}

/// The files with such an ending beside packs.
fn packed(scene: &Scene, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(objects(scene).join("pack")).expect("a folder");
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|it| it == ending));
    found
}

fn the_one(mut found: Vec<PathBuf>) -> PathBuf {
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_loose_object_with_another_content_is_taken_away_and_named() {
    for scene in scenes() {
        let scene = &scene;
        let was = scene.git(&["show", "HEAD:sub/lib.txt"]);
        for (one, other) in [
            ("HEAD:sub", "HEAD:other"),
            ("HEAD:a.txt", "HEAD:sub/lib.txt"),
        ] {
            let before = before(scene);
            let file = file_of(scene, &id(scene, one));
            let other = fs::read(file_of(scene, &id(scene, other))).expect("an object");
            let mine = fs::read(&file).expect("an object");
            overwrite(&file, &other);
            let told = format!(
                "in git's folder: {} (not what its name says, taken away)",
                file.display()
            );
            assert_eq!(put_right(scene, &before), [told]);
            assert!(!file.exists());
            assert_eq!(put_right(scene, &before), [""; 0]);
            write_bytes(&file, &mine);
        }
        assert_eq!(put_right(scene, &before(scene)), [""; 0]);
        assert_eq!(scene.git(&["show", "HEAD:sub/lib.txt"]), was);
    }
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn write_bytes(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
}

#[test]
fn what_is_no_object_goes_from_its_place_and_what_git_reads_under_no_id_stays() {
    let scene = with_folders(Scene::new());
    for name in ["HEAD", "objects/x", "refs/x"] {
        write(&scene.of_user.common_dir().join("modules/a").join(name), "");
    }
    let before = before(&scene);
    let rest = "0".repeat(38);
    let of_submodule = scene.of_user.common_dir().join("modules/a/objects");
    let gone = [objects(&scene), of_submodule].map(|it| it.join("ab").join(&rest));
    let stay = ["ab/tmp_obj_x", "ab/0123", "info/packs"].map(|name| objects(&scene).join(name));
    for path in gone.iter().chain(&stay) {
        write(path, "");
    }
    let branch = format!("objects/ab/{rest}");
    scene.git(&["branch", &branch]);
    let said = put_right(&scene, &before);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(gone.map(|path| path.exists()), [false; 2]);
    assert_eq!(stay.map(|path| path.exists()), [true; 3]);
    id(&scene, &branch);
}

#[test]
fn a_write_through_a_mapping_is_seen_where_no_time_tells_of_it() {
    let scene = with_folders(Scene::new());
    let file = file_of(&scene, &id(&scene, "HEAD:sub"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("rights");
    let before = before(&scene);
    write_mapped(&file);
    assert_eq!(put_right(&scene, &before).len(), 1);
    assert!(!file.exists());
}

/// What an agent's git and the user's do to objects.
const HONEST: [&[&str]; 6] = [
    &["commit", "--quiet", "--allow-empty", "--message", "more"],
    // The run has the repository locked against it.
    &["gc", "--quiet", "--force"],
    &[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "yet more",
    ],
    &["-c", "pack.indexVersion=1", "repack", "--quiet", "-d"],
    &["repack", "--quiet", "-adb"],
    &["prune-packed", "--quiet"],
];

#[test]
fn what_git_makes_stays_without_a_word() {
    for scene in scenes() {
        for command in HONEST {
            let before = before(&scene);
            scene.git(command);
            let was = packed(&scene, "rev");
            assert_eq!(put_right(&scene, &before), [""; 0], "{command:?}");
            assert_eq!(packed(&scene, "rev"), was);
        }
        scene.git(&["fsck", "--strict"]);
        assert_eq!(packed(&scene, "pack").len(), packed(&scene, "idx").len());
    }
}

#[test]
fn a_pack_that_git_only_met_again_is_not_indexed_anew() {
    for scene in scenes() {
        scene.git(&["repack", "-adb", "--quiet"]);
        scene.git(&["multi-pack-index", "write"]);
        let before = before(&scene);
        let pack = the_one(packed(&scene, "pack"));
        let was = ["idx", "rev", "bitmap"].map(|kind| fs::read(pack.with_extension(kind)).ok());
        fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).expect("rights");
        let opened = fs::File::options().write(true).open(&pack).expect("a pack");
        opened
            .set_modified(std::time::SystemTime::now())
            .expect("a time");
        assert_eq!(put_right(&scene, &before), [""; 0]);
        let now = ["idx", "rev", "bitmap"].map(|kind| fs::read(pack.with_extension(kind)).ok());
        assert_eq!(now, was);
        assert!(objects(&scene).join("pack/multi-pack-index").exists());
    }
}

/// Has an index of a pack say of two objects that each lies where the other one does; the ids are so long, in bytes.
fn swap(index: &Path, ids: [&str; 2]) {
    let length = ids[0].len() / 2;
    let mut bytes = fs::read(index).expect("an index");
    let is_new = bytes.starts_with(b"\xfftOc");
    let fanout = if is_new { 8 } else { 0 };
    let count = bytes[fanout + 1020..fanout + 1024]
        .try_into()
        .expect("four");
    let count = u32::from_be_bytes(count) as usize;
    let first = fanout + 1024;
    let offset_of = |id: &str| {
        let id = bytes_of(id);
        let (step, before) = if is_new { (length, 0) } else { (length + 4, 4) };
        let at = |at: usize| first + at * step + before;
        let found = (0..count).find(|it| bytes[at(*it)..at(*it) + length] == id);
        let found = found.expect("it is in it");
        if is_new {
            first + count * (length + 4) + found * 4
        } else {
            at(found) - 4
        }
    };
    let [one, other] = ids.map(offset_of);
    for at in 0..4 {
        bytes.swap(one + at, other + at);
    }
    overwrite(index, &bytes);
}

#[test]
fn an_index_that_is_not_that_of_its_pack_is_made_anew_and_named() {
    for version in ["1", "2"] {
        for scene in scenes() {
            let setting = format!("pack.indexVersion={version}");
            scene.git(&["-c", &setting, "repack", "-ad", "--quiet"]);
            let before = before(&scene);
            let index = the_one(packed(&scene, "idx"));
            let was = fs::read(&index).expect("an index");
            let (one, other) = (id(&scene, "HEAD:sub"), id(&scene, "HEAD:other"));
            swap(&index, [&one, &other]);
            let shown = || id(&scene, "HEAD:sub/lib.txt");
            let forged = shown();
            let told = format!(
                "in git's folder: {} (not that of its pack, made anew)",
                index.display()
            );
            assert_eq!(put_right(&scene, &before), [told]);
            assert_eq!(fs::read(&index).expect("an index"), was);
            assert_ne!(shown(), forged);
            assert_eq!(put_right(&scene, &before), [""; 0]);
        }
    }
}

#[test]
fn an_index_goes_of_which_there_is_no_pack_that_git_reads() {
    for scene in scenes() {
        scene.git(&["repack", "-ad", "--quiet"]);
        let before = before(&scene);
        let pack = the_one(packed(&scene, "pack"));
        let (index, other) = (pack.with_extension("idx"), pack.with_file_name("x.idx"));
        fs::copy(&index, &other).expect("a copy");
        write(&other.with_extension("rev"), "new\n");
        let said = put_right(&scene, &before).join("\n");
        assert!(
            said.contains("x.idx (git makes none of its pack, taken away"),
            "{said}"
        );
        assert!(!other.exists() && !other.with_extension("rev").exists());
        let mut bytes = fs::read(&pack).expect("a pack");
        bytes[13] ^= 1;
        overwrite(&pack, &bytes);
        let said = put_right(&scene, &before).join("\n");
        assert!(
            said.contains("idx (git makes none of its pack, taken away"),
            "{said}"
        );
        assert!(!index.exists() && pack.exists());
    }
}

#[test]
fn what_says_where_things_are_in_packs_goes_where_it_is_new_or_a_pack_is() {
    let scene = with_folders(Scene::new());
    scene.git(&["repack", "-adb", "--quiet"]);
    scene.git(&["multi-pack-index", "write"]);
    let pack = the_one(packed(&scene, "pack"));
    let [reverse, bitmap] = ["rev", "bitmap"].map(|kind| pack.with_extension(kind));
    let was = before(&scene);
    overwrite(&bitmap, b"other\n");
    write(&pack.with_file_name("y.rev"), "new\n");
    assert_eq!(put_right(&scene, &was), [""; 0]);
    assert!(reverse.exists() && !bitmap.exists());
    assert!(!pack.with_file_name("y.rev").exists());
    let was = before(&scene);
    let many = pack.with_file_name("multi-pack-index");
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
    scene.git(&["repack", "--quiet"]);
    assert!(many.exists());
    assert_eq!(put_right(&scene, &was), [""; 0]);
    assert!(!many.exists(), "it may be of a pack that had such a name");
    scene.git(&["fsck", "--strict"]);
}

#[test]
fn gits_of_the_user_s_may_work_meanwhile() {
    let scene = with_folders(Scene::new());
    std::thread::scope(|scope| {
        let of_user = scope.spawn(|| {
            for round in 0..10 {
                let message = format!("round {round}");
                scene.git(&["commit", "--quiet", "--allow-empty", "--message", &message]);
                scene.git(&["repack", "--quiet", "-adb", "--write-midx"]);
            }
        });
        while !of_user.is_finished() {
            let before = before(&scene);
            assert_eq!(put_right(&scene, &before), [""; 0]);
        }
    });
    scene.git(&["fsck", "--strict"]);
}
