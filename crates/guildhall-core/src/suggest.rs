//! "Did you mean": the nearest of the allowed names to one that was given.

/// The allowed name nearest to `given`, if one is near enough to be what was meant.
///
/// Near means at most a third of the longer name's characters changed, and never more than three; a transposition
/// counts as one change. Comparison ignores case and treats `-`, `_` and a hump (`issueId`) alike, so `issue_id` finds
/// `issueId`.
pub fn did_you_mean<'a>(
    given: &str,
    allowed: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A name longer than any of ours is not a slip of the keyboard, and comparing costs its length squared.
    if given.len() > 100 {
        return None;
    }
    let wanted = fold(given);
    allowed
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted, &fold(name)), name))
        .filter(|(distance, name)| {
            *distance <= (given.chars().count().max(name.chars().count()) / 3).min(3)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let allowed = ["issueId", "status", "order_by", "limit"];
        for (given, nearest) in [
            ("issue_id", Some("issueId")),
            ("issueid", Some("issueId")),
            ("stauts", Some("status")),
            ("orderBy", Some("order_by")),
            ("limits", Some("limit")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(did_you_mean(given, allowed), nearest, "{given:?}");
        }
        assert_eq!(did_you_mean(&"x".repeat(1 << 20), allowed), None);
    }
}
