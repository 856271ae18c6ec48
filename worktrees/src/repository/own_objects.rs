//! The objects of a run: what git and the library write in one lies in a folder of tm's own, which reads the repository's
//! by `alternates`, and gets a second name in the repository before anything there names it.
//!
//! `git prune` takes what no reference held when it began, whatever has come to hold it since. So what was made or checked
//! here stays here until the run is over, and what another git took gets its name back.

use super::new_names::NewNames;
use crate::files::{create_folder, is_gone, replace};
use crate::git::path_of;
use crate::{OrFailedTo as _, Result};
use git2::Oid;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

/// So often a name is given again whose folder `git prune` removed because it was empty.
const TRIES: u32 = 100;
/// What git writes first, under a name that does not last.
const TEMPORARY: [&str; 2] = ["tmp_", "."];

#[derive(Debug)]
pub(crate) struct OwnObjects {
    folder: PathBuf,
    of_repository: PathBuf,
    published: Mutex<Published>,
}

/// What has its name in the repository, as far as is known here.
#[derive(Debug, Default)]
struct Published {
    names: HashSet<PathBuf>,
    /// How what is new is found.
    looks: Looks,
}

/// How what is new is found.
#[derive(Debug, Default)]
enum Looks {
    /// Nobody has looked yet.
    #[default]
    None,
    /// Everything was looked through.
    Through,
    /// Whatever came since somebody looked through everything is told by the kernel.
    Told(NewNames),
}

impl Looks {
    /// Whoever looks a second time will look often. What is written from now on is told.
    fn again(&self, folder: &Path) -> Self {
        match self {
            Self::Through => NewNames::listen(folder).map_or(Self::Through, Self::Told),
            Self::None | Self::Told(_) => Self::Through,
        }
    }

    /// Returns the names that files got since the last look, where that is told.
    fn told(&self) -> Option<Vec<PathBuf>> {
        match self {
            Self::Told(names) => names.take(),
            Self::None | Self::Through => None,
        }
    }
}

