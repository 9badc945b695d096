//! Bringing a database's schema up to date: ordered SQL files, each applied once, in a transaction of its own, with its
//! checksum recorded. A file that has landed is never edited; the next change is the next file.

use std::fmt::Write as _;

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::error::{Error, Result};

/// One step of the schema.
#[derive(Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The files of one database's folder, in order.
macro_rules! migrations {
    ($folder:literal: $($version:literal $name:literal),* $(,)?) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/", $folder, "/", $name, ".sql")),
        }),*]
    };
}

pub(crate) const SQLITE: &[Migration] = migrations!("sqlite":
    1 "0001_principals",
    2 "0002_events",
    3 "0003_repos",
    4 "0004_lanes",
    5 "0005_team",
    6 "0006_ladder",
    7 "0007_indexed",
    8 "0008_of_repos",
    9 "0009_merging",
);

pub(crate) const POSTGRES: &[Migration] = migrations!("postgres":
    1 "0001_principals",
    2 "0002_events",
    3 "0003_repos",
    4 "0004_lanes",
    5 "0005_team",
    6 "0006_ladder",
    7 "0007_indexed",
    8 "0008_of_repos",
    9 "0009_merging",
);

/// What is recorded of an applied migration.
struct Applied {
    version: i64,
    checksum: String,
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS migrations (
    version  BIGINT NOT NULL PRIMARY KEY,
    name     TEXT   NOT NULL,
    checksum TEXT   NOT NULL
)";
const LIST: &str = "SELECT version, checksum FROM migrations ORDER BY version";
const RECORD: &str = "INSERT INTO migrations (version, name, checksum) VALUES ($1, $2, $3)";

/// The lock that nodes take in turn while they look at the schema. A number of ours, the same in every version.
const POSTGRES_LOCK: i64 = 0x6775_696c_6468_616c;

impl Migration {
    /// SHA-256 of the file, in hex.
    pub(crate) fn checksum(&self) -> String {
        Sha256::digest(self.sql)
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

/// What is still to be applied, if what was applied is ours.
fn pending<'m>(known: &'m [Migration], applied: &[Applied]) -> Result<&'m [Migration]> {
    for (index, applied) in applied.iter().enumerate() {
        let Some(migration) = known.get(index).filter(|m| m.version == applied.version) else {
            return Err(Error::Newer {
                found: applied.version,
                known: known.last().map_or(0, |migration| migration.version),
            });
        };
        if migration.checksum() != applied.checksum {
            return Err(Error::Altered {
                version: migration.version,
                name: migration.name,
            });
        }
    }
    Ok(&known[applied.len()..])
}

/// Applies what is missing to a SQLite database. The lock is the write lock of the file.
pub(crate) fn sqlite(connection: &mut Connection) -> Result<()> {
    sqlite_to(connection, SQLITE)
}

pub(crate) fn sqlite_to(connection: &mut Connection, known: &[Migration]) -> Result<()> {
    use rusqlite::TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(Immediate)?;
    transaction.execute_batch(TABLE)?;
    let applied = transaction
        .prepare(LIST)?
        .query_map([], |row| {
            Ok(Applied {
                version: row.get(0)?,
                checksum: row.get(1)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for migration in pending(known, &applied)? {
        transaction.execute_batch(migration.sql)?;
        let record = (migration.version, migration.name, migration.checksum());
        transaction.execute(RECORD, record)?;
    }
    // One transaction for all: a schema is never between two versions.
    Ok(transaction.commit()?)
}

/// Applies what is missing to a PostgreSQL database. Nodes that start together take turns.
pub(crate) async fn postgres(connection: &mut PgConnection) -> Result<()> {
    postgres_to(connection, POSTGRES).await
}

pub(crate) async fn postgres_to(connection: &mut PgConnection, known: &[Migration]) -> Result<()> {
    let mut transaction = connection.begin().await?;
    // Another node may be migrating large tables: this wait has no limit.
    sqlx::raw_sql("SET LOCAL lock_timeout = 0")
        .execute(&mut *transaction)
        .await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(POSTGRES_LOCK)
        .execute(&mut *transaction)
        .await?;
    sqlx::raw_sql(TABLE).execute(&mut *transaction).await?;
    let applied = sqlx::query(LIST)
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(|row| {
            Ok(Applied {
                version: row.try_get(0)?,
                checksum: row.try_get(1)?,
            })
        })
        .collect::<sqlx::Result<Vec<_>>>()?;
    for migration in pending(known, &applied)? {
        sqlx::raw_sql(AssertSqlSafe(migration.sql))
            .execute(&mut *transaction)
            .await?;
        sqlx::query(RECORD)
            .bind(migration.version)
            .bind(migration.name)
            .bind(migration.checksum())
            .execute(&mut *transaction)
            .await?;
    }
    if known.iter().any(|migration| migration.version >= EVENTS) {
        rebase(&mut transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// The migration that makes the event log.
const EVENTS: i64 = 2;

/// Moves the events of a database that was restored on another server below that server's transactions: its counter may
/// be lower than the one they were written under, and feeds read only below the oldest running transaction. Their order
/// stays, and no hash covers the number.
async fn rebase(transaction: &mut PgConnection) -> Result<()> {
    let ahead: i64 = sqlx::query_scalar(
        "SELECT coalesce(max(tx), 0) + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         FROM events",
    )
    .fetch_one(&mut *transaction)
    .await?;
    let of_this_server: bool = sqlx::query_scalar(
        "SELECT coalesce(max(tx), 0) < pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM events",
    )
    .fetch_one(&mut *transaction)
    .await?;
    if of_this_server {
        return Ok(());
    }
    for statement in [
        "UPDATE events SET tx = tx - $1",
        "UPDATE seals SET last_tx = last_tx - $1",
    ] {
        sqlx::query(statement)
            .bind(ahead)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
