//! One statement on SQLite.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};

use crate::error::{Error, Result};
use crate::value::{Arg, Cell, Row};

/// The names of parameters: SQLite numbers them by first appearance, so they are bound by name.
const NAMES: [&str; 20] = [
    "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15",
    "$16", "$17", "$18", "$19", "$20",
];

pub(crate) fn run(connection: &Connection, sql: &str, args: &[Arg<'_>]) -> Result<u64> {
    let mut statement = bound(connection, sql, args)?;
    Ok(statement.raw_execute()? as u64)
}

pub(crate) fn rows(connection: &Connection, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>> {
    let mut statement = bound(connection, sql, args)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = (0..columns)
            .map(|index| cell(row.get_ref(index)?))
            .collect::<Result<Vec<_>>>()?;
        read.push(Row::new(cells));
    }
    Ok(read)
}

fn bound<'c>(
    connection: &'c Connection,
    sql: &str,
    args: &[Arg<'_>],
) -> Result<CachedStatement<'c>> {
    let mut statement = connection.prepare_cached(sql)?;
    for (arg, name) in args.iter().zip(NAMES) {
        // A parameter may be for the other database's form of the statement.
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, arg)?;
        }
    }
    Ok(statement)
}

fn cell(value: ValueRef<'_>) -> Result<Cell> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Text(text) => Cell::Text(
            std::str::from_utf8(text)
                .map_err(|_| Error::fault("a text column is not UTF-8"))?
                .to_owned(),
        ),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_owned()),
        ValueRef::Real(_) => return Err(Error::fault("a column holds a fraction")),
    })
}

impl ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let null = ToSqlOutput::Owned(Value::Null);
        Ok(match *self {
            Self::Int(value) => {
                value.map_or(null, |value| ToSqlOutput::Owned(Value::Integer(value)))
            }
            Self::Text(value) => value.map_or(null, |value| {
                ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes()))
            }),
            Self::Bytes(value) => {
                value.map_or(null, |value| ToSqlOutput::Borrowed(ValueRef::Blob(value)))
            }
        })
    }
}
