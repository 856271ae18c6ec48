//! References of tm's own whose work is in something that stays: told apart from those whose work is nowhere else, and
//! removed. Knows nothing of tasks and runs.

use crate::{Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tm_scheduler::{BranchName, CommitId};

/// Everything that may hold work: what is tm's own among that, and what stays.
const HOLDING: &str = "refs/heads refs/remotes refs/tags refs/tm/salvage";
const OF_BRANCHES: &str = "refs/heads/";
const OF_REMOTES: &str = "refs/remotes/";

/// A reference of tm's own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnReference {
    /// Its full name.
    pub name: String,
    /// Where its work is besides.
    pub besides: Besides,
}

/// Where the work of a reference is besides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Besides {
    /// Nowhere.
    Nowhere,
    /// It is being worked on there.
    CheckedOut(PathBuf),
    /// In something that stays.
    In(Merged),
}

/// A reference of tm's own, and one that stays and has its work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Merged {
    own: Place,
    stays: Place,
}

/// A reference where it was seen.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    name: String,
    tip: CommitId,
}

impl Merged {
    /// Returns the short name of the one that stays.
    pub fn within(&self) -> &str {
        let name = self.stays.name.as_str();
        let short = |below| name.strip_prefix(below);
        let mut short = [OF_BRANCHES, OF_REMOTES, "refs/tags/"].map(short);
        short.iter_mut().find_map(Option::take).unwrap_or(name)
    }
}

impl Place {
    /// Reads a line of `for-each-ref`; what only points to another reference holds nothing itself.
    fn read(line: &str) -> Option<Self> {
        let (name, tip) = line.trim_end().split_once(' ')?;
        (!tip.contains(' ')).then(|| Self {
            name: name.to_owned(),
            tip: CommitId::new(tip),
        })
    }

    /// Whether it is one of these branches, as it is here or at a remote: that one goes with the pull request.
    fn is_one_of(&self, branches: &BTreeSet<&str>) -> bool {
        let is_one = |rest: Option<&str>| rest.is_some_and(|name| branches.contains(name));
        let mut slashes = self.name.match_indices('/');
        let is_at_remote = self.name.starts_with(OF_REMOTES);
        self.name.starts_with("refs/tm/")
            || is_one(self.name.strip_prefix(OF_BRANCHES))
            || (is_at_remote && slashes.any(|(at, _)| is_one(self.name.get(at + 1..))))
    }
}

impl Repository {
    /// Returns those of tm's own branches that are there, and all salvage, with where the work of each is besides. What
    /// is tm's own counts for none of the others, since it does not stay.
    ///
    /// # Errors
    /// git refused.
    pub fn own_references(&self, branches: &[BranchName]) -> Result<Vec<OwnReference>> {
        let branches: BTreeSet<&str> = branches.iter().map(BranchName::as_str).collect();
        let all = self.places(HOLDING, None)?.into_iter();
        let (mut own, mut staying): (Vec<Place>, Vec<Place>) =
            all.partition(|place| place.is_one_of(&branches));
        own.retain(|place| !place.name.starts_with(OF_REMOTES));
        let first = [self.head()?.branch, self.default_branch()?];
        let first = first.map(|name| name.map(|name| format!("{OF_BRANCHES}{name}")));
        staying.sort_by_key(|place| !first.contains(&Some(place.name.clone())));
        let mut merged = self.merged(&own, &staying)?;
        let on = |(path, on): (PathBuf, Option<String>)| Some((on?, path));
        let mut worked_on: BTreeMap<_, _> = self.worktrees()?.into_iter().filter_map(on).collect();
        let besides = |own: Place| OwnReference {
            besides: match (worked_on.remove(&own.name), merged.remove(&own)) {
                (Some(path), _) => Besides::CheckedOut(path),
                (None, Some(stays)) => Besides::In(Merged {
                    own: own.clone(),
                    stays,
                }),
                (None, None) => Besides::Nowhere,
            },
            name: own.name,
        };
        Ok(own.into_iter().map(besides).collect())
    }

    /// Removes a reference whose work is besides: only where both are where they were seen.
    ///
    /// # Errors
    /// One of them is elsewhere, a branch is protected, or git refused.
    pub fn remove_merged(&self, Merged { own, stays }: &Merged) -> Result<()> {
        if let Some(branch) = own.name.strip_prefix(OF_BRANCHES) {
            self.assert_not_protected(&BranchName::new(branch)?)?;
        }
        let both = format!(
            "verify {} {}\ndelete {} {}\n",
            stays.name, stays.tip, own.name, own.tip
        );
        self.git("update-ref --no-deref -m tm --stdin")
            .input(both)
            .done()
    }

    /// Returns something that stays for each that is in such a thing.
    fn merged(&self, own: &[Place], staying: &[Place]) -> Result<BTreeMap<Place, Place>> {
        let tips = own.iter().map(|place| format!("{}\n", place.tip));
        let without = staying.iter().map(|place| format!("^{}\n", place.tip));
        let asked: String = tips.chain(without).collect();
        let alone = self.git("rev-list --ignore-missing --stdin").input(asked);
        let alone: BTreeSet<String> = alone.lines()?.into_iter().collect();
        let mut open: BTreeSet<&Place> = own.iter().collect();
        open.retain(|place| !alone.contains(place.tip.as_str()));
        let mut merged = BTreeMap::new();
        for stays in staying {
            if open.is_empty() {
                break;
            }
            // What names no commit contains none.
            for found in self.places(HOLDING, Some(&stays.tip)).unwrap_or_default() {
                if open.remove(&found) {
                    merged.insert(found, stays.clone());
                }
            }
        }
        Ok(merged)
    }

    /// Returns the references below some names, all or those that a commit contains.
    fn places(&self, below: &str, within: Option<&CommitId>) -> Result<Vec<Place>> {
        let within = within.map(|tip| format!("--merged={tip}"));
        let listing = self
            .git("for-each-ref")
            .arg("--format=%(refname) %(objectname) %(symref)")
            .args(within)
            .line(below)
            .lines()?;
        Ok(listing
            .iter()
            .filter_map(|line| Place::read(line))
            .collect())
    }
}
