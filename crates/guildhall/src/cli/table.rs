//! Lists of objects as tables.

use comfy_table::{ContentArrangement, Table as Grid, presets};
use serde_json::Value;

use crate::output::{CommandResult, printable, say};

/// One column: its head, and the key of the objects it shows.
pub(super) struct Column {
    head: &'static str,
    key: &'static str,
}

impl Column {
    pub(super) const fn text(head: &'static str, key: &'static str) -> Self {
        Self { head, key }
    }
}

/// A table of objects.
pub(super) struct Table {
    columns: Vec<Column>,
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
        }
    }

    /// Prints the objects of the list `rows`, or `nothing` where there are none.
    pub(super) fn say(&self, rows: &Value, nothing: &str) -> CommandResult {
        match rows.as_array().map(Vec::as_slice).unwrap_or_default() {
            [] => say(nothing),
            rows => say(&self.rendered(rows)),
        }
    }

    /// The objects of the list `rows` as text; only the heads, where there are none.
    pub(super) fn text(&self, rows: &Value) -> String {
        self.rendered(rows.as_array().map(Vec::as_slice).unwrap_or_default())
    }

    fn rendered(&self, rows: &[Value]) -> String {
        let mut grid = plain();
        grid.set_header(self.columns.iter().map(|column| column.head));
        for row in rows {
            grid.add_row(self.columns.iter().map(|column| cell(&row[column.key])));
        }
        trimmed(&grid)
    }
}

/// A table without lines, as wide as the terminal at most.
pub(super) fn plain() -> Grid {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = terminal_width() {
        grid.set_width(width);
    }
    grid
}

/// Its text, without spaces at the ends of lines.
pub(super) fn trimmed(grid: &Grid) -> String {
    grid.lines()
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => printable(text),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => printable(&other.to_string()),
    }
}

/// Columns of the terminal, or `None` where there is none: then nothing is wrapped.
fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_words_and_cannot_steer_the_terminal() {
        let table = Table::new([Column::text("NAME", "name"), Column::text("ON", "on")]);
        let rows = [
            json!({ "name": "a\u{1b}[2J", "on": true }),
            json!({ "name": ["x", "y"], "on": null }),
        ];
        assert_eq!(
            table.rendered(&rows),
            " NAME   ON\n a\u{fffd}[2J  yes\n x y    -"
        );
    }
}
