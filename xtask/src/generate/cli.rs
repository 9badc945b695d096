//! The command line: the help of every command, in the order in which the program lists them.

use std::fmt::Write as _;

use anyhow::Result;

use super::Program;

pub(super) fn page(program: &Program) -> Result<String> {
    let mut page = String::from(
        "# The command line\n\nMade by `cargo xtask generate write` from the program's own help.\n",
    );
    command(program, &mut Vec::new(), &mut page)?;
    Ok(page)
}

/// Adds the help of the command that `words` name, then that of its subcommands.
fn command(program: &Program, words: &mut Vec<String>, page: &mut String) -> Result<()> {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let help = program.output(&args)?;

    let level = "#".repeat(words.len() + 2);
    let name = std::iter::once("guildhall")
        .chain(words.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    let text = trimmed(&help);
    write!(page, "\n{level} `{name}`\n\n```text\n{text}\n```\n")?;

    for name in subcommands(&help) {
        words.push(name);
        command(program, words, page)?;
        words.pop();
    }
    Ok(())
}

/// The names under `Commands:`, without `help`, which only repeats the others.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // Names are indented by two; a description that goes on in the next line, by more.
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Without blanks at line ends, which no editor keeps.
fn trimmed(help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::subcommands;

    #[test]
    fn reads_the_names_of_commands_from_help() {
        let help = "Serves\n\nUsage: guildhall <COMMAND>\n\nCommands:\n  up    Start the server\n  call  Call a tool,\n        \
                    whichever\n  help  Print this message\n\nOptions:\n  -h, --help\n";
        assert_eq!(subcommands(help), ["up", "call"]);
        assert_eq!(subcommands("Usage: guildhall up\n"), Vec::<String>::new());
    }
}
