//! `cargo xtask check`: everything about a change that is not a test. Cheap checks come first; all of them run, so that
//! one look shows all that is wrong.

mod boundaries;
mod deny;
mod hygiene;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::generate::{self, Mode};
use crate::sh;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these checks
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Check>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// No file names a registry host or a path of one machine
    Hygiene,
    /// Which crate may use which
    Boundaries,
    /// `cargo fmt --check`
    Format,
    /// The pages under docs/reference are up to date
    Generated,
    /// clippy on every target, warnings denied
    Lints,
    /// rustdoc, broken links denied
    Docs,
    /// Licences, bans and sources of dependencies
    Dependencies,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut failed = Vec::new();
    for check in Check::value_variants() {
        if !args.only.is_empty() && !args.only.contains(check) {
            continue;
        }
        if let Err(error) = check.run() {
            println!("{error:#}");
            failed.push(check.name());
        }
    }
    if !failed.is_empty() {
        bail!("Failed checks: {}", failed.join(", "));
    }
    println!("\nAll checks passed");
    Ok(())
}

impl Check {
    fn run(self) -> Result<()> {
        match self {
            Self::Hygiene => hygiene::run(),
            Self::Boundaries => boundaries::run(),
            Self::Format => sh::run(sh::cargo().args(["fmt", "--all", "--check"])),
            Self::Generated => generate::pages(Mode::Check),
            Self::Lints => sh::run(
                sh::cargo()
                    .args(["clippy", "--workspace", "--all-targets", "--all-features"])
                    .args(["--", "--deny", "warnings"]),
            ),
            // Libraries only: the comments of the programs' options are help texts, with rules of their own.
            Self::Docs => sh::run(
                sh::cargo()
                    .args(["doc", "--workspace", "--lib", "--no-deps", "--all-features"])
                    // A link to a private item helps whoever reads the code, where it works.
                    .env(
                        "RUSTDOCFLAGS",
                        "--deny warnings --allow rustdoc::private-intra-doc-links",
                    ),
            ),
            Self::Dependencies => deny::run(),
        }
    }

    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}
