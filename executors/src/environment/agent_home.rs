//! The home of an agent that is held: its own, with what its recipe names of its user's.
//!
//! It lies in a folder that is this attempt's alone and outlives the tm that made it, since the agent does. Files in it are
//! copies and folders are links to what may be read. What the agent keeps up to date, such as credentials that are renewed
//! at their service and void from then on in their older form, is brought back as soon as it changes; unless its user's is
//! another one by then, which is newer. Copies and no links: programs put such files in their place by a new name, or
//! write beside where a link leads. Does not know agents.

use super::folder::remove;
use super::{FOLDERS, Variables, find_home, make_home, of_surroundings};
use crate::OrFailedTo as _;
use crate::process::{JobKind, is_named};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};
use tm_untrusted::json_value;

/// What an agent needs of its user's.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HomeNeeds {
    /// Files and folders of the home folder (`~/…`) that it reads.
    pub read: Vec<String>,
    /// Files of the home folder that it keeps up to date.
    pub write: Vec<String>,
    /// Variables that it gets: names, or beginnings that end with `*`.
    pub pass: Vec<String>,
    /// Variables that are set for it.
    pub set: BTreeMap<String, String>,
    /// Variables that name a folder of its program's, and where in the home folder that is without them.
    pub homes: BTreeMap<String, String>,
}

/// The home of one agent.
#[derive(Clone, Debug)]
pub struct AgentHome {
    folder: PathBuf,
    needs: HomeNeeds,
    /// What this process was started with: the same for all agents.
    user: Arc<Variables>,
}

/// When copies that are kept up to date were last looked at, and what they were, by their places in the home.
pub(crate) type SeenCopies = BTreeMap<PathBuf, (SystemTime, u64)>;

/// No longer file is kept up to date.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// What one agent makes longer by more is not brought back: later ones would have to carry it.
const MOST_GROWTH: u64 = 1024 * 1024;

/// Tells whether an agent gets a variable by its name.
pub(super) fn is_passed(name: &OsStr, pass: &[String]) -> bool {
    is_named(&SHOWN, name) || is_named(pass, name) && !is_named(&DROPPED, name)
}

/// What every program gets that people look at.
const SHOWN: [&str; 5] = ["COLORTERM", "LANG", "LANGUAGE", "LC_*", "TERM"];

