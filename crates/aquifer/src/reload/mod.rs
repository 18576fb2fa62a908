//! Applies a changed configuration completely or not at all.
//!
//! Everything is read, checked and opened first. Then sources and gate are swapped in one step, so that no call sees
//! new sources with old rules or vice versa. After any error, the old configuration stays in effect. Sections that need
//! a restart are reported.

mod restart;
pub(crate) mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::Engine;
use aquifer_gate::SafetyGate;
use aquifer_gate::quota::describe_counter_resets;

use crate::cli::{ConfirmationArgs, SurfaceArgs, UpstreamArgs};
use crate::config::Config;
use crate::safety::{Safety, SourceFacts, UnusedReporter};
use crate::setup::{self, SourceSelection};
use crate::sources::{self, InvalidSource, OnUnreachable, OpenSource, Plans};
use crate::state;
use restart::RestartSection;

/// What is served, and what it was built from.
pub(crate) struct Reloader {
    pub(crate) engine: Arc<Engine>,
    pub(crate) safety: Arc<Safety>,
    pub(crate) gate: Arc<SafetyGate>,
    pub(crate) targets: Vec<String>,
    pub(crate) upstream: UpstreamArgs,
    pub(crate) confirmation: ConfirmationArgs,
    pub(crate) surface: SurfaceArgs,
    /// The path of the configuration.
    pub(crate) path: Option<PathBuf>,
    /// The text of that file when it took effect.
    pub(crate) text: String,
    /// The settings in effect: sources and gate of the last change, everything else since the start.
    pub(crate) config: Config,
    pub(crate) opened: Vec<OpenSource>,
    /// The sources that were invalid at the last change.
    pub(crate) broken: Vec<InvalidSource>,
    /// The sources that the gate was made for.
    pub(crate) facts: SourceFacts,
    /// Every file that was read.
    pub(crate) files: Vec<PathBuf>,
    /// Reports rules without effect.
    pub(crate) unused: UnusedReporter,
}

/// The result of a reload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether anything has changed in effect.
    pub(crate) is_in_effect: bool,
    waiting: Vec<RestartSection>,
}

impl Reloader {
    /// Reads the configuration and its files again and applies them. After an error nothing has changed.
    pub(crate) async fn reload(&mut self) -> anyhow::Result<Outcome> {
        let (read, text) = self.read()?;
        // Missing or invalid files are watched, so that a correction is detected.
        let named = sources::files_of(&read.source).into_iter().chain(read.env_file.clone());
        self.files.extend(named.filter(|file| !self.files.contains(file)).collect::<Vec<_>>());
        setup::check(&read, &self.surface)?;
        let waiting = restart::compare(&read, &self.config);
        let config = Config {
            source: read.source,
            gate: read.gate,
            path: read.path,
            env_file: read.env_file,
            ..self.config.clone()
        };
        // Errors in `[gate]` that do not depend on sources are reported first.
        let checked = self.safety.gate_of(&config, &self.facts)?;
        let wanted = SourceSelection { targets: &self.targets, upstream: &self.upstream, config: &config };
        let plans = wanted.plan_after(&self.opened)?;
        let facts = SourceFacts::new(&plans);
        let gate = match (config.gate == self.config.gate, facts == self.facts) {
            (true, true) => self.gate.clone(),
            (false, true) => checked,
            (_, false) => self.safety.gate_of(&config, &facts)?,
        };
        if let Some(broken) = plans.broken.iter().find(|broken| !self.broken.contains(broken)) {
            bail!("source '{}': {}", broken.name, broken.why);
        }
        (self.files, self.broken) = (plans.files.clone(), plans.broken.clone());
        if Arc::ptr_eq(&gate, &self.gate) && self.serves(&plans) {
            self.text = text;
            return Ok(Outcome { is_in_effect: false, waiting });
        }
        plans.report();
        let (opened, new) = self.open(plans, &config).await?;
        self.engine.reconfigure(opened.iter().map(OpenSource::mount).collect(), gate.clone())?;
        if !Arc::ptr_eq(&gate, &self.gate) {
            self.gate.retire();
            self.safety.set_gate_in_force(gate.clone());
        }
        new.iter().for_each(OpenSource::retry_reflection);
        setup::report_unmatched(&opened);
        let [before, after] =
            [&self.config, &config].map(|config| SourceFacts::default().gate_settings(&config.gate).quota);
        for restarted in describe_counter_resets(&before, &after) {
            tracing::warn!("[gate] {restarted}");
        }
        self.unused = crate::safety::report_unused(&self.engine, &gate, &opened);
        (self.opened, self.gate, self.config, self.text) = (opened, gate, config, text);
        self.facts = facts;
        Ok(Outcome { is_in_effect: true, waiting })
    }

