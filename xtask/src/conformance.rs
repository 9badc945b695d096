//! The official MCP conformance suite, first against a server with the suite's own fixtures (everything must pass), then
//! against the product as people run it (everything must pass but what a reviewed list says does not apply).

mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};

use crate::serve::Server;
use crate::sh;
use crate::tools::JavaScript;
use results::{Results, Verdict};

/// Scenarios that cannot pass on the product's own mount, with the reason for each.
const NOT_APPLICABLE: &str = "crates/guildhall-testing/conformance/not-applicable.txt";

/// One run of the suite against the server with fixtures.
struct Run {
    name: &'static str,
    /// The package that holds the suite, by its alias in `package.json`.
    suite: &'static str,
    args: &'static [&'static str],
    /// Whether the server keeps sessions: what a server asks of an old client needs them.
    sessions: bool,
    /// How many scenarios are scored; each must pass.
    scored: usize,
}

const RUNS: &[Run] = &[
    Run {
        name: "2026-07-28",
        suite: "conformance",
        args: &["--requirements", "2026-07-28"],
        sessions: false,
        scored: 37,
    },
    Run {
        name: "2025-11-25",
        suite: "conformance",
        args: &["--requirements", "2025-11-25"],
        sessions: true,
        scored: 30,
    },
    Run {
        name: "2025-06-18",
        suite: "conformance",
        args: &["--suite", "all", "--spec-version", "2025-06-18"],
        sessions: true,
        scored: 27,
    },
    Run {
        name: "suite-0.1",
        suite: "conformance-0.1",
        args: &["--suite", "all"],
        sessions: true,
        scored: 32,
    },
];

/// Revisions with a frozen set of requirements, run against the product.
const PRODUCT_REVISIONS: &[&str] = &["2026-07-28", "2025-11-25"];

pub(crate) fn run(javascript: &JavaScript) -> Result<()> {
    sh::run(
        sh::cargo()
            .args([
                "build",
                "--package",
                "guildhall-testing",
                "--bin",
                "conformance-server",
            ])
            .args(["--package", "guildhall", "--bin", "guildhall"]),
    )?;
    let suite = Suite::new(javascript)?;
    println!();
    let mut faults = Vec::new();
    for run in RUNS {
        fixtures(&suite, run, &mut faults)?;
    }
    product(&suite, &mut faults)?;
    if !faults.is_empty() {
        bail!("MCP conformance:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

fn fixtures(suite: &Suite, run: &Run, faults: &mut Vec<String>) -> Result<()> {
    let mut command = sh::at_root(sh::target().join("debug/conformance-server"));
    if run.sessions {
        command.arg("--sessions");
    }
    let server = Server::start(&mut command)?;
    let results = suite.run(run.name, run.suite, run.args, &server.url, None)?;

    let passed = results.scored().filter(|(_, verdict)| verdict.passed());
    let (passed, scored) = (passed.count(), results.scored().count());
    println!(
        "conformance {:<10} with fixtures: {passed}/{} scored scenarios passed{}",
        run.name,
        run.scored,
        results.unscored_summary()
    );
    if scored != run.scored {
        faults.push(format!(
            "{}: the suite ran {scored} scored scenarios, expected {}",
            run.name, run.scored
        ));
    }
    for (scenario, verdict) in results.scored().filter(|(_, verdict)| !verdict.passed()) {
        faults.push(format!("{}: {scenario}: {verdict}", run.name));
    }
    Ok(())
}

/// The product over an empty board, with sessions off as by default.
fn product(suite: &Suite, faults: &mut Vec<String>) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (workspace, data) = (
        scratch.path().join("workspace"),
        scratch.path().join("data"),
    );
    fs::create_dir(&workspace)?;
    let mut command = sh::at_root(sh::target().join("debug/guildhall"));
    command
        .arg("up")
        .arg(&workspace)
        .args(["--port", "0", "--data-dir"])
        .arg(&data)
        .current_dir(&workspace)
        .stderr(fs::File::create(suite.out.join("product-server.log"))?);
    let server = Server::start(&mut command)?;
    let token = fs::read_to_string(data.join("owner.token")).context("No owner's token")?;
    let listed = fs::read_to_string(sh::root().join(NOT_APPLICABLE))
        .with_context(|| format!("Could not read {NOT_APPLICABLE}"))?;

    for revision in PRODUCT_REVISIONS {
        let results = suite.run(
            &format!("product-{revision}"),
            "conformance",
            &["--requirements", revision],
            &format!("{}/mcp", server.origin()),
            Some(token.trim()),
        )?;
        let listed = results::not_applicable(&listed, revision)?;
        let passed = results
            .all()
            .filter(|(_, verdict)| verdict.passed())
            .count();
        println!(
            "conformance {revision} on the product: {passed} scenarios passed, {} do not apply",
            listed.len()
        );
        faults.extend(
            results
                .against(&listed)
                .into_iter()
                .map(|fault| format!("product, {revision}: {fault}")),
        );
    }
    Ok(())
}

/// The suite, ready to run.
struct Suite<'a> {
    javascript: &'a JavaScript,
    /// Loads the token into every request.
    authorize: PathBuf,
    /// Where logs and results are kept for a look after the run.
    out: PathBuf,
}

impl<'a> Suite<'a> {
    fn new(javascript: &'a JavaScript) -> Result<Self> {
        let name = "authorize.mjs";
        let source = sh::root()
            .join("crates/guildhall-testing/clients/js")
            .join(name);
        // Beside `node_modules`, where the modules that it imports are found.
        let authorize = javascript.modules.with_file_name(name);
        fs::copy(source, &authorize)?;
        let out = sh::target().join("conformance");
        fs::create_dir_all(&out)?;
        Ok(Self {
            javascript,
            authorize,
            out,
        })
    }

    fn run(
        &self,
        name: &str,
        suite: &str,
        args: &[&str],
        url: &str,
        token: Option<&str>,
    ) -> Result<Results> {
        let out = self.out.join(name);
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        let log = self.out.join(format!("{name}.log"));
        let file = fs::File::create(&log)?;

        let mut command = sh::at_root(&self.javascript.node);
        if let Some(token) = token {
            command
                .arg("--import")
                .arg(&self.authorize)
                .env("GUILDHALL_TEST_TOKEN", token);
        }
        // Its exit code says less than its results: a warning, too, must be accounted for.
        command
            .arg(self.javascript.modules.join(suite).join("dist/index.js"))
            .args(["server", "--url", url, "--output-dir"])
            .arg(&out)
            .args(args)
            .stdout(Stdio::from(file.try_clone()?))
            .stderr(Stdio::from(file))
            .status()
            .context("Could not start the conformance suite")?;
        read(&out, &log)
    }
}

fn read(out: &Path, log: &Path) -> Result<Results> {
    let text = fs::read_to_string(log)?;
    let mut results = Results::new(&text);
    for entry in fs::read_dir(out)? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let checks = fs::read_to_string(folder.join("checks.json"))?;
        results.add(&name, Verdict::of_checks(&checks)?);
    }
    ensure!(
        results.all().count() > 0,
        "The conformance suite wrote no result; see {}",
        log.display()
    );
    Ok(results)
}
