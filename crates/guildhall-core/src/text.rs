//! Text from outside, before it is shown.

/// Whether a character steers a terminal or makes a text look like another: control characters other than line ends and
/// tabs, and the bidirectional controls.
pub fn steers(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}
