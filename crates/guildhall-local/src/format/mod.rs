//! The file of one issue: read as text, changed by splicing bytes.
//!
//! A change replaces only the bytes it is about. Everything else (unknown front matter keys, their order, comments,
//! text before the heading, the line ends, bytes that are no UTF-8) stays as it was, and the result is read again and
//! compared before it is handed out.

mod comments;
mod text;
mod yaml;

use std::ops::Range;

use guildhall_core::clock::rfc3339_millis;
use jiff::Timestamp;

use text::{MARKER, decode, escape_marker, find, unescape_marker, unix_lines};
pub(crate) use text::{one_line, trim};

/// An issue as its file says it.
#[derive(Clone, Debug, PartialEq)]
pub struct IssueText {
    /// Trimmed, not blank.
    pub status: String,
    /// Blank where the file has no heading or an empty one.
    pub title: String,
    /// Trimmed; blank where there is none.
    pub description: String,
    /// As written in the file, strings only.
    pub labels: Vec<String>,
    /// One per comment, as it stands in the file, further lines without their indent.
    pub comments: Vec<String>,
    /// What the front matter says of the creation, if it says it.
    pub created_at: Option<Timestamp>,
}

/// Why bytes are not an issue.
#[derive(Clone, Debug, PartialEq)]
pub enum FormatError {
    /// There is no `status`, or it is blank or no string.
    NoStatus,
    /// The front matter is no YAML, too large or too deep, in words that follow "cannot be read: ".
    FrontMatter(String),
    /// The file reads well, but the change would not have come out as meant.
    Unchangeable,
}

/// A change to an issue's file.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A new status, trimmed and not blank.
    Status(&'a str),
    /// A comment.
    Comment {
        /// When it is made.
        at: Timestamp,
        /// Whose it is: a name on one line without `: `.
        author: &'a str,
        /// Its text, not blank.
        body: &'a str,
    },
}

/// Where the parts of a file stand in its bytes.
struct Sections {
    front: Option<Range<usize>>,
    body: usize,
    marker: Option<Range<usize>>,
}

impl Sections {
    fn of(bytes: &[u8]) -> Self {
        let (front, body) =
            front_matter(bytes).map_or((None, 0), |(front, body)| (Some(front), body));
        let marker = find(bytes, MARKER.as_bytes(), body).map(|at| at..at + MARKER.len());
        Self {
            front,
            body,
            marker,
        }
    }
}

/// The front matter and where the text below it begins: from the line after an opening `---` to the first `\n---`.
fn front_matter(bytes: &[u8]) -> Option<(Range<usize>, usize)> {
    if !bytes.starts_with(b"---") {
        return None;
    }
    let start = find(bytes, b"\n", 0)? + 1;
    let end = find(bytes, b"\n---", 3)?;
    let body = find(bytes, b"\n", end + 1).map_or(bytes.len(), |at| at + 1);
    Some((start..end.max(start), body))
}

/// Reads the file of an issue. `max_front_matter` is the most bytes its front matter may have.
pub fn read(bytes: &[u8], max_front_matter: usize) -> Result<IssueText, FormatError> {
    let sections = Sections::of(bytes);
    let front = bytes
        .get(sections.front.clone().unwrap_or_default())
        .unwrap_or_default();
    let values = front_values(front, max_front_matter)?;
    let main_end = sections.marker.as_ref().map_or(bytes.len(), |at| at.start);
    let main = decode(&bytes[sections.body..main_end]);
    let (title, description) = title_and_description(&main);
    let section = sections.marker.map(|at| decode(&bytes[at.end..]));
    Ok(IssueText {
        status: values.status.ok_or(FormatError::NoStatus)?,
        title: unescape_marker(title).into_owned(),
        description: unescape_marker(description).into_owned(),
        labels: values.labels,
        comments: section.map_or_else(Vec::new, |text| comments::read(&text)),
        created_at: values.created_at,
    })
}

fn front_values(front: &[u8], max: usize) -> Result<yaml::Values, FormatError> {
    if front.len() > max {
        return Err(FormatError::FrontMatter(format!(
            "it has {} bytes, at most {max} are read",
            front.len()
        )));
    }
    let text = String::from_utf8_lossy(front);
    yaml::Document::read(&text)
        .map(|document| document.values())
        .map_err(FormatError::FrontMatter)
}

/// The first line that begins with `# `, and what stands below it; without one, everything is description.
fn title_and_description(main: &str) -> (&str, &str) {
    let mut start = 0;
    for line in main.split_inclusive('\n') {
        let end = start + line.len();
        if let Some(title) = line.strip_prefix("# ") {
            return (trim(title), trim(&main[end..]));
        }
        start = end;
    }
    ("", trim(main))
}

/// The file of a new issue. `title` stands on one line already, `status` is trimmed.
pub fn write(status: &str, created_at: Timestamp, title: &str, body: &str) -> String {
    let body = unix_lines(body);
    let body = trim(&body);
    let mut text = format!(
        "---\nstatus: {}\n{}: {}\n---\n\n# {}\n",
        yaml::write_scalar(status),
        yaml::CREATED_KEYS[0],
        rfc3339_millis(created_at),
        escape_marker(title),
    );
    if !body.is_empty() {
        text.push('\n');
        text.push_str(&escape_marker(body));
        text.push('\n');
    }
    text
}

