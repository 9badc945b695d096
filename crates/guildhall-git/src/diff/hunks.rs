//! Two texts line by line: which lines changed, and the hunks that show it.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, InternedInput};

use super::{Hunk, MOST_LINES, OVERHEAD, compact};
use crate::object::lines;
use crate::text::noted;

/// The longest heading shown beside a hunk's numbers, in bytes.
const SECTION: usize = 80;

/// The longest line shown whole, in bytes.
const LONGEST_LINE: usize = 256 * 1024;

/// Where an answer goes on, and how much room it has.
pub(super) struct Cut {
    /// The first hunk of the file that is not whole yet.
    pub(super) hunk: usize,
    /// How many of its lines were given.
    pub(super) line: usize,
    /// Bytes left.
    pub(super) room: usize,
}

impl Cut {
    pub(super) fn spend(&mut self, bytes: usize) {
        self.room = self.room.saturating_sub(bytes);
    }
}

/// The changed lines of two texts.
pub(crate) struct LineDiff<'a> {
    old: &'a [u8],
    new: &'a [u8],
    old_lines: Vec<Range<usize>>,
    new_lines: Vec<Range<usize>>,
    /// Old lines and the new lines that stand in their place, in order.
    changes: Vec<(Range<usize>, Range<usize>)>,
}

/// What a line of a hunk is.
#[derive(Clone, Copy)]
enum Line {
    Same { old: usize, new: usize },
    Old { old: usize, new: usize },
    New { old: usize, new: usize },
}

impl<'a> LineDiff<'a> {
    /// Compares two texts as git does by default; `None` when one has too many lines.
    ///
    /// Without lines of context git leaves the common end of both texts out, in blocks, before it looks for changes; which
    /// of several equal lines counts as the new one can depend on that.
    pub(crate) fn between(old: &'a [u8], new: &'a [u8], context: usize) -> Option<Self> {
        let old_lines: Vec<_> = lines(old).take(MOST_LINES + 1).collect();
        let new_lines: Vec<_> = lines(new).take(MOST_LINES + 1).collect();
        if old_lines.len().max(new_lines.len()) > MOST_LINES {
            return None;
        }
        let left_out = if context == 0 {
            common_end(old, new)
        } else {
            0
        };
        let input = InternedInput::new(&old[..old.len() - left_out], &new[..new.len() - left_out]);
        let diff = Diff::compute(Algorithm::Myers, &input);
        let changes = compact::changes(&diff, &input);
        Some(Self {
            old,
            new,
            old_lines,
            new_lines,
            changes,
        })
    }

    /// Old lines and the new lines that stand in their place, in order, counted from 0.
    pub(crate) fn changes(&self) -> &[(Range<usize>, Range<usize>)] {
        &self.changes
    }

    pub(super) fn additions(&self) -> usize {
        self.changes.iter().map(|(_, new)| new.len()).sum()
    }

    pub(super) fn deletions(&self) -> usize {
        self.changes.iter().map(|(old, _)| old.len()).sum()
    }

    /// Adds the hunks, without the first `skipped`, for as long as there is room; says whether those were all.
    pub(super) fn hunks(
        &self,
        context: usize,
        skipped: &mut usize,
        cut: &mut Cut,
        hunks: &mut Vec<Hunk>,
    ) -> bool {
        for group in self.groups(context) {
            if *skipped > 0 {
                *skipped -= 1;
                continue;
            }
            // The first hunk is begun in any case, so that each answer goes further than the one before.
            if cut.room == 0 && !hunks.is_empty() {
                return false;
            }
            let lines = self.lines_of(group, context);
            let (hunk, end) = self.hunk(&lines, cut.line, cut.room);
            cut.spend(OVERHEAD + hunk.text.len());
            hunks.push(hunk);
            if end < lines.len() {
                cut.line = end;
                return false;
            }
            cut.hunk += 1;
            cut.line = 0;
        }
        true
    }

