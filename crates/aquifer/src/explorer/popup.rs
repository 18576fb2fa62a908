//! Opens the page of an approval in the browser of the person at this machine.
//!
//! The link that logs the person in never appears where a model reads, nor in the arguments of a process, which other
//! users can list: the browser opens a private file that leads there.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use aquifer_engine::Engine;
use aquifer_server::{HttpServer, HttpSettings};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::serve::ExplorerSetup;
use crate::config::Config;
use crate::{state, system};

/// A person who was just shown an approval finds further ones beside it.
const PAUSE: Duration = Duration::from_secs(30);

/// How long the file that leads to the page is kept for the browser.
const FILE_TTL: Duration = Duration::from_secs(60);

/// Opens the pages of approvals from now on, until `stop` is cancelled.
pub(crate) fn start(engine: Arc<Engine>, explorer: ExplorerSetup, config: &Config, stop: CancellationToken) {
    let created = explorer.safety.popup.as_ref().and_then(|popup| popup.take_created());
    let (Some(created), Some(directory)) = (created, state::directory_of(&config.state)) else { return };
    let pages = Pages { engine, explorer, directory, base: None, stop: stop.clone() };
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = pages.open_all(created) => {}
        }
    });
}

/// The pages, which are served once the first approval waits.
struct Pages {
    engine: Arc<Engine>,
    explorer: ExplorerSetup,
    /// Where the file that leads to the page is written.
    directory: PathBuf,
    base: Option<String>,
    stop: CancellationToken,
}

impl Pages {
    async fn open_all(mut self, mut created: mpsc::Receiver<String>) {
        let mut opened_at: Option<Instant> = None;
        while let Some(id) = created.recv().await {
            if opened_at.is_some_and(|at| at.elapsed() < PAUSE) {
                continue;
            }
            match self.open(&id).await {
                Ok(()) => opened_at = Some(Instant::now()),
                Err(error) => tracing::warn!("the page of approval '{id}' could not be opened: {error:#}"),
            }
        }
    }

    async fn open(&mut self, id: &str) -> anyhow::Result<()> {
        let base = match &self.base {
            Some(base) => base.clone(),
            None => self.serve().await?,
        };
        let link = self.explorer.link_to(&base, &format!("/approvals/{id}")).await?;
        let file = write_redirect(&self.directory, &link)?;
        let is_opened = system::open_browser(&file.display().to_string());
        let kept_until = tokio::time::Instant::now() + FILE_TTL;
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep_until(kept_until) => {}
            }
            let _ = std::fs::remove_file(file);
        });
        anyhow::ensure!(is_opened, "no browser could be started");
        Ok(())
    }

    /// The address of the pages. A server over HTTP has them already.
    async fn serve(&mut self) -> anyhow::Result<String> {
        let pages = &self.explorer.safety.approval_pages;
        let base = match pages.base_url() {
            Some(base) => base.to_owned(),
            None => {
                let mut settings = HttpSettings::new(([127, 0, 0, 1], 0).into());
                settings.pages = Some(self.explorer.router(&self.engine));
                settings.serves_mcp = false;
                let server = HttpServer::bind(self.engine.clone(), settings).await.context("cannot serve the pages")?;
                let base = format!("http://{}", server.address());
                pages.set_base_url(&base);
                tokio::spawn(server.serve(self.stop.clone()));
                base
            }
        };
        self.base = Some(base.clone());
        Ok(base)
    }
}

/// Writes a file that only this user can read, and that leads a browser to the link.
fn write_redirect(directory: &Path, link: &str) -> anyhow::Result<PathBuf> {
    system::create_private_directory(directory)?;
    let path = directory.join(format!("approval-{:016x}.html", getrandom::u64()?));
    let target = serde_json::to_string(link)?;
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>Aquifer</title>\n\
         <script>location.replace({target})</script>\n"
    );
    let mut file = system::create_private(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(page.as_bytes())?;
    Ok(path)
}
