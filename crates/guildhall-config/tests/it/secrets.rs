//! Secrets come from the environment and are shown nowhere.

use guildhall_config::OptionValue;

use crate::Folder;

const FILE: &str = "---
tracker: {kind: jira}
trackers:
  jira: {provider: jira, api_key: $JIRA_API_KEY, assignee: $ME}
  linear: {provider: linear, api_key: canary-literal}
tools:
  linear: {api_key: $LINEAR_API_KEY, endpoint: $UNSET}
  acme:
    token: canary-token
    region: $REGION
    mcp: {headers: {X-Auth: canary-header}, list: [$IN_LIST, plain]}
---
";

const VARIABLES: [(&str, &str); 5] = [
    ("JIRA_API_KEY", "canary-jira"),
    ("LINEAR_API_KEY", "canary-linear"),
    ("REGION", "canary-region"),
    ("IN_LIST", "canary-list"),
    ("ME", "ada"),
];

#[test]
fn secrets_resolve_to_the_variables_they_name() {
    let settings = Folder::with(FILE).load_with(&VARIABLES).unwrap().settings;
    let jira = settings.active_tracker();
    assert_eq!(jira.api_key.as_ref().unwrap().expose(), "canary-jira");
    assert_eq!(jira.assignee.as_deref(), Some("ada"));
    let linear = settings.tools.pack("linear").unwrap();
    assert_eq!(
        linear.option("api_key").unwrap().as_text(),
        Some("canary-linear")
    );
    assert_eq!(
        linear.option("endpoint"),
        None,
        "what names an unset variable is dropped"
    );
    let acme = settings.tools.pack("acme").unwrap();
    assert!(matches!(acme.option("token"), Some(OptionValue::Secret(_))));
    assert_eq!(
        acme.option("region").unwrap().as_text(),
        Some("canary-region")
    );
}

#[test]
fn secrets_are_in_no_form_that_is_shown() {
    let folder = Folder::with(FILE);
    let loaded = folder.load_with(&VARIABLES).unwrap();
    let shown = [
        format!("{loaded:?}"),
        format!("{:#?}", loaded.settings),
        loaded.settings.show().to_string(),
        loaded.settings.show_yaml(folder.path()),
        serde_json::to_string(&loaded.settings).unwrap(),
        format!("{:?}", loaded.warnings),
    ];
    for text in shown {
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(
        loaded
            .settings
            .show_yaml(folder.path())
            .contains("[REDACTED]")
    );
}

#[test]
fn an_unset_variable_and_a_secret_in_clear_are_warned_of() {
    let loaded = Folder::with(FILE).load_with(&VARIABLES).unwrap();
    let said: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "5:39: trackers.linear.api_key stands in the file in clear; write `$NAME` and put the secret into that \
             variable",
            "7:48: tools.linear.endpoint names the variable UNSET, which is not set",
            "9:12: tools.acme.token stands in the file in clear; write `$NAME` and put the secret into that variable",
            "11:29: tools.acme.mcp.headers.X-Auth stands in the file in clear; write `$NAME` and put the secret into \
             that variable",
        ]
    );
}

#[test]
fn a_secret_whose_variable_is_unset_or_empty_is_none() {
    for variables in [&[][..], &[("JIRA_API_KEY", " ")][..]] {
        let settings = Folder::with(FILE).load_with(variables).unwrap().settings;
        assert_eq!(settings.active_tracker().api_key, None);
    }
}
