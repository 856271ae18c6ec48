//! The built-in settings: the layer below all others.

use crate::yaml;
use serde_json::Value;
use std::sync::LazyLock;

/// The built-in defaults, commented: the reference of every setting.
pub const DEFAULT_YAML: &str = include_str!("../default.yaml");

static DEFAULTS: LazyLock<Value> =
    LazyLock::new(|| yaml::parse(DEFAULT_YAML).expect("the embedded default.yaml is valid"));

/// Returns the built-in settings as plain values.
pub(crate) fn defaults() -> &'static Value {
    &DEFAULTS
}
