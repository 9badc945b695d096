//! From records to an answer: filter, sort, count, cut, project, group.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::order::Sorter;
use super::{Envelope, FieldRef, Record, Shape, compare};

/// The page of a query, borrowed from the records.
#[derive(Debug)]
pub struct Page<'a, R: ?Sized> {
    /// The rows from `offset` on, at most `limit`, in order.
    pub rows: Vec<&'a R>,
    /// How many records passed the filter.
    pub total: usize,
}

/// One value of a grouped field.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The value, or one element of it where the field is an array.
    pub value: Value,
    /// How many of the records that passed the filter have it.
    pub count: usize,
}

/// What `group_by` answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The most frequent value first; of equally frequent ones, the first in the language's order.
    pub groups: Vec<Group>,
    /// How many records passed the filter, with those that are in no group or in several.
    pub total: usize,
    /// How many groups there are, before `offset` and `limit` cut them.
    pub distinct: usize,
}

impl Envelope {
    /// Filters, sorts and cuts. The sort is stable: what ties stays in the order of `records`.
    ///
    /// `records` are read once and not copied; of a sorted query no more than about twice `offset + limit` rows are held.
    pub fn run<'a, R>(&self, records: impl IntoIterator<Item = &'a R>) -> Page<'a, R>
    where
        R: Record + ?Sized + 'a,
    {
        let matching = records.into_iter().filter(|record| self.matches(*record));
        let end = self.offset.saturating_add(self.limit);
        let mut total = 0;
        let Some(mut sorter) = Sorter::new(&self.order, end) else {
            let mut rows = Vec::new();
            for row in matching {
                if (self.offset..end).contains(&total) {
                    rows.push(row);
                }
                total += 1;
            }
            return Page { rows, total };
        };
        for row in matching {
            sorter.push(row);
            total += 1;
        }
        let mut rows = sorter.finish();
        rows.drain(..self.offset.min(rows.len()));
        Page { rows, total }
    }

    /// How many records pass the filter.
    pub fn count<'a, R>(&self, records: impl IntoIterator<Item = &'a R>) -> usize
    where
        R: Record + ?Sized + 'a,
    {
        records
            .into_iter()
            .filter(|record| self.matches(*record))
            .count()
    }

    /// Counts the records that pass the filter by the values of `field`.
    ///
    /// A record counts once for each different element where the field is an array, and nowhere where the field is
    /// absent or the array empty; `null` is a value. A scalar's count is what `eq` with that value would find. Objects
    /// and nested arrays are one group if they are written alike.
    ///
    /// All groups are returned unless the call names a `limit`; `limit` and `offset` then apply to the groups.
    pub fn groups<'a, R>(&self, field: &str, records: impl IntoIterator<Item = &'a R>) -> Groups
    where
        R: Record + ?Sized + 'a,
    {
        let mut tally = Tally::default();
        let mut total = 0;
        for record in records.into_iter().filter(|record| self.matches(*record)) {
            tally.add(total, record.field(field));
            total += 1;
        }
        let mut groups = tally.into_groups();
        let distinct = groups.len();
        groups.drain(..self.offset.min(distinct));
        if self.limit_given {
            groups.truncate(self.limit);
        }
        Groups {
            groups,
            total,
            distinct,
        }
    }

    /// A row: the selected fields in order, or `default` where nothing is selected; what the record lacks is left out.
    pub fn project<R: Record + ?Sized>(&self, record: &R, default: &[&str]) -> Map<String, Value> {
        fn row<'n, R: Record + ?Sized>(
            record: &R,
            names: impl Iterator<Item = &'n str>,
        ) -> Map<String, Value> {
            names
                .filter_map(|name| Some((name.to_owned(), record.field(name)?.to_value())))
                .collect()
        }
        match &self.select {
            Some(select) => row(record, select.iter().map(String::as_str)),
            None => row(record, default.iter().copied()),
        }
    }

    /// The whole answer in the shape that was asked for: `{ rows, total }`, `{ total }` or `{ groups, total }`.
    pub fn answer<'a, R>(
        &self,
        records: impl IntoIterator<Item = &'a R>,
        default: &[&str],
    ) -> Map<String, Value>
    where
        R: Record + ?Sized + 'a,
    {
        let mut answer = Map::new();
        let total = match &self.shape {
            Shape::Rows => {
                let page = self.run(records);
                let rows = page.rows.into_iter();
                let rows: Vec<Value> = rows.map(|row| self.project(row, default).into()).collect();
                answer.insert("rows".to_owned(), rows.into());
                page.total
            }
            Shape::Count => self.count(records),
            Shape::Groups(field) => {
                let groups = self.groups(field, records);
                answer.insert("groups".to_owned(), groups.to_value());
                groups.total
            }
        };
        answer.insert("total".to_owned(), total.into());
        answer
    }
}

impl Groups {
    /// The groups as `[{ value, count }]`.
    pub fn to_value(&self) -> Value {
        self.groups
            .iter()
            .map(|group| json!({ "value": group.value, "count": group.count }))
            .collect()
    }
}

/// What makes two values one group; the same as `eq` for scalars.
#[derive(Eq, Hash, PartialEq)]
enum GroupKey<'a> {
    Null,
    Bool(bool),
    Number(u64),
    Text(&'a str),
    Json(String),
}

#[derive(Default)]
struct Tally<'a> {
    places: HashMap<GroupKey<'a>, usize>,
    /// In the order of first appearance.
    counted: Vec<Counted<'a>>,
}

struct Counted<'a> {
    value: FieldRef<'a>,
    count: usize,
    /// The record that was counted last, so that one with the same element twice counts once.
    last: usize,
}

impl<'a> Tally<'a> {
    fn add(&mut self, record: usize, field: Option<FieldRef<'a>>) {
        match field.map(FieldRef::normal) {
            None => {}
            Some(FieldRef::Texts(texts)) => {
                for text in texts {
                    self.add_one(record, FieldRef::Text(text));
                }
            }
            Some(FieldRef::Json(Value::Array(elements))) => {
                for element in elements {
                    self.add_one(record, FieldRef::from(element));
                }
            }
            Some(scalar) => self.add_one(record, scalar),
        }
    }

    fn add_one(&mut self, record: usize, value: FieldRef<'a>) {
        let key = match value {
            FieldRef::Null => GroupKey::Null,
            FieldRef::Bool(truth) => GroupKey::Bool(truth),
            FieldRef::Number(number) => GroupKey::Number((number + 0.0).to_bits()),
            FieldRef::Text(text) => GroupKey::Text(text),
            FieldRef::Texts(_) | FieldRef::Json(_) => GroupKey::Json(value.to_value().to_string()),
        };
        let place = *self.places.entry(key).or_insert(self.counted.len());
        match self.counted.get_mut(place) {
            None => self.counted.push(Counted {
                value,
                count: 1,
                last: record,
            }),
            Some(counted) if counted.last != record => {
                counted.count += 1;
                counted.last = record;
            }
            Some(_) => {}
        }
    }

    fn into_groups(mut self) -> Vec<Group> {
        self.counted.sort_by(|a, b| {
            b.count
                .cmp(&a.count)
                .then_with(|| compare(Some(a.value), Some(b.value), false))
        });
        self.counted
            .into_iter()
            .map(|counted| Group {
                value: counted.value.to_value(),
                count: counted.count,
            })
            .collect()
    }
}
