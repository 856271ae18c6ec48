//! Other agents, or other models, for some kinds of work.

use crate::inlined::inlined;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Other agents for some kinds of work.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByPhase {
    /// Who writes failing tests: the name of an agent, or a map of `agent` and `model`.
    pub red: Option<PhaseAgent>,
    /// Who makes them pass.
    pub green: Option<PhaseAgent>,
    /// Who does tasks outside any pair.
    pub none: Option<PhaseAgent>,
}

/// Who does one kind of work.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written", untagged)]
pub enum PhaseAgent {
    /// An agent, with its own model.
    Name(String),
    /// The default agent where none is named, with a model of its own where one is.
    Chosen {
        /// The agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The model for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
}

impl PhaseAgent {
    pub(crate) fn agent(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Chosen { agent, .. } => agent.as_deref(),
        }
    }

    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Name(_) => None,
            Self::Chosen { model, .. } => model.as_deref(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Name(String),
    Chosen(Chosen),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    agent: Option<String>,
    model: Option<String>,
}

impl TryFrom<Written> for PhaseAgent {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Name(name) if is_name(&name) => Ok(Self::Name(name)),
            Written::Name(_) => Err("a text that is no name of an agent"),
            Written::Chosen(Chosen {
                agent: None,
                model: None,
            }) => Err("a map with neither `agent` nor `model`"),
            Written::Chosen(Chosen { agent, model }) => Ok(Self::Chosen { agent, model }),
        }
    }
}

/// Names of agents are parts of file names; a map that is written as one text is none.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

// The properties stand within an alternative, so that the whole is one setting and no section.
inlined!(PhaseAgent, {
    "anyOf": [
        {"title": "the name of an agent", "type": "string"},
        {
            "title": "a map of `agent` and `model`",
            "type": "object",
            "properties": {"agent": {"type": "string"}, "model": {"type": "string"}},
            "additionalProperties": false,
        },
    ],
});
