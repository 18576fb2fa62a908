//! Shows the progress of a run on stderr: one moving line in a terminal, otherwise one line for each group of checks.

use std::io::IsTerminal as _;

use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::Progress;

use crate::command::table::count;
use crate::terminal;

/// Displays the progress of a run.
pub(super) struct ProgressDisplay {
    is_terminal: bool,
    group: Option<Group>,
}

/// Checks with the same name prefix.
struct Group {
    name: &'static str,
    checks: usize,
    failed: usize,
}

impl ProgressDisplay {
    pub(super) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), group: None }
    }

    pub(super) fn step(&mut self, progress: &Progress) {
        match progress {
            Progress::Connected(surface) => self.print_line(&format!("connected: {surface}")),
            Progress::Described { operations, types } => {
                self.print_line(&format!(
                    "introspection: {}, {}",
                    count(*operations, "operation"),
                    count(*types, "type")
                ));
            }
            Progress::Checking { number, total, id } => {
                if self.is_terminal {
                    terminal::replace_line(&format!("[{number}/{total}] {id}"));
                }
            }
            Progress::Checked { id, result } => self.count(id, *result),
        }
    }

    /// Ends the display.
    pub(super) fn end(&mut self) {
        self.close();
        if self.is_terminal {
            terminal::replace_line("");
        }
    }

    fn print_line(&self, line: &str) {
        if self.is_terminal { terminal::replace_line(line) } else { note!("{line}") }
    }

    fn count(&mut self, id: &'static str, result: Verdict) {
        let name = id.split('.').next().unwrap_or(id);
        if self.group.as_ref().is_none_or(|group| group.name != name) {
            self.close();
        }
        let group = self.group.get_or_insert(Group { name, checks: 0, failed: 0 });
        group.checks += 1;
        group.failed += usize::from(result == Verdict::Fail);
    }

    fn close(&mut self) {
        let Some(Group { name, checks, failed }) = self.group.take() else { return };
        if !self.is_terminal {
            let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
            note!("{name}: {}{failed}", count(checks, "check"));
        }
    }
}
