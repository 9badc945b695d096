//! The one thread that writes. What waits while a commit goes to the disk shares the next one; each piece has a savepoint
//! of its own, so that one that is refused undoes nothing of its neighbours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt as _;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::{Error, Result};
use crate::store::{Done, Work};
use crate::tx::{Session, Tx};

/// Pieces in one commit: enough to fill the time of one sync, few enough that the first does not wait long.
const GROUP: usize = 256;

/// Pieces that may wait; callers past it wait themselves.
const QUEUE: usize = 1024;

pub(crate) struct Writer {
    queue: mpsc::Sender<Order>,
}

enum Order {
    Job(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self> {
        let (queue, orders) = mpsc::channel(QUEUE);
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(connection, orders))
            .map_err(|error| Error::fault(error.to_string()))?;
        Ok(Self { queue })
    }

    pub(crate) async fn call<A, T>(&self, args: A, work: Work<A, T>) -> Result<Done<T>>
    where
        A: Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let piece = Piece {
            args,
            work,
            outcome: None,
            reply,
        };
        let closed = || Error::fault("the store is closed");
        self.queue
            .send(Order::Job(Box::new(piece)))
            .await
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    pub(crate) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.queue.send(Order::Close(reply)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

/// A piece of work whose types only its caller knows.
trait Job: Send {
    /// Does it; `true` where its changes stay.
    fn run(&mut self, tx: &mut Tx) -> bool;

    /// Tells the caller, now that the commit went as it went.
    fn finish(self: Box<Self>, commit: Result<()>);
}

struct Piece<A, T> {
    args: A,
    work: Work<A, T>,
    outcome: Option<Result<Done<T>>>,
    reply: oneshot::Sender<Result<Done<T>>>,
}

impl<A: Send, T: Send> Job for Piece<A, T> {
    fn run(&mut self, tx: &mut Tx) -> bool {
        let outcome = run_now(self.work, tx, &self.args);
        let touched = std::mem::take(&mut tx.touched);
        let kept = outcome.is_ok();
        self.outcome = Some(outcome.map(|value| Done { value, touched }));
        kept
    }

    fn finish(self: Box<Self>, commit: Result<()>) {
        let Self { outcome, reply, .. } = *self;
        let outcome = commit.and_then(|()| {
            outcome.unwrap_or_else(|| Err(Error::fault("the work was never begun")))
        });
        // A caller who no longer waits is told nothing; the change stays.
        let _ = reply.send(outcome);
    }
}

/// Runs work that waits for nothing but SQLite, which never lets it wait. A panic in it is a fault of that work alone.
pub(super) fn run_now<A, T>(work: Work<A, T>, tx: &mut Tx, args: &A) -> Result<T> {
    catch_unwind(AssertUnwindSafe(|| work(tx, args).now_or_never()))
        .map_err(|_| Error::fault("the work panicked"))?
        .unwrap_or_else(|| Err(Error::fault("the work waited for something else")))
}

fn serve(connection: Connection, mut orders: mpsc::Receiver<Order>) {
    let mut tx = Tx::new(Session::Sqlite(connection));
    let mut group: Vec<Box<dyn Job>> = Vec::with_capacity(GROUP);
    while let Some(order) = orders.blocking_recv() {
        let mut closing = None;
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Job(job) => group.push(job),
                Order::Close(reply) => closing = Some(reply),
            }
            next = (group.len() < GROUP && closing.is_none())
                .then(|| orders.try_recv().ok())
                .flatten();
        }
        if !group.is_empty() {
            let commit = commit(&mut tx, &mut group);
            if let Err(error) = &commit {
                tracing::error!(db.group = group.len(), "A commit failed: {error}");
            }
            for job in group.drain(..) {
                job.finish(commit.clone());
            }
        }
        if let Some(reply) = closing {
            drop(tx);
            let _ = reply.send(());
            return;
        }
    }
}

/// Does every piece of `group` in one transaction and makes it final.
fn commit(tx: &mut Tx, group: &mut [Box<dyn Job>]) -> Result<()> {
    let done = run(tx, "BEGIN IMMEDIATE").and_then(|()| {
        for job in group {
            piece(tx, job.as_mut())?;
        }
        run(tx, "COMMIT")
    });
    if done.is_err() && !autocommit(tx) {
        // It fails only where SQLite has rolled back by itself.
        let _ = run(tx, "ROLLBACK");
    }
    done
}

/// Does one piece in its savepoint.
fn piece(tx: &mut Tx, job: &mut dyn Job) -> Result<()> {
    run(tx, "SAVEPOINT piece")?;
    if !job.run(tx) {
        if autocommit(tx) {
            // A full disk or a failing one ends the whole transaction, and with it what the neighbours did.
            return Err(Error::CannotWrite(crate::error::Cause::new(
                "SQLite ended the transaction",
            )));
        }
        run(tx, "ROLLBACK TO piece")?;
    }
    run(tx, "RELEASE piece")
}

fn run(tx: &Tx, sql: &str) -> Result<()> {
    super::statement::run(connection(tx), sql, &[]).map(drop)
}

fn autocommit(tx: &Tx) -> bool {
    connection(tx).is_autocommit()
}

fn connection(tx: &Tx) -> &Connection {
    tx.sqlite().expect("the writer's session is SQLite's")
}
