//! How the settings have the jobs of a project held, and what of that works here.

use crate::environment;
use crate::kubernetes::{self, PodsOf};
use crate::launchers::Launchers;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};
use tm_config::{
    AgentNetwork, CommandNetwork, GivenTo, RunsOn, SandboxLevel, Settings, Slurm, SlurmJob,
};
use tm_executors::engine::node::RemoteEngine;
use tm_executors::engine::slurm::{SlurmJobs, SlurmLauncher, SlurmRequest, SlurmRequests};
use tm_executors::engine::{Executor, FILTER, Holding, Secret, find_level};
use tm_executors::process::{Besides, JobKind};
use tm_sandbox::{Found, Level, Limits, Network, Wanted};
use tm_store::run::ProjectDirectory;
use tm_worktrees::{
    FilterHolder, GitOfCommands, HeldFilters, PrivateGit, Repository, common_dir_around,
    git_of_commands,
};

/// What of a repository's git folder every job may read: what its history is made of, and neither settings nor hooks.
const HISTORY: [&str; 5] = ["objects", "refs", "packed-refs", "shallow", "reftable"];
/// Of submodules only what tm's own stores of them borrow: the rest names addresses, perhaps with what opens them.
const OF_SUBMODULES: &str = "modules";
/// So many folders are looked at for them.
const MOST_FOLDERS: usize = 10_000;

/// Returns where the jobs of a project are started, held as its settings say: on this machine, and those of runs where
/// [`starting_on`] says.
pub fn executor(
    project: &ProjectDirectory,
    repository: &Repository,
    settings: &Settings,
) -> Executor {
    let executor = Executor::local(project.under_way()).with_secrets(secrets(repository, settings));
    let executor = match holding(project, repository, settings) {
        Some(holding) => executor.held(Arc::new(holding)),
        None => executor,
    };
    let slurm = slurm(project, settings, &executor);
    let pods = PodsOf {
        project,
        root: repository.checkout_root(),
        settings,
    };
    kubernetes::known(executor.knowing(slurm), pods)
}

/// Returns the same, which starts jobs in a place that runs have theirs in.
///
/// # Errors
/// The folder of what all machines see can't be made.
pub fn starting_on(
    executor: &Executor,
    project: &ProjectDirectory,
    place: RunsOn,
) -> io::Result<Executor> {
    let executor = executor.starting_on(place.name());
    if place == RunsOn::Local {
        return Ok(executor);
    }
    let temporary = project.temporary_folder();
    fs::create_dir_all(&temporary)?;
    Ok(executor.with_temporary_folder(temporary.canonicalize()?))
}

/// Returns what says how the commands of the user's filters are held in checkouts of tm's own: as tests are.
pub fn filter_holder(
    project: &ProjectDirectory,
    repository: &Repository,
    settings: &Settings,
) -> FilterHolder {
    let (project, repository) = (project.clone(), repository.clone());
    let settings = settings.clone();
    FilterHolder::new(move |of_git| {
        let Some(holding) = holding(&project, &repository, &settings) else {
            return Ok(None);
        };
        let (rules, limit) = (environment(&settings.test), settings.test.timeout);
        let told = holding.of_filters(&rules, limit, of_git)?;
        Ok(told.map(|told| HeldFilters {
            program: holding.tm_program,
            word: FILTER,
            told,
        }))
    })
}

/// The engine that has Slurm start jobs.
fn slurm(
    project: &ProjectDirectory,
    settings: &Settings,
    executor: &Executor,
) -> Arc<RemoteEngine> {
    static LAUNCHERS: Launchers<SlurmLauncher> = Launchers::new();
    let launcher = LAUNCHERS.of(project, || launcher(project, settings));
    let holding = executor.shared_holding();
    Arc::new(RemoteEngine::new(launcher, project.jobs_folder(), holding))
}

fn launcher(project: &ProjectDirectory, settings: &Settings) -> SlurmLauncher {
    let slurm = settings.slurm.clone();
    let project = project.path().file_name().unwrap_or_default();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let project = project
        .to_string_lossy()
        .replace(|letter| !is_plain(letter), "_");
    let own = || std::env::current_exe().unwrap_or_default();
    let jobs = SlurmJobs {
        name: format!("tm-{project}"),
        tm_program: slurm.tm.map_or_else(own, PathBuf::from),
    };
    let most_waiting = usize::try_from(slurm.max_waiting.get()).unwrap_or(usize::MAX);
    SlurmLauncher::new(jobs, slurm_requests(&settings.slurm), most_waiting)
}

