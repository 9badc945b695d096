//! `guildhall config`: what the settings are, whether they hold, what there is to set.

use std::path::PathBuf;

use anyhow::Context as _;
use guildhall_config::{Loaded, Problem, Settings, SettingsError, Workspace, process_env};
use serde_json::{Value, json};

use crate::output::{CommandError, CommandResult, printable, say, say_json, say_pretty_json};
use crate::wiring;

/// Check, show or describe the settings
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Check the settings file and say everything that is wrong with it
    Check(File),
    /// Show the settings in force, every default filled in, secrets left out
    Show(File),
    /// Print the JSON Schema of the settings, for editors
    Schema {
        /// Accepted for symmetry: the schema is JSON anyway
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
struct File {
    /// Settings file [default: WORKFLOW.md of the workspace]
    #[arg(value_name = "WORKFLOW.md")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> CommandResult {
    match &args.action {
        Action::Check(file) => check(file),
        Action::Show(file) => show(file),
        Action::Schema { .. } => say_pretty_json(&guildhall_config::schema()),
    }
}

fn load(file: &File) -> Result<(Workspace, Result<Loaded, SettingsError>), CommandError> {
    let cwd = std::env::current_dir().context("Cannot tell the current directory")?;
    let workspace =
        Workspace::find(None, &cwd).with_overrides(None, file.file.as_deref(), &cwd, &process_env);
    let loaded = Settings::load(&workspace, &process_env);
    Ok((workspace, loaded))
}

fn check(file: &File) -> CommandResult {
    let (_, loaded) = load(file)?;
    let checked = loaded.and_then(|loaded| wiring::check(&loaded).map(|_| loaded));
    let (warnings, errors) = match &checked {
        Ok(loaded) => (loaded.warnings.as_slice(), &[][..]),
        Err(error) => (&[][..], error.problems.as_slice()),
    };
    if file.json {
        let list = |problems: &[Problem]| problems.iter().map(described).collect::<Vec<Value>>();
        say_json(
            &json!({ "ok": checked.is_ok(), "errors": list(errors), "warnings": list(warnings) }),
        )?;
    } else {
        for warning in warnings {
            say(&printable(&format!("warning: {warning}")))?;
        }
    }
    match checked {
        Err(error) => Err(CommandError::usage(error)),
        Ok(_) if file.json => Ok(()),
        Ok(loaded) => say(&match &loaded.source {
            Some(path) => format!("{} holds", path.display()),
            None => "There is no settings file: every setting has its default".to_owned(),
        }),
    }
}

fn described(problem: &Problem) -> Value {
    json!({
        "path": problem.path,
        "line": problem.position.map(|at| at.line),
        "column": problem.position.map(|at| at.column),
        "message": problem.message,
        "hint": problem.hint,
    })
}

fn show(file: &File) -> CommandResult {
    let (workspace, loaded) = load(file)?;
    let loaded = loaded.map_err(CommandError::usage)?;
    if file.json {
        return say_pretty_json(&loaded.settings.show());
    }
    say(printable(&loaded.settings.show_yaml(workspace.base())).trim_end())
}
