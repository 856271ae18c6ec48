//! The manifest of a Job that the user gives, on which those of jobs are built. Pure: text in, a checked value out.
//!
//! What it says that tm has to say itself is refused, and so is what no Job has: the API leaves out what it does not know.

use super::names::{LABEL, is_label};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::{Map, Value, json};

/// The container that runs jobs, where the template says something of it.
pub(super) const CONTAINER: &str = "tm";
/// How the names of tm's volumes begin.
pub(super) const VOLUME: &str = "tm-volume-";
/// Variables that tm's container has, with the fields of the pod that they tell.
pub(super) const VARIABLES: [(&str, &str); 2] = [
    ("POD_NAME", "metadata.name"),
    ("NODE_NAME", "spec.nodeName"),
];

/// What is tm's own to say.
const OWN: [&str; 12] = [
    "/metadata/name",
    "/metadata/generateName",
    "/metadata/namespace",
    "/metadata/ownerReferences",
    "/spec/backoffLimit",
    "/spec/completions",
    "/spec/parallelism",
    "/spec/completionMode",
    "/spec/selector",
    "/spec/manualSelector",
    "/spec/suspend",
    "/spec/template/spec/restartPolicy",
];

/// Returns a template as it is written in YAML.
///
/// # Errors
/// It is of no use, in words.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let template: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let is_job = template["kind"] == "Job" && template["apiVersion"] == "batch/v1";
    if !is_job {
        return Err("it is no manifest of a Job (`apiVersion: batch/v1`, `kind: Job`)".to_owned());
    }
    let is_said = |place: &&&str| {
        let said = template.pointer(place);
        said.is_some_and(|said| !said.is_null() && *said != own_value(place))
    };
    if let Some(place) = OWN.iter().find(is_said) {
        return Err(format!("`{}` is for tm to say", named(place)));
    }
    for container in containers(&template) {
        let has = |name: &str| !container[name].is_null();
        if container["name"] == CONTAINER && (has("command") || has("args")) {
            return Err(format!(
                "what the container `{CONTAINER}` runs is for tm to say"
            ));
        }
    }
    let job: Job = serde_json::from_value(template.clone()).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&job).map_err(|error| error.to_string())?;
    if let Some(place) = unknown(&template, &known, "") {
        return Err(format!("a Job has no `{}`", named(&place)));
    }
    let pod = job.spec.and_then(|spec| spec.template.spec);
    pod.and_then(|pod| misnamed(&pod)).map_or(Ok(template), Err)
}

/// Returns a template that says nothing.
pub(super) fn nothing() -> Value {
    json!({})
}

fn own_value(place: &str) -> Value {
    match place {
        "/spec/backoffLimit" => json!(0),
        // One that is suspended would wait for somebody to begin it.
        "/spec/suspend" => json!(false),
        "/spec/completions" | "/spec/parallelism" => json!(1),
        "/spec/template/spec/restartPolicy" => json!("Never"),
        _ => Value::Null,
    }
}

fn containers(template: &Value) -> impl Iterator<Item = &Value> {
    let containers = template.pointer("/spec/template/spec/containers");
    containers.and_then(Value::as_array).into_iter().flatten()
}

/// Returns what is wrong with the first name that something of a pod can't have.
fn misnamed(pod: &PodSpec) -> Option<String> {
    let names = |containers: &[Container]| -> Vec<String> {
        let names = containers.iter().map(|container| container.name.clone());
        names.collect()
    };
    let before = names(pod.init_containers.as_deref().unwrap_or_default());
    if before.iter().any(|name| name == CONTAINER) {
        return Some(format!(
            "the container `{CONTAINER}` runs jobs, and is none of `spec.template.spec.initContainers`"
        ));
    }
    let containers = [names(&pod.containers), before].concat();
    let volumes = pod.volumes.iter().flatten();
    let volumes: Vec<String> = volumes.map(|volume| volume.name.clone()).collect();
    of_no_use("container", &containers)
        .or_else(|| of_no_use("volume", &volumes))
        .or_else(|| own_volume(&volumes))
        .or_else(|| own_variable(&pod.containers))
}

fn of_no_use(what: &str, names: &[String]) -> Option<String> {
    let no_label = names.iter().find(|name| !is_label(name));
    if let Some(name) = no_label {
        return Some(format!("the name of a {what} is {LABEL}, and not `{name}`"));
    }
    let mut numbered = names.iter().enumerate();
    let (_, twice) = numbered.find(|(number, name)| names[..*number].contains(name))?;
    Some(format!("two {what}s have the name `{twice}`"))
}

