//! Merges for which git would take minutes, or all memory, whatever the sides did to the files.

use super::*;
use crate::lengths::LONGEST_TEXT;
use std::time::Instant;

/// A repository whose user has git look for renames among however many files.
struct Renamed {
    scene: Scene,
    base: TreeId,
    files: usize,
}

impl Renamed {
    fn new(files: usize) -> Self {
        let scene = Scene::new();
        scene.git(&["config", "merge.renameLimit", "0"]);
        let head = scene.head();
        let base = scene.repository.tree_of(&head).expect("a tree");
        Self { scene, base, files }
    }

    /// Files of a folder, each with lines of its own between these two.
    fn tree(&self, folder: &str, [first, last]: [&str; 2]) -> TreeId {
        let repository = &self.scene.repository;
        let entry = |at| {
            let lines = format!("line of {at}\n").repeat(20);
            let text = format!("{first}\n{lines}{last}\n");
            let id = repository.write_blob(text.as_bytes()).expect("a blob");
            tree::index_entry("100644", &id, format!("{folder}{at}").as_bytes())
        };
        let changes = (0..self.files).flat_map(entry).collect();
        repository.tree_with(&self.base, changes).expect("a tree")
    }

    /// Both sides: one calls all files otherwise and changes each a little, the other one changes them where they are.
    fn sides(&self) -> [CommitId; 2] {
        let repository = &self.scene.repository;
        let commit = |tree: &TreeId, parent: &CommitId| {
            let commit = repository.commit_tree(tree, &[parent], "side\n");
            commit.expect("a commit")
        };
        let base = commit(
            &self.tree("d/before", ["first", "last"]),
            &self.scene.head(),
        );
        let renamed = commit(&self.tree("e/after", ["renamed", "last"]), &base);
        let changed = commit(&self.tree("d/before", ["first", "changed"]), &base);
        [renamed, changed]
    }
}

#[test]
fn renames_are_found_among_as_many_files_as_are_compared_in_a_moment_whatever_is_set() {
    for (files, is_found) in [(20, true), (401, false)] {
        let renamed = Renamed::new(files);
        let (repository, of_user) = (&renamed.scene.repository, &renamed.scene.of_user);
        let [ours, theirs] = renamed.sides();
        let begun = Instant::now();
        let merged = repository.merged_as_far(&ours, &theirs).expect("a merge");
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
        let landing = repository.land(&ours, &theirs).expect("an answer");
        let ahead = repository.land_united(&ours, &theirs).expect("an answer");
        assert_eq!(landing, ahead);
        renamed
            .scene
            .git(&["checkout", "--quiet", "-B", "ours", ours.as_str()]);
        renamed.scene.git(&["branch", "theirs", theirs.as_str()]);
        let in_checkout =
            of_user.merge_into_checkout(&branch("theirs"), FastForwardPolicy::MergeCommit);
        match (landing, merged) {
            (Landing::Clean(preview), Ok(tree)) if is_found => {
                assert_eq!(preview.tree, tree);
                let commit = in_checkout.expect("merged").commit;
                assert_eq!(of_user.tree_of(&commit).expect("a tree"), tree);
            }
            (Landing::Conflict(landing), Err(conflict)) if !is_found => {
                assert_eq!(landing, conflict);
                assert_eq!(conflict.files.len(), files);
                in_checkout.expect_err("they conflict");
            }
            other => panic!(
                "{files}: {}",
                format!("{other:?}").get(..999).unwrap_or_default()
            ),
        }
    }
}

#[test]
fn merges_end_when_whoever_asks_has_no_more_time_and_are_the_works_fault() {
    let renamed = Renamed::new(2);
    let repository = &renamed.scene.repository;
    let [ours, theirs] = renamed.sides();
    let over = repository.until(Instant::now());
    for error in [
        over.land_united(&ours, &theirs).expect_err("no time"),
        over.merged_as_far(&ours, &theirs).expect_err("no time"),
    ] {
        assert!(matches!(error, Error::GitTookTooLong { .. }), "{error}");
        assert!(error.is_of_work() && !error.is_of_surroundings());
    }
    let in_time = repository.until(soon()).land_united(&ours, &theirs);
    assert!(matches!(in_time, Ok(Landing::Clean(_))));
    let looker = renamed.scene.check_out("1", &ours).looker();
    write(&looker.folder.path.join("new.txt"), "new\n");
    looker.commit(Instant::now()).expect_err("no time");
    looker.commit(soon()).expect("seen");
}

/// What conflicts where each side makes these texts of a file of another one, by rules for all.
fn conflict(rules: &str, versions: [&str; 3]) -> (Scene, Conflict) {
    let scene = Scene::new();
    let repository = &scene.repository;
    let nothing = repository.tree_of(&scene.head()).expect("a tree");
    let commit = |text: &str, parent: &CommitId| {
        let files = [(".gitattributes", rules), ("list.txt", text)];
        let changes = files.iter().flat_map(|(path, text)| {
            let id = repository.write_blob(text.as_bytes()).expect("a blob");
            tree::index_entry("100644", &id, path.as_bytes())
        });
        let tree = repository.tree_with(&nothing, changes.collect());
        let commit = repository.commit_tree(&tree.expect("a tree"), &[parent], "side\n");
        commit.expect("a commit")
    };
    let base = commit(versions[0], &scene.head());
    let [ours, theirs] = [versions[1], versions[2]].map(|text| commit(text, &base));
    let merged = repository.merged_as_far(&ours, &theirs).expect("a merge");
    (scene, merged.expect_err("a conflict"))
}

#[test]
fn nobody_looks_at_a_conflict_of_texts_that_are_too_long() {
    let line = format!("{}\n", "x".repeat(1023));
    let most = usize::try_from(LONGEST_TEXT).expect("a length") / line.len();
    for (lines, is_looked_at) in [(most - 1, true), (most + 1, false)] {
        let text = line.repeat(lines);
        let sides = ["one\n", "two\n"].map(|added| format!("{text}{added}"));
        let (scene, conflict) = conflict("", [&text, &sides[0], &sides[1]]);
        assert_eq!(conflict.texts.is_some(), is_looked_at, "{lines}");
        assert_eq!(conflict.files, ["list.txt"]);
        let united = scene.repository.united(&conflict).expect("an answer");
        assert_eq!(united.is_some(), is_looked_at, "{lines}");
    }
}

#[test]
fn nobody_looks_at_a_conflict_whose_marks_are_too_long() {
    const MEBIBYTE: usize = 1024 * 1024;
    let lines = |word: &str| -> Vec<String> {
        let line = |at| format!("{at}\n{word}{at}\nbetween\n");
        (0..50).map(line).collect()
    };
    let [base, ours, theirs] = ["", "one", "two"].map(|word| lines(word).concat());
    let rules = format!("* conflict-marker-size={MEBIBYTE}\n");
    let (_scene, marked) = conflict(&rules, [&base, &ours, &theirs]);
    assert_eq!(marked.texts, None, "git wrote 200 of a mebibyte each");

    let text = format!("{}\n{}", "<".repeat(MEBIBYTE), "same\n".repeat(200));
    let [ours, theirs] = ["one\n", "two\n"].map(|added| format!("{text}{added}"));
    let (scene, long_line) = conflict("", [&text, &ours, &theirs]);
    assert!(long_line.texts.is_some());
    let united = scene.repository.united(&long_line).expect("an answer");
    assert_eq!(united, None, "the marks would be longer than that line");
}