fn slurm_requests(slurm: &Slurm) -> SlurmRequests {
    let of = |job: &SlurmJob| {
        let job = job.clone();
        SlurmRequest {
            partition: job.partition.or_else(|| slurm.partition.clone()),
            account: slurm.account.clone(),
            qos: job.qos.or_else(|| slurm.qos.clone()),
            time: job.time.or_else(|| slurm.time.clone()),
            cpus: job.cpus.or(slurm.cpus).map(NonZeroU32::get),
            mem: job.mem.or_else(|| slurm.mem.clone()),
            gres: job.gres.or_else(|| slurm.gres.clone()),
            extra: slurm.extra.clone(),
        }
    };
    let sizes = slurm.by_complexity.iter();
    SlurmRequests {
        common: of(&SlurmJob::default()),
        by_complexity: sizes.map(|(size, job)| (*size, of(job))).collect(),
    }
}

/// How the jobs of a project are held; `None` where the settings say that none is.
fn holding(
    project: &ProjectDirectory,
    repository: &Repository,
    settings: &Settings,
) -> Option<Holding> {
    if settings.sandbox.level == SandboxLevel::None {
        return None;
    }
    let home = std::env::home_dir();
    let at = |path: &String| match (path.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        (_, _) => repository.checkout_root().join(path),
    };
    let sandbox = &settings.sandbox;
    let common = repository.common_dir();
    let found = found(settings);
    let tm = project.path().ancestors().nth(2).map(Path::to_owned);
    let main = common.parent().filter(|_| common.ends_with(".git"));
    let hidden = [
        home.clone(),
        tm,
        Some(common.to_owned()),
        Some(repository.checkout_root().to_owned()),
        main.map(Path::to_owned),
    ];
    Some(Holding {
        wanted: wanted(settings),
        level: found.level,
        refused: found.refused.clone(),
        tm_program: std::env::current_exe().unwrap_or_default(),
        hidden: hidden.into_iter().flatten().collect(),
        read: HISTORY
            .iter()
            .map(|name| common.join(name))
            .chain(objects_of_submodules(common))
            .chain(sandbox.read.iter().map(at))
            .collect(),
        write: sandbox.write.iter().map(at).collect(),
        limits: limits(settings),
        hosts: (sandbox.agents.network == AgentNetwork::Api).then(|| sandbox.agents.hosts.clone()),
        networks: BTreeMap::from([
            (JobKind::Agent, of_agents(sandbox.agents.network)),
            (JobKind::Setup, network(sandbox.setup.network)),
            (JobKind::Tests, network(sandbox.tests.network)),
            (JobKind::Hooks, network(sandbox.tests.network)),
        ]),
    })
}

/// Returns where the submodules of a repository have their objects, and those of their submodules.
fn objects_of_submodules(git: &Path) -> Vec<PathBuf> {
    let mut folders = vec![git.join(OF_SUBMODULES)];
    let (mut objects, mut seen) = (Vec::new(), 0);
    while let Some(folder) = folders.pop().filter(|_| seen < MOST_FOLDERS) {
        seen += 1;
        // The name of a submodule may be a path of several parts.
        if folder.join("HEAD").is_file() {
            objects.push(folder.join("objects"));
            folders.push(folder.join(OF_SUBMODULES));
        } else {
            let within = tm_untrusted::entries(&folder);
            let within = within.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(within.map(|entry| entry.path()));
        }
    }
    objects
}

/// Says that agents reach everybody although the settings have them reach some alone, or nobody: where nothing holds them,
/// nothing of that counts. What holds them is asked for only then: to find it takes a moment.
pub fn reach_of_unheld(settings: &Settings, executor: impl FnOnce() -> Executor) -> Option<String> {
    let network = match settings.sandbox.agents.network {
        AgentNetwork::On => return None,
        AgentNetwork::Api => "api",
        AgentNetwork::Off => "off",
    };
    (!executor().holds()).then(|| {
        format!(
            "nothing keeps agents to their hosts: they reach everybody, although `sandbox.agents.network` is `{network}`, \
             since no sandbox holds them"
        )
    })
}

