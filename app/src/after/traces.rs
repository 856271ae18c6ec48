//! Sends the traces of a run to an OpenTelemetry collector when the run is over. The environment says whether and where,
//! with the variables that every program with OpenTelemetry reads.

use percent_encoding::percent_decode_str;
use tm_reports::{Summary, traces_json};
use tm_runtime::notices::post_json;

/// Where traces go, and what goes with them.
#[derive(Debug, Eq, PartialEq)]
struct Collector {
    url: String,
    headers: Vec<(String, String)>,
    resource: Vec<(String, String)>,
}

/// Sends the traces where the environment names a collector.
pub(super) fn export(summary: &Summary) -> Result<(), String> {
    let Some(collector) = collector(|name| std::env::var(name).ok()) else {
        return Ok(());
    };
    let body = traces_json(summary, &collector.resource).to_string();
    post_json(&collector.url, &collector.headers, body)
        .map_err(|why| format!("export traces: {why}"))
}

/// Reads the variables; one that is empty counts as not set.
fn collector(variable: impl Fn(&str) -> Option<String>) -> Option<Collector> {
    let set = |name: &str| {
        variable(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    if set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return None;
    }
    let all = || {
        set("OTEL_EXPORTER_OTLP_ENDPOINT")
            .map(|base| format!("{}/v1/traces", base.trim_end_matches('/')))
    };
    let url = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(all)?;
    let headers =
        set("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| set("OTEL_EXPORTER_OTLP_HEADERS"));
    let resource = pairs(&set("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    Some(Collector {
        url,
        headers: pairs(&headers.unwrap_or_default()),
        resource: with_service(resource, set("OTEL_SERVICE_NAME")),
    })
}

/// What is said of the service, with its name.
fn with_service(
    mut resource: Vec<(String, String)>,
    name: Option<String>,
) -> Vec<(String, String)> {
    let is_name = |(key, _): &(String, String)| key == "service.name";
    if name.is_some() || !resource.iter().any(is_name) {
        resource.retain(|pair| !is_name(pair));
        let name = name.unwrap_or_else(|| "tm".to_owned());
        resource.push(("service.name".to_owned(), name));
    }
    resource
}

/// `key=value` pairs with commas between them, as in the specification; values may be percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|part| part.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), decoded(value.trim())))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn of(variables: &[(&str, &str)]) -> Option<Collector> {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        collector(|name| variables.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn variables_say_whether_and_where() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/");
        assert_eq!(
            of(&[base]).expect("a collector").url,
            "http://localhost:4318/v1/traces"
        );
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other/traces");
        assert_eq!(
            of(&[base, own]).expect("a collector").url,
            "http://other/traces"
        );
        assert_eq!(of(&[base, ("OTEL_SDK_DISABLED", "TRUE")]), None);
    }

    #[test]
    fn headers_and_resource_are_read_as_the_specification_says() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        let headers = (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "Authorization=Basic%20abc%3D, x=1,nothing",
        );
        let resource = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a%");
        let found = of(&[base, headers, resource]).expect("a collector");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            found.headers,
            [pair("Authorization", "Basic abc="), pair("x", "1")]
        );
        assert_eq!(
            found.resource,
            [pair("service.name", "other"), pair("team", "a%")]
        );
        let named = of(&[base, resource, ("OTEL_SERVICE_NAME", "nightly")]).expect("a collector");
        assert_eq!(
            named.resource,
            [pair("team", "a%"), pair("service.name", "nightly")]
        );
        assert_eq!(
            of(&[base]).expect("a collector").resource,
            [pair("service.name", "tm")]
        );
    }
}
