//! What Kubernetes says of a Job, its pods and their events, and what that means for a job. Pure: objects in, standings
//! out. What they say is Kubernetes's own words, which people find in its documents.

use crate::engine::node::{Loss, Standing};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStatus, Event, Pod,
};
use std::time::Duration;

/// Reasons for which a container may begin later, and no longer than [`STUCK_LIMIT`] is waited for that.
const STUCK: [&str; 8] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ImageInspectError",
    "RegistryUnavailable",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "SignatureValidationFailed",
];
/// Reasons for which a container never begins.
const NEVER: [&str; 2] = ["InvalidImageName", "ErrImageNeverPull"];
/// So long what is in the way of a container may pass.
const STUCK_LIMIT: Duration = Duration::from_mins(5);
/// How a container ends that could not be started.
const NOT_STARTED: [&str; 2] = ["StartError", "ContainerCannotRun"];
/// What a node says of a container that it has lost sight of.
const NOT_FOUND: &str = "ContainerStatusUnknown";
/// What tm says that finds that another copy has the job.
const SECOND_COPY: i32 = 75;

/// One thing that happened to a Job or a pod, in Kubernetes's words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Told {
    pub(super) reason: String,
    pub(super) message: String,
}

/// What is known of a job.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) job: &'a Job,
    /// Its pods, the oldest first.
    pub(super) pods: Vec<&'a Pod>,
    /// What happened to them, the latest last, as far as that was asked for.
    pub(super) told: &'a [Told],
    /// The pod that was seen running: its name and where.
    pub(super) ran_in: Option<&'a Ran>,
}

/// A pod that was seen running.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Ran {
    pub(super) pod: String,
    pub(super) node: String,
}

/// Returns the name of a pod.
pub(super) fn pod_name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// Returns the pod in which a job runs, where one does.
pub(super) fn running(pods: &[&Pod]) -> Option<Ran> {
    let pod = pods.iter().find(|pod| phase(pod) == "Running")?;
    Some(Ran {
        pod: pod_name(pod).to_owned(),
        node: node(pod).to_owned(),
    })
}

/// Returns how a job stands.
pub(super) fn standing(known: &Known<'_>) -> Standing {
    if let Some(words) = deadline_of(known.job) {
        return Standing::Gone(Loss::TimedOut(words));
    }
    if known.job.metadata.deletion_timestamp.is_some() {
        return lost("its Job is being deleted by somebody");
    }
    if let Some(ran) = known.ran_in {
        let of_ran = known.pods.iter().find(|pod| pod_name(pod) == ran.pod);
        return match of_ran {
            Some(pod) => of_pod(known, pod),
            None => removed(known, None, ran),
        };
    }
    // A copy that came too late says nothing of the one that has the job.
    let is_first = |pod: &&&Pod| !is_going(pod) && phase(pod) != "Failed";
    let pod = known.pods.iter().find(is_first).or(known.pods.first());
    match (pod, condition_of(known.job)) {
        (Some(pod), _) => of_pod(known, pod),
        (None, Some(words)) => lost(&format!("its Job is over ({words}), and it has no pod")),
        (None, None) => Standing::Waiting(why_no_pod(known.told)),
    }
}

/// Returns how long what is in the way of a pod may stay there; `None` where nothing is that has to pass.
pub(super) fn patience(pod: &Pod) -> Option<Duration> {
    let (reason, _) = in_the_way(pod)?;
    if NEVER.contains(&reason) {
        return Some(Duration::ZERO);
    }
    STUCK.contains(&reason).then_some(STUCK_LIMIT)
}

/// Returns how a job stands that waited for too long for what is in its pod's way.
pub(super) fn given_up(pod: &Pod) -> Standing {
    let words = in_the_way(pod).map_or_else(String::new, |(reason, message)| said(reason, message));
    let within = match patience(pod) {
        Some(limit) if !limit.is_zero() => format!(" within {} minutes", limit.as_secs() / 60),
        Some(_) | None => String::new(),
    };
    let name = pod_name(pod);
    Standing::Gone(Loss::Refused(format!(
        "Kubernetes pod `{name}` did not begin{within}: {words}"
    )))
}

