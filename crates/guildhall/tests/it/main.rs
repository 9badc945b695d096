//! Tests of the whole program, as people and agents run it.

mod asks;
mod cli;
mod interop;
mod lifecycle;
mod people;
mod repos;
mod secrets;
mod stdio;
mod support;
