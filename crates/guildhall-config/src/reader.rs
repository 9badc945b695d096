//! From the tree to typed values. Every problem is collected; a value that cannot be used leaves its default.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use guildhall_core::suggest::did_you_mean;

use crate::problem::{Position, Problem};
use crate::secret::{self, Secret, Written};
use crate::yaml::{Key, Node, Value};
use crate::{Env, paths};

/// What reading needs beside the tree, and what it finds.
pub(crate) struct Reading<'a> {
    /// Looks up variables.
    pub(crate) env: Env<'a>,
    /// Where relative paths begin: the folder of the settings file.
    pub(crate) base: &'a Path,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
    /// What is worth saying.
    pub(crate) warnings: Vec<Problem>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(env: Env<'a>, base: &'a Path) -> Self {
        Self {
            env,
            base,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn problem(&mut self, path: &str, at: Option<Position>, message: String) {
        self.problems.push(problem(path, at, message));
    }

    pub(crate) fn warn(&mut self, path: &str, at: Option<Position>, message: String) {
        self.warnings.push(problem(path, at, message));
    }

    /// The variable `name`; one that is empty counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.trim().is_empty())
    }

    /// The secret that `text`, found at `found`, stands for. A variable that is not set gives none and a warning.
    pub(crate) fn secret(&mut self, found: &Found<'_>, text: &str) -> Option<Secret> {
        match secret::written(text) {
            Written::Reference(name) => self.referenced(found, name).map(Secret::new),
            Written::Literal(text) if text.trim().is_empty() => None,
            Written::Literal(text) => {
                self.warn(
                    &found.path,
                    Some(found.node.at),
                    format!(
                        "{} stands in the file in clear; write `$NAME` and put the secret into that variable",
                        found.path
                    ),
                );
                Some(Secret::new(text))
            }
            Written::Unsupported(form) => {
                self.problem(
                    &found.path,
                    Some(found.node.at),
                    format!(
                        "{} has the form {form}, which is not supported: write `$NAME`, the name of an environment \
                         variable, as the whole value",
                        found.path
                    ),
                );
                None
            }
        }
    }

    /// The text that `text`, found at `found`, stands for: a variable's value where it is `$NAME`, else itself.
    pub(crate) fn text_or_variable(&mut self, found: &Found<'_>, text: &str) -> Option<String> {
        match secret::written(text) {
            Written::Reference(name) => self.referenced(found, name),
            _ => Some(text.to_owned()),
        }
    }

    fn referenced(&mut self, found: &Found<'_>, name: &str) -> Option<String> {
        let value = self.variable(name);
        if value.is_none() {
            self.warn(
                &found.path,
                Some(found.node.at),
                format!("{} names the variable {name}, which is not set", found.path),
            );
        }
        value
    }
}

fn problem(path: &str, position: Option<Position>, message: String) -> Problem {
    Problem {
        path: path.to_owned(),
        position,
        message,
        hint: None,
    }
}

/// A value and its full path.
pub(crate) struct Found<'n> {
    pub(crate) path: String,
    pub(crate) node: &'n Node,
}

