//! Hears of all objects of one kind of a project: what there is, then every change. Does not know what they mean.
//!
//! A watch that ends goes on where it ended; one that is too old, or breaks, begins with all there is again. Where no watch
//! holds, all there is is looked at every few seconds.

use super::cluster::{Cluster, Trouble, of_status, trouble};
use futures_util::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::{WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::Instant;

/// So long one watch goes on at the most, in seconds.
const WATCH_SECONDS: u32 = 60;
/// So long a watch that says nothing is believed to be one: longer than the cluster lets it go on.
const SILENCE_LIMIT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);
/// So long a cluster is left alone after it did not answer.
const PAUSE: Duration = if cfg!(test) {
    Duration::from_micros(1)
} else {
    Duration::from_secs(2)
};

/// What is heard.
#[derive(Debug)]
pub(super) enum Heard<K> {
    /// There are these, and no others.
    All(Vec<K>),
    /// This one is there now, or is another one than before.
    Is(Box<K>),
    /// This one is not there any more.
    Gone(Box<K>),
    /// The cluster does not answer; holds the words.
    Away(String),
}

/// How a watch ended.
enum WatchEnd {
    /// As watches do; holds from where it goes on.
    Over(String),
    /// It can't go on from where it was.
    Broken,
}

/// Hears of all objects of one kind for ever, and tells of each change.
pub(super) async fn watch<K>(cluster: &Cluster, tell: impl Fn(Heard<K>))
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    loop {
        let version = match cluster.list::<K>().await {
            Ok(list) => {
                tell(Heard::All(list.items));
                list.metadata.resource_version
            }
            Err(trouble) => {
                tell(Heard::Away(trouble.words()));
                None
            }
        };
        let mut next = version;
        while let Some(version) = next.take() {
            let begins = Instant::now();
            match follow(cluster, version, &tell).await {
                // One that ends at once is none.
                Ok(WatchEnd::Over(version)) if begins.elapsed() > PAUSE => next = Some(version),
                Ok(WatchEnd::Over(_) | WatchEnd::Broken) | Err(_) => {}
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Tells of changes from a version on, until the watch ends.
async fn follow<K>(
    cluster: &Cluster,
    mut version: String,
    tell: &impl Fn(Heard<K>),
) -> Result<WatchEnd, Trouble>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    let api = cluster.api::<K>().await?;
    let parameters = WatchParams::default()
        .labels(&cluster.selector())
        .timeout(WATCH_SECONDS);
    let stream = cluster.answered(api.watch(&parameters, &version)).await?;
    let mut stream = std::pin::pin!(stream);
    let is_silent = |_| Trouble::Away("the watch says nothing".to_owned());
    while let Some(event) =
        (tokio::time::timeout(SILENCE_LIMIT, stream.next()).await).map_err(is_silent)?
    {
        match event.map_err(|error| trouble(&error))? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                version = version_of(&object).unwrap_or(version);
                tell(Heard::Is(Box::new(object)));
            }
            WatchEvent::Deleted(object) => {
                version = version_of(&object).unwrap_or(version);
                tell(Heard::Gone(Box::new(object)));
            }
            WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
            WatchEvent::Error(status) => {
                tracing::debug!(trouble = ?of_status(&status), "a watch has to begin anew");
                return Ok(WatchEnd::Broken);
            }
        }
    }
    Ok(WatchEnd::Over(version))
}

fn version_of<K: Resource>(object: &K) -> Option<String> {
    object.meta().resource_version.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::batch::v1::Job;
    use kube::ResourceExt;
    use serde_json::{Value, json};
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use tokio::sync::mpsc;

    fn job(name: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": version}})
    }

    fn list(version: &str, items: &[Value]) -> (u16, String) {
        let list = json!({"metadata": {"resourceVersion": version}, "items": items});
        (200, list.to_string())
    }

    fn events(events: &[(&str, Value)]) -> (u16, String) {
        let lines = events
            .iter()
            .map(|(kind, object)| json!({"type": kind, "object": object}).to_string() + "\n");
        (200, lines.collect())
    }

    fn status(code: u16, message: &str) -> Value {
        json!({"kind": "Status", "status": "Failure", "code": code, "message": message})
    }

    /// Gives one answer after the other, and returns what each of them was given to.
    fn serve(listener: &TcpListener, answers: Vec<(u16, String)>) -> Vec<String> {
        let mut asked = Vec::new();
        for (code, body) in answers {
            let (mut stream, _) = listener.accept().expect("a question");
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let question = lines.next().expect("a line");
            let _headers = lines.find(String::is_empty);
            asked.push(question.split(' ').nth(1).unwrap_or_default().to_owned());
            let length = body.len();
            let head =
                format!("HTTP/1.1 {code} x\r\ncontent-length: {length}\r\nconnection: close\r\n");
            write!(stream, "{head}\r\n{body}").expect("an answer");
        }
        asked
    }

    #[tokio::test]
    async fn a_watch_goes_on_where_it_ended_and_begins_anew_where_it_can_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("a port"));
        let answers = vec![
            list("5", &[job("a", "4")]),
            events(&[
                ("ADDED", job("b", "6")),
                (
                    "BOOKMARK",
                    json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "7"}}),
                ),
            ]),
            events(&[("ERROR", status(410, "too old"))]),
            list("20", &[job("b", "6")]),
            events(&[("DELETED", job("b", "21"))]),
            (503, status(503, "not now").to_string()),
            (503, status(503, "still not").to_string()),
        ];
        let serving = std::thread::spawn(move || serve(&listener, answers));
        let cluster = Cluster::at(&address);
        let (teller, mut told) = mpsc::unbounded_channel();
        let tell = move |heard: Heard<Job>| {
            let words = match heard {
                Heard::All(jobs) => {
                    let names: Vec<String> = jobs.iter().map(ResourceExt::name_any).collect();
                    format!("all: {}", names.join(" "))
                }
                Heard::Is(job) => format!("is: {}", job.name_any()),
                Heard::Gone(job) => format!("gone: {}", job.name_any()),
                Heard::Away(words) => format!("away: {words}"),
            };
            teller.send(words).expect("somebody listens");
        };
        let listening = async {
            let mut all = Vec::new();
            while all.len() < 5 {
                all.extend(told.recv().await);
            }
            all
        };
        let all = tokio::select! {
            () = watch(&cluster, tell) => unreachable!("it goes on for ever"),
            all = listening => all,
        };
        assert_eq!(
            all,
            ["all: a", "is: b", "all: b", "gone: b", "away: still not"]
        );
        let asked = serving.join().expect("all were asked");
        let version = |path: &String| {
            let (_, version) = path.split_once("resourceVersion=")?;
            version.split('&').next().map(str::to_owned)
        };
        let versions: Vec<String> = asked
            .iter()
            .map(|path| version(path).unwrap_or_default())
            .collect();
        assert_eq!(versions, ["", "5", "7", "", "20", "21", ""], "{asked:?}");
    }
}