/// Reads an event.
pub(super) fn told(event: &Event) -> Told {
    Told {
        reason: event.reason.clone().unwrap_or_default(),
        message: event.message.clone().unwrap_or_default(),
    }
}

fn of_pod(known: &Known<'_>, pod: &Pod) -> Standing {
    let has_run = known.ran_in.is_some();
    match phase(pod) {
        "Failed" => failed(known, pod),
        "Succeeded" => over(pod),
        _ if is_going(pod) && has_run => {
            let ran = Ran {
                pod: pod_name(pod).to_owned(),
                node: node(pod).to_owned(),
            };
            removed(known, Some(pod), &ran)
        }
        _ if is_going(pod) => {
            Standing::Waiting("its pod is deleted by somebody before it began".to_owned())
        }
        // Others in the pod may go on, and keep it running.
        "Running" => match own_state(pod).and_then(|own| own.terminated.as_ref()) {
            None => Standing::Running,
            Some(ended) if ended.exit_code == 0 => over(pod),
            Some(_) => failed(known, pod),
        },
        _ => Standing::Waiting(why_pending(pod, known.told)),
    }
}

/// How a job stands whose pod ended well and said nothing.
fn over(pod: &Pod) -> Standing {
    lost(&format!(
        "{} is over, and nothing is told of its end",
        called(pod)
    ))
}

/// How a job stands whose pod failed.
fn failed(known: &Known<'_>, pod: &Pod) -> Standing {
    let name = called(pod);
    let status = pod.status.as_ref();
    let reason = status.and_then(|status| status.reason.as_deref());
    let message = status.and_then(|status| status.message.as_deref());
    let message = message.unwrap_or_default();
    let ended = terminated(pod);
    let of_container = ended.and_then(|ended| ended.reason.as_deref());
    if reason == Some("DeadlineExceeded") {
        let words = format!("{name} was ended at its limit of time (DeadlineExceeded)");
        return Standing::Gone(Loss::TimedOut(words));
    }
    if of_container == Some("OOMKilled") {
        return lost(&format!("{name} used more memory than it has (OOMKilled)"));
    }
    if let Some(words) = disrupted(pod).or_else(|| taken(reason, message)) {
        return lost(&format!("{name} {words}"));
    }
    if let Some(reason) = of_container.filter(|reason| NOT_STARTED.contains(reason)) {
        let message = ended.and_then(|ended| ended.message.as_deref());
        let words = said(reason, message.unwrap_or_default());
        return Standing::Gone(Loss::Refused(format!("{name} could not begin: {words}")));
    }
    let code = ended.map(|ended| ended.exit_code);
    if code == Some(SECOND_COPY) {
        return lost(&format!("{name} ended itself: another copy has the job"));
    }
    let how = match (reason, code) {
        (Some(reason), _) => said(reason, message),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => condition_of(known.job).unwrap_or_else(|| "nothing is said".to_owned()),
    };
    lost(&format!(
        "{name} failed ({how}), and nothing is told of its end"
    ))
}

/// How a job stands whose pod was taken away while it ran.
fn removed(known: &Known<'_>, pod: Option<&Pod>, ran: &Ran) -> Standing {
    let reasons = [
        ("DeadlineExceeded", ""),
        ("Preempted", "had to make room for others (Preempted)"),
        ("Evicted", "was evicted (Evicted)"),
        (
            "TaintManagerEviction",
            "was lost with its node (TaintManagerEviction)",
        ),
        ("NodeNotReady", "was lost with its node (NodeNotReady)"),
    ];
    let words = pod.and_then(disrupted).or_else(|| {
        let status = pod.and_then(|pod| pod.status.as_ref());
        taken(status.and_then(|status| status.reason.as_deref()), "")
    });
    let event = |told: &Told| reasons.iter().find(|(reason, _)| told.reason == *reason);
    let by_event = known.told.iter().rev().find_map(event);
    let name = format!("Kubernetes pod `{}` on `{}`", ran.pod, ran.node);
    match (words, by_event) {
        (_, Some((reason @ "DeadlineExceeded", _))) => Standing::Gone(Loss::TimedOut(format!(
            "{name} was ended at its limit of time ({reason})"
        ))),
        (Some(words), _) => lost(&format!("{name} {words}")),
        (None, Some((_, words))) => lost(&format!("{name} {words}")),
        (None, None) => lost(&format!("{name} was deleted by somebody")),
    }
}

