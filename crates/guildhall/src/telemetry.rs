//! Where the log goes and in which form.

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Mutex;

use anyhow::Context as _;
use guildhall_config::{Format, Logging};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts the log as the settings say: to their file, else to standard error. Never to standard output, which belongs
/// to results and to the MCP protocol.
pub(crate) fn start(logging: &Logging) -> anyhow::Result<()> {
    let to_terminal = logging.log_file.is_none() && std::io::stderr().is_terminal();
    let writer = match &logging.log_file {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)
                .with_context(|| format!("Cannot open the log file `{}`", path.display()))?;
            BoxMakeWriter::new(Mutex::new(file))
        }
    };
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
        .with_writer(writer)
        .with_ansi(to_terminal);
    match logging.format {
        Format::Json => builder.json().flatten_event(true).finish().try_init(),
        Format::Text => builder.finish().try_init(),
    }
    .context("A log is running already")
}
