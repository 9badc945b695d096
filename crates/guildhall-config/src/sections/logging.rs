//! `logging`: what is logged, and where.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::reader::{Fields, Reading};
use crate::yaml::Node;

/// What is logged, and where.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct Logging {
    /// The least important lines that are kept.
    pub level: Level,
    /// The form of a line.
    pub format: Format,
    /// A file to append to. Without it standard error, or the state folder for a server that runs in the background.
    pub log_file: Option<PathBuf>,
}

/// How important a line of the log is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing at all.
    Off,
    /// Faults.
    Error,
    /// What may become one.
    Warn,
    /// What happens.
    #[default]
    Info,
    /// How it happens.
    Debug,
    /// Every step.
    Trace,
}

impl Level {
    /// Every level, with its name in the settings.
    pub const ALL: [(&'static str, Self); 6] = [
        ("off", Self::Off),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    /// The name in the settings.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, level)| *level == self)
            .map_or("", |(name, _)| name)
    }
}

/// The form of a line of the log.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Logging {
    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let formats = [("text", Format::Text), ("json", Format::Json)];
        let mut fields = Fields::of("logging", node, reading);
        let logging = Self {
            level: fields
                .choice("level", &Level::ALL, reading)
                .unwrap_or_default(),
            format: fields
                .choice("format", &formats, reading)
                .unwrap_or_default(),
            log_file: fields.path("log_file", reading),
        };
        fields.finish(reading);
        logging
    }
}
