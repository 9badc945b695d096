//! What holds for every query over every set of records. The properties, the corpus and the fuzz target all come here.

use guildhall_core::query::{Envelope, Record, Shape};
use serde_json::{Map, Value, json};

use crate::naive;

type Object = Map<String, Value>;

const DEFAULT: [&str; 3] = ["id", "title", "labels"];

/// Takes any bytes; those that are `{"arguments": {...}, "records": [{...}, ...]}` are run and checked.
pub(crate) fn hold_for_bytes(bytes: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let Some(arguments) = input["arguments"].as_object() else {
        return;
    };
    let records: Vec<Object> = match &input["records"] {
        Value::Array(records) => records
            .iter()
            .filter_map(Value::as_object)
            .cloned()
            .collect(),
        _ => Vec::new(),
    };
    hold(arguments, &records);
}

/// Panics where a law is broken. Arguments that are refused only have to say why.
pub(crate) fn hold(arguments: &Object, records: &[Object]) {
    let envelope = match Envelope::parse(arguments) {
        Ok(envelope) => envelope,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    answers_are_those_of_the_naive_implementation(&envelope, arguments, records);
    a_lookup_changes_nothing(&envelope, records);
    unread_fields_do_not_change_a_decision(&envelope, records);
    unmentioned_fields_do_not_matter(&envelope, records);
    groups_count_what_equality_finds(arguments, records);
}

fn answers_are_those_of_the_naive_implementation(
    envelope: &Envelope,
    arguments: &Object,
    records: &[Object],
) {
    let naive = naive::answer(arguments, records, &DEFAULT);
    let page = envelope.run(records);
    assert!(page.rows.len() <= envelope.limit());
    assert_eq!(page.total, envelope.count(records));
    let rows: Vec<Value> = page
        .rows
        .iter()
        .map(|row| envelope.project(*row, &DEFAULT).into())
        .collect();
    let ours = json!({ "rows": rows, "total": page.total });
    // As text, because the order of keys is part of the answer.
    assert_eq!(ours.to_string(), naive.to_string());

    let answer = Value::Object(envelope.answer(records, &DEFAULT));
    match envelope.shape() {
        Shape::Rows => assert_eq!(answer, naive),
        Shape::Count => assert_eq!(answer, json!({ "total": page.total })),
        Shape::Groups(_) => assert_eq!(answer["total"], page.total),
    }
}

fn a_lookup_changes_nothing(envelope: &Envelope, records: &[Object]) {
    let names_are_text = ["id", "identifier"].iter().all(|name| {
        let mut fields = records.iter().filter_map(|record| record.get(*name));
        fields.all(Value::is_string)
    });
    let Some(lookup) = envelope.lookup().filter(|_| names_are_text) else {
        return;
    };
    assert!(lookup.values.is_sorted_by(|a, b| a < b));
    let candidates = records.iter().filter(|record| {
        let name = record.get(lookup.field).and_then(Value::as_str);
        name.is_some_and(|name| lookup.values.binary_search(&name).is_ok())
    });
    let (found, scanned) = (envelope.run(candidates), envelope.run(records));
    assert_eq!(found.total, scanned.total);
    assert_eq!(addresses(&found.rows), addresses(&scanned.rows));
}

fn unread_fields_do_not_change_a_decision(envelope: &Envelope, records: &[Object]) {
    for record in records {
        let matches = envelope.matches(record);
        assert_eq!(envelope.decide(record, &[]), Some(matches));
        let names: Vec<&str> = record.keys().map(String::as_str).collect();
        for name in &names {
            let mut without = record.clone();
            without.remove(*name);
            let decision = envelope.decide(&without, &[name]);
            assert!(decision.is_none_or(|decision| decision == matches));
            assert!(decision.is_some() || envelope.filters_on(name));
        }
    }
}

fn unmentioned_fields_do_not_matter(envelope: &Envelope, records: &[Object]) {
    struct OnlyMentioned<'a>(&'a Envelope, &'a Object);
    impl Record for OnlyMentioned<'_> {
        fn field(&self, name: &str) -> Option<guildhall_core::query::FieldRef<'_>> {
            assert!(self.0.mentions(name), "{name} is read and not mentioned");
            self.1.field(name)
        }
    }
    let strict: Vec<_> = records
        .iter()
        .map(|record| OnlyMentioned(envelope, record))
        .collect();
    assert_eq!(envelope.run(&strict).total, envelope.run(records).total);
    if let Shape::Groups(field) = envelope.shape() {
        assert_eq!(
            envelope.groups(field, &strict),
            envelope.groups(field, records)
        );
    }
}

fn groups_count_what_equality_finds(arguments: &Object, records: &[Object]) {
    let mut arguments = arguments.clone();
    for name in ["limit", "offset", "count", "group_by"] {
        arguments.remove(name);
    }
    let envelope = Envelope::parse(&arguments).expect("fewer arguments are as good");
    for field in ["id", "title", "labels"] {
        let groups = envelope.groups(field, records);
        assert_eq!(groups.groups.len(), groups.distinct);
        assert!(groups.groups.is_sorted_by(|a, b| a.count >= b.count));
        for group in groups.groups {
            let expected = records
                .iter()
                .filter(|record| naive::passes(&arguments, record))
                .filter(|record| match record.get(field) {
                    Some(Value::Array(elements)) => {
                        elements.iter().any(|element| same(element, &group.value))
                    }
                    Some(value) => same(value, &group.value),
                    None => false,
                })
                .count();
            assert_eq!(group.count, expected, "{field} {}", group.value);
        }
    }
}

/// Numbers as doubles, everything else as written.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (None, None) => written(a) == written(b),
        (a, b) => a == b,
    }
}

fn written(value: &Value) -> String {
    value.to_string()
}

fn addresses(rows: &[&Object]) -> Vec<*const Object> {
    rows.iter().map(|row| std::ptr::from_ref(*row)).collect()
}