/// The bytes of the file after `change`, or `None` where it changes nothing.
///
/// `created_at` is written down where the file does not say when the issue was created, because the file itself forgets
/// it when it is replaced.
pub fn change(
    bytes: &[u8],
    change: &Change<'_>,
    created_at: Timestamp,
    max_front_matter: usize,
) -> Result<Option<Vec<u8>>, FormatError> {
    let before = read(bytes, max_front_matter)?;
    if matches!(change, Change::Status(status) if *status == before.status) {
        return Ok(None);
    }
    let newline = newline_of(bytes);
    let sections = Sections::of(bytes);
    let mut places = front_edits(bytes, &sections, &before, change, created_at, newline)?;
    if let Change::Comment { at, author, body } = change {
        let body = comments::tidy(body);
        let entry = comments::write(&rfc3339_millis(*at), author, &body, newline);
        places.push(comment_edit(bytes, &sections, &entry, newline));
    }
    let after = splice(bytes, places);
    let created = before.created_at.or_else(|| cut_to_millis(created_at));
    if came_out_as_meant(&before, &after, change, created, max_front_matter) {
        Ok(Some(after))
    } else {
        Err(FormatError::Unchangeable)
    }
}

fn front_edits(
    bytes: &[u8],
    sections: &Sections,
    before: &IssueText,
    change: &Change<'_>,
    created_at: Timestamp,
    newline: &str,
) -> Result<Vec<yaml::Place>, FormatError> {
    let front = sections.front.clone().ok_or(FormatError::NoStatus)?;
    let raw = &bytes[front.clone()];
    let text = String::from_utf8_lossy(raw);
    let document = yaml::Document::read(&text).map_err(FormatError::FrontMatter)?;
    let mut places = Vec::new();
    if let Change::Status(status) = change {
        places.extend(document.place_status(status).ok_or(FormatError::NoStatus)?);
    }
    if before.created_at.is_none() {
        let time = rfc3339_millis(created_at);
        places.extend(document.place_created(&time, newline));
    }
    for place in &mut places {
        let at = raw_offset(raw, &text, place.at.start)..raw_offset(raw, &text, place.at.end);
        place.at = front.start + at.start..front.start + at.end;
    }
    Ok(places)
}

/// Where the byte at `at` of the decoded `text` stands in `raw`.
fn raw_offset(raw: &[u8], text: &str, at: usize) -> usize {
    if raw == text.as_bytes() {
        return at;
    }
    let (mut decoded, mut offset) = (0, 0);
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid().len();
        if at <= decoded + valid {
            return offset + (at - decoded);
        }
        decoded += valid + char::REPLACEMENT_CHARACTER.len_utf8();
        offset += valid + chunk.invalid().len();
        if at < decoded {
            return offset;
        }
    }
    offset
}

/// The edit that adds `entry` below the last line that is not blank, before whatever blank lines end the file.
fn comment_edit(bytes: &[u8], sections: &Sections, entry: &str, newline: &str) -> yaml::Place {
    let text_end = bytes.trim_ascii_end().len();
    // White space at the end of a line belongs to it: `# ` is a heading, `#` is not.
    let end = bytes[text_end..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(bytes.len(), |step| text_end + step);
    let mut text = String::new();
    match &sections.marker {
        Some(marker) if comments::is_blank(&decode(&bytes[marker.end..])) => {
            text.push_str(&comments::heading(newline));
        }
        Some(_) => {}
        None => {
            text.push_str(newline);
            text.push_str(newline);
            text.push_str(MARKER);
            text.push_str(&comments::heading(newline));
        }
    }
    text.push_str(newline);
    text.push_str(entry);
    if !bytes[end..].contains(&b'\n') {
        text.push_str(newline);
    }
    yaml::Place { at: end..end, text }
}

fn splice(bytes: &[u8], mut places: Vec<yaml::Place>) -> Vec<u8> {
    places.sort_by_key(|place| (place.at.start, place.at.end));
    let mut out = Vec::with_capacity(bytes.len() + 256);
    let mut at = 0;
    for place in places {
        out.extend_from_slice(&bytes[at..place.at.start.max(at)]);
        out.extend_from_slice(place.text.as_bytes());
        at = at.max(place.at.end);
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

fn newline_of(bytes: &[u8]) -> &'static str {
    match find(bytes, b"\n", 0) {
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => "\r\n",
        _ => "\n",
    }
}

/// Times are written with milliseconds, so what is read back has no more.
fn cut_to_millis(at: Timestamp) -> Option<Timestamp> {
    rfc3339_millis(at).parse().ok()
}

/// Whether `after` says what `before` said, but for the change.
fn came_out_as_meant(
    before: &IssueText,
    after: &[u8],
    change: &Change<'_>,
    created: Option<Timestamp>,
    max_front_matter: usize,
) -> bool {
    let Ok(after) = read(after, max_front_matter) else {
        return false;
    };
    let mut expected = before.clone();
    // A file whose two keys are both taken by something that is no time keeps them.
    expected.created_at = after.created_at.and(created);
    match change {
        Change::Status(status) => (*status).clone_into(&mut expected.status),
        Change::Comment { at, author, body } => {
            let text = comments::write(&rfc3339_millis(*at), author, &comments::tidy(body), "\n");
            expected.comments.extend(comments::read(&text));
        }
    }
    expected == after
}
