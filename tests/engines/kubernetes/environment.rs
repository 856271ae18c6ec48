//! The variables of a container: its own, those of secrets and configurations, and what it is told about its pod.

use super::api::Api;
use base64::Engine as _;
use serde_json::Value;

type Variables = Vec<(String, String)>;

/// The variables of a container, each once, or why it has to wait for them.
pub(super) fn environment(api: &Api, pod: &Value, container: &Value) -> Result<Variables, String> {
    let mut found = vec![
        ("HOME".to_owned(), "/root".to_owned()),
        ("HOSTNAME".to_owned(), text(&pod["metadata"]["name"])),
    ];
    for source in items(&container["envFrom"]) {
        let prefix = text(&source["prefix"]);
        for (name, value) in all_of(api, pod, source)? {
            set(&mut found, format!("{prefix}{name}"), value);
        }
    }
    for variable in items(&container["env"]) {
        let source = &variable["valueFrom"];
        let value = if source.is_null() {
            Some(expand(&text(&variable["value"]), &found))
        } else {
            one_of(api, pod, source)?
        };
        if let Some(value) = value {
            set(&mut found, text(&variable["name"]), value);
        }
    }
    Ok(found)
}

fn set(found: &mut Variables, name: String, value: String) {
    found.retain(|(other, _)| *other != name);
    found.push((name, value));
}

/// Puts in values where a text says `$(NAME)`; what it does not know stays, and `$$` is a dollar.
pub(super) fn expand(text: &str, variables: &[(String, String)]) -> String {
    let reference = regex::Regex::new(r"\$\$|\$\(([^()]*)\)").expect("a pattern");
    let replaced = reference.replace_all(text, |found: &regex::Captures<'_>| {
        let Some(name) = found.get(1) else {
            return "$".to_owned();
        };
        let variable = variables.iter().find(|(known, _)| known == name.as_str());
        variable.map_or_else(|| found[0].to_owned(), |(_, value)| value.clone())
    });
    replaced.into_owned()
}

/// All of a secret or a configuration.
fn all_of(api: &Api, pod: &Value, source: &Value) -> Result<Variables, String> {
    let (kind, reference) = if source["secretRef"].is_null() {
        ("configmaps", &source["configMapRef"])
    } else {
        ("secrets", &source["secretRef"])
    };
    let Some(data) = data(api, pod, kind, reference)? else {
        return Ok(Vec::new());
    };
    let data = data.as_object().into_iter().flatten();
    Ok(data
        .map(|(name, value)| (name.clone(), decoded(kind, value)))
        .collect())
}

/// One value; `None` where it may be missing, and is.
fn one_of(api: &Api, pod: &Value, source: &Value) -> Result<Option<String>, String> {
    if let Some(path) = source["fieldRef"]["fieldPath"].as_str() {
        return field(pod, path).map(Some);
    }
    let (kind, reference) = if source["secretKeyRef"].is_null() {
        ("configmaps", &source["configMapKeyRef"])
    } else {
        ("secrets", &source["secretKeyRef"])
    };
    let key = text(&reference["key"]);
    let found = data(api, pod, kind, reference)?;
    match found.as_ref().and_then(|data| data.get(&key)) {
        Some(value) => Ok(Some(decoded(kind, value))),
        None if reference["optional"] == true => Ok(None),
        None => Err(format!(
            "couldn't find key {key} in {kind} {}",
            reference["name"]
        )),
    }
}

fn data(api: &Api, pod: &Value, kind: &str, reference: &Value) -> Result<Option<Value>, String> {
    let namespace = text(&pod["metadata"]["namespace"]);
    let name = text(&reference["name"]);
    match api.get(&format!("/api/v1/namespaces/{namespace}/{kind}/{name}")) {
        Ok(found) => Ok(Some(found["data"].clone())),
        Err(refusal) if refusal.status == Some(404) && reference["optional"] == true => Ok(None),
        Err(refusal) if refusal.status == Some(404) => Err(format!("{kind} \"{name}\" not found")),
        Err(refusal) => Err(refusal.said),
    }
}

fn decoded(kind: &str, value: &Value) -> String {
    let value = text(value);
    if kind != "secrets" {
        return value;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(value);
    String::from_utf8(bytes.expect("base64")).expect("a text")
}

fn field(pod: &Value, path: &str) -> Result<String, String> {
    let pattern = regex::Regex::new(r"^metadata\.(labels|annotations)\['(.+)'\]$");
    if let Some(found) = pattern.expect("a pattern").captures(path) {
        return Ok(text(&pod["metadata"][&found[1]][&found[2]]));
    }
    let found = path.split('.').fold(pod, |value, name| &value[name]);
    let found = found.as_str().map(str::to_owned);
    found.ok_or_else(|| format!("field label not supported: {path}"))
}

/// A text, or an empty one.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The items of a list that may be missing.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
