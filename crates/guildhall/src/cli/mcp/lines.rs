//! Standard input as lines, whatever stands in them.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Longest line that is taken; what rmcp takes over stdio as well.
const MAX_LINE: usize = 16 << 20;

/// One line of the client.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Line {
    /// Text that may be a message.
    Message(String),
    /// Bytes that are not UTF-8.
    NotText,
    /// More than [`MAX_LINE`] bytes; they were skipped.
    TooLong,
}

/// Reads lines and never fails on what stands in them.
pub(super) struct Lines<R> {
    input: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
        }
    }

    /// The next line that is not blank, or `None` at the end. A last line without a line end counts.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(if too_long || !is_blank(&line) {
                    Some(finished(line, too_long))
                } else {
                    None
                });
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if line.len() + part.len() > MAX_LINE {
                too_long = true;
                line.clear();
            } else if !too_long {
                line.extend_from_slice(part);
            }
            let used = end.map_or(available.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                if too_long || !is_blank(&line) {
                    return Ok(Some(finished(line, too_long)));
                }
                line.clear();
            }
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

fn finished(line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        return Line::TooLong;
    }
    String::from_utf8(line).map_or(Line::NotText, Line::Message)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(input);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        read
    }

    fn message(text: &str) -> Line {
        Line::Message(text.to_owned())
    }

    #[tokio::test]
    async fn blank_lines_are_skipped_and_a_last_line_needs_no_end() {
        assert_eq!(
            lines(b"{}\n\n \r\n[1]\r\n{\"a\":1}").await,
            [message("{}"), message("[1]\r"), message("{\"a\":1}")]
        );
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_do_not_end_the_input() {
        assert_eq!(
            lines(b"{\"a\":\"\xff\"}\n{}\n").await,
            [Line::NotText, message("{}")]
        );
    }

    #[tokio::test]
    async fn a_line_without_end_is_skipped_and_the_next_one_read() {
        let input = [vec![b'x'; MAX_LINE + 1], b"\n{}\n".to_vec()].concat();
        assert_eq!(lines(&input).await, [Line::TooLong, message("{}")]);
    }
}
