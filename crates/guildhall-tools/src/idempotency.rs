//! Calling once, however often a client sends the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_core::{Clock, Principal};
use serde_json::Value;

use crate::{JsonObject, ToolError};

/// How long a key is remembered, in milliseconds: 24 hours.
const LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;

/// Keys remembered at once; the oldest is forgotten for a new one.
const MOST_KEYS: usize = 50_000;

/// Longest key, in bytes.
const MAX_KEY: usize = 200;

/// The answers given under idempotency keys. A key belongs to a principal and a tool.
///
/// They are kept in memory: a key does not outlive the server. That is for tools that write to something without keys, such
/// as files or another service. A tool that writes to our store lets the store keep its keys
/// ([`ToolBuilder::keyed_by_store`](crate::ToolBuilder::keyed_by_store)), and then nothing is kept here.
pub(crate) struct Idempotency {
    clock: Arc<dyn Clock>,
    kept: Mutex<HashMap<Key, Kept>>,
}

type Key = (String, &'static str, String);

struct Kept {
    arguments: JsonObject,
    at_ms: i64,
    /// `None` while the call runs.
    answer: Option<(Value, String)>,
}

/// What a key means for this call.
pub(crate) enum Begun {
    /// It is new: run the call, then say how it went.
    First(First),
    /// It was answered before: this is the answer.
    Again(Value, String),
}

/// The right to answer for a key. Dropped without an answer, the key is as if never used: a failed call may be tried
/// again under it.
pub(crate) struct First {
    owner: Arc<Idempotency>,
    key: Option<Key>,
}

impl Idempotency {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            kept: Mutex::default(),
        }
    }

    /// Looks `key` up.
    ///
    /// # Errors
    ///
    /// A conflict, where the key was used with other arguments or its call still runs; wrong arguments for a blank or
    /// overlong key.
    pub(crate) fn begin(
        self: &Arc<Self>,
        principal: &Principal,
        tool: &'static str,
        key: &str,
        arguments: &JsonObject,
    ) -> Result<Begun, ToolError> {
        if key.trim().is_empty() || key.len() > MAX_KEY {
            return Err(ToolError::bad_arguments(format!(
                "'idempotency_key' must have 1 to {MAX_KEY} bytes"
            )));
        }
        let key: Key = (principal.name().to_owned(), tool, key.to_owned());
        let now = self.clock.now().as_millisecond();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept
            .get(&key)
            .filter(|known| now - known.at_ms < LIFETIME_MS)
        {
            if known.arguments != *arguments {
                return Err(ToolError::conflict(format!(
                    "idempotency_key `{}` was used with other arguments",
                    key.2
                )));
            }
            return match &known.answer {
                Some((payload, text)) => Ok(Begun::Again(payload.clone(), text.clone())),
                None => Err(ToolError::conflict(format!(
                    "The call with idempotency_key `{}` still runs",
                    key.2
                ))
                .hint("Send it again in a moment.")),
            };
        }
        if kept.len() >= MOST_KEYS {
            kept.retain(|_, known| now - known.at_ms < LIFETIME_MS);
            if kept.len() >= MOST_KEYS
                && let Some(oldest) = kept
                    .iter()
                    .min_by_key(|(_, known)| known.at_ms)
                    .map(|(key, _)| key.clone())
            {
                kept.remove(&oldest);
            }
        }
        kept.insert(
            key.clone(),
            Kept {
                arguments: arguments.clone(),
                at_ms: now,
                answer: None,
            },
        );
        Ok(Begun::First(First {
            owner: Arc::clone(self),
            key: Some(key),
        }))
    }
}

impl First {
    pub(crate) fn answer(mut self, payload: &Value, text: &str) {
        let Some(key) = self.key.take() else { return };
        let mut kept = self
            .owner
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get_mut(&key) {
            known.answer = Some((payload.clone(), text.to_owned()));
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.owner
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&key);
        }
    }
}
