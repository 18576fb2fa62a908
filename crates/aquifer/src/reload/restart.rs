//! Sections that need a restart: which of them differ from the settings in effect, and whether the file is stricter.

use aquifer_engine::Settings as EngineSettings;

use crate::config::{AuditConfig, BatchConfig, Config, HttpConfig, LimitsConfig, OnConfirmation};

/// A section whose changes need a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RestartSection {
    name: &'static str,
    pub(super) is_stricter: bool,
}

/// The sections that differ, except sources and `[gate]`, which take effect immediately.
pub(super) fn compare(file: &Config, running: &Config) -> Vec<RestartSection> {
    // All fields are listed, so that a new one cannot be forgotten.
    let Config {
        version: _,
        surface,
        limits,
        results,
        http,
        batch,
        profile,
        state,
        audit,
        approvals,
        lenient,
        meta,
        gate: _,
        source: _,
        // Its values are compared in the sections that use them.
        env_file: _,
        path: _,
    } = file;
    let sections = [
        ("[surface]", *surface != running.surface, false),
        ("[profile]", *profile != running.profile, false),
        ("[limits]", *limits != running.limits, are_limits_stricter(limits, &running.limits)),
        ("[results]", *results != running.results, false),
        ("[http]", *http != running.http, is_http_stricter(http, &running.http)),
        ("[batch]", *batch != running.batch, is_batch_stricter(batch, &running.batch)),
        ("[state]", *state != running.state, false),
        ("[audit]", *audit != running.audit, is_audit_stricter(audit, &running.audit)),
        ("[approvals]", *approvals != running.approvals, false),
        ("lenient", *lenient != running.lenient, !lenient && running.lenient),
        ("meta", *meta != running.meta, false),
    ];
    let differing = sections.into_iter().filter(|(_, differs, _)| *differs);
    differing.map(|(name, _, is_stricter)| RestartSection { name, is_stricter }).collect()
}

/// Lists sections in a sentence: `[limits], [http] and meta`.
pub(super) fn names<'a>(sections: impl Iterator<Item = &'a RestartSection>) -> String {
    let names: Vec<&str> = sections.map(|waiting| waiting.name).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn are_limits_stricter(file: &LimitsConfig, running: &LimitsConfig) -> bool {
    let (file, running) = (file.limits(), running.limits());
    file.max_request_size < running.max_request_size
        || file.max_response_size < running.max_response_size
        || file.max_string_length < running.max_string_length
        || file.max_array_elements < running.max_array_elements
        || file.max_nesting_depth < running.max_nesting_depth
}

fn is_http_stricter(file: &HttpConfig, running: &HttpConfig) -> bool {
    let lacks = |fewer: &[String], more: &[String]| more.iter().any(|one| !fewer.contains(one));
    lacks(&file.allowed_hosts, &running.allowed_hosts)
        || lacks(&file.allowed_origins, &running.allowed_origins)
        || file.max_sessions.is_some_and(|most| running.max_sessions.is_none_or(|running| most < running))
}

fn is_batch_stricter(file: &BatchConfig, running: &BatchConfig) -> bool {
    let halts = |config: &BatchConfig| config.on_confirmation != Some(OnConfirmation::Skip);
    let timeout = |config: &BatchConfig| config.timeout().unwrap_or(EngineSettings::default().batch_timeout);
    (halts(file) && !halts(running))
        || timeout(file) < timeout(running)
        || file.max_operations.is_some_and(|longest| running.max_operations.is_none_or(|running| longest < running))
}

fn is_audit_stricter(file: &AuditConfig, running: &AuditConfig) -> bool {
    let is_kept = |config: &AuditConfig| config.to.as_ref().is_none_or(|places| !places.is_empty());
    let gains = file.to.as_ref().is_some_and(|places| {
        running.to.as_ref().is_some_and(|running| places.iter().any(|place| !running.contains(place)))
    });
    (file.required && !running.required) || (is_kept(file) && !is_kept(running)) || gains
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_need_a_restart_are_listed_and_the_stricter_ones_marked() {
        // (settings in effect, file, differing sections, stricter ones among them)
        let table = [
            ("", "[gate.strength]\ndestructive = \"approval\"", "", ""),
            ("", "[[source]]\ntarget = \"demo:\"", "", ""),
            ("", "[surface]\nmode = \"single\"", "[surface]", ""),
            ("", "meta = true", "meta", ""),
            ("", "lenient = true", "lenient", ""),
            ("lenient = true", "", "lenient", "lenient"),
            ("", "[limits]\nmax_nesting_depth = 8", "[limits]", "[limits]"),
            ("", "[limits]\nmax_nesting_depth = 64", "[limits]", ""),
            ("[limits]\nmax_request_size = 2000000", "", "[limits]", "[limits]"),
            ("[audit]\nrequired = false", "", "[audit]", "[audit]"),
            ("", "[audit]\nrequired = false", "[audit]", ""),
            ("[audit]\nto = []", "[audit]\nto = [\"file\"]", "[audit]", "[audit]"),
            ("[audit]\nto = [\"file\"]", "[audit]\nto = [\"file\", \"store\"]", "[audit]", "[audit]"),
            ("[audit]\nto = [\"file\"]", "[audit]\nto = []", "[audit]", ""),
            ("[http]\nallowed_hosts = [\"a\"]", "", "[http]", "[http]"),
            ("", "[http]\nallowed_hosts = [\"a\"]", "[http]", ""),
            ("", "[http]\nmax_sessions = 5", "[http]", "[http]"),
            ("[batch]\non_confirmation = \"skip\"", "", "[batch]", "[batch]"),
            ("", "[batch]\nmax_operations = 5", "[batch]", "[batch]"),
            ("", "[batch]\ntimeout_seconds = 5", "[batch]", "[batch]"),
            ("[batch]\ntimeout_seconds = 5", "", "[batch]", ""),
            ("", "[state]\nstore = \"memory\"", "[state]", ""),
            ("", "[results]\nmax_page_size = 5", "[results]", ""),
            (
                "lenient = true",
                "meta = true\n[limits]\nmax_nesting_depth = 8\n[batch]\nmax_operations = 500",
                "[limits], [batch], lenient and meta",
                "[limits], [batch] and lenient",
            ),
        ];
        for (running, file, waits, stricter) in table {
            let [running, file] = [running, file].map(|text| Config::parse(text).unwrap());
            let changes = compare(&file, &running);
            assert_eq!(names(changes.iter()), waits, "{file:?}");
            assert_eq!(names(changes.iter().filter(|one| one.is_stricter)), stricter, "{file:?}");
        }
    }
}