/// What jobs are given whose values commands tell.
fn secrets(repository: &Repository, settings: &Settings) -> Vec<Secret> {
    let kind = |given_to: &GivenTo| match given_to {
        GivenTo::Agents => &[JobKind::Agent][..],
        GivenTo::Setup => &[JobKind::Setup],
        // Hooks run them.
        GivenTo::Tests => &[JobKind::Tests, JobKind::Hooks],
    };
    let secret = |(name, secret): (&String, &tm_config::Secret)| Secret {
        name: name.clone(),
        command: secret.command.arguments(),
        folder: repository.checkout_root().to_owned(),
        kinds: (secret.given_to.as_deref()).map_or_else(
            || vec![JobKind::Agent],
            |kinds| kinds.iter().flat_map(kind).copied().collect(),
        ),
    };
    settings.secrets.iter().map(secret).collect()
}

/// Returns what of git a project's commands are given in a checkout of a pool's.
pub(crate) fn git_of(checkout: &Path) -> Besides {
    let GitOfCommands { own, stores } = git_of_commands(checkout);
    Besides {
        read: stores,
        write: own,
        ..Besides::default()
    }
}

/// Returns what of git an agent is given that works with a git folder of its own.
pub(crate) fn git_of_agent(git: PrivateGit, executor: &Executor) -> Besides {
    let PrivateGit {
        writable,
        fixed,
        readable,
        filters,
    } = git;
    let mut besides = Besides {
        read: [readable, fixed].concat(),
        write: writable,
        ..Besides::default()
    };
    for command in filters {
        let named = executor.holding().map(|holding| holding.named_in(&command));
        let named = named.unwrap_or_default();
        besides.read.extend(named.read);
        besides.programs.extend(named.programs);
    }
    besides
}

/// Returns what of git a project's commands are given in another folder: what is there, to read.
pub fn git_around(folder: &Path) -> Besides {
    Besides {
        read: common_dir_around(folder).into_iter().collect(),
        ..Besides::default()
    }
}

/// Returns which level works here, and what stands in the way of a better one; looked for once a process.
fn found(settings: &Settings) -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| find_level(wanted(settings), limits(settings)))
}

const fn wanted(settings: &Settings) -> Wanted {
    let sandbox = &settings.sandbox;
    match sandbox.level {
        // What nothing holds reaches everybody.
        SandboxLevel::Auto if matches!(sandbox.agents.network, AgentNetwork::Api) => {
            Wanted::Required
        }
        SandboxLevel::Auto => Wanted::Auto,
        SandboxLevel::Required => Wanted::Required,
        SandboxLevel::Bwrap => Wanted::Exactly(Level::Bwrap),
        SandboxLevel::Landlock => Wanted::Exactly(Level::Landlock),
        SandboxLevel::None => Wanted::Exactly(Level::None),
    }
}

fn limits(settings: &Settings) -> Limits {
    let sandbox = &settings.sandbox;
    Limits {
        memory: sandbox.memory.map(tm_config::Bytes::count),
        processes: sandbox.processes.map(|most| most.get().into()),
        file_size: sandbox.file_size.map(tm_config::Bytes::count),
    }
}

const fn of_agents(network: AgentNetwork) -> Network {
    match network {
        AgentNetwork::On => Network::On,
        // Those of `api` get a proxy each, and reach nobody without it.
        AgentNetwork::Api | AgentNetwork::Off => Network::Off,
    }
}

const fn network(network: CommandNetwork) -> Network {
    match network {
        CommandNetwork::On => Network::On,
        CommandNetwork::Off => Network::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_reach_some_hosts_alone_are_held_or_not_started_and_reach_nobody_without_a_proxy()
    {
        let loaded = tm_config::load(&tm_config::Inputs::default());
        let mut settings = loaded.expect("the defaults").settings;
        assert_eq!(wanted(&settings), Wanted::Auto);
        settings.sandbox.agents.network = AgentNetwork::Api;
        assert_eq!(wanted(&settings), Wanted::Required);
        assert_eq!(of_agents(AgentNetwork::Api), Network::Off);
        settings.sandbox.level = SandboxLevel::Landlock;
        assert_eq!(wanted(&settings), Wanted::Exactly(Level::Landlock));
    }

    #[test]
    fn it_is_said_where_nothing_keeps_agents_to_their_hosts() {
        let loaded = tm_config::load(&tm_config::Inputs::default());
        let mut settings = loaded.expect("the defaults").settings;
        let nobody = || unreachable!("all is on");
        assert_eq!(reach_of_unheld(&settings, nobody), None);
        for (network, word) in [(AgentNetwork::Api, "`api`"), (AgentNetwork::Off, "`off`")] {
            settings.sandbox.agents.network = network;
            let said =
                reach_of_unheld(&settings, || Executor::local("/x".into())).expect("it is said");
            assert!(said.contains(word), "{said}");
        }
    }
}