/// They lead to what is not there.
const DROPPED: [&str; 12] = [
    "DBUS_*",
    "DISPLAY",
    "DOCKER_HOST",
    "GEMINI_CLI_HOME",
    "GIT_*",
    "GPG_AGENT_INFO",
    "OLDPWD",
    "PWD",
    "SSH_*",
    "TM_*",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// Beside the agent's folder: what was copied of what it keeps up to date, by its place in the home.
const COPIED: &str = "home.json";

/// What was copied, each by its place in the home: whose it is, and what the user's file was when it was copied, or when a
/// copy was brought back. That is enough to tell that it is another one now. Whether a later tm counts alike does not
/// matter much: then nothing is brought back.
type Copied = BTreeMap<PathBuf, (PathBuf, u64)>;

/// A path in the home of somebody.
struct Shared {
    of_user: PathBuf,
    within: PathBuf,
}

impl AgentHome {
    /// Says where it is and what is in it; nothing is made yet.
    pub fn new(folder: PathBuf, needs: HomeNeeds) -> Self {
        static OF_PROCESS: LazyLock<Arc<Variables>> =
            LazyLock::new(|| Arc::new(std::env::vars_os().collect()));
        Self {
            folder,
            needs,
            user: Arc::clone(&OF_PROCESS),
        }
    }

    /// Returns the folder that is the agent's.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns all variables that the agent has of its surroundings.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = of_surroundings(JobKind::Agent, &self.needs.pass, &self.user);
        for (name, within) in FOLDERS {
            variables.insert(name.into(), self.folder.join(within).into());
        }
        let set = self.needs.set.iter();
        variables.extend(set.map(|(name, value)| (name.into(), value.into())));
        for (name, default) in &self.needs.homes {
            let name = OsStr::new(name);
            if self.user.contains_key(name) {
                let own = default.strip_prefix("~/").unwrap_or(default);
                variables.insert(name.to_owned(), self.home().join(own).into());
            }
        }
        variables.into_iter().collect()
    }

    /// Returns the names of variables that it has of its surroundings, besides those that all agents have.
    pub fn pass(&self) -> &[String] {
        &self.needs.pass
    }

    /// Returns the folders of the user's that it leads to.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let read = self.shared(&self.needs.read);
        read.map(|shared| shared.of_user)
            .filter(|path| path.is_dir())
    }

    /// Returns its copies of what it keeps up to date.
    pub(crate) fn kept(&self) -> impl Iterator<Item = PathBuf> {
        let shared = self.shared(&self.needs.write);
        shared.map(|shared| self.home().join(shared.within))
    }

    /// Makes it anew; what an interrupted start left is gone.
    ///
    /// # Errors
    /// It can't be made.
    pub(crate) fn make(&self) -> Result<(), crate::Error> {
        self.made().or_failed_to("make", &self.folder)
    }

    fn made(&self) -> io::Result<()> {
        remove(&self.folder);
        std::fs::create_dir_all(&self.folder)?;
        make_home(&self.folder, &self.user)?;
        let mut copied = Copied::new();
        for Shared { of_user, within } in self.shared(&self.needs.read) {
            let place = self.place(&within)?;
            if of_user.is_dir() {
                symlink(of_user.canonicalize()?, place)?;
            } else {
                // What can't be read by its user is of no use to its program either.
                let _not_there = std::fs::copy(&of_user, place);
            }
        }
        for Shared { of_user, within } in self.shared(&self.needs.write) {
            std::fs::copy(&of_user, self.place(&within)?)?;
            let copy = tm_untrusted::read_beneath(&self.home(), &within, MOST_BYTES)?;
            copied.insert(within, (of_user, digest(&copy)));
        }
        self.write_copied(&copied)
    }

    /// Brings back what the agent has changed of what it keeps up to date.
    pub(crate) fn keep_up(&self, seen: &mut SeenCopies) {
        self.keep_up_with(self.shared(&self.needs.write), seen);
    }

    fn keep_up_with(&self, all: impl Iterator<Item = Shared>, seen: &mut SeenCopies) {
        for shared in all {
            let copy = self.home().join(&shared.within);
            let Ok(found) = copy.symlink_metadata() else {
                continue;
            };
            let is_now = (found.modified().unwrap_or(UNIX_EPOCH), found.len());
            if seen.insert(shared.within.clone(), is_now) == Some(is_now) {
                continue;
            }
            if let Err(error) = self.bring_back(&shared) {
                let path = shared.of_user.display();
                tracing::warn!(%error, "what an agent wrote to its own `{path}` is not brought back");
            }
        }
    }

    /// Takes what the ended agent left: files by these names go to the folder above, what it changed of what it keeps up
    /// to date goes home, and the rest is removed.
    pub(crate) fn settle(&self, left: &[String]) {
        if let Some(above) = self.folder.parent() {
            for name in left {
                // What it did not write is not there.
                let _nothing_there = std::fs::rename(self.folder.join(name), above.join(name));
            }
        }
        // Whoever was started by a tm that is gone may have had other needs.
        let copied = self.copied().unwrap_or_default().into_iter();
        let shared = copied.map(|(within, (of_user, _))| Shared { of_user, within });
        self.keep_up_with(shared, &mut SeenCopies::new());
        remove(&self.folder);
        let _not_there = std::fs::remove_file(self.folder.with_file_name(COPIED));
    }

    fn bring_back(&self, Shared { of_user, within }: &Shared) -> io::Result<()> {
        let mut copied = self.copied()?;
        let (of_user, place) = (of_user.canonicalize()?, of_user);
        let of_user_bytes = tm_untrusted::read(&of_user, MOST_BYTES)?;
        let most = MOST_GROWTH + of_user_bytes.len() as u64;
        let written = tm_untrusted::read_beneath(&self.home(), within, most)?;
        let now = digest(&of_user_bytes);
        let known = copied.get(within).map(|(_, digest)| *digest);
        // The user's own is newer where it changed too.
        if known != Some(now) || digest(&written) == now {
            return Ok(());
        }
        if lacks_some(&of_user_bytes, &written) {
            return Ok(());
        }
        let beside = of_user.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::NamedTempFile::new_in(beside)?;
        file.write_all(&written)?;
        file.as_file().sync_all()?;
        file.as_file()
            .set_permissions(of_user.metadata()?.permissions())?;
        file.persist(of_user)?;
        copied.insert(within.clone(), (place.clone(), digest(&written)));
        self.write_copied(&copied)
    }

    fn copied(&self) -> io::Result<Copied> {
        let path = self.folder.with_file_name(COPIED);
        Ok(serde_json::from_slice(&tm_untrusted::read(
            &path, MOST_BYTES,
        )?)?)
    }

    fn write_copied(&self, copied: &Copied) -> io::Result<()> {
        let path = self.folder.with_file_name(COPIED);
        tm_untrusted::create_anew(&path)?.write_all(&serde_json::to_vec(copied)?)
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn place(&self, within: &Path) -> io::Result<PathBuf> {
        let place = self.home().join(within);
        if let Some(above) = place.parent() {
            std::fs::create_dir_all(above)?;
        }
        Ok(place)
    }

    /// Returns those of the paths that are there; others can't be in a home.
    fn shared(&self, entries: &[String]) -> impl Iterator<Item = Shared> + use<> {
        let of = |entry: &String| {
            let within = entry.strip_prefix("~/")?;
            let own = self.needs.homes.iter();
            let own = own.map(|(variable, default)| (variable.as_str(), default.as_str(), "~/"));
            // The user's own ones may be elsewhere.
            let of_all = FOLDERS.map(|(variable, default)| (variable, default, "home/"));
            let named = own.chain(of_all).find_map(|(variable, default, home)| {
                let rest = within.strip_prefix(default.strip_prefix(home)?)?;
                let folder = PathBuf::from(self.user.get(OsStr::new(variable))?);
                (folder.is_absolute() && (rest.is_empty() || rest.starts_with('/')))
                    .then(|| folder.join(rest.trim_start_matches('/')))
            });
            let of_user = named.or_else(|| Some(find_home(&self.user)?.join(within)))?;
            of_user.exists().then(|| Shared {
                of_user,
                within: within.into(),
            })
        };
        entries
            .iter()
            .filter_map(of)
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// Whether something is gone or empty that was there: half written, or what a program leaves that was refused a renewal
/// which another one got at the same moment.
fn lacks_some(before: &[u8], after: &[u8]) -> bool {
    match (json_value(before), json_value(after)) {
        (Ok(before), Ok(after)) => lacks(&before, Some(&after)),
        (Ok(_), Err(_)) => true,
        (Err(_), _) => after.is_empty(),
    }
}

fn lacks(before: &Value, after: Option<&Value>) -> bool {
    match before {
        Value::Object(before) => before
            .iter()
            .any(|(name, value)| lacks(value, after.and_then(|after| after.get(name)))),
        Value::String(before) if before.is_empty() => false,
        Value::String(_) => after.and_then(Value::as_str).is_none_or(str::is_empty),
        _ => false,
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, read_to_string, write};

    /// A home with a program's folder, and an agent that needs some of it.
    fn scene(place: &Path, named: Option<&Path>) -> AgentHome {
        let of_program = named.map_or_else(|| place.join("user/.agent"), Path::to_owned);
        create_dir_all(of_program.join("skills")).unwrap();
        write(of_program.join("settings.json"), "settings").unwrap();
        write(of_program.join("credentials"), "old").unwrap();
        write(of_program.join("skills/one"), "skill").unwrap();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut user = Variables::from([
            ("HOME".into(), place.join("user").into()),
            ("PATH".into(), "/bin".into()),
            ("LANG".into(), "C".into()),
            ("AGENT_KEY".into(), "key".into()),
            ("AWS_SECRET".into(), "secret".into()),
            ("SSH_AUTH_SOCK".into(), "/run/agent".into()),
        ]);
        if let Some(named) = named {
            user.insert("AGENT_HOME".into(), named.into());
        }
        AgentHome {
            folder: place.join("own"),
            needs: HomeNeeds {
                read: texts(&["~/.agent/settings.json", "~/.agent/skills", "~/.nowhere"]),
                write: texts(&["~/.agent/credentials"]),
                set: BTreeMap::new(),
                pass: texts(&["AGENT_*", "SSH_*"]),
                homes: BTreeMap::from([("AGENT_HOME".to_owned(), "~/.agent".to_owned())]),
            },
            user: Arc::new(user),
        }
    }

    fn value(home: &AgentHome, name: &str) -> Option<OsString> {
        let mut all = home.variables().into_iter();
        all.find(|(found, _)| found == name).map(|(_, value)| value)
    }

    #[test]
    fn what_leads_to_what_is_not_there_is_passed_by_no_pattern() {
        let pass = ["TM_*", "GH_*"].map(str::to_owned);
        let is_passed = |name: &str| super::is_passed(OsStr::new(name), &pass);
        assert!(is_passed("GH_TOKEN") && is_passed("LC_ALL"));
        assert!(!is_passed("TM_HOME") && !is_passed("HOME"));
    }

    #[test]
    fn what_a_recipe_names_is_there_and_only_what_is_kept_up_to_date_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        for named in [None, Some(folder.path().join("elsewhere"))] {
            let home = scene(folder.path(), named.as_deref());
            let of_user = named
                .clone()
                .unwrap_or_else(|| folder.path().join("user/.agent"));
            home.make().unwrap();
            let own = folder.path().join("own/home/.agent");
            assert_eq!(
                read_to_string(own.join("settings.json")).unwrap(),
                "settings"
            );
            assert_eq!(read_to_string(own.join("skills/one")).unwrap(), "skill");
            write(own.join("settings.json"), "changed").unwrap();
            // In its place, as programs do that must not be cut off in the middle.
            write(own.join("new"), "renewed").unwrap();
            std::fs::rename(own.join("new"), own.join("credentials")).unwrap();
            write(folder.path().join("own/result.md"), "result").unwrap();
            home.settle(&["result.md".to_owned(), "context.md".to_owned()]);
            assert_eq!(
                read_to_string(of_user.join("settings.json")).unwrap(),
                "settings"
            );
            assert_eq!(
                read_to_string(of_user.join("credentials")).unwrap(),
                "renewed"
            );
            assert_eq!(
                read_to_string(folder.path().join("result.md")).unwrap(),
                "result"
            );
            assert!(!folder.path().join("own").exists());
            let folders: Vec<PathBuf> = home.folders().collect();
            assert_eq!(folders, [of_user.join("skills")]);
            let of_program = value(&home, "AGENT_HOME");
            assert_eq!(of_program.is_some(), named.is_some());
            assert!(of_program.is_none_or(|path| Path::new(&path) == own));
        }
    }

    #[test]
    fn what_is_renewed_is_brought_back_at_once_and_a_login_of_the_users_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let home = scene(folder.path(), None);
        home.make().unwrap();
        let of_user = folder.path().join("user/.agent/credentials");
        let own = folder.path().join("own/home/.agent/credentials");
        let mut seen = SeenCopies::new();
        for renewed in ["renewed", "renewed again"] {
            write(&own, renewed).unwrap();
            home.keep_up(&mut seen);
            assert_eq!(read_to_string(&of_user).unwrap(), renewed);
        }
        write(&of_user, "logged in anew").unwrap();
        write(&own, "renewed a third time").unwrap();
        home.keep_up(&mut seen);
        // Another tm may have taken the agent over.
        write(&own, "and a fourth").unwrap();
        home.settle(&[]);
        assert_eq!(read_to_string(&of_user).unwrap(), "logged in anew");
    }

    #[test]
    fn a_login_that_lost_something_is_not_brought_back() {
        let before = br#"{"a": {"token": "one", "scopes": ["x"], "none": ""}, "n": 1}"#;
        for (after, lacks) in [
            (
                r#"{"a": {"token": "two", "scopes": [], "none": ""}}"#,
                false,
            ),
            (r#"{"a": {"token": "", "scopes": ["x"]}, "n": 1}"#, true),
            (r#"{"a": {}}"#, true),
            (r#"{"a": null}"#, true),
            (r#"{"a": {"token": "tw"#, true),
            ("", true),
        ] {
            assert_eq!(lacks_some(before, after.as_bytes()), lacks, "{after}");
        }
        assert!(lacks_some(b"no JSON", b""));
        assert!(!lacks_some(b"no JSON", b"another"));
    }

    #[test]
    fn a_login_that_grew_by_more_than_anybodys_is_not_brought_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = scene(folder.path(), None);
        home.make().unwrap();
        let of_user = folder.path().join("user/.agent/credentials");
        for (length, is_brought) in [(1 << 20, true), (3 << 20, false)] {
            let renewed = "x".repeat(length);
            write(folder.path().join("own/home/.agent/credentials"), &renewed).unwrap();
            let shared = home.shared(&home.needs.write).next().expect("a file");
            assert_eq!(home.bring_back(&shared).is_ok(), is_brought, "{length}");
            assert_eq!(read_to_string(&of_user).unwrap() == renewed, is_brought);
        }
        let of_many_values = format!("{{\"a\": \"b\", \"x\": [{}0]}}", "0,".repeat(400_000));
        assert!(lacks_some(br#"{"a": "b"}"#, of_many_values.as_bytes()));
    }

    #[test]
    fn no_link_out_of_the_home_is_followed_when_something_is_brought_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = scene(folder.path(), None);
        home.make().unwrap();
        let of_others = folder.path().join("others");
        create_dir_all(&of_others).unwrap();
        write(of_others.join("credentials"), "of others").unwrap();
        let own = folder.path().join("own/home/.agent");
        std::fs::rename(&own, folder.path().join("own/home/aside")).unwrap();
        symlink(&of_others, &own).unwrap();
        home.settle(&[]);
        let of_user = folder.path().join("user/.agent/credentials");
        assert_eq!(read_to_string(of_user).unwrap(), "old");
        assert!(of_others.join("credentials").exists());
    }

    #[test]
    fn an_agent_gets_variables_of_the_list_and_those_that_its_recipe_names() {
        let folder = tempfile::tempdir().unwrap();
        let home = scene(folder.path(), None);
        for (name, expected) in [
            ("PATH", Some("/bin")),
            ("LANG", Some("C")),
            ("AGENT_KEY", Some("key")),
            ("AWS_SECRET", None),
            ("SSH_AUTH_SOCK", None),
        ] {
            assert_eq!(
                value(&home, name).as_deref(),
                expected.map(OsStr::new),
                "{name}"
            );
        }
        let own = folder.path().join("own/home");
        assert_eq!(value(&home, "HOME"), Some(own.into()));
    }
}
