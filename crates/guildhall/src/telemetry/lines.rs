//! The log's lines on their way out.
//!
//! A call writes a line, and a write to a file or a terminal costs as much as the rest of a small call. So lines are
//! gathered for a moment and written together, from a thread of their own; warnings and errors take all before them out
//! at once. A process that is killed outright loses the lines of that moment and no more.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// How long a line may wait for others.
const GATHERED_FOR: Duration = Duration::from_millis(20);

/// Bytes that may wait; who writes more writes them out itself.
const MOST_WAITING: usize = 256 << 10;

/// Where lines go in. Cheap to clone.
#[derive(Clone)]
pub(super) struct Lines(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Taken before `waiting`, so that lines come out in the order they went in.
    out: Mutex<Box<dyn Write + Send>>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    closed: bool,
}

/// Writes out what waits when it is dropped.
pub(crate) struct Log {
    lines: Lines,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    /// Starts the thread that writes to `out`.
    pub(super) fn to(out: impl Write + Send + 'static) -> io::Result<(Self, Log)> {
        let lines = Self(Arc::new(Shared {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            out: Mutex::new(Box::new(out)),
        }));
        let writing = lines.clone();
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || writing.write_until_closed())?;
        let log = Log {
            lines: lines.clone(),
            thread: Some(thread),
        };
        Ok((lines, log))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8]) {
        let mut waiting = self.waiting();
        let is_first = waiting.lines.is_empty();
        waiting.lines.extend_from_slice(line);
        let is_full = waiting.lines.len() > MOST_WAITING;
        drop(waiting);
        if is_first {
            self.0.changed.notify_one();
        }
        if is_full {
            self.write_out();
        }
    }

    fn write_out(&self) {
        let mut out = self.0.out.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = std::mem::take(&mut self.waiting().lines);
        // There is nowhere to say that the log cannot be written.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
    }

    fn write_until_closed(&self) {
        loop {
            let mut waiting = self.waiting();
            while waiting.lines.is_empty() && !waiting.closed {
                waiting = self
                    .0
                    .changed
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if !waiting.closed {
                let wait = self
                    .0
                    .changed
                    .wait_timeout_while(waiting, GATHERED_FOR, |w| !w.closed);
                waiting = wait.unwrap_or_else(PoisonError::into_inner).0;
            }
            let closed = waiting.closed;
            drop(waiting);
            self.write_out();
            if closed {
                return;
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.lines.waiting().closed = true;
        self.lines.0.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One event's line.
pub(super) struct Line {
    lines: Lines,
    at_once: bool,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.add(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.at_once {
            self.lines.write_out();
        }
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line {
            lines: self.clone(),
            at_once: false,
        }
    }

    fn make_writer_for(&self, event: &Metadata<'_>) -> Line {
        Line {
            lines: self.clone(),
            at_once: *event.level() <= Level::WARN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written, one entry for each write.
    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Out {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().concat()).unwrap()
        }
    }

    fn line(lines: &Lines, at_once: bool, text: &str) {
        let mut line = Line {
            lines: lines.clone(),
            at_once,
        };
        line.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn what_waits_is_written_at_the_end_and_in_order() {
        let out = Out::default();
        let (lines, log) = Lines::to(out.clone()).unwrap();
        let expected: Vec<String> = (0..1000).map(|n| format!("{n}\n")).collect();
        for text in &expected {
            line(&lines, false, text);
        }
        drop(log);
        assert_eq!(out.text(), expected.concat());
        assert!(out.0.lock().unwrap().len() < 1000, "lines go out together");
    }

    #[test]
    fn a_warning_takes_everything_before_it_out() {
        let out = Out::default();
        let (lines, _log) = Lines::to(out.clone()).unwrap();
        line(&lines, false, "a call\n");
        line(&lines, true, "a warning\n");
        assert_eq!(out.text(), "a call\na warning\n");
    }

    #[test]
    fn more_than_may_wait_goes_out_by_whoever_writes_it() {
        let out = Out::default();
        let (lines, _log) = Lines::to(out.clone()).unwrap();
        line(&lines, false, &"x".repeat(MOST_WAITING + 1));
        assert_eq!(out.text().len(), MOST_WAITING + 1);
    }
}
