//! The memory tracker: a fixed list of issues, for tests and demonstrations. It has no tools of its own.

use serde_json::{Map, Value};

use crate::tracker::{Tracker, TrackerFuture};
use crate::{Issue, StateType};

/// Issues that stand in the settings instead of in a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryTracker {
    issues: Vec<Issue>,
}

impl MemoryTracker {
    /// A tracker of exactly `issues`, in that order; [`normalise`] makes them from what people write.
    pub fn new(issues: Vec<Issue>) -> Self {
        Self { issues }
    }
}

impl Tracker for MemoryTracker {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn issues(&self) -> TrackerFuture<'_, Vec<Issue>> {
        Box::pin(std::future::ready(Ok(self.issues.clone())))
    }

    fn issue<'a>(&'a self, id: &'a str) -> TrackerFuture<'a, Option<Issue>> {
        let found = self.issues.iter().find(|issue| issue.id == id).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// Why an issue that somebody wrote down is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidIssue {
    /// Not a map.
    #[error("issue must be a map")]
    NotAMap,
    /// A required key is absent, not a string, or blank.
    #[error("issue.{key} is required")]
    Required {
        /// The key, in the form `snake_case`.
        key: &'static str,
    },
    /// A state type outside [`StateType::ALL`].
    #[error(
        "issue.state_type {given} is not known (known state types: backlog, unstarted, started, completed, canceled, \
         triage)"
    )]
    UnknownStateType {
        /// What was given, as JSON.
        given: String,
    },
}

/// The issue that `written` describes.
///
/// Keys are accepted as `snake_case` and as `camelCase`. `id`, `identifier`, `title` and `state` must be strings that
/// are not blank. Without a state type the state's name tells it, and an unknown name counts as `backlog`. Labels (a
/// string, or an object with a `name`) are trimmed and lower-cased, blank ones dropped. A blocker is an id, or an
/// object with one. A priority outside 1 to 4 is none.
pub fn normalise(written: &Value) -> Result<Issue, InvalidIssue> {
    let fields = Fields(written.as_object().ok_or(InvalidIssue::NotAMap)?);
    let state = fields.required("state", "state")?;
    Ok(Issue {
        id: fields.required("id", "id")?,
        identifier: fields.required("identifier", "identifier")?,
        title: fields.required("title", "title")?,
        description: fields.text("description", "description"),
        state_type: fields.state_type(&state)?,
        state,
        branch_name: fields.text("branch_name", "branchName"),
        url: fields.text("url", "url"),
        priority: fields
            .get("priority", "priority")
            .and_then(Value::as_f64)
            .and_then(priority),
        created_at: fields.text("created_at", "createdAt"),
        updated_at: fields.text("updated_at", "updatedAt"),
        labels: fields
            .list("labels", "labels", "name")
            .map(|label| label.trim().to_lowercase())
            .filter(|label| !label.is_empty())
            .collect(),
        blockers: fields
            .list("blockers", "blockers", "id")
            .chain(fields.list("blocked_by", "blockedBy", "id"))
            .map(str::to_owned)
            .collect(),
        assignee_id: fields.text("assignee_id", "assigneeId"),
    })
}

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, snake: &str, camel: &str) -> Option<&'a Value> {
        self.0
            .get(snake)
            .or_else(|| self.0.get(camel))
            .filter(|value| !value.is_null())
    }

    fn text(&self, snake: &str, camel: &str) -> Option<String> {
        self.get(snake, camel)?
            .as_str()
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    }

    fn required(&self, key: &'static str, camel: &str) -> Result<String, InvalidIssue> {
        self.text(key, camel).ok_or(InvalidIssue::Required { key })
    }

    fn state_type(&self, state: &str) -> Result<StateType, InvalidIssue> {
        let Some(given) = self.get("state_type", "stateType") else {
            return Ok(StateType::from_state_name(state).unwrap_or(StateType::Backlog));
        };
        StateType::ALL
            .into_iter()
            .find(|kind| given.as_str() == Some(kind.as_str()))
            .ok_or_else(|| InvalidIssue::UnknownStateType {
                given: given.to_string(),
            })
    }

    /// The strings of a list whose items are strings or objects with the string `inner`.
    fn list(&self, snake: &str, camel: &str, inner: &'a str) -> impl Iterator<Item = &'a str> {
        self.get(snake, camel)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(move |item| item.as_str().or_else(|| item.get(inner)?.as_str()))
    }
}

