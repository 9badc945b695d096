//! The board as a tracker among others.

use guildhall_core::Issue;
use guildhall_core::tracker::{Tracker, TrackerError, TrackerFuture};

use crate::{Board, BoardError, Entry};

/// The futures are ready at once: a board's answer is a few system calls away and holds no connection.
impl Tracker for Board {
    fn kind(&self) -> &'static str {
        "local"
    }

    fn issues(&self) -> TrackerFuture<'_, Vec<Issue>> {
        Box::pin(async move {
            let snapshot = self.snapshot().map_err(|error| tracker_error(&error))?;
            Ok(snapshot.iter().map(Entry::to_issue).collect())
        })
    }

    fn issue<'a>(&'a self, id: &'a str) -> TrackerFuture<'a, Option<Issue>> {
        Box::pin(async move {
            let snapshot = self.snapshot().map_err(|error| tracker_error(&error))?;
            Ok(snapshot.get(id).map(Entry::to_issue))
        })
    }
}

fn tracker_error(error: &BoardError) -> TrackerError {
    TrackerError {
        message: error.to_string(),
    }
}
