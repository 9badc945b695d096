//! `guildhall`: the server that coding agents work through, and its command line.

mod cli;
mod client;
mod data_dir;
mod demo;
mod logins;
mod output;
mod repos;
mod telemetry;
mod tmux;
mod turns;
mod wiring;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Whatever speaks TLS speaks it with this provider; it is the only one that is compiled in.
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::run()
}