/// A map whose keys are taken one by one; what nobody has taken at the end is unknown.
pub(crate) struct Fields<'n> {
    path: String,
    entries: &'n [(Key, Node)],
    taken: Vec<&'n str>,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The fields of `node`, which must be a map or nothing.
    pub(crate) fn of(path: &str, node: Option<&'n Node>, reading: &mut Reading<'_>) -> Self {
        let entries = match node.map(|node| (&node.value, node.at)) {
            Some((Value::Map(entries), _)) => entries.as_slice(),
            None | Some((Value::Null, _)) => &[],
            Some((_, at)) => {
                reading.problem(path, Some(at), format!("{path} must be a map"));
                &[]
            }
        };
        Self {
            path: path.to_owned(),
            entries,
            taken: Vec::new(),
            known: Vec::new(),
        }
    }

    /// The full path of `key`.
    pub(crate) fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Takes the value of `key`, written in `snake_case` or `camelCase`; `None` where it is absent or null.
    pub(crate) fn take(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<Found<'n>> {
        self.known.push(key);
        let humped = camel_case(key);
        let mut given = self
            .entries
            .iter()
            .filter(|(given, _)| given.name == key || given.name == humped);
        let (first, node) = given.next()?;
        self.taken.push(&first.name);
        if let Some((second, _)) = given.next() {
            self.taken.push(&second.name);
            let path = self.path_of(&second.name);
            reading.problem(
                &path,
                Some(second.at),
                format!("{path} is the same key as {}", self.path_of(&first.name)),
            );
        }
        if node.value == Value::Null {
            return None;
        }
        let path = self.path_of(key);
        Some(Found { path, node })
    }

    /// A text, as it stands.
    pub(crate) fn text(&mut self, key: &'static str, reading: &mut Reading<'_>) -> Option<String> {
        let found = self.take(key, reading)?;
        text(&found, reading).map(str::to_owned)
    }

    /// A text, or the variable it names.
    pub(crate) fn text_or_variable(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<String> {
        let found = self.take(key, reading)?;
        let text = text(&found, reading)?;
        reading.text_or_variable(&found, text)
    }

    /// A secret.
    pub(crate) fn secret(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<Secret> {
        let found = self.take(key, reading)?;
        let text = text(&found, reading)?;
        reading.secret(&found, text)
    }

    /// A path, made absolute.
    pub(crate) fn path(&mut self, key: &'static str, reading: &mut Reading<'_>) -> Option<PathBuf> {
        let found = self.take(key, reading)?;
        let text = text(&found, reading)?;
        let path = paths::resolve(text, reading.base, reading.env);
        if path.is_none() {
            let at = Some(found.node.at);
            reading.problem(&found.path, at, format!("{} must not be empty", found.path));
        }
        path
    }

    /// `true` or `false`.
    pub(crate) fn bool(&mut self, key: &'static str, reading: &mut Reading<'_>) -> Option<bool> {
        let found = self.take(key, reading)?;
        match &found.node.value {
            Value::Bool(value) => Some(*value),
            Value::Text(text) if text == "true" => Some(true),
            Value::Text(text) if text == "false" => Some(false),
            _ => {
                wrong(&found, "true or false", reading);
                None
            }
        }
    }

    /// A whole number of `range`; a text of digits is one too.
    pub(crate) fn whole<T>(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<T>,
        reading: &mut Reading<'_>,
    ) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let found = self.take(key, reading)?;
        let number = match &found.node.value {
            Value::Number(number) => number.as_u64(),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        let value = number
            .and_then(|number| T::try_from(number).ok())
            .filter(|value| range.contains(value));
        if value.is_none() {
            let allowed = format!("a whole number from {} to {}", range.start(), range.end());
            wrong(&found, &allowed, reading);
        }
        value
    }

    /// A list of texts that are not blank.
    pub(crate) fn texts(
        &mut self,
        key: &'static str,
        reading: &mut Reading<'_>,
    ) -> Option<Vec<String>> {
        let found = self.take(key, reading)?;
        let texts = texts(&found, reading)?;
        Some(texts.into_iter().map(|(_, text)| text.to_owned()).collect())
    }

    /// One of the named choices, without regard to case.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        reading: &mut Reading<'_>,
    ) -> Option<T> {
        let found = self.take(key, reading)?;
        let Value::Text(text) = &found.node.value else {
            wrong(&found, &one_of(choices), reading);
            return None;
        };
        let chosen = choices
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text.trim()))
            .map(|(_, choice)| *choice);
        if chosen.is_none() {
            wrong(&found, &one_of(choices), reading);
            let names = choices.iter().map(|(name, _)| *name);
            suggest(reading, did_you_mean(text, names));
        }
        chosen
    }

    /// Takes keys that belong to later parts of Guildhall: accepted, and said to be without effect. Gives those that
    /// are there.
    pub(crate) fn later(
        &mut self,
        keys: &[&'static str],
        reading: &mut Reading<'_>,
    ) -> Vec<(&'static str, Found<'n>)> {
        let mut given = Vec::new();
        for key in keys {
            let Some(found) = self.take(key, reading) else {
                continue;
            };
            let message = format!("{} is not used by this version", found.path);
            reading.warn(&found.path, Some(found.node.at), message);
            given.push((*key, found));
        }
        given
    }

    /// Every key that nobody has taken, with its value; they count as taken from now on.
    pub(crate) fn rest(&mut self) -> Vec<(&'n Key, &'n Node)> {
        let rest: Vec<_> = self
            .entries
            .iter()
            .filter(|(key, _)| !self.taken.contains(&key.name.as_str()))
            .map(|(key, node)| (key, node))
            .collect();
        self.taken
            .extend(rest.iter().map(|(key, _)| key.name.as_str()));
        rest
    }

    /// Refuses what nobody has taken.
    pub(crate) fn finish(mut self, reading: &mut Reading<'_>) {
        for (key, _) in self.rest() {
            let section = if self.path.is_empty() {
                "WORKFLOW.md"
            } else {
                &self.path
            };
            reading.problem(
                &self.path_of(&key.name),
                Some(key.at),
                format!("{section} contains unsupported keys: {}", key.name),
            );
            let near = did_you_mean(&key.name, self.known.iter().copied())
                .map(|known| self.path_of(known));
            match near {
                Some(near) => suggest(reading, Some(&near)),
                None => hint(reading, format!("known keys: {}", self.known.join(", "))),
            }
        }
    }
}