/// What is said of a pod that others had to make room for, where that is said.
fn disrupted(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions
        .iter()
        .find(|condition| condition.type_ == "DisruptionTarget" && condition.status == "True")?;
    let reason = condition.reason.as_deref().unwrap_or("DisruptionTarget");
    Some(match reason {
        "PreemptionByScheduler" => format!("had to make room for others ({reason})"),
        "DeletionByTaintManager" | "DeletionByPodGC" => {
            format!("was lost with its node ({reason})")
        }
        reason => format!("was evicted ({reason})"),
    })
}

/// What is said by the reason of a pod's status.
fn taken(reason: Option<&str>, message: &str) -> Option<String> {
    let reason = reason?;
    Some(match reason {
        "Evicted" => format!("was evicted ({})", said(reason, message)),
        "NodeLost" | "NodeAffinity" => format!("was lost with its node ({reason})"),
        "Preempting" | "Preempted" => format!("had to make room for others ({reason})"),
        "Shutdown" | "NodeShutdown" | "Terminated" => {
            format!("was ended with its node ({})", said(reason, message))
        }
        _ => return None,
    })
}

/// Why a pod does not run yet.
fn why_pending(pod: &Pod, told: &[Told]) -> String {
    if let Some((reason, message)) = in_the_way(pod) {
        return said(reason, message);
    }
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let unscheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
    if let Some(condition) = unscheduled {
        let reason = condition.reason.as_deref().unwrap_or("Unschedulable");
        return said(reason, condition.message.as_deref().unwrap_or_default());
    }
    let is_trouble = |told: &&Told| told.reason.starts_with("Failed");
    if let Some(told) = told.iter().rev().find(is_trouble) {
        return said(&told.reason, &told.message);
    }
    match node(pod) {
        "" => "it is not on a node yet".to_owned(),
        node => format!("ContainerCreating on `{node}`"),
    }
}

fn why_no_pod(told: &[Told]) -> String {
    match told.iter().rev().find(|told| told.reason == "FailedCreate") {
        Some(told) => said(&told.reason, &told.message),
        None => "its pod is about to be made".to_owned(),
    }
}

/// What keeps a job's container from beginning, where something does; others may be kept from it for as long as they like.
fn in_the_way(pod: &Pod) -> Option<(&str, &str)> {
    if own_state(pod).is_some_and(|own| own.running.is_some()) {
        return None;
    }
    statuses(pod).find_map(|status| {
        let waiting = status.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        let is_usual = ["ContainerCreating", "PodInitializing"].contains(&reason);
        (!is_usual).then(|| (reason, waiting.message.as_deref().unwrap_or_default()))
    })
}

fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let lists = status
        .into_iter()
        .flat_map(|status| [&status.init_container_statuses, &status.container_statuses]);
    lists.flatten().flatten()
}

/// The state of a job's container.
fn own_state(pod: &Pod) -> Option<&ContainerState> {
    let is_own = |status: &&ContainerStatus| status.name == super::template::CONTAINER;
    statuses(pod).find(is_own)?.state.as_ref()
}

/// Whether the container of a job has ended, as its node says.
pub(super) fn has_ended(pod: &Pod) -> bool {
    let ended = own_state(pod).and_then(|state| state.terminated.as_ref());
    ended.is_some_and(|ended| ended.reason.as_deref() != Some(NOT_FOUND))
}

