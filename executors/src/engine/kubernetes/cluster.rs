//! The one place that talks to a cluster: what is asked, within which time, and whether a refusal is one for good.

use super::KubernetesRequest;
use super::manifest::PROJECT;
use super::standing::{Told, told};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, LogParams, ObjectList, PostParams};
use kube::config::KubeConfigOptions;
use kube::core::Status;
use kube::{Api, Client, Config, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;

/// So long one question may take.
const LIMIT: Duration = Duration::from_secs(30);
/// So long it may take until somebody answers at all.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// So many lines of a pod's log are looked at.
const LOG_LINES: i64 = 20;
/// So many events of one object are looked at.
const MOST_EVENTS: u32 = 50;
/// Words of refusals that pass, although they have the code of those that stay.
const PASSING: [&str; 2] = [
    "exceeded quota",
    "unable to create new content in namespace",
];

/// Why a question has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    /// It is refused however often it is asked; holds the words.
    Refused(String),
    /// Nobody answers, or there is no room now; holds the words.
    Away(String),
    /// There is one of that name already.
    Exists,
    /// What was resumed is too long ago.
    Expired,
}

impl Trouble {
    /// Returns what was said.
    pub(super) fn words(self) -> String {
        match self {
            Self::Refused(words) | Self::Away(words) => words,
            Self::Exists => "there is one of that name".to_owned(),
            Self::Expired => "that is too long ago".to_owned(),
        }
    }
}

/// A cluster, as the settings name it; connected to when something is asked.
#[derive(Debug)]
pub(super) struct Cluster {
    request: KubernetesRequest,
    /// The value of the label by which all that is the project's is known.
    pub(super) project: String,
    connection: Mutex<Option<Connection>>,
}

/// How a cluster is reached.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// Where the API is, for people.
    pub(super) server: String,
}

impl Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.server)
    }
}

impl Cluster {
    pub(super) fn new(request: KubernetesRequest, project: String) -> Self {
        Self {
            request,
            project,
            connection: Mutex::default(),
        }
    }

    /// One at an address, which asks for no credentials.
    #[cfg(test)]
    pub(super) fn at(address: &str) -> Self {
        let mut config = Config::new(address.parse().expect("an address"));
        config.default_retry = false;
        let connection = Connection {
            client: Client::try_from(config).expect("a client"),
            namespace: "default".to_owned(),
            server: address.to_owned(),
        };
        Self {
            connection: Mutex::new(Some(connection)),
            ..Self::new(KubernetesRequest::default(), "shop".to_owned())
        }
    }

    pub(super) fn request(&self) -> &KubernetesRequest {
        &self.request
    }

    /// What all objects of the project have.
    pub(super) fn selector(&self) -> String {
        format!("{PROJECT}={}", self.project)
    }

    /// Returns how the cluster is reached, which is read anew after a refusal of who asks.
    pub(super) async fn connection(&self) -> Result<Connection, Trouble> {
        if let Some(known) = self.connection.lock().clone() {
            return Ok(known);
        }
        let config = config(self.request.context.as_ref()).await?;
        let server = config.cluster_url.to_string();
        let namespace = self.request.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|error| Trouble::Refused(words(&error)))?;
        let connection = Connection {
            client,
            namespace,
            server,
        };
        *self.connection.lock() = Some(connection.clone());
        Ok(connection)
    }

    pub(super) async fn api<K>(&self) -> Result<Api<K>, Trouble>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        let Connection {
            client, namespace, ..
        } = self.connection().await?;
        Ok(Api::namespaced(client, &namespace))
    }

    /// Waits for an answer as long as that makes sense.
    pub(super) async fn answered<Answer>(
        &self,
        asked: impl Future<Output = Result<Answer, kube::Error>>,
    ) -> Result<Answer, Trouble> {
        let Ok(answer) = tokio::time::timeout(LIMIT, asked).await else {
            let seconds = LIMIT.as_secs();
            return Err(Trouble::Away(format!("no answer within {seconds} seconds")));
        };
        answer.map_err(|error| {
            if matches!(&error, kube::Error::Api(status) if status.code == 401) {
                // Credentials may be others by now.
                *self.connection.lock() = None;
            }
            trouble(&error)
        })
    }

    /// Has a Job made, or only looked at.
    pub(super) async fn create(&self, job: &Job, dry_run: bool) -> Result<Job, Trouble> {
        let api = self.api::<Job>().await?;
        let parameters = PostParams {
            dry_run,
            field_manager: Some("tm".to_owned()),
        };
        self.answered(api.create(&parameters, job)).await
    }

    /// Has a Job deleted, with its pods; one that is not there is.
    pub(super) async fn delete(&self, name: &str) -> Result<(), Trouble> {
        let api = self.api::<Job>().await?;
        let with_pods = DeleteParams::background();
        let deleted = async { gone(api.delete(name, &with_pods).await) };
        self.answered(deleted).await
    }

    pub(super) async fn job(&self, name: &str) -> Result<Option<Job>, Trouble> {
        let api = self.api::<Job>().await?;
        self.answered(api.get_opt(name)).await
    }

    /// Returns all objects of one kind of the project.
    pub(super) async fn list<K>(&self) -> Result<ObjectList<K>, Trouble>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api = self.api::<K>().await?;
        let parameters = ListParams::default().labels(&self.selector());
        self.answered(api.list(&parameters)).await
    }

    /// Returns what happened to objects, in order; nothing where that can't be seen.
    pub(super) async fn told_of(&self, uids: Vec<String>) -> Vec<Told> {
        let mut events = Vec::new();
        for uid in uids {
            let Ok(api) = self.api::<Event>().await else {
                break;
            };
            let parameters = ListParams::default()
                .fields(&format!("involvedObject.uid={uid}"))
                .limit(MOST_EVENTS);
            let Ok(found) = self.answered(api.list(&parameters)).await else {
                break;
            };
            events.extend(found.items);
        }
        events.sort_by_key(|event| {
            let last = event.last_timestamp.as_ref().map(|time| time.0);
            last.or(event.event_time.as_ref().map(|time| time.0))
        });
        events.iter().map(told).collect()
    }

    /// Returns the end of a pod's log, where it has one.
    pub(super) async fn log(&self, pod: &str) -> Option<String> {
        let api = self.api::<Pod>().await.ok()?;
        let parameters = LogParams {
            container: Some(super::template::CONTAINER.to_owned()),
            tail_lines: Some(LOG_LINES),
            ..LogParams::default()
        };
        self.answered(api.logs(pod, &parameters)).await.ok()
    }
}

