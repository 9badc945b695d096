//! What tests and benches of the whole program share. Never part of the program itself.

pub mod fixture;
mod test_server;

pub use test_server::{Mounts, Setup, TestServer};
