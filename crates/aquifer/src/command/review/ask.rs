//! Asks for decisions in a terminal, tool by tool.

use std::io::BufRead as _;

use aquifer_discovery::text::presentable;
use aquifer_discovery::{Bundle, Overrides};

use crate::command::table::count;
use crate::sources::tool_decision;
use crate::terminal;

const HELP: &str = "  Enter: skip   a: accept as it is   c CATEGORY: CREATE, READ, UPDATE, DELETE or EXECUTE\n  \
                    d LEVEL: safe, reversible, destructive, dangerous or forbidden   q: quit";

/// Asks about every tool that needs review.
pub(super) fn ask_about_each(bundle: &Bundle, overrides: &mut Overrides) -> anyhow::Result<()> {
    let open: Vec<_> = bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review).collect();
    if open.is_empty() {
        return Ok(());
    }
    note!("To review: {}.\n{HELP}", count(open.len(), "tool"));
    let mut answers = std::io::stdin().lock().lines();
    for (index, made) in open.iter().enumerate() {
        note!("\n[{}/{}] {} ({}, {})", index + 1, open.len(), made.operation_name, made.endpoint, made.danger_level);
        note!("  {}", presentable(made.description.lines().next().unwrap_or_default()));
        for reason in &made.review_reasons {
            note!("  - {}", presentable(reason));
        }
        loop {
            terminal::print_note("> ");
            let Some(answer) = answers.next().transpose()? else { return Ok(()) };
            let (key, word) = answer.trim().split_once(' ').unwrap_or((answer.trim(), ""));
            let tool = &made.source_tool_name;
            let decided = match key {
                "" => break,
                "q" => return Ok(()),
                "a" => tool_decision::decision(bundle, overrides, tool).map(|decision| decision.reviewed = true),
                "c" => tool_decision::category(word.trim()).and_then(|category| {
                    tool_decision::decision(bundle, overrides, tool).map(|decision| decision.endpoint = Some(category))
                }),
                "d" => tool_decision::danger(word.trim()).and_then(|level| {
                    tool_decision::decision(bundle, overrides, tool).map(|decision| {
                        decision.danger_level = Some(level);
                        decision.reviewed = true;
                    })
                }),
                _ => Err(anyhow::anyhow!("use one of these:\n{HELP}")),
            };
            match decided {
                Ok(()) => break,
                Err(error) => note!("  {error}"),
            }
        }
    }
    Ok(())
}
