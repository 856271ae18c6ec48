//! Merges for which git would take minutes, or all memory, whatever the sides did to the files.

use super::*;
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
                let commit = in_checkout.expect("merged");
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
