//! When agents were last seen, gathered: one transaction a second for all of them, however much they call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::{Seen, Team as _};
use crate::Store;

/// How long sights are gathered.
const GATHERS: Duration = Duration::from_secs(1);

/// Gathers who was seen. Cheap to clone.
#[derive(Clone)]
pub struct Sightings(Arc<Inner>);

struct Inner {
    store: Store,
    pending: Mutex<HashMap<Seen, Timestamp>>,
}

impl Sightings {
    /// Those that go to `store`.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner {
            store,
            pending: Mutex::default(),
        }))
    }

    /// Notes that an agent was seen at `at`; within about a second the team sees it. Waits for nothing; called inside a
    /// runtime.
    pub fn saw(&self, seen: Seen, at: Timestamp) {
        let mut pending = self.pending();
        let begins = pending.is_empty();
        let newest = pending.entry(seen).or_insert(at);
        *newest = (*newest).max(at);
        drop(pending);
        if begins {
            tokio::spawn(self.clone().flush());
        }
    }

    async fn flush(self) {
        tokio::time::sleep(GATHERS).await;
        let gathered = std::mem::take(&mut *self.pending());
        if let Err(error) = self.0.store.seen(gathered.into_iter().collect()).await {
            tracing::warn!("Cannot note when agents were last seen: {error}");
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<Seen, Timestamp>> {
        self.0
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
