//! Objects that somebody wrote over in place.

use super::*;

/// The file of an object in the repository.
fn file(scene: &Scene, id: &str) -> PathBuf {
    let objects = scene.repository.common_dir().join("objects");
    objects.join(&id[..2]).join(&id[2..])
}

/// Writes another object over one, in place.
fn overwrite(scene: &Scene, id: &str, by: &str) {
    let object = file(scene, id);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&object, mode).expect("permissions");
    std::fs::copy(file(scene, by), object).expect("copied");
}

#[test]
fn what_a_run_made_has_its_name_back_that_somebody_removed_or_gave_to_something_else() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let other = scene.task("tm/other", &base, "c.txt", "weaker\n");
    let blob_of =
        |commit: &CommitId, file: &str| scene.git(&["rev-parse", &format!("{commit}:{file}")]);
    let (blob, weaker) = (blob_of(&one, "b.txt"), blob_of(&other, "c.txt"));
    let check = || {
        let run = &scene.repository;
        run.check_new_objects(&one, &base, ObjectCheck::Names)
    };
    for is_replaced in [false, true] {
        std::fs::remove_file(file(&scene, &blob)).expect("removed");
        if is_replaced {
            std::fs::copy(file(&scene, &weaker), file(&scene, &blob)).expect("copied");
        }
        check().expect("the run has it still");
        scene.repository.put_back_collected();
        assert_eq!(scene.git(&["cat-file", "blob", &blob]), "b");
    }
    scene.git(&["fsck", "--strict"]);
    scene.pool.close().expect("closed");
    assert_eq!(scene.git(&["show", &format!("{one}:b.txt")]), "b");
}

#[test]
fn what_an_agent_wrote_and_the_run_checked_stays_in_the_run() {
    let scene = Scene::new();
    let base = scene.head();
    let worktree = scene.check_out("tm/one", &base);
    write(&worktree.path().join("b.txt"), "b\n");
    // As the agent does it: into the repository.
    let of_agent = scene.of_user.git_in(worktree.path());
    let blob = of_agent
        .line("hash-object -w b.txt")
        .text()
        .expect("a blob");
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let check = || {
        let run = &scene.repository;
        run.check_new_objects(&captured.tree, &base, ObjectCheck::Names)
    };
    check().expect("as named");
    std::fs::remove_file(file(&scene, &blob)).expect("removed");
    check().expect("it is here too");
    scene.repository.put_back_collected();
    assert!(file(&scene, &blob).exists());
}

#[test]
fn an_object_that_was_overwritten_is_named_and_what_is_known_is_not_looked_at() {
    for is_in_a_run in [false, true] {
        let scene = Scene::new();
        let repository = if is_in_a_run {
            scene.pool.repository()
        } else {
            &scene.of_user
        };
        assert_eq!(repository.read(|_| Some(())).is_some(), is_in_a_run);
        let base = scene.head();
        let one = scene.task("tm/one", &base, "folder/b.txt", "b\n");
        let other = scene.task("tm/other", &base, "c.txt", "weaker\n");
        let check = |of: &dyn Treeish, known: &CommitId| {
            repository.check_new_objects(of, known, ObjectCheck::Names)
        };
        let tree = repository.tree_of(&one).expect("a tree");
        check(&one, &base).expect("as named");
        check(&tree, &base).expect("as named");
        check(&base, &base).expect("nothing is new");
        // What was read before is read again.
        repository.text_at(&one, "folder/b.txt").expect("a text");
        let blob = scene.git(&["rev-parse", &format!("{one}:folder/b.txt")]);
        overwrite(
            &scene,
            &blob,
            &scene.git(&["rev-parse", &format!("{other}:c.txt")]),
        );
        for error in [check(&one, &base), check(&tree, &base)] {
            let error = error.expect_err("another content");
            assert!(
                error.to_string().ends_with(&blob) && error.is_of_surroundings(),
                "{error}"
            );
        }
        check(&one, &one).expect("it is known");
        check(&other, &base).expect("as named");
        let folder = scene.git(&["rev-parse", &format!("{one}:folder")]);
        overwrite(
            &scene,
            &folder,
            &scene.git(&["rev-parse", &format!("{other}^{{tree}}")]),
        );
        check(&tree, &base).expect_err("a folder with other files");
    }
}