/// One that is not there is deleted.
fn gone<Answer>(deleted: Result<Answer, kube::Error>) -> Result<(), kube::Error> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// Reads how the cluster is reached: the kubeconfig, or what the cluster gives a pod of its own.
async fn config(context: Option<&String>) -> Result<Config, Trouble> {
    let options = KubeConfigOptions {
        context: context.cloned(),
        ..KubeConfigOptions::default()
    };
    let mut config = match Config::from_kubeconfig(&options).await {
        Ok(config) => config,
        Err(error) => match Config::incluster() {
            Ok(config) if context.is_none() => config,
            Ok(_) | Err(_) => return Err(Trouble::Refused(in_a_line(&error.to_string()))),
        },
    };
    config.connect_timeout = Some(CONNECT_LIMIT);
    // Whoever waits is told why.
    config.default_retry = false;
    Ok(config)
}

/// Returns what an error means for who asked.
pub(super) fn trouble(error: &kube::Error) -> Trouble {
    match error {
        kube::Error::Api(status) => of_status(status),
        error => Trouble::Away(words(error)),
    }
}

/// Returns what an answer means that says no.
pub(super) fn of_status(status: &Status) -> Trouble {
    let words = match status.message.as_str() {
        "" => format!("{} ({})", status.reason, status.code),
        message => in_a_line(message),
    };
    let passes = PASSING.iter().any(|passing| words.contains(passing));
    match status.code {
        409 if status.reason == "AlreadyExists" => Trouble::Exists,
        410 => Trouble::Expired,
        400 | 403..=406 | 413 | 415 | 422 if !passes => Trouble::Refused(words),
        _ => Trouble::Away(words),
    }
}

/// Returns the last of an error's causes, which is the one that people can do something about.
pub(super) fn words(error: &kube::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    in_a_line(&cause.to_string())
}

fn in_a_line(text: &str) -> String {
    tm_untrusted::line(&tm_untrusted::clean(text), 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, reason: &str, message: &str) -> Status {
        Status {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Status::default()
        }
    }

    #[test]
    fn what_is_refused_for_good_is_told_from_what_may_go_well_later() {
        let refused = |code, message: &str| {
            let trouble = of_status(&status(code, "Some", message));
            matches!(trouble, Trouble::Refused(words) if words == message)
        };
        for (code, message) in [
            (
                422,
                "Job.batch \"x\" is invalid: spec.template.spec.volumes[0].name: Duplicate value",
            ),
            (
                403,
                "jobs.batch is forbidden: User \"me\" cannot create resource \"jobs\"",
            ),
            (404, "namespaces \"nope\" not found"),
        ] {
            assert!(refused(code, message), "{message}");
        }
        for (code, message) in [
            (401, "Unauthorized"),
            (
                403,
                "jobs.batch \"x\" is forbidden: exceeded quota: few, requested: count/jobs.batch=1",
            ),
            (429, "too many requests"),
            (500, "failed calling webhook"),
            (503, "etcdserver: leader changed"),
        ] {
            assert!(!refused(code, message), "{message}");
        }
        let exists = status(409, "AlreadyExists", "jobs.batch \"x\" already exists");
        assert_eq!(of_status(&exists), Trouble::Exists);
        assert_eq!(
            of_status(&status(410, "Expired", "too old")),
            Trouble::Expired
        );
    }
}