/// How the container of a job ended; where it has not, how another one did.
pub(super) fn terminated(pod: &Pod) -> Option<&ContainerStateTerminated> {
    let all = || {
        statuses(pod).filter_map(|status| {
            let ended = status.state.as_ref()?.terminated.as_ref()?;
            Some((status.name.as_str(), ended))
        })
    };
    let own = all().find(|(name, _)| *name == super::template::CONTAINER);
    own.or_else(|| all().find(|(_, ended)| ended.exit_code != 0))
        .map(|(_, ended)| ended)
}

/// What a Job says of its end, where it has one.
fn condition_of(job: &Job) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let over = conditions.iter().find(|condition| {
        ["Failed", "Complete"].contains(&condition.type_.as_str()) && condition.status == "True"
    })?;
    Some(match over.reason.as_deref() {
        Some(reason) => said(reason, over.message.as_deref().unwrap_or_default()),
        None => over.type_.clone(),
    })
}

fn deadline_of(job: &Job) -> Option<String> {
    let words = condition_of(job)?;
    let is_deadline = words.starts_with("DeadlineExceeded");
    is_deadline.then(|| format!("Kubernetes ended it at its Job's limit of time ({words})"))
}

fn lost(words: &str) -> Standing {
    Standing::Gone(Loss::Lost(words.to_owned()))
}

fn called(pod: &Pod) -> String {
    match node(pod) {
        "" => format!("Kubernetes pod `{}`", pod_name(pod)),
        node => format!("Kubernetes pod `{}` on `{node}`", pod_name(pod)),
    }
}

/// A reason with its message, on a line.
pub(super) fn said(reason: &str, message: &str) -> String {
    let message = tm_untrusted::line(&tm_untrusted::clean(message), 300);
    match message.as_str() {
        "" => reason.to_owned(),
        message => format!("{reason}: {message}"),
    }
}