fn own_volume(names: &[String]) -> Option<String> {
    let own = names.iter().find(|name| name.starts_with(VOLUME))?;
    Some(format!("the volume `{own}` is for tm to say"))
}

fn own_variable(containers: &[Container]) -> Option<String> {
    let own = (containers.iter()).find(|container| container.name == CONTAINER)?;
    let mut names = own.env.iter().flatten().map(|variable| &variable.name);
    let said = names.find(|name| VARIABLES.iter().any(|(own, _)| own == name))?;
    Some(format!(
        "the variable `{said}` of the container `{CONTAINER}` is for tm to say"
    ))
}

/// Returns a place as people write it.
fn named(place: &str) -> String {
    place.trim_start_matches('/').replace('/', ".")
}

/// Returns the first place of something given that is not known.
fn unknown(given: &Value, known: &Value, place: &str) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(name, value)| unknown_entry(known, (name, value), place)),
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known).enumerate();
            pairs.find_map(|(index, (given, known))| {
                unknown(given, known, &format!("{place}/{index}"))
            })
        }
        (_, _) => None,
    }
}

fn unknown_entry(
    known: &Map<String, Value>,
    (name, value): (&String, &Value),
    place: &str,
) -> Option<String> {
    let place = format!("{place}/{name}");
    match known.get(name) {
        Some(known) => unknown(value, known, &place),
        None => Some(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(spec: &str) -> String {
        let text = format!("apiVersion: batch/v1\nkind: Job\n{spec}\n");
        read(&text).map_or_else(|words| words, |_| "nothing".to_owned())
    }

    #[test]
    fn a_template_that_is_of_no_use_is_told_by_the_place() {
        let of_pod = |rest: &str| format!("spec: {{template: {{spec: {rest}}}}}");
        let told = [
            read("kind: Pod").expect_err("no Job"),
            refused("metadata: {name: mine}"),
            refused("spec: {backoffLimit: 6}"),
            refused(&of_pod("{restartPolicy: OnFailure}")),
            refused(&of_pod("{containers: [{name: tm, command: [sh]}]}")),
            refused(&of_pod("{nodeSelectors: {a: b}}")),
            refused(&of_pod("{containers: [{name: tm, resource: {}}]}")),
            refused(&of_pod("{tolerations: {key: x}}")),
            refused("spec: {suspend: true}"),
            refused(&of_pod("{containers: [{name: tm}, {name: tm}]}")),
            refused(&of_pod("{containers: [{image: proxy}]}")),
            refused(&of_pod(
                "{containers: [{name: a}], initContainers: [{name: a}]}",
            )),
            refused(&of_pod("{initContainers: [{name: tm}]}")),
            refused(&of_pod("{volumes: [{name: a}, {name: a}]}")),
            refused(&of_pod("{volumes: [{name: tm-volume-0}]}")),
            refused(&of_pod(
                "{containers: [{name: tm, env: [{name: POD_NAME, value: x}]}]}",
            )),
        ];
        assert_eq!(
            told.join("\n"),
            "it is no manifest of a Job (`apiVersion: batch/v1`, `kind: Job`)\n\
             `metadata.name` is for tm to say\n\
             `spec.backoffLimit` is for tm to say\n\
             `spec.template.spec.restartPolicy` is for tm to say\n\
             what the container `tm` runs is for tm to say\n\
             a Job has no `spec.template.spec.nodeSelectors`\n\
             a Job has no `spec.template.spec.containers.0.resource`\n\
             invalid type: map, expected a sequence\n\
             `spec.suspend` is for tm to say\n\
             two containers have the name `tm`\n\
             the name of a container is small letters, digits and `-`, a letter or digit at both ends, 63 at the most, \
             and not ``\n\
             two containers have the name `a`\n\
             the container `tm` runs jobs, and is none of `spec.template.spec.initContainers`\n\
             two volumes have the name `a`\n\
             the volume `tm-volume-0` is for tm to say\n\
             the variable `POD_NAME` of the container `tm` is for tm to say"
        );
    }

    #[test]
    fn what_tm_says_as_well_may_be_said() {
        let spec = "spec: {backoffLimit: 0, completions: 1, suspend: false, template: {metadata: {creationTimestamp: \
                    null}, spec: {restartPolicy: Never, nodeSelector: {a: b}, containers: [{name: proxy, env: \
                    [{name: POD_NAME, value: x}], volumeMounts: [{name: tm-volume-0, mountPath: /x}]}]}}}";
        assert_eq!(refused(spec), "nothing");
    }
}
