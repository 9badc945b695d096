//! From a call to what the store is told of it.

use guildhall_core::Clock;
use guildhall_store::{Act, Once};
use guildhall_tools::CallContext;

/// The caller, now, under the call's idempotency key where it has one. A tool makes one change with it: the key holds the
/// answer of the first.
pub(crate) fn act(context: &CallContext, clock: &dyn Clock) -> Act {
    let act = Act::new(context.caller.principal.clone(), clock.now());
    match &context.once {
        Some(key) => act.once(Once {
            tool: key.tool.to_owned(),
            key: key.key.clone(),
            arguments: key.arguments,
            repo: context.repo().ok().map(|repo| repo.name.clone()),
        }),
        None => act,
    }
}