    /// Changes so near each other that the lines around them meet, together.
    fn groups(&self, context: usize) -> Vec<&[(Range<usize>, Range<usize>)]> {
        self.changes
            .chunk_by(|(before, _), (after, _)| {
                after.start - before.end <= context.saturating_mul(2)
            })
            .collect()
    }

    /// The lines of one hunk.
    fn lines_of(&self, group: &[(Range<usize>, Range<usize>)], context: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let (Some((first_old, first_new)), Some((last_old, last_new))) =
            (group.first(), group.last())
        else {
            return lines;
        };
        let lead = context.min(first_old.start).min(first_new.start);
        let (mut old, mut new) = (first_old.start - lead, first_new.start - lead);
        let trail = context
            .min(self.old_lines.len() - last_old.end)
            .min(self.new_lines.len() - last_new.end);
        for (olds, news) in group {
            while old < olds.start {
                lines.push(Line::Same { old, new });
                (old, new) = (old + 1, new + 1);
            }
            for at in olds.clone() {
                lines.push(Line::Old { old: at, new });
            }
            old = olds.end;
            for at in news.clone() {
                lines.push(Line::New { old, new: at });
            }
            new = news.end;
        }
        for _ in 0..trail {
            lines.push(Line::Same { old, new });
            (old, new) = (old + 1, new + 1);
        }
        lines
    }

    /// The hunk of `lines` from line `from`, at least one line and then while there is room; and the line it ends before.
    fn hunk(&self, lines: &[Line], from: usize, room: usize) -> (Hunk, usize) {
        let (mut text, mut lines_cut) = (Vec::new(), false);
        let (mut old_lines, mut new_lines, mut end) = (0, 0, from.min(lines.len()));
        let (old, new) = match lines.get(end) {
            Some(Line::Same { old, new } | Line::Old { old, new } | Line::New { old, new }) => {
                (*old, *new)
            }
            None => (0, 0),
        };
        while end < lines.len() && (end == from || text.len() < room) {
            let (mark, line) = match lines[end] {
                Line::Same { old, .. } => {
                    (old_lines, new_lines) = (old_lines + 1, new_lines + 1);
                    (b' ', &self.old[self.old_lines[old].clone()])
                }
                Line::Old { old, .. } => {
                    old_lines += 1;
                    (b'-', &self.old[self.old_lines[old].clone()])
                }
                Line::New { new, .. } => {
                    new_lines += 1;
                    (b'+', &self.new[self.new_lines[new].clone()])
                }
            };
            text.push(mark);
            text.extend_from_slice(&line[..line.len().min(LONGEST_LINE)]);
            if line.len() > LONGEST_LINE {
                lines_cut = true;
                text.push(b'\n');
            } else if !line.ends_with(b"\n") {
                text.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
            end += 1;
        }
        let mut escaped = Vec::new();
        let section = self.section(old);
        let hunk = Hunk {
            old_start: old + usize::from(old_lines > 0),
            old_lines,
            new_start: new + usize::from(new_lines > 0),
            new_lines,
            section: section.map(|section| noted(section, "section", &mut escaped)),
            text: noted(&text, "text", &mut escaped),
            lines_cut,
            partial: from > 0 || end < lines.len(),
            escaped,
        };
        (hunk, end)
    }

    /// The last line before old line `before` that begins like a heading: with a letter, `_` or `$`.
    fn section(&self, before: usize) -> Option<&[u8]> {
        let heading = self.old_lines[..before.min(self.old_lines.len())]
            .iter()
            .rev()
            .map(|line| &self.old[line.clone()])
            .find(|line| matches!(line[0], b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$'))?;
        Some(heading[..heading.len().min(SECTION)].trim_ascii_end())
    }
}

/// How many bytes at the end of both texts git leaves out: whole equal blocks, but for the line that they begin within.
fn common_end(old: &[u8], new: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK));
    let equal = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let tail = &old[old.len() - equal..];
    let line = tail.iter().position(|&byte| byte == b'\n');
    line.map_or(0, |end| equal - end - 1)
}