/// The text of `found`, or a problem.
pub(crate) fn text<'n>(found: &Found<'n>, reading: &mut Reading<'_>) -> Option<&'n str> {
    if let Value::Text(text) = &found.node.value {
        return Some(text);
    }
    let at = Some(found.node.at);
    reading.problem(&found.path, at, format!("{} must be a string", found.path));
    None
}

/// The items of the list `found`, trimmed, or a problem. Items that are no text, or blank, are reported and left out.
pub(crate) fn texts<'n>(
    found: &Found<'n>,
    reading: &mut Reading<'_>,
) -> Option<Vec<(Found<'n>, &'n str)>> {
    let Value::List(items) = &found.node.value else {
        wrong(found, "a list of strings", reading);
        return None;
    };
    let mut texts = Vec::new();
    for (index, node) in items.iter().enumerate() {
        let path = format!("{}[{index}]", found.path);
        let item = Found { path, node };
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => texts.push((item, text.trim())),
            _ => wrong(&item, "a string that is not blank", reading),
        }
    }
    Some(texts)
}

/// `section.key`, or the key alone at the top.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// `max_request_bytes` as `maxRequestBytes`.
pub(crate) fn camel_case(key: &str) -> String {
    let mut parts = key.split('_');
    let mut humped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        humped.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        humped.push_str(letters.as_str());
    }
    humped
}

/// Adds "did you mean" to the problem reported last.
pub(crate) fn suggest(reading: &mut Reading<'_>, near: Option<&str>) {
    if let Some(near) = near {
        hint(reading, format!("did you mean `{near}`?"));
    }
}

/// Adds a hint to the problem reported last.
pub(crate) fn hint(reading: &mut Reading<'_>, text: String) {
    if let Some(problem) = reading.problems.last_mut() {
        problem.hint = Some(text);
    }
}

/// Reports that `found` is not `allowed`, naming what it is.
pub(crate) fn wrong(found: &Found<'_>, allowed: &str, reading: &mut Reading<'_>) {
    let message = format!(
        "{} must be {allowed}, not {}",
        found.path,
        given(&found.node.value)
    );
    reading.problem(&found.path, Some(found.node.at), message);
}

/// A short description of a value that was given in the wrong place.
fn given(value: &Value) -> String {
    /// Enough to recognise a value by.
    const LONGEST: usize = 60;
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::Text(text) if text.chars().count() > LONGEST => {
            let start: String = text.chars().take(LONGEST).collect();
            format!("{start:?}...")
        }
        Value::Text(text) => format!("{text:?}"),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}

fn one_of<T>(choices: &[(&'static str, T)]) -> String {
    let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
    format!("one of {}", names.join(", "))
}