impl OwnObjects {
    /// Makes the folder, or takes up one of a run that was cut off. No line of `alternates` can name a path with a line
    /// feed as the library reads it: there is none then.
    pub(crate) fn open(folder: &Path, of_repository: &Path) -> Result<Option<Self>> {
        let mut alternates = of_repository.as_os_str().as_encoded_bytes().to_owned();
        if alternates.contains(&b'\n') || folder.as_os_str().as_encoded_bytes().contains(&b'\n') {
            return Ok(None);
        }
        if folder.is_symlink() {
            fs::remove_file(folder).or_failed_to("remove", folder)?;
        }
        let info = folder.join("info");
        create_folder(&info)?;
        alternates.push(b'\n');
        replace(&info.join("alternates"), &alternates)?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            of_repository: of_repository.to_owned(),
            published: Mutex::default(),
        }))
    }

    /// Gives what is here and was not published before its name in the repository.
    pub(crate) fn publish(&self) -> Result<()> {
        let mut published = self.published.lock();
        let mut new = if let Some(new) = published.looks.told() {
            new.into_iter().filter(|name| is_lasting(name)).collect()
        } else {
            // Whoever can't look through everything has not begun to listen either: what came before is not told.
            let looks = published.looks.again(&self.folder);
            let names = self.names().or_failed_to("read", &self.folder)?;
            published.looks = looks;
            names
        };
        new.retain(|name| !published.names.contains(name));
        // git takes a pack for whole when its index is there.
        new.sort_by_key(|name| name.extension().is_some_and(|kind| kind == "idx"));
        for name in new {
            let (here, there) = (self.folder.join(&name), self.of_repository.join(&name));
            match give_name(&here, &there) {
                // It had this name for a moment.
                Err(_) if is_gone(&here) => {}
                given => {
                    if given.is_err() {
                        // What was told is not told again.
                        published.looks = Looks::Through;
                    }
                    given.or_failed_to("write", &there)?;
                    published.names.insert(name);
                }
            }
        }
        Ok(())
    }

    /// Gives all that is here its name in the repository, where it has lost it or somebody put another file there.
    pub(crate) fn publish_again(&self) -> Result<()> {
        *self.published.lock() = Published::default();
        self.publish()
    }

    /// Keeps objects here too that somebody else wrote into the repository; what is gone already is told by who reads it.
    pub(crate) fn keep(&self, objects: impl IntoIterator<Item = Oid>) {
        for object in objects {
            let name = name_of(object);
            let (here, there) = (self.folder.join(&name), self.of_repository.join(&name));
            if !here.exists() && there.exists() {
                let _gone_again = give_name(&there, &here);
            }
        }
    }

    /// Returns the files of all packs that are read here, the run's own and those of the repository and what that borrows
    /// from.
    pub(crate) fn packs(&self) -> Vec<PathBuf> {
        let borrowed = fs::read(self.of_repository.join("info/alternates")).unwrap_or_default();
        let borrowed = borrowed
            .split(|&byte| byte == b'\n')
            .map(|line| self.of_repository.join(path_of(line)));
        [self.folder.clone(), self.of_repository.clone()]
            .into_iter()
            .chain(borrowed)
            .flat_map(|objects| tm_untrusted::entries(&objects.join("pack")))
            .map(|entry| entry.path())
            .collect()
    }

    /// The file here that an object has as long as it is in no pack.
    pub(crate) fn file(&self, object: Oid) -> PathBuf {
        self.folder.join(name_of(object))
    }

    fn names(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.folder)? {
            let folder = folder?.file_name();
            // What git writes first lies beside the folders; `info` is tm's own.
            if folder != "pack" && folder.len() != 2 {
                continue;
            }
            for file in fs::read_dir(self.folder.join(&folder))? {
                let file = file?.file_name();
                let name = Path::new(&folder).join(file);
                if is_lasting(&name) {
                    found.push(name);
                }
            }
        }
        Ok(found)
    }
}

/// Whether it is none of the files that git writes first.
fn is_lasting(name: &Path) -> bool {
    let file = name.file_name().unwrap_or_default().to_string_lossy();
    !TEMPORARY.iter().any(|begins| file.starts_with(begins))
}

fn name_of(object: Oid) -> PathBuf {
    let id = object.to_string();
    Path::new(&id[..2]).join(&id[2..])
}

/// Gives a file a second name, in place of whatever has it; where file systems differ, a copy gets it.
fn give_name(file: &Path, name: &Path) -> io::Result<()> {
    let is_it =
        |found: Metadata, file: &Metadata| (found.dev(), found.ino()) == (file.dev(), file.ino());
    let known = fs::symlink_metadata(file)?;
    if fs::symlink_metadata(name).is_ok_and(|found| is_it(found, &known)) {
        return Ok(());
    }
    tm_faults::check("objects: publish")?;
    let folder = name.parent().unwrap_or(Path::new("."));
    let give = || -> io::Result<()> {
        let made = tempfile::Builder::new()
            .prefix("tmp_obj_")
            .make_in(folder, |path| {
                fs::hard_link(file, path).or_else(|_| fs::copy(file, path).map(drop))
            })?;
        let group = fs::metadata(folder)?.gid();
        if group != known.gid() {
            // Whoever shares the repository reads by its group; where that may not be given, others can read it too.
            let _is_ours = chown(made.path(), None, Some(group));
        }
        made.persist(name).map_err(|refused| refused.error)?;
        Ok(())
    };
    let mut given = give();
    for _ in 0..TRIES {
        match &given {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => break,
        }
        if fs::create_dir(folder).is_ok()
            && let Some(all) = folder.parent()
        {
            fs::set_permissions(folder, fs::metadata(all)?.permissions())?;
        }
        given = give();
    }
    given
}
