//! What of tm's own goes, against a model: whatever the history, no commit that a reference held is without one.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Names of references, `N` for a number; whether tm's own, and whether what it holds stays there.
const NAMES: [(&str, bool, bool); 7] = [
    ("refs/heads/theirs-N", false, true),
    ("refs/heads/tm/N", true, false),
    ("refs/tm/salvage/run/N/1", true, false),
    ("refs/tags/tag-N", false, true),
    ("refs/remotes/origin/theirs-N", false, true),
    ("refs/remotes/origin/tm/N", false, false),
    ("refs/tm/rejected/master/N/run", false, false),
];

/// The parents of each commit after the first, as numbers of earlier ones.
type Parents = Vec<(usize, Option<usize>)>;

/// A history with references at its commits.
struct History {
    scene: Scene,
    commits: Vec<CommitId>,
    /// Which commits each one contains.
    contains: Vec<BTreeSet<usize>>,
}

impl History {
    fn new(parents: &Parents) -> Self {
        let scene = Scene::new();
        let mut commits = vec![scene.head()];
        let mut contains = vec![BTreeSet::from([0])];
        for (number, (one, other)) in parents.iter().enumerate() {
            let parents: BTreeSet<usize> = [Some(one), other.as_ref()]
                .into_iter()
                .flatten()
                .map(|parent| parent % commits.len())
                .collect();
            let message = format!("{number}");
            let named = parents
                .iter()
                .flat_map(|parent| ["-p", commits[*parent].as_str()]);
            let words = ["commit-tree", "HEAD^{tree}", "-m", &message];
            let words: Vec<&str> = words.into_iter().chain(named).collect();
            commits.push(CommitId::new(scene.git(&words)));
            let mut within: BTreeSet<usize> = parents
                .iter()
                .flat_map(|parent| contains[*parent].clone())
                .collect();
            within.insert(number + 1);
            contains.push(within);
        }
        Self {
            scene,
            commits,
            contains,
        }
    }

    fn held(&self) -> BTreeSet<String> {
        let all = self.scene.git(&["rev-list", "--all"]);
        all.lines().map(ToOwned::to_owned).collect()
    }

    fn references(&self) -> BTreeSet<String> {
        let all = self.scene.git(&["for-each-ref", "--format=%(refname)"]);
        all.lines().map(ToOwned::to_owned).collect()
    }

    fn own(&self) -> Vec<OwnReference> {
        let branches: Vec<BranchName> = (0..20)
            .map(|number| branch(&format!("tm/{number}")))
            .collect();
        self.scene
            .repository
            .own_references(&branches)
            .expect("references")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_is_nowhere_else_stays(
        parents in prop::collection::vec((0_usize..20, prop::option::of(0_usize..20)), 1..12),
        references in prop::collection::vec((0..NAMES.len(), 0_usize..20), 1..20),
    ) {
        let history = History::new(&parents);
        let mut held = BTreeMap::from([("refs/heads/main".to_owned(), (0, false, true))]);
        for (number, (kind, commit)) in references.iter().enumerate() {
            let (name, is_own, stays) = NAMES[*kind];
            let name = name.replace('N', &number.to_string());
            let commit = commit % history.commits.len();
            history.scene.git(&["update-ref", &name, history.commits[commit].as_str()]);
            held.insert(name, (commit, is_own, stays));
        }
        let before = history.held();
        let has = |commit: usize| {
            let mut staying = held.values().filter(|(_, _, stays)| *stays);
            staying.any(|(tip, ..)| history.contains[*tip].contains(&commit))
        };
        let own = history.own();
        let names: BTreeSet<&String> = own.iter().map(|own| &own.name).collect();
        let expected = held.iter().filter(|(_, (_, is_own, _))| *is_own).map(|(name, _)| name);
        prop_assert_eq!(names, expected.collect::<BTreeSet<_>>());
        let mut left: BTreeSet<String> = held.keys().cloned().collect();
        for OwnReference { name, besides } in own {
            let (commit, ..) = held[&name];
            match besides {
                Besides::In(merged) => {
                    prop_assert!(has(commit), "{} is said to be in {}", name, merged.within());
                    history.scene.repository.remove_merged(&merged).expect("removed");
                    left.remove(&name);
                }
                Besides::Nowhere => prop_assert!(!has(commit), "{} is nowhere else", name),
                Besides::CheckedOut(path) => panic!("{name} is checked out at {}", path.display()),
            }
        }
        prop_assert_eq!(history.references(), left);
        prop_assert_eq!(history.held(), before, "a commit is without a reference");
    }
}

#[test]
fn what_has_moved_since_it_was_seen_stays() {
    let history = History::new(&vec![(0, None), (1, None)]);
    let git = |words: &[&str]| history.scene.git(words);
    let [first, second, third] = [0, 1, 2].map(|number| history.commits[number].as_str());
    let (main, own) = ("refs/heads/main", "refs/heads/tm/1");
    let remove = || match history.own().pop().expect("a reference").besides {
        Besides::In(merged) => merged,
        other => panic!("{other:?}"),
    };
    git(&["update-ref", main, second]);
    git(&["update-ref", own, second]);
    let merged = remove();
    assert_eq!(merged.within(), "main");
    git(&["update-ref", main, first]);
    let refused = history.scene.repository.remove_merged(&merged);
    assert!(refused.is_err(), "what has the work was moved back");
    git(&["update-ref", main, second]);
    git(&["update-ref", own, third]);
    let refused = history.scene.repository.remove_merged(&merged);
    assert!(refused.is_err(), "somebody went on there");
    assert_eq!(git(&["rev-parse", own]), third);
}

#[test]
fn branch_that_somebody_works_on_stays() {
    let scene = Scene::new();
    let base = scene.head();
    let worktree = scene.check_out("tm/1", &base);
    let place = scene.folder.path().join("looked-at");
    scene.git(&["branch", "tm/2"]);
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        place.to_str().expect("a name"),
        "tm/2",
    ]);
    let own = scene
        .repository
        .own_references(&[branch("tm/1"), branch("tm/2")])
        .expect("references");
    for own in own {
        assert!(matches!(own.besides, Besides::CheckedOut(_)), "{own:?}");
    }
    drop(worktree);
}

#[test]
fn tag_that_names_no_commit_has_no_work() {
    let scene = Scene::new();
    scene.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
    scene.task("tm/1", &scene.head(), "b.txt", "b");
    let own = scene
        .repository
        .own_references(&[branch("tm/1")])
        .expect("references");
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].besides, Besides::Nowhere);
}
