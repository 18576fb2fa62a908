//! Processes that carry a mark in their command line: an upstream whose parent is gone is found all the same.

use std::fs;

/// How many processes have the mark as part of an argument, leaving out this one.
pub(crate) fn count(mark: &str, but: Option<u32>) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| Some(*id) != but && *id != std::process::id() && carries(*id, mark)).count()
}

fn carries(id: u32, mark: &str) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(mark)
}

/// Whether a process is there and not just waiting to be forgotten.
pub(crate) fn is_alive(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
