//! What has to be done from time to time: sealing the log, and forgetting what is over.

use std::sync::Arc;
use std::time::Duration;

use guildhall_core::Clock;
use jiff::Timestamp;
use tokio::time::MissedTickBehavior;

use crate::error::Result;
use crate::events::Events as _;
use crate::{Store, act, logins};

/// How often the log is sealed.
const SEALS_EVERY: Duration = Duration::from_secs(1);

/// How many seals there are between two sweeps.
const SEALS_PER_SWEEP: u32 = 60;

impl Store {
    /// Keeps house until it is dropped: every node runs this beside its doors. It may be dropped at any moment.
    pub async fn keep_house(&self, clock: Arc<dyn Clock>) {
        let mut ticks = tokio::time::interval(SEALS_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tick = 0_u32;
        loop {
            ticks.tick().await;
            if let Err(error) = self.seal_all(clock.now()).await {
                tracing::warn!("The event log was not sealed: {error}");
            }
            tick = tick.wrapping_add(1);
            if tick.is_multiple_of(SEALS_PER_SWEEP)
                && let Err(error) = self.sweep(clock.now()).await
            {
                tracing::warn!("What is over was not swept: {error}");
            }
        }
    }

    /// Seals until nothing is left to seal; a busy second has more events than one seal covers.
    async fn seal_all(&self, at: Timestamp) -> Result<()> {
        while let Some(seal) = self.seal(at).await? {
            tracing::debug!(
                log.seal = seal.number,
                "Sealed the event log up to seal {}",
                seal.number
            );
        }
        Ok(())
    }

    /// Forgets idempotency keys and logins whose time is over. Gives how many rows went.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn sweep(&self, at: Timestamp) -> Result<u64> {
        self.write(at, |tx, at| {
            Box::pin(async move { Ok(act::sweep(tx, *at).await? + logins::sweep(tx, *at).await?) })
        })
        .await
    }
}
