//! Every environment variable Guildhall reads for its settings, in one place.

/// The address of the server that commands and `guildhall mcp` talk to, such as `http://127.0.0.1:4040`. Without it
/// they find the server of their workspace.
pub const GUILDHALL_URL: &str = "GUILDHALL_URL";

/// The token commands and `guildhall mcp` present to the server named by [`GUILDHALL_URL`].
pub const GUILDHALL_TOKEN: &str = "GUILDHALL_TOKEN";

/// A file that holds that token, for when the environment is not the place for a secret.
pub const GUILDHALL_TOKEN_FILE: &str = "GUILDHALL_TOKEN_FILE";

/// Where the server keeps its state, instead of `<workspace>/.guildhall/state`. The flag `--data-dir` goes before it.
pub const GUILDHALL_DATA_DIR: &str = "GUILDHALL_DATA_DIR";

/// The PostgreSQL database to keep everything in, such as `postgres://user:password@host/guildhall`, instead of a file in
/// the data directory. The flag `--database-url` goes before it; a variable keeps the password out of the list of
/// processes.
pub const GUILDHALL_DATABASE_URL: &str = "GUILDHALL_DATABASE_URL";

/// The settings file, instead of `<workspace>/WORKFLOW.md`. An argument goes before it.
pub const GUILDHALL_WORKFLOW: &str = "GUILDHALL_WORKFLOW";

/// The same under the name that existing installations use; [`GUILDHALL_WORKFLOW`] goes before it.
pub const LORENZ_WORKFLOW: &str = "LORENZ_WORKFLOW";

/// The memory tracker's issues as a JSON array, where its settings name none.
pub const LORENZ_MEMORY_TRACKER_ISSUES_JSON: &str = "LORENZ_MEMORY_TRACKER_ISSUES_JSON";

/// The folder that a leading `~` in a path stands for.
pub const HOME: &str = "HOME";

/// The folder of the user's settings, in which the tokens of `guildhall login` are kept; `~/.config` where it is not set.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// Each variable with what it does, for the help text and the documentation.
pub const ALL: [(&str, &str); 10] = [
    (GUILDHALL_URL, "Address of the server that commands talk to"),
    (GUILDHALL_TOKEN, "Token for that server"),
    (GUILDHALL_TOKEN_FILE, "File that holds the token"),
    (
        GUILDHALL_DATA_DIR,
        "Where the state is kept, instead of `<workspace>/.guildhall/state`",
    ),
    (
        GUILDHALL_DATABASE_URL,
        "PostgreSQL database to keep everything in, instead of a file",
    ),
    (
        GUILDHALL_WORKFLOW,
        "The settings file, instead of `<workspace>/WORKFLOW.md`",
    ),
    (
        LORENZ_WORKFLOW,
        "The same, under the name existing installations use",
    ),
    (
        LORENZ_MEMORY_TRACKER_ISSUES_JSON,
        "The memory tracker's issues, where the settings name none",
    ),
    (HOME, "What a leading `~` in a path stands for"),
    (
        XDG_CONFIG_HOME,
        "Where the tokens of `guildhall login` are kept, instead of `~/.config`",
    ),
];