#[test]
fn an_object_that_is_missing_or_cut_off_is_named() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let blob = scene.git(&["rev-parse", &format!("{one}:b.txt")]);
    let file = file(&scene, &blob);
    let check = || {
        scene
            .of_user
            .check_new_objects(&one, &base, ObjectCheck::NamesAndForm)
            .expect_err("no object")
    };
    std::fs::remove_file(&file).expect("removed");
    assert!(check().to_string().contains(&blob), "{}", check());
    write(&file, "x");
    assert!(check().to_string().contains(&blob), "{}", check());
}

#[test]
fn a_reference_of_tms_whose_work_was_collected_is_put_back_or_removed_and_others_stay() {
    let scene = Scene::new();
    let repository = &scene.of_user;
    let base = scene.head();
    let one = scene.task("tm/one", &base, "a.txt", "a\n");
    let two = scene.task("tm/two", &base, "b.txt", "b\n");
    let moved = branch("tm/moved");
    repository.create_branch(&moved, &one).expect("made");
    repository
        .move_branch(&moved, &two, Some(&one))
        .expect("moved");
    repository
        .keep("refs/tm/salvage/run/1/1", &two)
        .expect("kept");
    scene.git(&["branch", "theirs", two.as_str()]);
    assert_eq!(repository.broken_references().expect("listed"), []);
    let blob = scene.git(&["rev-parse", &format!("{two}:b.txt")]);
    std::fs::remove_file(file(&scene, &blob)).expect("removed");
    let mended = repository.mend_references().expect("listed");
    let mended: Vec<&str> = mended.iter().map(|broken| broken.name.as_str()).collect();
    assert_eq!(
        mended,
        [
            "refs/tm/salvage/run/1/1",
            "refs/heads/tm/moved",
            "refs/heads/tm/two"
        ]
    );
    let at = |name: &str| repository.branch_tip(&branch(name)).expect("an answer");
    assert_eq!(at("tm/moved"), Some(one.clone()));
    assert_eq!(at("tm/one"), Some(one));
    assert_eq!(at("theirs"), Some(two), "nobody's but tm's");
    assert_eq!(at("tm/two"), Some(base));
    assert_eq!(repository.references_below("refs/tm").expect("listed"), []);
    assert_eq!(repository.mend_references().expect("listed"), []);
}

#[test]
fn what_was_checked_before_is_read_again_when_somebody_wrote_to_its_file() {
    let scene = Scene::new();
    let run = scene.pool.repository();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "folder/b.txt", "b\n");
    let two = scene.task("tm/two", &one, "folder/c.txt", "weaker\n");
    let id = |what: String| scene.git(&["rev-parse", &what]);
    let (blob, weaker) = (
        id(format!("{one}:folder/b.txt")),
        id(format!("{two}:folder/c.txt")),
    );
    let mut checked = CheckedObjects::since(base.clone());
    run.check_objects_since(&one, &mut checked)
        .expect("as named");
    // A file that is new to the clock is read again until it no longer is.
    while !checked.is_settled() {
        run.check_objects_since(&two, &mut checked)
            .expect("as named");
    }
    let objects = run.own_objects().expect("a run");
    let object = objects.file(git2::Oid::from_str(&blob).expect("an id"));
    let kept = scene.folder.path().join("kept");
    std::fs::copy(&object, &kept).expect("copied");
    overwrite(&scene, &blob, &weaker);
    let three = scene.task("tm/three", &two, "d.txt", "d\n");
    for of in [&one, &two, &three] {
        let error = run.check_objects_since(of, &mut checked);
        let error = error.expect_err("another content");
        let full = run.check_new_objects(of, &base, ObjectCheck::Names);
        assert_eq!(
            error.to_string(),
            full.expect_err("another content").to_string()
        );
        assert!(error.to_string().ends_with(&blob), "{error}");
    }
    std::fs::copy(&kept, &object).expect("copied");
    run.check_objects_since(&three, &mut checked)
        .expect("as it was");
    std::fs::remove_file(&object).expect("removed");
    std::fs::remove_file(file(&scene, &blob)).expect("removed");
    run.check_objects_since(&three, &mut checked)
        .expect_err("it is nowhere");
}

