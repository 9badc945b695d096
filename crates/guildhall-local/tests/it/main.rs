//! The board as a caller sees it, over real directories.

mod support;

mod files;
mod processes;
mod scan;
mod trouble;
mod writes;