fn phase(pod: &Pod) -> &str {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

fn is_going(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

fn node(pod: &Pod) -> &str {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    node.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(status: &Value) -> Value {
        json!({
            "metadata": {"name": "tm-x-1"}, "spec": {"nodeName": "n1", "containers": []}, "status": status,
        })
    }

    fn waiting(reason: &str, message: &str) -> Value {
        let state = json!({"waiting": {"reason": reason, "message": message}});
        pod(&json!({"phase": "Pending", "containerStatuses": [container(&state)]}))
    }

    fn ended(status: &Value, how: &Value) -> Value {
        let mut status = status.clone();
        status["phase"] = json!("Failed");
        status["containerStatuses"] = json!([container(&json!({"terminated": how}))]);
        pod(&status)
    }

    fn container(state: &Value) -> Value {
        json!({
            "name": "tm", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        })
    }

    fn going(mut pod: Value) -> Value {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod
    }

    fn event(reason: &str, message: &str) -> Told {
        Told {
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// What is made of a Job with these pods, in words.
    fn words(job: &Value, pods: &[Value], told: &[Told], has_run: bool) -> String {
        let job: Job = serde_json::from_value(job.clone()).expect("a Job");
        let pods: Vec<Pod> = (pods.iter().cloned())
            .map(|pod| serde_json::from_value(pod).expect("a pod"))
            .collect();
        let ran = Ran {
            pod: "tm-x-1".to_owned(),
            node: "n1".to_owned(),
        };
        let known = Known {
            job: &job,
            pods: pods.iter().collect(),
            told,
            ran_in: Some(&ran).filter(|_| has_run),
        };
        match standing(&known) {
            Standing::Waiting(why) => format!("waits: {why}"),
            Standing::Running => "runs".to_owned(),
            Standing::Gone(Loss::Lost(words)) => format!("lost: {words}"),
            Standing::Gone(Loss::Refused(words)) => format!("refused: {words}"),
            Standing::Gone(Loss::TimedOut(words)) => format!("timed out: {words}"),
        }
    }

    #[test]
    fn a_job_waits_for_what_kubernetes_says() {
        let job = json!({});
        let unscheduled = json!([{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: no cpu",
        }]);
        let unscheduled = pod(&json!({"phase": "Pending", "conditions": unscheduled}));
        let creating = waiting("ContainerCreating", "");
        let quota = event(
            "FailedCreate",
            "pods \"x\" is forbidden: exceeded quota: few",
        );
        let mount = event("FailedMount", "no such claim");
        let told = [
            words(&job, &[], &[], false),
            words(&job, &[], &[quota], false),
            words(&job, &[unscheduled], &[], false),
            words(&job, std::slice::from_ref(&creating), &[], false),
            words(&job, &[creating], &[mount], false),
            words(
                &job,
                &[waiting("ImagePullBackOff", "Back-off pulling image")],
                &[],
                false,
            ),
            words(&job, &[pod(&json!({"phase": "Running"}))], &[], false),
        ];
        assert_eq!(
            told.join("\n"),
            "waits: its pod is about to be made\n\
             waits: FailedCreate: pods \"x\" is forbidden: exceeded quota: few\n\
             waits: Unschedulable: 0/3 nodes: no cpu\n\
             waits: ContainerCreating on `n1`\n\
             waits: FailedMount: no such claim\n\
             waits: ImagePullBackOff: Back-off pulling image\n\
             runs"
        );
    }

    #[test]
    fn a_pod_that_failed_says_by_what() {
        let job = json!({});
        let nothing = json!({});
        let disrupted = json!({"conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        }]});
        let because = |reason: &str, message: &str| json!({"reason": reason, "message": message});
        let exit = |code: i32, reason: &str| json!({"exitCode": code, "reason": reason});
        let told = |pod: Value| words(&job, &[pod], &[], true);
        let told = [
            told(ended(&nothing, &exit(137, "OOMKilled"))),
            told(ended(
                &because("Evicted", "The node was low on memory."),
                &exit(137, "Error"),
            )),
            told(ended(&disrupted, &exit(143, "Error"))),
            told(ended(&because("NodeLost", ""), &exit(143, "Error"))),
            told(ended(&because("DeadlineExceeded", ""), &exit(143, "Error"))),
            told(ended(&nothing, &exit(128, "StartError"))),
            told(ended(&nothing, &exit(75, "Error"))),
            told(ended(&nothing, &exit(3, "Error"))),
            told(pod(
                &json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}),
            )),
            told(pod(&json!({"phase": "Succeeded"}))),
        ];
        assert_eq!(
            told.join("\n"),
            "lost: Kubernetes pod `tm-x-1` on `n1` used more memory than it has (OOMKilled)\n\
             lost: Kubernetes pod `tm-x-1` on `n1` was evicted (Evicted: The node was low on memory.)\n\
             lost: Kubernetes pod `tm-x-1` on `n1` had to make room for others (PreemptionByScheduler)\n\
             lost: Kubernetes pod `tm-x-1` on `n1` was lost with its node (NodeLost)\n\
             timed out: Kubernetes pod `tm-x-1` on `n1` was ended at its limit of time (DeadlineExceeded)\n\
             refused: Kubernetes pod `tm-x-1` on `n1` could not begin: StartError\n\
             lost: Kubernetes pod `tm-x-1` on `n1` ended itself: another copy has the job\n\
             lost: Kubernetes pod `tm-x-1` on `n1` failed (exit code 3), and nothing is told of its end\n\
             lost: Kubernetes pod `tm-x-1` on `n1` failed (OutOfcpu: Pod was rejected), and nothing is told of its end\n\
             lost: Kubernetes pod `tm-x-1` on `n1` is over, and nothing is told of its end"
        );
    }

    #[test]
    fn a_pod_that_is_taken_away_says_why_where_anybody_does() {
        let job = json!({});
        let running = || pod(&json!({"phase": "Running"}));
        let second = || {
            let mut second = running();
            second["metadata"]["name"] = json!("tm-x-2");
            second
        };
        let deadline = json!({"status": {"conditions": [{
            "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long",
        }]}});
        let told = [
            words(&job, &[going(running())], &[], true),
            words(
                &job,
                &[going(running()), second()],
                &[event("TaintManagerEviction", "")],
                true,
            ),
            words(&job, &[second()], &[event("Preempted", "")], true),
            words(&job, &[], &[], true),
            words(&deadline, &[going(running())], &[], true),
            words(
                &job,
                &[going(running())],
                &[event("DeadlineExceeded", "")],
                true,
            ),
            words(&going(json!({"metadata": {}})), &[running()], &[], true),
            words(&job, &[going(waiting("ContainerCreating", ""))], &[], false),
            words(
                &job,
                &[going(waiting("ContainerCreating", "")), second()],
                &[],
                false,
            ),
        ];
        assert_eq!(
            told.join("\n"),
            "lost: Kubernetes pod `tm-x-1` on `n1` was deleted by somebody\n\
             lost: Kubernetes pod `tm-x-1` on `n1` was lost with its node (TaintManagerEviction)\n\
             lost: Kubernetes pod `tm-x-1` on `n1` had to make room for others (Preempted)\n\
             lost: Kubernetes pod `tm-x-1` on `n1` was deleted by somebody\n\
             timed out: Kubernetes ended it at its Job's limit of time (DeadlineExceeded: too long)\n\
             timed out: Kubernetes pod `tm-x-1` on `n1` was ended at its limit of time (DeadlineExceeded)\n\
             lost: its Job is being deleted by somebody\n\
             waits: its pod is deleted by somebody before it began\n\
             runs"
        );
    }

    #[test]
    fn a_container_has_ended_where_its_node_says_so() {
        let of = |pod: Value| has_ended(&serde_json::from_value(pod).expect("a pod"));
        let how = |reason: &str| json!({"exitCode": 137, "reason": reason});
        assert!(of(ended(&json!({}), &how("OOMKilled"))));
        assert!(!of(ended(&json!({}), &how("ContainerStatusUnknown"))));
        assert!(!of(pod(&json!({"phase": "Failed", "reason": "NodeLost"}))));
    }

    #[test]
    fn what_never_gets_better_is_not_waited_for_and_what_may_is_for_a_while() {
        let of = |reason: &str| {
            let pod: Pod = serde_json::from_value(waiting(reason, "words")).expect("a pod");
            (patience(&pod), given_up(&pod))
        };
        assert_eq!(of("ContainerCreating").0, None);
        assert_eq!(of("InvalidImageName").0, Some(Duration::ZERO));
        let (limit, given_up) = of("ErrImagePull");
        assert_eq!(limit, Some(Duration::from_mins(5)));
        let words = "Kubernetes pod `tm-x-1` did not begin within 5 minutes: ErrImagePull: words";
        assert_eq!(given_up, Standing::Gone(Loss::Refused(words.to_owned())));
    }

    #[test]
    fn containers_beside_that_of_the_job_say_nothing_of_how_it_stands() {
        let beside = |state: &Value| {
            let mut one = container(state);
            one["name"] = json!("proxy");
            one
        };
        let with = |phase: &str, own: &Value, other: &Value| {
            let all = json!([container(own), beside(other)]);
            words(
                &json!({}),
                &[pod(&json!({"phase": phase, "containerStatuses": all}))],
                &[],
                true,
            )
        };
        let (runs, killed) = (
            json!({"running": {}}),
            json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
        );
        let stuck = json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
        assert_eq!(with("Running", &runs, &killed), "runs");
        assert!(with("Running", &killed, &runs).contains("(OOMKilled)"));
        let ended = json!({"terminated": {"exitCode": 0}});
        assert!(with("Running", &ended, &runs).contains("nothing is told of its end"));
        let all = json!([container(&runs), beside(&stuck)]);
        let pending = pod(&json!({"phase": "Pending", "containerStatuses": all}));
        let pending: Pod = serde_json::from_value(pending).expect("a pod");
        assert_eq!(patience(&pending), None);
    }
}
