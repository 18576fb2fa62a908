//! `docs/commands.md`, written from the definitions of the command line.
//!
//! The test compares the page with the definitions. `cargo xtask commands` sets [`UPDATE`], and the test writes the page
//! instead.

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

/// If set, the page is written.
const UPDATE: &str = "AQUIFER_UPDATE_COMMANDS";

const INTRODUCTION: &str = "\
# Commands

<!-- Written by: cargo xtask commands -->

`aquifer COMMAND --help` prints the same in a terminal.
";

/// Options that every command has.
const COMMON_OPTIONS: [&str; 3] = ["log", "help", "version"];

/// The page.
fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut out = format!("{INTRODUCTION}\n| command | purpose |\n|---|---|\n");
    for command in subcommands(&root) {
        let name = full_name(command);
        out += &format!("| [`{name}`](#{}) | {} |\n", name.replace(' ', "-"), about(command));
    }
    out += "\n";
    out += &paragraphs(&after_help(&root));
    out += "## Options of every command\n\n";
    out += &table(root.get_arguments().filter(|argument| is_common(argument)));
    subcommands(&root).for_each(|command| out += &section(command, 2, &after_help(command)));
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The section of a command with the text below its options, and after it the sections of its own commands. If these all
/// have the same text, it is written once.
fn section(command: &Command, level: usize, text: &str) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let usage = usage.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut out =
        format!("{} {}\n\n{}.\n\n```text\n{usage}\n```\n\n", "#".repeat(level), full_name(command), about(command));
    let own = || command.get_arguments().filter(|argument| !is_common(argument) && !argument.is_hide_set());
    let mut headings: Vec<Option<&str>> = Vec::new();
    for argument in own() {
        let heading = argument.get_help_heading();
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        if let Some(heading) = heading {
            out += &format!("{heading}:\n\n");
        }
        out += &table(own().filter(|argument| argument.get_help_heading() == heading));
    }
    out += &paragraphs(text);
    let mut texts: Vec<String> = subcommands(command).map(after_help).collect();
    if let [first, rest @ ..] = texts.as_mut_slice()
        && !rest.is_empty()
        && rest.iter().all(|text| text == first)
    {
        out += &paragraphs(first);
        texts.iter_mut().for_each(String::clear);
    }
    subcommands(command).zip(&texts).for_each(|(below, text)| out += &section(below, level + 1, text));
    out
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set())
}

fn full_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// What the command does, without the full stop.
fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    escape(about.trim_end_matches('.'))
}

fn after_help(command: &Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

fn is_common(argument: &Arg) -> bool {
    COMMON_OPTIONS.contains(&argument.get_id().as_str())
}

fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = arguments.map(|argument| format!("| {} | {} |\n", name(argument), meaning(argument))).collect();
    if rows.is_empty() { rows } else { format!("| argument | meaning |\n|---|---|\n{rows}\n") }
}

/// How an argument is written: `` `-o`, `--output FILE` ``.
fn name(argument: &Arg) -> String {
    let takes_value = argument.get_action().takes_values();
    let value = argument.get_value_names().filter(|_| takes_value).map(|names| names.join(" "));
    let value = value.unwrap_or_default().replace('|', "\\|");
    if argument.is_positional() {
        return format!("`{value}`");
    }
    let short = argument.get_short().map(|short| format!("`-{short}`"));
    let long = argument.get_long().map(|long| format!("`{}`", format!("--{long} {value}").trim_end()));
    short.into_iter().chain(long).collect::<Vec<_>>().join(", ")
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut sentences = vec![escape(&help.split_whitespace().collect::<Vec<_>>().join(" "))];
    if let Some(first) = sentences.first_mut().filter(|first| !first.ends_with('.')) {
        first.push('.');
    }
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !values.is_empty() && !matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse) {
        sentences.push(format!("One of {}.", values.join(", ")));
    }
    let defaults = argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults = defaults.collect::<Vec<_>>().join(", ");
    if !defaults.is_empty() && argument.get_action().takes_values() {
        sentences.push(format!("Default: {defaults}."));
    }
    if let Some(variable) = argument.get_env() {
        sentences.push(format!("Environment: `{}`.", variable.to_string_lossy()));
    }
    sentences.join(" ")
}

/// The text below the options: indented lines are examples.
fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines() {
        let indented = line.strip_prefix("  ");
        if indented.is_some() != is_code && !line.is_empty() {
            out += if is_code { "```\n\n" } else { "\n```text\n" };
            is_code = !is_code;
        }
        match indented {
            Some(code) => out += code,
            None => out += &escape(line),
        }
        out += "\n";
    }
    out += if is_code { "```\n\n" } else { "\n" };
    // An empty line between examples and text is inside of the block so far.
    let mut out = out.replace("\n\n```\n", "\n```\n").trim_start().to_owned();
    while out.contains("\n\n\n") {
        out = out.replace("\n\n\n", "\n\n");
    }
    out
}

/// Text as Markdown that means itself.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if matches!(character, '\\' | '<' | '*' | '|') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[test]
#[allow(clippy::unwrap_used)]
fn the_page_about_commands_matches_the_definitions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
    let fresh = page();
    if std::env::var_os(UPDATE).is_some() {
        return std::fs::write(path, fresh).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(fresh == written, "docs/commands.md is stale: cargo xtask commands");
}
