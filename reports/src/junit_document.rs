//! A `JUnit` document: suites of cases. A template writes it; what XML can't hold is left out.

use crate::html::rendered;
use serde::Serialize;

/// The document.
#[derive(Serialize)]
pub(crate) struct JunitDocument {
    pub(crate) name: &'static str,
    /// Seconds, where they are known.
    pub(crate) seconds: Option<f64>,
    pub(crate) suites: Vec<JunitSuite>,
}

/// Cases that belong together, and what is known of all of them.
#[derive(Serialize)]
pub(crate) struct JunitSuite {
    pub(crate) name: String,
    pub(crate) properties: Vec<(&'static str, String)>,
    pub(crate) cases: Vec<JunitCase>,
}

/// One case.
#[derive(Serialize)]
pub(crate) struct JunitCase {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) seconds: Option<f64>,
    /// Why it did not pass.
    pub(crate) fault: Option<JunitFault>,
}

/// Why a case did not pass.
#[derive(Serialize)]
pub(crate) struct JunitFault {
    /// `failure`, `error` where it could not be tried, or `skipped`.
    pub(crate) tag: &'static str,
    pub(crate) kind: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) details: String,
}

impl JunitFault {
    pub(crate) const fn skipped(message: String) -> Self {
        Self {
            tag: "skipped",
            kind: None,
            message,
            details: String::new(),
        }
    }
}

impl JunitDocument {
    /// Returns the document as text.
    pub(crate) fn to_xml(&self) -> String {
        // A template escapes slashes too, which helps nobody who reads XML.
        let text = rendered("junit.xml", self).replace("&#x2f;", "/");
        tm_untrusted::shown(&text).replace(['\u{fffe}', '\u{ffff}'], "")
    }
}
