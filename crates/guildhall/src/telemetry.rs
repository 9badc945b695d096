//! Where the log goes and in which form.

mod lines;

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::Context as _;
use guildhall_config::{Format, Logging};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::lines::Lines;
pub(crate) use self::lines::Log;

/// Starts the log as the settings say: to their file, else to standard error. Never to standard output, which belongs
/// to results and to the MCP protocol. It is whole once the [`Log`] is dropped.
pub(crate) fn start(logging: &Logging) -> anyhow::Result<Log> {
    let to_terminal = logging.log_file.is_none() && std::io::stderr().is_terminal();
    let (lines, log) = match &logging.log_file {
        None => Lines::to(std::io::stderr()),
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)
                .with_context(|| format!("Cannot open the log file `{}`", path.display()))?;
            Lines::to(file)
        }
    }
    .context("Cannot start the thread that writes the log")?;
    // The libraries below say nothing of use to an operator under warnings.
    let level = logging.level.as_str();
    let filter = match level {
        "off" | "error" | "warn" => EnvFilter::new(level),
        _ => EnvFilter::new(format!(
            "{level},rmcp=warn,hyper=warn,h2=warn,reqwest=warn,rustls=warn"
        )),
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(lines)
        .with_ansi(to_terminal);
    match logging.format {
        Format::Json => builder.json().flatten_event(true).finish().try_init(),
        Format::Text => builder.finish().try_init(),
    }
    .context("A log is running already")?;
    Ok(log)
}
