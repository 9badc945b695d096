//! One statement on PostgreSQL.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Column as _, Postgres, Row as _, TypeInfo as _};

use super::Session;
use crate::error::{Error, Result};
use crate::value::{Arg, Cell, Row};

pub(crate) async fn run(session: &mut Session, sql: &'static str, args: &[Arg<'_>]) -> Result<u64> {
    let done = bound(sql, args).execute(session.connection()).await?;
    Ok(done.rows_affected())
}

pub(crate) async fn rows(
    session: &mut Session,
    sql: &'static str,
    args: &[Arg<'_>],
) -> Result<Vec<Row>> {
    let rows = bound(sql, args).fetch_all(session.connection()).await?;
    rows.iter().map(row).collect()
}

/// As [`rows`], planned for these arguments and not kept prepared.
pub(crate) async fn rows_planned(
    session: &mut Session,
    sql: &'static str,
    args: &[Arg<'_>],
) -> Result<Vec<Row>> {
    let query = bound(sql, args).persistent(false);
    let rows = query.fetch_all(session.connection()).await?;
    rows.iter().map(row).collect()
}

fn bound(sql: &'static str, args: &[Arg<'_>]) -> Query<'static, Postgres, PgArguments> {
    args.iter().fold(sqlx::query(sql), |query, arg| match *arg {
        Arg::Int(value) => query.bind(value),
        Arg::Text(value) => query.bind(value),
        Arg::Bytes(value) => query.bind(value),
    })
}

fn row(row: &PgRow) -> Result<Row> {
    let cells = row
        .columns()
        .iter()
        .map(|column| {
            let at = column.ordinal();
            Ok(match column.type_info().name() {
                "INT8" => row.try_get::<Option<i64>, _>(at)?.map(Cell::Int),
                "INT4" => row
                    .try_get::<Option<i32>, _>(at)?
                    .map(|value| Cell::Int(value.into())),
                "TEXT" => row.try_get::<Option<String>, _>(at)?.map(Cell::Text),
                "BYTEA" => row.try_get::<Option<Vec<u8>>, _>(at)?.map(Cell::Bytes),
                other => return Err(Error::fault(format!("a column has the type {other}"))),
            }
            .unwrap_or(Cell::Null))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Row::new(cells))
}
