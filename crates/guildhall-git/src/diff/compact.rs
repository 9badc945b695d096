//! Where a change among equal lines is shown.
//!
//! When a line is added beside lines that are the same, any of them can be called the new one. Git slides each group of
//! changed lines: groups that meet become one; a group that can stand opposite a change of the other text does; else the
//! indentation of the lines decides. This takes a time that grows with the number of lines, whatever they are.

use std::ops::Range;

use gix_imara_diff::{Diff, IndentHeuristic, IndentLevel, InternedInput, SliderHeuristic, Token};

/// How far git counts a tab to indent.
const TAB: u8 = 8;

/// The changes of `diff`, slid as git slides them: old lines and the new lines in their place, in order.
pub(super) fn changes(
    diff: &Diff,
    input: &InternedInput<&[u8]>,
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut old = Side::of(&input.before);
    let mut new = Side::of(&input.after);
    for hunk in diff.hunks() {
        old.changed[hunk.before.start as usize..hunk.before.end as usize].fill(true);
        new.changed[hunk.after.start as usize..hunk.after.end as usize].fill(true);
    }
    let mut indent = IndentHeuristic::new(|token: Token| {
        IndentLevel::for_ascii_line(input.interner[token].iter().copied(), TAB)
    });
    slide(&mut old, &new, &mut indent);
    slide(&mut new, &old, &mut indent);
    pairs(&old, &new)
}

/// One of the two texts.
struct Side<'a> {
    lines: &'a [Token],
    changed: Vec<bool>,
}

impl<'a> Side<'a> {
    fn of(lines: &'a [Token]) -> Self {
        Self {
            lines,
            changed: vec![false; lines.len()],
        }
    }

    /// The changed lines, perhaps none, that begin at `start`.
    fn group_from(&self, start: usize) -> Range<usize> {
        let length = self.changed[start..].iter().take_while(|&&is| is);
        start..start + length.count()
    }

    /// The changed lines, perhaps none, that end before `end`.
    fn group_until(&self, end: usize) -> Range<usize> {
        let length = self.changed[..end].iter().rev().take_while(|&&is| is);
        end - length.count()..end
    }

    /// The group after the next unchanged line.
    fn next(&self, group: &Range<usize>) -> Option<Range<usize>> {
        (group.end < self.lines.len()).then(|| self.group_from(group.end + 1))
    }

    /// The group before the last unchanged line.
    fn previous(&self, group: &Range<usize>) -> Option<Range<usize>> {
        group.start.checked_sub(1).map(|end| self.group_until(end))
    }

    /// Slides a group up by a line, into the one above if they meet.
    fn up(&mut self, group: &mut Range<usize>) -> bool {
        let fits = group.start > 0 && self.lines[group.start - 1] == self.lines[group.end - 1];
        if fits {
            self.changed[group.start - 1] = true;
            self.changed[group.end - 1] = false;
            group.end -= 1;
            group.start = self.group_until(group.start - 1).start;
        }
        fits
    }

    /// Slides a group down by a line, into the one below if they meet.
    fn down(&mut self, group: &mut Range<usize>) -> bool {
        let fits = group.end < self.lines.len() && self.lines[group.start] == self.lines[group.end];
        if fits {
            self.changed[group.start] = false;
            self.changed[group.end] = true;
            group.start += 1;
            group.end = self.group_from(group.end + 1).end;
        }
        fits
    }
}

/// Slides every group of `side`. Between two unchanged lines lies one group of either text, so the two are walked together.
fn slide(side: &mut Side<'_>, other: &Side<'_>, indent: &mut impl SliderHeuristic) {
    let mut group = side.group_from(0);
    let mut opposite = other.group_from(0);
    loop {
        if !group.is_empty() {
            settle(side, &mut group, other, &mut opposite, indent);
        }
        match (side.next(&group), other.next(&opposite)) {
            (Some(next), Some(next_opposite)) => (group, opposite) = (next, next_opposite),
            _ => return,
        }
    }
}

/// Brings one group to its place.
fn settle(
    side: &mut Side<'_>,
    group: &mut Range<usize>,
    other: &Side<'_>,
    opposite: &mut Range<usize>,
    indent: &mut impl SliderHeuristic,
) {
    let (highest, meets) = loop {
        let length = group.len();
        while side.up(group) {
            *opposite = other.previous(opposite).unwrap_or(0..0);
        }
        let highest = group.end;
        let mut meets = has_lines(opposite);
        while side.down(group) {
            *opposite = other.next(opposite).unwrap_or_else(|| opposite.clone());
            meets |= has_lines(opposite);
        }
        if group.len() == length {
            break (highest, meets);
        }
    };
    if group.end == highest {
        return;
    }
    let place = if meets {
        None
    } else {
        let wide = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let lines = wide(group.start)..wide(group.end);
        Some(indent.best_slider_end(side.lines, lines, wide(highest)) as usize)
    };
    // The group is as low as it can be; it goes up until it stands opposite a change, or in the best place.
    while place.map_or(!has_lines(opposite), |place| group.end > place) && side.up(group) {
        *opposite = other.previous(opposite).unwrap_or(0..0);
    }
}

fn has_lines(group: &Range<usize>) -> bool {
    group.start < group.end
}

/// The groups of both texts side by side, without those where both are empty.
fn pairs(old: &Side<'_>, new: &Side<'_>) -> Vec<(Range<usize>, Range<usize>)> {
    let mut pairs = Vec::new();
    let (mut olds, mut news) = (old.group_from(0), new.group_from(0));
    loop {
        if !olds.is_empty() || !news.is_empty() {
            pairs.push((olds.clone(), news.clone()));
        }
        match (old.next(&olds), new.next(&news)) {
            (Some(next), Some(next_new)) => (olds, news) = (next, next_new),
            _ => return pairs,
        }
    }
}
