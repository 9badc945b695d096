//! What tests and benches of the whole program share. Never part of the program itself.

pub mod fixture;
mod guildhall;
mod server;
pub mod team_load;
mod test_server;

pub use guildhall::{Guildhall, hermetic};
pub use server::Server;
pub use test_server::{Mounts, SetClock, Setup, TestServer};
