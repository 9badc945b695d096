//! The server that the official MCP conformance suite is run against: Guildhall's own routes, gate and MCP door, with
//! the tools, prompts and resources that the suite asks for by name.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use clap::Parser;
use guildhall_server::mcp;
use guildhall_testing::fixture::{FixtureHandler, World};
use guildhall_testing::{Setup, TestServer};
use http::HeaderValue;
use http::header::AUTHORIZATION;

/// Serves the fixtures of the MCP conformance suite
#[derive(Parser)]
#[command(name = "conformance-server", version)]
struct Args {
    /// The port on loopback; 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Give older clients sessions
    #[arg(long)]
    sessions: bool,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "who starts it reads the URL there")]
async fn main() {
    let args = Args::parse();
    let world = World::new();
    let setup = Setup {
        sessions: args.sessions,
        port: args.port,
        ..Setup::of(Arc::clone(world.mounts()))
    };
    let server = TestServer::start_with(setup, |app, token| {
        let wrapped = Arc::clone(&world);
        let endpoint = mcp::endpoint_with(app, move |handler| {
            FixtureHandler::new(handler, Arc::clone(&wrapped))
        });
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).expect("a token is ASCII");
        // The suite cannot send a token, and the gate lets nobody in without one. What the gate does is tested with
        // requests of our own.
        guildhall_server::router(Arc::clone(app), &endpoint).layer(from_fn(
            move |mut request: Request, next: Next| {
                request
                    .headers_mut()
                    .entry(AUTHORIZATION)
                    .or_insert_with(|| bearer.clone());
                next.run(request)
            },
        ))
    })
    .await;
    println!("Listening on {}", server.mcp_url());
    server.forever().await;
}
