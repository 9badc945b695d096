//! Plain HTTP: one file per resource.

pub(crate) mod agents;
pub(crate) mod status;
pub(crate) mod tools;
