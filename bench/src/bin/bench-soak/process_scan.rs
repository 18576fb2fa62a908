//! Finds processes by a mark in their command line, so that an upstream whose parent has ended is found as well.

use std::fs;

/// Counts the processes with the mark as part of an argument, except `but`.
pub(crate) fn count(mark: &str, but: Option<u32>) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| Some(*id) != but && *id != std::process::id() && has_argument(*id, mark)).count()
}

fn has_argument(id: u32, mark: &str) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(mark)
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
