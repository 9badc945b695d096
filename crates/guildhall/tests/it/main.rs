//! Tests of the whole program, as people and agents run it.

mod asks;
mod attacks;
mod cli;
mod flow;
mod gate;
mod hosted;
mod interop;
mod ladder;
mod lifecycle;
mod openapi;
mod people;
mod repos;
mod secrets;
mod stdio;
mod support;
mod team;
