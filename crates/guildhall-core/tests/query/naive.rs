//! The query language a second time, as simply as can be: no plan, no lookup, no borrowing, no selection. It reads the
//! arguments anew for every record, copies everything and sorts it whole. The laws and the bench compare with it.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// `{ rows, total }` for arguments that are known to be valid. `default` is the projection without a `select`.
pub(crate) fn answer(arguments: &Object, records: &[Object], default: &[&str]) -> Value {
    let mut rows: Vec<Object> = records.to_vec();
    rows.retain(|record| passes(arguments, record));
    let total = rows.len();
    if let Some(Value::Array(keys)) = arguments.get("order_by") {
        rows.sort_by(|a, b| by_keys(keys, a, b));
    }
    let number = |name: &str, default: f64| {
        let number = arguments.get(name).and_then(Value::as_f64);
        whole(number.unwrap_or(default).min(1e9)).expect("checked to be whole")
    };
    let (limit, offset) = (number("limit", 100.0).min(1000), number("offset", 0.0));
    let rows: Vec<Value> = (0..)
        .zip(&rows)
        .filter(|(place, _)| (offset..offset + limit).contains(place))
        .map(|(_, row)| Value::Object(project(arguments.get("select"), row, default)))
        .collect();
    json!({ "rows": rows, "total": total })
}

/// Whether the record passes the `where` of the arguments.
pub(crate) fn passes(arguments: &Object, record: &Object) -> bool {
    match arguments.get("where") {
        None | Some(Value::Null) => true,
        Some(filter) => matches(filter, record),
    }
}

fn matches(filter: &Value, record: &Object) -> bool {
    if let Some(members) = filter["and"].as_array() {
        return members.iter().all(|member| matches(member, record));
    }
    if let Some(members) = filter["or"].as_array() {
        return members.iter().any(|member| matches(member, record));
    }
    if filter.get("not").is_some() {
        return !matches(&filter["not"], record);
    }
    let name = filter["field"].as_str().unwrap_or_default();
    let op = filter["op"].as_str().unwrap_or_default();
    let value = &filter["value"];
    let Some(field) = record.get(name) else {
        return op == "exists" && *value == false;
    };
    let members = || value.as_array().into_iter().flatten();
    match op {
        "eq" => equal(field, value),
        "ne" => !equal(field, value),
        "in" => members().any(|member| equal(field, member)),
        "nin" => !members().any(|member| equal(field, member)),
        "lt" => compare(field, value) == Some(Ordering::Less),
        "gt" => compare(field, value) == Some(Ordering::Greater),
        "lte" => matches!(
            compare(field, value),
            Some(Ordering::Less | Ordering::Equal)
        ),
        "gte" => matches!(
            compare(field, value),
            Some(Ordering::Greater | Ordering::Equal)
        ),
        "exists" => *value == true,
        "contains" => contains(
            field,
            value.as_str().unwrap_or_default(),
            filter["ci"] == true,
        ),
        other => panic!("{other} passed the checks"),
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => a.as_f64() == b.as_f64(),
        (Value::Array(_) | Value::Object(_), _) => false,
        _ => a == b,
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.chars().cmp(b.chars())),
        _ => None,
    }
}

fn contains(field: &Value, needle: &str, ci: bool) -> bool {
    let found = |text: &str| {
        if ci {
            text.to_lowercase().contains(&needle.to_lowercase())
        } else {
            text.contains(needle)
        }
    };
    match field {
        Value::String(text) => found(text),
        Value::Array(elements) => elements.iter().any(|element| found(&text(element))),
        _ => false,
    }
}

fn text(element: &Value) -> String {
    match element {
        Value::String(text) => text.clone(),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Array(inner) => {
            let inner: Vec<String> = inner
                .iter()
                .map(|element| {
                    if element.is_null() {
                        String::new()
                    } else {
                        text(element)
                    }
                })
                .collect();
            inner.join(",")
        }
        Value::Number(number) => javascript(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Digits and exponent apart, then put together by the five cases of `Number::toString` in ECMA-262.
fn javascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let written = format!("{:e}", number.abs());
    let (mantissa, exponent) = written.split_once('e').expect("written with an exponent");
    let digits = mantissa.replace('.', "");
    let k = digits.len();
    let n = exponent.parse::<i32>().expect("a small integer") + 1;
    let at = usize::try_from(n).unwrap_or(0);
    let text = if n > 0 && n <= 21 && k <= at {
        digits + &"0".repeat(at - k)
    } else if n > 0 && n <= 21 {
        format!("{}.{}", &digits[..at], &digits[at..])
    } else if n > -6 && n <= 0 {
        format!("0.{}{digits}", "0".repeat(n.unsigned_abs() as usize))
    } else {
        let point = if k > 1 { "." } else { "" };
        format!("{}{point}{}e{:+}", &digits[..1], &digits[1..], n - 1)
    };
    if number < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

fn by_keys(keys: &[Value], a: &Object, b: &Object) -> Ordering {
    for key in keys {
        let name = key["field"].as_str().unwrap_or_default();
        let (a, b) = (a.get(name), b.get(name));
        let descending = key["dir"] == "desc";
        let ordering = match (rank(a), rank(b)) {
            (4, 4) => Ordering::Equal,
            (ours, theirs) if ours == 4 || theirs == 4 => ours.cmp(&theirs),
            (ours, theirs) if descending => theirs.cmp(&ours).then_with(|| within(b, a)),
            (ours, theirs) => ours.cmp(&theirs).then_with(|| within(a, b)),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

fn rank(field: Option<&Value>) -> u8 {
    match field {
        Some(Value::Number(_)) => 0,
        Some(Value::String(_)) => 1,
        Some(Value::Bool(_)) => 2,
        Some(Value::Array(_) | Value::Object(_)) => 3,
        Some(Value::Null) | None => 4,
    }
}

fn within(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
        (Some(a), Some(b)) => compare(a, b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    }
}

fn project(select: Option<&Value>, row: &Object, default: &[&str]) -> Object {
    let names: Vec<&str> = match select {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => default.to_vec(),
    };
    let mut projected = Object::new();
    for name in names {
        if let Some(value) = row.get(name) {
            projected.insert(name.to_owned(), without_fraction(value));
        }
    }
    projected
}

/// A number at the top of a field is a double, written without a needless fraction.
fn without_fraction(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) => whole(number).map_or_else(|| json!(number), Value::from),
        None => value.clone(),
    }
}

/// The integer that a double is, if it is one that doubles tell from its neighbours.
fn whole(number: f64) -> Option<i64> {
    let text = format!("{:.0}", number + 0.0);
    let whole = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(whole)
}
