//! The way out of a job that reaches some hosts alone: a proxy beside it, on the machine that it runs on. Started by whoever
//! has an engine of that machine start the job: tm, or its node.

use super::Holding;
use crate::environment::PrivateFolder;
use crate::process::TreeCommand;
use crate::proxy::Proxy;
use crate::{Error, OrFailedTo as _};
use std::path::PathBuf;

/// What a client is told that is refused.
const ADVICE: &str = "`sandbox.agents.hosts` in .taskmaster/tm.yaml lets agents reach more hosts";

/// Where the proxy of a job is.
#[derive(Debug)]
pub(crate) enum ProxyFolder {
    /// In this folder, in which whoever takes over the job finds it again.
    Kept(PathBuf),
    /// In one of this machine's own, which is gone with it.
    Temporary,
}

/// The proxy of a job; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct JobProxy {
    // Dropped before the folder that it is in.
    proxy: Proxy,
    _temporary: Option<PrivateFolder>,
}

impl JobProxy {
    /// Starts the proxy of a job that reaches some hosts alone and is held as this says, and has the job find it, whatever
    /// its variables said of another one. `None` where the job has no such list; one that nothing holds is not started.
    ///
    /// # Errors
    /// It can't listen there.
    pub(crate) async fn start(
        command: &mut TreeCommand,
        holding: Option<&Holding>,
        folder: ProxyFolder,
    ) -> Result<Option<Self>, Error> {
        let level = holding.and_then(|held| held.level);
        let (Some(needs), Some(level)) = (&mut command.needs, level) else {
            return Ok(None);
        };
        let Some(hosts) = needs.hosts.clone() else {
            return Ok(None);
        };
        let (folder, temporary) = folder.make()?;
        let proxy = Proxy::start(level, hosts, ADVICE, &folder).await?;
        needs.network = Some(proxy.network());
        let variables = proxy.variables().into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        command.environment.extend(variables);
        Ok(Some(Self {
            proxy,
            _temporary: temporary,
        }))
    }

    /// Returns whom it kept the job from, in a sentence for people.
    pub(crate) fn told(&self) -> Option<String> {
        let wanted = self.proxy.refused().join(", ");
        let told = format!("it wanted {wanted}, where `sandbox.agents.network: api` lets nobody");
        (!wanted.is_empty()).then_some(told)
    }
}

impl ProxyFolder {
    fn make(self) -> Result<(PathBuf, Option<PrivateFolder>), Error> {
        match self {
            Self::Kept(folder) => {
                std::fs::create_dir_all(&folder).or_failed_to("make", &folder)?;
                Ok((folder, None))
            }
            Self::Temporary => {
                let place = std::env::temp_dir();
                let folder =
                    PrivateFolder::new_in(&place).or_failed_to("make a folder in", &place)?;
                Ok((folder.path().to_owned(), Some(folder)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine as _;
    use crate::engine::node::{RemoteEngine, tests::Loopback};
    use crate::process::{Besides, JobKind, Needs, shell_words};
    use crate::proxy::AllowList;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use tm_sandbox::{Level, Limits, Network, Wanted};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    fn holding(level: Option<Level>) -> Holding {
        Holding {
            wanted: Wanted::Required,
            level,
            refused: Vec::new(),
            tm_program: "tm".into(),
            hidden: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            limits: Limits::default(),
            hosts: Some(Vec::new()),
            networks: BTreeMap::from([(JobKind::Agent, Network::Off)]),
        }
    }

    /// What reaches one host alone, where the site has a proxy of its own.
    fn command() -> TreeCommand {
        let hosts = AllowList::read(["localhost:1"]).expect("a host");
        TreeCommand {
            environment: vec![("https_proxy".into(), "http://site:3128".into())],
            needs: Some(Needs {
                kind: JobKind::Agent,
                own_folder: "/x".into(),
                besides: Besides::default(),
                hosts: Some(hosts),
                network: None,
                only_reads: false,
                said_by_others: Vec::new(),
                pass: Vec::new(),
            }),
            ..TreeCommand::default()
        }
    }

    #[tokio::test]
    async fn a_proxy_of_a_machine_s_own_is_found_by_the_job_alone_and_tells_whom_it_kept_it_from() {
        let mut command = command();
        let holding = holding(Some(Level::Landlock));
        let started = JobProxy::start(&mut command, Some(&holding), ProxyFolder::Temporary);
        let proxy = started.await.expect("it listens").expect("it is needed");
        let network = command
            .needs
            .as_ref()
            .and_then(|needs| needs.network.clone());
        let Some(Network::Proxy {
            folder,
            port,
            servers,
        }) = network
        else {
            panic!("{network:?}")
        };
        assert_eq!(servers, [1]);
        // The last one is what a program gets.
        let said = command.environment.iter().rev();
        let (_, address) = (said.clone().find(|(name, _)| name == "https_proxy")).expect("said");
        let address = address.to_str().expect("text");
        assert!(
            address.ends_with(&format!("@127.0.0.1:{port}")),
            "{address}"
        );
        assert_eq!(proxy.told(), None);

        let (credentials, _) =
            (address.trim_start_matches("http://").split_once('@')).expect("a password");
        let credentials =
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, credentials);
        let mut client = TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("it listens");
        let request = format!(
            "CONNECT example.org:443 HTTP/1.1\r\nProxy-Authorization: Basic {credentials}\r\n\r\n"
        );
        client.write_all(request.as_bytes()).await.expect("asked");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("answered");
        assert!(answer.contains(ADVICE), "{answer}");
        assert_eq!(
            proxy.told().as_deref(),
            Some("it wanted example.org:443, where `sandbox.agents.network: api` lets nobody")
        );
        assert!(folder.is_dir());
        drop(proxy);
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn what_nothing_holds_or_reaches_everybody_has_no_proxy() {
        let open = TreeCommand {
            needs: command().needs.map(|needs| Needs {
                hosts: None,
                ..needs
            }),
            ..command()
        };
        for (level, mut command) in [(None, command()), (Some(Level::Landlock), open)] {
            let before = command.environment.clone();
            let holding = holding(level);
            let started = JobProxy::start(&mut command, Some(&holding), ProxyFolder::Temporary);
            assert!(started.await.expect("nothing is in the way").is_none());
            assert_eq!(command.environment, before);
        }
    }

    #[tokio::test]
    async fn what_has_a_proxy_is_not_started_where_its_node_does_not_hold_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, arguments) = shell_words("echo one >> work");
        let mut command = TreeCommand {
            program,
            arguments,
            working_folder: folder.path().to_owned(),
            stdout: folder.path().join("log"),
            stderr: folder.path().join("log"),
            ..command()
        };
        command.environment.clear();
        // Here there is a level, and on the node there is none.
        let holding = Holding {
            wanted: Wanted::Exactly(Level::None),
            ..holding(Some(Level::Landlock))
        };
        let jobs = folder.path().join("jobs");
        let node = Arc::new(Loopback::default());
        let engine = RemoteEngine::new(node, jobs, Some(Arc::new(holding)));
        let mut job = engine.start(&command).await.expect("ordered");
        let error = job.wait().await.expect_err("nothing holds it");
        assert!(error.is_of_surroundings(), "{error}");
        let error = error.with_causes();
        assert!(
            error.contains("no sandbox that the settings ask for works here"),
            "{error}"
        );
        assert!(!folder.path().join("work").exists());
    }
}
