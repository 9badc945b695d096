//! What a route takes and gives: the part of it that its description is made of.

use guildhall_tools::ErrorKind;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Access, Route};

/// The schema of one type, as the description asks for it.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The body that a route reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// None.
    Nothing,
    /// A JSON object of a type.
    Json(SchemaOf),
    /// A tool's arguments.
    Arguments,
    /// A JSON-RPC message.
    Rpc,
    /// The fields of an HTML form.
    Form(SchemaOf),
    /// What git sends when it asks for objects.
    GitRequest,
}

/// What a route answers when all is well.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gives {
    /// `200 { "result": ... }` with a value of a type.
    Result(SchemaOf),
    /// `200` and a JSON value of a type.
    Json(SchemaOf),
    /// `200 { "result": ... }` with a tool's result.
    ToolResult,
    /// `200` and plain text.
    Text,
    /// A JSON-RPC message, an event stream of them, or `202` where nothing is to be said.
    Rpc,
    /// `200` and bytes, of the one media type.
    Bytes(&'static [&'static str]),
    /// A page of HTML, or `303` and another place to look.
    Page,
    /// Nothing: it always refuses.
    Refusal,
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The values it can have; any where there are none.
    pub(crate) values: &'static [&'static str],
    pub(crate) required: bool,
}

/// The statuses of a failed call of a tool.
pub(crate) const OF_TOOLS: &[u16] = &statuses_of_kinds();

const fn statuses_of_kinds() -> [u16; ErrorKind::ALL.len()] {
    let mut statuses = [0; ErrorKind::ALL.len()];
    let mut index = 0;
    while index < statuses.len() {
        statuses[index] = ErrorKind::ALL[index].status();
        index += 1;
    }
    statuses
}

/// The schema of `T`.
pub(super) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";
const HTML: &str = "text/html";
pub(crate) const EVENTS: &str = "text/event-stream";

impl Route {
    /// Every status it can answer with, in rising order.
    pub fn statuses(&self) -> Vec<u16> {
        // `Host`, `Origin` and a fault of ours: before and behind every route.
        let mut statuses = vec![400, 403, 500];
        statuses.extend(self.successes());
        if self.access != Access::Open {
            // A token that is wrong, and one that cannot be looked up.
            statuses.extend([401, 503]);
        }
        if !matches!(self.takes, Takes::Nothing) {
            statuses.push(413);
        }
        statuses.extend(self.refuses);
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }

    fn successes(&self) -> &'static [u16] {
        match self.gives {
            Gives::Rpc => &[200, 202],
            Gives::Page => &[200, 303],
            Gives::Refusal => &[],
            _ => &[200],
        }
    }

    /// The media types that an answer with `status` can have; none where it has no body.
    pub fn media_types(&self, status: u16) -> &'static [&'static str] {
        let refused = !self.successes().contains(&status);
        match self.gives {
            Gives::Rpc if status == 202 => &[],
            Gives::Rpc if status == 200 => &[JSON, EVENTS],
            Gives::Page if refused => &[JSON, HTML],
            Gives::Page => &[HTML],
            // Git shows its user what a refusal says when it is plain text; the gate's are JSON everywhere.
            Gives::Bytes(_) | Gives::Refusal if refused => &[JSON, PLAIN],
            Gives::Text if !refused => &[PLAIN],
            Gives::Bytes(kinds) => kinds,
            _ => &[JSON],
        }
    }
}