fn priority(given: f64) -> Option<u8> {
    [1_u8, 2, 3, 4]
        .into_iter()
        .find(|level| f64::from(*level).total_cmp(&given).is_eq())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written() -> Value {
        json!({
            "id": "10042", "identifier": "ENG-7", "title": "Fix it", "state": "In Progress",
            "labels": [" Bug ", {"name": "UI"}, "", 3], "priority": 2, "branch_name": "fix-it",
            "blockers": ["ENG-1", {"id": "ENG-2"}], "created_at": "2026-01-02T03:04:05.000Z",
        })
    }

    #[test]
    fn an_issue_is_normalised_from_what_people_write() {
        let issue = normalise(&written()).unwrap();
        assert_eq!(
            serde_json::to_value(issue).unwrap(),
            json!({
                "id": "10042", "identifier": "ENG-7", "title": "Fix it", "description": null,
                "state": "In Progress", "stateType": "started", "branchName": "fix-it", "url": null, "priority": 2,
                "createdAt": "2026-01-02T03:04:05.000Z", "updatedAt": null, "labels": ["bug", "ui"],
                "blockers": ["ENG-1", "ENG-2"], "assigneeId": null,
            })
        );
    }

    #[test]
    fn both_spellings_of_a_key_are_read() {
        let mut camel = written();
        camel["stateType"] = json!("triage");
        camel["branchName"] = json!("other");
        camel["assigneeId"] = json!("u1");
        camel.as_object_mut().unwrap().remove("branch_name");
        camel.as_object_mut().unwrap().remove("blockers");
        camel["blocked_by"] = json!([{ "id": "X-1" }]);
        let issue = normalise(&camel).unwrap();
        assert_eq!(issue.state_type, StateType::Triage);
        assert_eq!(issue.branch_name.as_deref(), Some("other"));
        assert_eq!(issue.assignee_id.as_deref(), Some("u1"));
        assert_eq!(issue.blockers, ["X-1"]);

        camel.as_object_mut().unwrap().remove("blocked_by");
        camel["blockedBy"] = json!(["X-2"]);
        assert_eq!(normalise(&camel).unwrap().blockers, ["X-2"]);
    }

    #[test]
    fn a_required_key_that_is_absent_blank_or_no_string_is_refused() {
        for key in ["id", "identifier", "title", "state"] {
            for bad in [Value::Null, json!(" \t"), json!(7), json!([])] {
                let mut issue = written();
                issue[key] = bad.clone();
                let message = normalise(&issue).unwrap_err().to_string();
                assert_eq!(message, format!("issue.{key} is required"), "{bad}");
            }
        }
        assert_eq!(normalise(&json!([])), Err(InvalidIssue::NotAMap));
    }

    #[test]
    fn a_state_type_is_one_of_the_known_or_told_by_the_states_name() {
        for (state, state_type, expected) in [
            ("Done", json!(null), StateType::Completed),
            ("In Review", json!(null), StateType::Backlog),
            ("In Review", json!("started"), StateType::Started),
        ] {
            let mut issue = written();
            issue["state"] = json!(state);
            issue["state_type"] = state_type;
            assert_eq!(normalise(&issue).unwrap().state_type, expected, "{state}");
        }
        let mut issue = written();
        issue["state_type"] = json!("Started");
        assert_eq!(
            normalise(&issue).unwrap_err().to_string(),
            "issue.state_type \"Started\" is not known (known state types: backlog, unstarted, started, completed, \
             canceled, triage)"
        );
    }

    #[test]
    fn a_priority_is_a_whole_number_from_one_to_four() {
        for (given, expected) in [
            (json!(1), Some(1)),
            (json!(4.0), Some(4)),
            (json!(0), None),
            (json!(5), None),
            (json!(1.5), None),
            (json!("2"), None),
            (json!(null), None),
        ] {
            let mut issue = written();
            issue["priority"] = given.clone();
            assert_eq!(normalise(&issue).unwrap().priority, expected, "{given}");
        }
    }

    #[test]
    fn the_tracker_answers_with_its_issues_in_their_order() {
        let first = normalise(&written()).unwrap();
        let second = Issue {
            id: "2".to_owned(),
            ..first.clone()
        };
        let tracker = MemoryTracker::new(vec![first.clone(), second.clone()]);
        assert_eq!(tracker.kind(), "memory");
        assert_eq!(ready(tracker.issues()), [first, second.clone()]);
        assert_eq!(ready(tracker.issue("2")), Some(second));
        assert_eq!(ready(tracker.issue("3")), None);
    }

    fn ready<T>(mut future: TrackerFuture<'_, T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(answer) => answer.unwrap(),
            std::task::Poll::Pending => panic!("the memory tracker waits for nothing"),
        }
    }
}
