//! Who waits for a change, and how they are woken: at once by a change of the same node, by a hint of another one, and in
//! any case every second, for a hint may be lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a waiter trusts that nothing happened.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// The topic of who waits for any change. No stream has this name.
pub(crate) const ANY: &str = "*";

/// The waiters of one node.
#[derive(Default)]
pub(crate) struct Hub {
    waiting: Mutex<HashMap<String, Topic>>,
}

struct Topic {
    notify: Arc<Notify>,
    waiters: usize,
}

impl Hub {
    /// Wakes who waits on one of `streams`.
    pub(crate) fn wake<'a>(&self, streams: impl IntoIterator<Item = &'a str>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() {
            return;
        }
        for stream in streams.into_iter().chain([ANY]) {
            if let Some(topic) = waiting.get(stream) {
                topic.notify.notify_waiters();
            }
        }
    }

    /// Wakes everybody.
    pub(crate) fn wake_all(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for topic in waiting.values() {
            topic.notify.notify_waiters();
        }
    }

    /// Whether anybody waits for `stream`.
    pub(crate) fn is_waited_for(&self, stream: &str) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.contains_key(stream)
    }

    /// Starts to listen for changes of `stream`.
    pub(crate) fn waiter(self: &Arc<Self>, stream: &str) -> Waiter {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let topic = waiting.entry(stream.to_owned()).or_insert_with(|| Topic {
            notify: Arc::default(),
            waiters: 0,
        });
        topic.waiters += 1;
        Waiter {
            hub: Arc::clone(self),
            stream: stream.to_owned(),
            woken: Box::pin(Arc::clone(&topic.notify).notified_owned()),
            notify: Arc::clone(&topic.notify),
        }
    }
}

/// Waits for a change of one stream. Make it, look at the data, and only then wait: what changed in between wakes it.
pub struct Waiter {
    hub: Arc<Hub>,
    stream: String,
    notify: Arc<Notify>,
    woken: std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>>,
}

impl Waiter {
    /// Waits until the stream changed, or for a second: then look again. It may wake without a change.
    pub async fn changed(&mut self) {
        // An elapsed second is as good a reason to look as a hint.
        let _ = tokio::time::timeout(LOOKS_EVERY, self.woken.as_mut()).await;
        self.woken = Box::pin(Arc::clone(&self.notify).notified_owned());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = self
            .hub
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = waiting.get_mut(&self.stream) {
            topic.waiters -= 1;
            if topic.waiters == 0 {
                waiting.remove(&self.stream);
            }
        }
    }
}