    /// The texts of the files that are in effect.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let named = self.opened.iter().flat_map(|one| one.origin.texts());
        std::iter::once(self.text.as_str()).chain(named).collect()
    }

    /// Reads the configuration. A file without settings is refused: it is probably being written, and would mean a gate
    /// without rules.
    fn read(&self) -> anyhow::Result<(Config, String)> {
        let Some(path) = &self.path else {
            return Ok((self.confirmation.apply_to(Config::default()), String::new()));
        };
        let shown = path.display();
        if path.exists() && !path.is_file() {
            bail!("{shown} is not a regular file, so it cannot be reloaded");
        }
        let text = match crate::files::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!("{shown} does not exist any more"),
            read => read.with_context(|| format!("cannot read {shown}"))?,
        };
        let config = Config::from_file_text(path, &text)?;
        let is_empty = |config: &Config| Config { path: None, ..config.clone() } == Config::default();
        if is_empty(&config) && !is_empty(&self.config) {
            bail!("{shown} is empty: it contains no settings");
        }
        Ok((self.confirmation.apply_to(config), text))
    }

    /// Whether exactly these plans are being served.
    fn serves(&self, plans: &Plans) -> bool {
        let same = |(one, plan): (&OpenSource, &sources::Plan)| {
            one.origin == plan.origin && one.source.name() == plan.name && one.has_prefix(plan.prefix.as_deref())
        };
        self.opened.len() == plans.plans.len() && self.opened.iter().zip(&plans.plans).all(same)
    }

    /// Opens the sources that are not open yet. Returns all sources and the newly opened ones.
    async fn open(&self, plans: Plans, config: &Config) -> anyhow::Result<(Vec<OpenSource>, Vec<OpenSource>)> {
        let key = state::cursor_key(&config.state)?;
        let (mut opened, mut new) = (Vec::new(), Vec::new());
        for plan in plans.plans {
            let same = self.opened.iter().find(|one| one.origin == plan.origin && one.source.name() == plan.name);
            match same {
                Some(same) => opened.push(OpenSource { prefix: plan.prefix, ..same.clone() }),
                None => {
                    let source = plan.open(&key, OnUnreachable::Serve).await?;
                    opened.push(source.clone());
                    new.push(source);
                }
            }
        }
        Ok((opened, new))
    }
}

/// The sections of this file that differ from what is in effect until the next restart, as words; empty if there are
/// none.
pub(crate) fn sections_to_restart(file: &Config, running: &Config) -> String {
    restart::names(restart::compare(file, running).iter())
}

/// The message for the operator. Its first sentence must not claim more than is in effect.
impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sections = restart::names(self.waiting.iter());
        match (self.is_in_effect, self.waiting.as_slice()) {
            (true, []) => f.write_str("the changed configuration is in effect"),
            (true, _) => {
                write!(f, "the changed configuration is in effect, except for {sections}. Restart to apply the rest")
            }
            (false, []) => f.write_str("the configuration has not changed"),
            (false, _) => {
                write!(
                    f,
                    "the change is not in effect: {sections} cannot be changed while Aquifer runs. Restart to apply it"
                )
            }
        }?;
        let stricter: Vec<&RestartSection> = self.waiting.iter().filter(|waiting| waiting.is_stricter).collect();
        if !stricter.is_empty() {
            let sections = restart::names(stricter.into_iter());
            write!(f, "\nWarning: the settings in effect are less strict than the file in {sections}")?;
        }
        Ok(())
    }
}

impl Outcome {
    /// Whether there is anything to report.
    pub(crate) fn is_notable(&self) -> bool {
        self.is_in_effect || !self.waiting.is_empty()
    }
}
