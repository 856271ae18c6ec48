//! Makes every text of a summary safe to show, whatever field it is in: no report has to think of it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns a value whose texts have no orders to a terminal and no secrets in them.
pub fn cleaned<T: Serialize + DeserializeOwned>(value: T) -> T {
    let Ok(mut tree) = serde_json::to_value(&value) else {
        return value;
    };
    if !clean(&mut tree) {
        return value;
    }
    serde_json::from_value(tree).unwrap_or(value)
}

/// Cleans a tree; tells whether that changed anything.
fn clean(value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => {
            let clean = tm_untrusted::clean(text);
            let is_changed = clean != *text;
            *text = clean;
            is_changed
        }
        Value::Array(values) => clean_all(values.iter_mut()),
        Value::Object(fields) => clean_all(fields.values_mut()),
    }
}

fn clean_all<'v>(values: impl Iterator<Item = &'v mut Value>) -> bool {
    values.fold(false, |is_changed, value| clean(value) | is_changed)
}
