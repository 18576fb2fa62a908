//! The configuration and the files it names, watched: a change takes effect without a restart, a broken one is told and
//! ignored.
//!
//! Files are looked at, not subscribed to: a handful of them once a second costs nothing, and it holds for every way in
//! which editors replace files and on every file system.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aquifer_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::cli::UpstreamArgs;
use crate::config::{Config, SourceConfig};
use crate::setup::Wanted;
use crate::sources::{Absence, Opened, Plans};
use crate::state;

/// How often files are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What is served, and what it was made from.
pub(crate) struct Watched {
    pub(crate) targets: Vec<String>,
    pub(crate) upstream: UpstreamArgs,
    pub(crate) path: Option<PathBuf>,
    pub(crate) config: Config,
    pub(crate) opened: Vec<Opened>,
    pub(crate) files: Vec<PathBuf>,
}

/// How a file was when it was last looked at; nothing if it was not there.
type Stamp = Option<(SystemTime, u64)>;

impl Watched {
    /// Looks at the files until it is time to stop.
    pub(crate) fn keep(mut self, engine: Arc<Engine>, stop: CancellationToken) {
        if self.path.is_none() && self.files.is_empty() {
            return;
        }
        tokio::spawn(async move {
            let mut known = self.stamps();
            let mut pending = false;
            while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
                let now = self.stamps();
                // Somebody may still be writing: a change counts once it has come to rest.
                if now != known {
                    (known, pending) = (now, true);
                } else if std::mem::take(&mut pending) {
                    match self.take_over(&engine).await {
                        Ok(()) => eprintln!("aquifer: the changed configuration is in effect"),
                        Err(error) => {
                            eprintln!(
                                "aquifer: the changed configuration is ignored, what was served stays: {error:#}"
                            );
                        }
                    }
                    // Other files may be named now.
                    known = self.stamps();
                }
            }
        });
    }

    fn stamps(&self) -> Vec<Stamp> {
        let stamp = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        self.path.iter().chain(&self.files).map(|path| stamp(path)).collect()
    }

    async fn take_over(&mut self, engine: &Engine) -> anyhow::Result<()> {
        let config = Config::read(self.path.as_deref())?;
        let wanted = Wanted { targets: &self.targets, upstream: &self.upstream, config: &config };
        let plans = wanted.plan()?;
        plans.tell();
        let key = state::cursor_key(&config.state)?;
        let mut opened = self.kept(&plans);
        let mut new = Vec::new();
        for plan in plans.plans {
            let same = self.opened.iter().find(|one| one.origin == plan.origin && one.source.name() == plan.name);
            match same {
                Some(same) => opened.push(Opened { prefix: plan.prefix, ..same.clone() }),
                None => {
                    new.push(plan.open(&key, Absence::IsServed).await?);
                    opened.extend(new.last().cloned());
                }
            }
        }
        engine.remount(opened.iter().map(Opened::mount).collect())?;
        new.iter().for_each(Opened::look_for);
        if !same_but_for_sources(&config, &self.config) {
            eprintln!("aquifer: only sources change without a restart; the other settings wait for one");
        }
        (self.opened, self.files) = (opened, plans.files);
        self.config.source = config.source;
        Ok(())
    }

    /// A server whose new description makes no sense goes on as it was.
    fn kept(&self, plans: &Plans) -> Vec<Opened> {
        let is_broken = |one: &&Opened| plans.broken.iter().any(|broken| broken.name == one.source.name());
        self.opened.iter().filter(is_broken).cloned().collect()
    }
}

fn same_but_for_sources(one: &Config, other: &Config) -> bool {
    let bare = |config: &Config| Config { source: Vec::<SourceConfig>::new(), ..config.clone() };
    bare(one) == bare(other)
}
