//! The order of values, and the order of records.

use std::cmp::Ordering;

use serde_json::Value;

use super::{FieldRef, Record};

/// One key of `order_by`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct OrderKey {
    pub(super) field: String,
    pub(super) descending: bool,
}

/// A field as a sort sees it. The variants stand in the language's order.
#[derive(Clone, Copy, Debug)]
pub(super) enum SortKey<'a> {
    Number(f64),
    Text(&'a str),
    Bool(bool),
    Other,
    Nothing,
}

impl<'a> From<Option<FieldRef<'a>>> for SortKey<'a> {
    fn from(field: Option<FieldRef<'a>>) -> Self {
        match field {
            Some(FieldRef::Number(number)) => Self::Number(number),
            Some(FieldRef::Text(text)) => Self::Text(text),
            Some(FieldRef::Bool(truth)) => Self::Bool(truth),
            Some(FieldRef::Null | FieldRef::Json(Value::Null)) | None => Self::Nothing,
            Some(FieldRef::Json(value)) if !value.is_array() && !value.is_object() => {
                Self::from(Some(FieldRef::from(value)))
            }
            Some(FieldRef::Texts(_) | FieldRef::Json(_)) => Self::Other,
        }
    }
}

impl SortKey<'_> {
    fn rank(self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::Other => 3,
            Self::Nothing => 4,
        }
    }

    /// Descending turns everything round except that `null` and absent fields stay last.
    pub(super) fn compare(self, other: Self, descending: bool) -> Ordering {
        let ordering = match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            // Adding zero makes -0 the 0 that it equals; `total_cmp` keeps the order total even for NaN.
            (Self::Number(a), Self::Number(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(&b),
            (Self::Nothing, _) | (_, Self::Nothing) => return self.rank().cmp(&other.rank()),
            _ => self.rank().cmp(&other.rank()),
        };
        if descending {
            ordering.reverse()
        } else {
            ordering
        }
    }
}

/// Compares two fields in the language's ascending order, a total order with ties.
///
/// Numbers come first, then strings (by code point), then booleans (`false` before `true`), then anything else (all
/// alike); `null` and absent fields (`None`) are alike and last. With `descending` the order is reversed, but `null` and
/// absent fields stay last.
pub fn compare(a: Option<FieldRef<'_>>, b: Option<FieldRef<'_>>, descending: bool) -> Ordering {
    SortKey::from(a).compare(SortKey::from(b), descending)
}

/// A row that a sort holds: the key it mostly compares by, read once, and its place among the rows that matched.
struct Candidate<'a, R: ?Sized> {
    key: SortKey<'a>,
    place: usize,
    row: &'a R,
}

/// The first rows in the order of `keys`, `keep` at most, picked without holding or sorting many more than that.
///
/// Rows are put in with [`Self::push`] in their original order; ties keep it.
pub(super) struct Sorter<'q, 'a, R: ?Sized> {
    first: &'q OrderKey,
    others: &'q [OrderKey],
    keep: usize,
    /// Never more than twice `keep` rows; then the worse half is thrown away.
    rows: Vec<Candidate<'a, R>>,
    /// The row that was last among the best when the worse half was thrown away: what is not better has no place.
    worst: Option<Candidate<'a, R>>,
    pushed: usize,
}

impl<'q, 'a, R: Record + ?Sized> Sorter<'q, 'a, R> {
    /// A sorter that keeps at least one row, or `None` where there is no key to sort by.
    pub(super) fn new(keys: &'q [OrderKey], keep: usize) -> Option<Self> {
        let (first, others) = keys.split_first()?;
        Some(Self {
            first,
            others,
            keep: keep.max(1),
            rows: Vec::new(),
            worst: None,
            pushed: 0,
        })
    }

    pub(super) fn push(&mut self, row: &'a R) {
        let candidate = Candidate {
            key: row.field(&self.first.field).into(),
            place: self.pushed,
            row,
        };
        self.pushed += 1;
        if let Some(worst) = &self.worst
            && self.compare(&candidate, worst).is_gt()
        {
            return;
        }
        self.rows.push(candidate);
        if self.rows.len() >= self.keep.saturating_mul(2) {
            self.drop_worse_half();
        }
    }

    fn drop_worse_half(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let (_, last, _) = rows.select_nth_unstable_by(self.keep - 1, |a, b| self.compare(a, b));
        self.worst = Some(Candidate { ..*last });
        rows.truncate(self.keep);
        self.rows = rows;
    }

    /// The kept rows in order.
    pub(super) fn finish(mut self) -> Vec<&'a R> {
        let mut rows = std::mem::take(&mut self.rows);
        // The place makes every comparison strict, so an unstable sort is stable.
        rows.sort_unstable_by(|a, b| self.compare(a, b));
        rows.truncate(self.keep);
        rows.into_iter().map(|candidate| candidate.row).collect()
    }

    fn compare(&self, a: &Candidate<'a, R>, b: &Candidate<'a, R>) -> Ordering {
        a.key
            .compare(b.key, self.first.descending)
            .then_with(|| self.compare_others(a.row, b.row))
            .then_with(|| a.place.cmp(&b.place))
    }

    fn compare_others(&self, a: &R, b: &R) -> Ordering {
        self.others
            .iter()
            .map(|key| compare(a.field(&key.field), b.field(&key.field), key.descending))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}