/// Of what was checked long ago each time looks at a part, and all of it comes round.
#[test]
fn of_many_objects_that_were_checked_one_that_is_another_is_found_when_its_turn_comes() {
    const FILES: usize = 1_500;
    let scene = Scene::new();
    let run = scene.pool.repository();
    let base = scene.head();
    let worktree = scene.check_out("tm/many", &base);
    for number in 0..FILES {
        let text = format!("{number}\n");
        write(&worktree.path().join(format!("many/{number}.txt")), &text);
    }
    let captured = worktree.capture(&PathPatterns::default());
    let many = scene.commit(&worktree, &captured.expect("captured").tree, "many");
    worktree.release().expect("released");
    let mut checked = CheckedObjects::since(base);
    while !checked.is_settled() || !checked.has_some() {
        run.check_objects_since(&many, &mut checked)
            .expect("as named");
    }
    let id = |file: usize| scene.git(&["rev-parse", &format!("{many}:many/{file}.txt")]);
    overwrite(&scene, &id(7), &id(8));
    // In so many turns all of them are looked at.
    let mut turns = (0..4).map(|_| run.check_objects_since(&many, &mut checked));
    let error = turns.find_map(Result::err).expect("another content");
    assert!(error.to_string().ends_with(&id(7)), "{error}");
}

/// A scene whose run has published so often that the kernel tells what is new, and a commit that is new.
fn with_a_new_commit() -> (Scene, CommitId) {
    let scene = Scene::new();
    let run = scene.pool.repository();
    for _ in 0..3 {
        run.publish_objects().expect("published");
    }
    let made = another_commit(&scene, "new\n");
    (scene, made)
}

/// Makes a commit by the library.
fn another_commit(scene: &Scene, message: &str) -> CommitId {
    let run = scene.pool.repository();
    let tree = run.tree_of(&scene.head()).expect("a tree");
    run.commit_tree(&tree, &[], message).expect("made")
}

/// The folder of the run in which an object lies.
fn own_folder(scene: &Scene, commit: &CommitId) -> PathBuf {
    let objects = scene.pool.repository().own_objects().expect("a run");
    let id = git2::Oid::from_str(commit.as_str()).expect("an id");
    objects.file(id).parent().expect("a folder").to_owned()
}

fn assert_published(scene: &Scene, commits: &[&CommitId]) {
    let run = scene.pool.repository();
    run.publish_objects().expect("published");
    for commit in commits {
        assert!(file(scene, commit.as_str()).exists());
    }
}

#[test]
fn what_is_new_is_published_however_it_is_found() {
    let scene = Scene::new();
    let run = scene.pool.repository();
    let tree = run.tree_of(&scene.head()).expect("a tree");
    // Looked through at first, then told by the kernel.
    for round in 0..5 {
        let made = another_commit(&scene, &format!("{round} by the library\n"));
        assert!(
            !file(&scene, made.as_str()).exists(),
            "it has no name there yet"
        );
        let message = format!("{round} by git\n");
        let by_git = run.git_commit_tree(&tree, &[], &message).object_id();
        let by_git = CommitId::new(by_git.expect("made"));
        assert_published(&scene, &[&made, &by_git]);
        if round == 3 {
            // From here on the folder is another one, of which nobody tells.
            let folder = own_folder(&scene, &made);
            std::fs::rename(&folder, folder.with_extension("x")).expect("renamed");
            std::fs::rename(folder.with_extension("x"), &folder).expect("renamed");
        }
    }
}

#[test]
fn what_could_not_be_published_is_published_later() {
    let (scene, made) = with_a_new_commit();
    let there = file(&scene, made.as_str());
    let folder = there.parent().expect("a folder");
    std::fs::remove_dir_all(folder).ok();
    std::os::unix::fs::symlink("nowhere/at/all", folder).expect("a link");
    let run = scene.pool.repository();
    run.publish_objects().expect_err("no folder");
    std::fs::remove_file(folder).expect("removed");
    assert_published(&scene, &[&made]);
}

