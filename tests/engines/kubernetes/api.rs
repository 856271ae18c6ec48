//! Requests to an API server, as JSON. Knows no kind of object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::http::Request;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Nothing that is asked takes longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Speaks to an API server as one user.
#[derive(Clone)]
pub(super) struct Api {
    agent: ureq::Agent,
    address: String,
    token: String,
    /// Nothing goes through while this is set.
    is_cut: Arc<AtomicBool>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Refusal {
    /// `None` where nobody answered at all.
    pub(super) status: Option<u16>,
    pub(super) said: String,
}

impl Refusal {
    /// There is no such object, or another one of that name: asking again would not help.
    pub(super) fn is_for_good(&self) -> bool {
        match self.status {
            Some(404 | 422) => true,
            Some(409) => self.said.contains("Precondition failed"),
            _ => false,
        }
    }

    fn silence(error: &dyn std::fmt::Display) -> Self {
        Self {
            status: None,
            said: error.to_string(),
        }
    }
}

impl Api {
    /// The server and the user that a configuration names.
    pub(super) fn of(kubeconfig: &Path) -> Self {
        let text = std::fs::read(kubeconfig).expect("a configuration");
        let config: Value = serde_json::from_slice(&text).expect("JSON");
        let cluster = &config["clusters"][0]["cluster"];
        let authority = STANDARD.decode(text_of(&cluster["certificate-authority-data"]));
        let certificates: Vec<Certificate<'static>> = parse_pem(&authority.expect("base64"))
            .filter_map(|item| match item.expect("PEM") {
                PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            })
            .collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&certificates))
            .build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(LIMIT))
            .proxy(None);
        Self {
            agent: agent.build().into(),
            address: text_of(&cluster["server"]).to_owned(),
            token: text_of(&config["users"][0]["user"]["token"]).to_owned(),
            is_cut: Arc::default(),
        }
    }

    /// The same for somebody who can be cut off alone.
    pub(super) fn of_one(&self) -> Self {
        Self {
            is_cut: Arc::default(),
            ..self.clone()
        }
    }

    /// Whether nothing goes through from now on, for all copies of this.
    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }

    fn through(&self) -> Result<(), Refusal> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(Refusal::silence(&"cut off"));
        }
        Ok(())
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ureq::http::Response<ureq::Body>, Refusal> {
        self.through()?;
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", kind);
        let answer = match body {
            Some(body) => {
                let request = request.body(body.to_string()).expect("a request");
                self.agent.run(request)
            }
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut answer = answer.map_err(|error| Refusal::silence(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(Refusal {
            status: Some(answer.status().as_u16()),
            said: answer.body_mut().read_to_string().unwrap_or_default(),
        })
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Refusal> {
        let mut answer = self.send(method, path, body)?;
        let text = answer.body_mut().read_to_string();
        let text = text.map_err(|error| Refusal::silence(&error))?;
        serde_json::from_str(&text).map_err(|error| Refusal::silence(&error))
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, Refusal> {
        self.json("GET", path, None)
    }

    pub(super) fn text(&self, path: &str) -> Result<String, Refusal> {
        let mut answer = self.send("GET", path, None)?;
        let text = answer.body_mut().read_to_string();
        text.map_err(|error| Refusal::silence(&error))
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        self.json("POST", path, Some(body))
    }

    pub(super) fn patch(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        self.json("PATCH", path, Some(body))
    }

    pub(super) fn delete(&self, path: &str) -> Result<Value, Refusal> {
        self.json("DELETE", path, None)
    }

    /// The events of a watch, until the server ends it.
    pub(super) fn watch(&self, path: &str) -> Result<impl Iterator<Item = Value>, Refusal> {
        let answer = self.send("GET", path, None)?;
        let reader = answer.into_body().into_with_config().limit(u64::MAX);
        let lines = BufReader::new(reader.reader()).lines();
        let events = lines.map_while(Result::ok);
        let events = events.map_while(|line| serde_json::from_str(&line).ok());
        let line = self.clone();
        Ok(events.take_while(move |_| line.through().is_ok()))
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("a text")
}
