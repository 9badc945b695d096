//! `cargo xtask bench [name]`: the named benchmarks. Each prints its own figures; none has a pass mark.

use anyhow::{Result, bail};

use crate::sh;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which benchmark; without it, all are listed
    name: Option<String>,
    /// Arguments for the benchmark itself, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

struct Bench {
    name: &'static str,
    about: &'static str,
    package: &'static str,
    target: &'static str,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "query",
        about: "the query language over parsed issues",
        package: "guildhall-core",
        target: "query",
    },
    Bench {
        name: "board",
        about: "reading, writing and querying a local board",
        package: "guildhall-local",
        target: "board",
    },
    Bench {
        name: "git",
        about: "log, diff and files beside git itself, by size of the history",
        package: "guildhall-git",
        target: "git",
    },
    Bench {
        name: "commit",
        about: "landing a changeset beside git doing the same",
        package: "guildhall-git",
        target: "commit",
    },
    Bench {
        name: "store",
        about: "acknowledged writes through the store, beside its bare statements",
        package: "guildhall-store",
        target: "store",
    },
    Bench {
        name: "asks",
        about: "durable claims beside their bare statements, what is claimable, claims over HTTP",
        package: "guildhall-store",
        target: "asks",
    },
    Bench {
        name: "ladder",
        about: "searching a million summaries, beside the bare query of the index",
        package: "guildhall-store",
        target: "ladder",
    },
    Bench {
        name: "team",
        about: "a team's messages: the store beside its bare statements, then 50 roles on one node and on three",
        package: "guildhall-store",
        target: "team",
    },
    Bench {
        name: "program",
        about: "the whole program: start, a query over HTTP, memory",
        package: "guildhall",
        target: "program",
    },
    Bench {
        name: "mcp",
        about: "listing and calling over MCP, beside the bare SDK and bare HTTP",
        package: "guildhall-testing",
        target: "mcp",
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(name) = &args.name else {
        for bench in BENCHES {
            println!("{:<8} {}", bench.name, bench.about);
        }
        return Ok(());
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        let names: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("Unknown benchmark `{name}` (known: {})", names.join(", "));
    };
    let mut command = sh::cargo();
    if bench.name == "mcp" || bench.name == "team" {
        sh::run(sh::cargo().args(["build", "--release", "--package", "guildhall"]))?;
        command.env(
            "GUILDHALL_BENCH_PROGRAM",
            sh::target().join("release/guildhall"),
        );
    }
    sh::run(
        command
            .args(["bench", "--package", bench.package])
            .args(["--bench", bench.target, "--"])
            .args(&args.rest),
    )?;
    if bench.name == "asks" {
        // The second half goes through the whole program.
        let mut command = sh::cargo();
        command.args(["bench", "--package", "guildhall", "--bench", "asks", "--"]);
        sh::run(command.args(&args.rest))?;
    }
    if bench.name == "team" {
        // The second half needs the whole program.
        let mut load = sh::cargo();
        load.env(
            "GUILDHALL_BENCH_PROGRAM",
            sh::target().join("release/guildhall"),
        );
        load.args(["bench", "--package", "guildhall-testing"])
            .args(["--bench", "team", "--"])
            .args(&args.rest);
        sh::run(&mut load)?;
    }
    Ok(())
}