#[test]
fn what_is_written_into_another_folder_in_the_place_of_the_runs_is_published() {
    let (scene, made) = with_a_new_commit();
    let all = own_folder(&scene, &made);
    let all = all.parent().expect("a folder");
    // Nobody is told that the folder above is another one.
    std::fs::rename(all, all.with_extension("before")).expect("renamed");
    for folder in std::fs::read_dir(all.with_extension("before")).expect("read") {
        let folder = folder.expect("a folder").path();
        let copy = all.join(folder.file_name().expect("a name"));
        std::fs::create_dir_all(&copy).expect("a folder");
        for file in std::fs::read_dir(&folder).expect("read") {
            let file = file.expect("a file").path();
            std::fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("copied");
        }
    }
    let another = another_commit(&scene, "another\n");
    assert_published(&scene, &[&made, &another]);
}

#[test]
fn what_is_written_into_a_folder_that_was_made_again_is_published() {
    let (scene, made) = with_a_new_commit();
    assert_published(&scene, &[&made]);
    let folder = own_folder(&scene, &made);
    // Nobody is told that it is gone as long as somebody has it open.
    let _open = std::fs::File::open(&folder).expect("opened");
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::create_dir(&folder).expect("made");
    let mut others = (0..).map(|number| another_commit(&scene, &format!("{number}\n")));
    let another = others.find(|commit| own_folder(&scene, commit) == folder);
    assert_published(&scene, &[&another.expect("one of some hundred")]);
}

#[test]
fn what_can_not_be_looked_through_is_looked_through_later() {
    let scene = Scene::new();
    let run = scene.pool.repository();
    run.publish_objects().expect("published");
    let made = another_commit(&scene, "new\n");
    // Nothing that a run writes, and nothing that can be listed.
    let beside = own_folder(&scene, &made).with_file_name("zz");
    write(&beside, "");
    run.publish_objects().expect_err("no folder");
    std::fs::remove_file(&beside).expect("removed");
    assert_published(&scene, &[&made]);
}

#[test]
fn a_pack_with_another_content_under_the_name_of_what_was_checked_is_found() {
    let scene = Scene::new();
    let run = scene.pool.repository();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let two = scene.task("tm/two", &one, "c.txt", "c\n");
    let blob = scene.git(&["rev-parse", &format!("{one}:b.txt")]);
    let mut checked = CheckedObjects::since(base);
    while !checked.is_settled() || !checked.has_some() {
        run.check_objects_since(&two, &mut checked)
            .expect("as named");
    }
    // A pack of another blob, whose index names it by this one's name.
    let scratch = scene.folder.path().join("scratch");
    std::fs::create_dir(&scratch).expect("a folder");
    write(&scratch.join("evil"), "evil\n");
    let of_user = scene.of_user.git_in(&scratch);
    let evil = of_user.line("hash-object evil").text().expect("an id");
    let git = |words: &str| {
        scene
            .of_user
            .git_in(scene.of_user.checkout_root())
            .line(words)
    };
    let written = git("hash-object -w --stdin").input("evil\n").text();
    assert_eq!(written.expect("written"), evil);
    let packs = scene.repository.common_dir().join("objects/pack");
    let name = git("pack-objects -q").arg(packs.join("pack"));
    let name = name.input(format!("{evil}\n")).text().expect("a pack");
    let index = packs.join(format!("pack-{name}.idx"));
    let bytes = |id: &str| git2::Oid::from_str(id).expect("an id").as_bytes().to_vec();
    let mut content = std::fs::read(&index).expect("an index");
    let (old, new) = (bytes(&evil), bytes(&blob));
    let at = content.windows(20).position(|part| part == old);
    let at = at.expect("its name");
    content[at..at + 20].copy_from_slice(&new);
    // How many names begin with bytes up to each.
    for first in 0..256_usize {
        let count = u32::from(first >= usize::from(new[0]));
        content[8 + first * 4..12 + first * 4].copy_from_slice(&count.to_be_bytes());
    }
    std::fs::remove_file(&index).expect("removed");
    write(&scratch.join("index"), "");
    let forged = tempfile::NamedTempFile::new_in(&packs).expect("a file");
    std::io::Write::write_all(&mut forged.as_file(), &content).expect("written");
    forged.persist(&index).expect("an index");
    run.check_objects_since(&two, &mut checked)
        .expect_err("another content comes first");
    for end in ["idx", "pack", "rev"] {
        std::fs::remove_file(packs.join(format!("pack-{name}.{end}"))).ok();
    }
    run.check_objects_since(&two, &mut checked)
        .expect("as it was");
}
