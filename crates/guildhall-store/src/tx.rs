//! A transaction: what the statements of one change or one look at the data run in.

use crate::error::{Error, Result};
use crate::value::{Arg, Row};
use crate::{postgres, sqlite};

/// An open transaction or, for reads of one statement, a connection.
///
/// The functions over it are `async` for PostgreSQL. On SQLite they run on the database's own thread and never wait, so
/// they must await nothing but the statements of this transaction.
pub(crate) struct Tx {
    session: Session,
    /// The streams that got an event: who waits on them is told after the commit.
    pub(crate) touched: Vec<String>,
}

pub(crate) enum Session {
    Sqlite(rusqlite::Connection),
    Postgres(postgres::Session),
}

impl Tx {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            touched: Vec::new(),
        }
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    pub(crate) fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match &self.session {
            Session::Sqlite(connection) => Some(connection),
            Session::Postgres(_) => None,
        }
    }

    /// The statement for the database at hand, where the two differ.
    pub(crate) fn either(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match &self.session {
            Session::Sqlite(_) => sqlite,
            Session::Postgres(_) => postgres,
        }
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) async fn run(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64> {
        check(args)?;
        match &mut self.session {
            Session::Sqlite(connection) => sqlite::statement::run(connection, sql, args),
            Session::Postgres(session) => postgres::statement::run(session, sql, args).await,
        }
    }

    /// Every row a statement gives. A statement over a table that grows has a limit of its own.
    pub(crate) async fn rows(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Vec<Row>> {
        check(args)?;
        match &mut self.session {
            Session::Sqlite(connection) => sqlite::statement::rows(connection, sql, args),
            Session::Postgres(session) => postgres::statement::rows(session, sql, args).await,
        }
    }

    /// As [`Tx::rows`], for a statement whose best way depends on its arguments: PostgreSQL plans it for these alone.
    pub(crate) async fn rows_planned(
        &mut self,
        sql: &'static str,
        args: &[Arg<'_>],
    ) -> Result<Vec<Row>> {
        check(args)?;
        match &mut self.session {
            Session::Sqlite(connection) => sqlite::statement::rows(connection, sql, args),
            Session::Postgres(session) => {
                postgres::statement::rows_planned(session, sql, args).await
            }
        }
    }

    /// Takes turns with whatever else takes one of this name, until the transaction ends: on PostgreSQL another node may be
    /// at it, on SQLite there is one writer.
    pub(crate) async fn take_turn(&mut self, name: &str) -> Result<()> {
        if self.sqlite().is_some() {
            return Ok(());
        }
        let sql = "SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS turn";
        self.rows(sql, &[Arg::from(name)]).await.map(drop)
    }

    /// The one row of a statement that gives at most one.
    pub(crate) async fn row(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Option<Row>> {
        let mut rows = self.rows(sql, args).await?;
        if rows.len() > 1 {
            return Err(Error::fault("a statement for one row gives more"));
        }
        Ok(rows.pop())
    }
}

/// PostgreSQL keeps no text with U+0000 in it, so SQLite does not either.
fn check(args: &[Arg<'_>]) -> Result<()> {
    let zero = |arg: &Arg<'_>| matches!(arg, Arg::Text(Some(text)) if text.contains('\0'));
    if args.iter().any(zero) {
        return Err(Error::Invalid(
            "Text must not contain the character U+0000".to_owned(),
        ));
    }
    Ok(())
}
