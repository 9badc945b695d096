//! What goes into a statement and what comes out, the same for both databases: whole numbers, text and bytes. Times are
//! whole milliseconds, flags 0 and 1, JSON is text.

use guildhall_core::Principal;
use jiff::Timestamp;

use crate::error::{Error, Result};

/// A parameter of a statement. Its type is known even where it is null, as PostgreSQL asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    Int(Option<i64>),
    Text(Option<&'a str>),
    Bytes(Option<&'a [u8]>),
}

/// The parameters `$1`, `$2`, … of a statement.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Arg::from($value)),*] };
}
pub(crate) use args;

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<bool> for Arg<'_> {
    fn from(value: bool) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<Timestamp> for Arg<'_> {
    fn from(value: Timestamp) -> Self {
        Self::Int(Some(value.as_millisecond()))
    }
}

impl From<Option<i64>> for Arg<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<Option<Timestamp>> for Arg<'_> {
    fn from(value: Option<Timestamp>) -> Self {
        Self::Int(value.map(Timestamp::as_millisecond))
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a Option<String>> for Arg<'a> {
    fn from(value: &'a Option<String>) -> Self {
        Self::Text(value.as_deref())
    }
}

impl<'a> From<Option<&'a str>> for Arg<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a Principal> for Arg<'a> {
    fn from(value: &'a Principal) -> Self {
        Self::Text(Some(value.name()))
    }
}

impl<'a> From<&'a [u8; 32]> for Arg<'a> {
    fn from(value: &'a [u8; 32]) -> Self {
        Self::Bytes(Some(value))
    }
}

impl<'a> From<Option<&'a [u8]>> for Arg<'a> {
    fn from(value: Option<&'a [u8]>) -> Self {
        Self::Bytes(value)
    }
}

/// A value of a row.
#[derive(Debug)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row, read column by column in the order of the statement: a struct's fields are filled in the order they are written.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Cell>);

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self(cells.into_iter())
    }

    /// The next column.
    pub(crate) fn take<T: FromCell>(&mut self) -> Result<T> {
        let cell = self
            .0
            .next()
            .ok_or_else(|| Error::fault("a row has fewer columns than are read"))?;
        T::from_cell(cell).map_err(|cell| {
            Error::fault(format!(
                "a column holds {cell:?}, which is no {}",
                std::any::type_name::<T>()
            ))
        })
    }
}

/// What a column can be read as.
pub(crate) trait FromCell: Sized {
    /// The value, or the cell back where it is none.
    fn from_cell(cell: Cell) -> Result<Self, Cell>;
}

impl FromCell for i64 {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Int(value) => Ok(value),
            other => Err(other),
        }
    }
}

impl FromCell for bool {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Int(0) => Ok(false),
            Cell::Int(1) => Ok(true),
            other => Err(other),
        }
    }
}

impl FromCell for String {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Text(value) => Ok(value),
            other => Err(other),
        }
    }
}

impl FromCell for Timestamp {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Int(millis) => Self::from_millisecond(millis).map_err(|_| cell),
            other => Err(other),
        }
    }
}

impl FromCell for Principal {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Text(name) => name.parse().map_err(|_| Cell::Text(name)),
            other => Err(other),
        }
    }
}

impl FromCell for [u8; 32] {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Bytes(bytes) => bytes.try_into().map_err(Cell::Bytes),
            other => Err(other),
        }
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Bytes(bytes) => Ok(bytes),
            other => Err(other),
        }
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Cell) -> Result<Self, Cell> {
        match cell {
            Cell::Null => Ok(None),
            other => T::from_cell(other).map(Some),
        }
    }
}
