//! When a run is broken off because everything ends the same way.

use crate::inlined::inlined;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// So many ends in a row that are the same, with nothing passed between; written as a map of `tasks` and `attempts`, or as
/// `off`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Breaker {
    /// Tasks that are given up; none are too many without a number.
    pub tasks: Option<NonZeroU32>,
    /// Attempts that fail; none are too many without a number.
    pub attempts: Option<NonZeroU32>,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Word(Off),
    Numbers {
        tasks: Option<NonZeroU32>,
        attempts: Option<NonZeroU32>,
    },
}

#[derive(Deserialize, Serialize)]
enum Off {
    #[serde(rename = "off")]
    Off,
}

impl TryFrom<Written> for Breaker {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Numbers {
                tasks: None,
                attempts: None,
            } => Err("a map with neither `tasks` nor `attempts`"),
            Written::Numbers { tasks, attempts } => Ok(Self { tasks, attempts }),
            Written::Word(Off::Off) => Ok(Self {
                tasks: None,
                attempts: None,
            }),
        }
    }
}

impl From<Breaker> for Written {
    fn from(Breaker { tasks, attempts }: Breaker) -> Self {
        if tasks.is_none() && attempts.is_none() {
            Self::Word(Off::Off)
        } else {
            Self::Numbers { tasks, attempts }
        }
    }
}

// The properties stand within an alternative, so that the whole is one setting and no section.
inlined!(Breaker, {
    "anyOf": [
        {"title": "`off`", "type": "string", "const": "off"},
        {
            "title": "a map of `tasks` and `attempts`, numbers from 1",
            "type": "object",
            "properties": {
                "tasks": {"type": ["integer", "null"], "minimum": 1},
                "attempts": {"type": ["integer", "null"], "minimum": 1},
            },
            "additionalProperties": false,
        },
    ],
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_off_are_read_and_written_back() {
        let of = |tasks, attempts| Breaker {
            tasks: NonZeroU32::new(tasks),
            attempts: NonZeroU32::new(attempts),
        };
        for (written, expected) in [
            (json!("off"), Some(of(0, 0))),
            (json!({"tasks": 3, "attempts": 5}), Some(of(3, 5))),
            (json!({"tasks": 3, "attempts": null}), Some(of(3, 0))),
            (json!({"attempts": 2}), Some(of(0, 2))),
            (json!({}), None),
            (json!("on"), None),
            (json!(3), None),
            (json!({"tasks": 0}), None),
            (json!([1, 2]), None),
        ] {
            let read = serde_json::from_value::<Breaker>(written.clone()).ok();
            assert_eq!(read, expected, "{written}");
            if let Some(read) = read {
                let again = serde_json::to_value(read).expect("written");
                assert_eq!(
                    serde_json::from_value::<Breaker>(again).ok(),
                    expected,
                    "{written}"
                );
            }
        }
    }
}
