//! Detects changes of the configuration and of the files it names, and applies them. SIGHUP does so immediately.
//!
//! Files are polled: checking a few of them once a second is cheap, and works with every file system and every way in
//! which editors replace files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aquifer_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::reload::Reloader;
use crate::system::{FileChange, Hangup};

/// How often files are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// For how many intervals a file must stay unchanged before it is read, because it may still be being written.
const QUIET_INTERVALS: u32 = 1;

/// The same for a file that is a prefix of its former content: it may be half written, and the rules may be in the
/// missing half.
const QUIET_INTERVALS_IF_CUT: u32 = 5;

/// The state of a file at the last check.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stamp {
    /// The file was read, but not checked yet.
    Unknown,
    Missing,
    /// A pipe or a device, which cannot be read again.
    NoFile,
    Present {
        modified: Option<SystemTime>,
        change: FileChange,
        length: u64,
    },
}

impl Stamp {
    fn read(path: &Path) -> Self {
        let Ok(metadata) = std::fs::metadata(path) else { return Stamp::Missing };
        if !metadata.is_file() {
            return Stamp::NoFile;
        }
        Stamp::Present {
            modified: metadata.modified().ok(),
            change: FileChange::new(&metadata),
            length: metadata.len(),
        }
    }
}

/// The watched files. Their state is recorded before they are read, so that changes during reading are detected.
#[derive(Debug)]
pub(crate) struct WatchedFiles {
    config: Option<PathBuf>,
    stamps: Vec<(PathBuf, Stamp)>,
    /// Intervals since the last change. `None` if all changes have been applied.
    quiet: Option<u32>,
}

impl WatchedFiles {
    /// Starts watching the configuration, before it is read.
    pub(crate) fn new(config: Option<&Path>) -> Self {
        let stamps = config.map(|path| (path.to_owned(), Stamp::read(path))).into_iter().collect();
        Self { config: config.map(Path::to_owned), stamps, quiet: None }
    }

    /// Watches these files in addition to the configuration. New ones were read before they were watched and may have
    /// changed since, so they are read once more.
    fn name(&mut self, files: &[PathBuf]) {
        let old_stamps = std::mem::take(&mut self.stamps);
        for path in self.config.iter().chain(files) {
            if !self.stamps.iter().any(|(there, _)| there == path) {
                let stamp = old_stamps.iter().find(|(there, _)| there == path).map(|(_, stamp)| stamp.clone());
                self.stamps.push((path.clone(), stamp.unwrap_or(Stamp::Unknown)));
            }
        }
    }

    /// Checks the files. Returns whether they have changed and are stable. `served` contains the texts in effect.
    fn is_due(&mut self, served: &[&str]) -> bool {
        let mut has_changed = false;
        for (path, stamp) in &mut self.stamps {
            let now = Stamp::read(path);
            has_changed |= *stamp != now;
            *stamp = now;
        }
        if has_changed {
            self.quiet = Some(0);
            return false;
        }
        let Some(quiet) = self.quiet.as_mut() else { return false };
        *quiet += 1;
        let quiet = *quiet;
        let needed = if quiet < QUIET_INTERVALS_IF_CUT && self.is_cut(served) {
            QUIET_INTERVALS_IF_CUT
        } else {
            QUIET_INTERVALS
        };
        if quiet < needed {
            return false;
        }
        self.quiet = None;
        true
    }

    /// Whether a file is a prefix of its former content.
    fn is_cut(&self, served: &[&str]) -> bool {
        let files = self.stamps.iter().map(|(path, _)| path).filter(|path| path.is_file());
        files.filter_map(|path| crate::files::read(path).ok()).any(|text| {
            let text = text.trim_end();
            let is_beginning = |served: &&str| served.len() > text.len() && served.starts_with(text);
            let served = || served.iter().map(|served| served.trim_end());
            served().any(|served| is_beginning(&served)) && served().all(|served| served != text)
        })
    }
}

/// Watches files and SIGHUP until the process stops. On SIGHUP, all sources are refreshed. Without a reloader, files
/// are not watched.
pub(crate) fn spawn(
    engine: &Arc<Engine>,
    watched: Option<(WatchedFiles, Reloader)>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let hangup = Hangup::new()?;
    let (engine, stop) = (engine.clone(), stop.clone());
    tokio::spawn(async move { stop.run_until_cancelled(run(engine, watched, hangup)).await });
    Ok(())
}

async fn run(engine: Arc<Engine>, watched: Option<(WatchedFiles, Reloader)>, mut hangup: Hangup) {
    let Some((mut watched, mut reloader)) = watched else {
        while hangup.recv().await.is_some() {
            refresh_sources(&engine).await;
        }
        return;
    };
    watched.name(&reloader.files);
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(INTERVAL) => false,
        };
        // Checked on SIGHUP, too, so that changes during reading are detected.
        if watched.is_due(&reloader.texts()) || is_asked {
            watched.quiet = None;
            match reloader.reload().await {
                Ok(outcome) if outcome.is_notable() || is_asked => note!("aquifer: {outcome}"),
                Ok(_) => {}
                Err(error) => {
                    note!("aquifer: the changed configuration is invalid, so the old one stays in effect: {error:#}");
                }
            }
            watched.name(&reloader.files);
        }
        if is_asked {
            refresh_sources(&engine).await;
        }
    }
}

/// Makes every source check what it offers.
async fn refresh_sources(engine: &Engine) {
    for (source, failure) in engine.reload().await {
        tracing::warn!(source, cause = failure.cause(), "{}", failure.message());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A file that a test rewrites.
    struct File(PathBuf);

    impl File {
        fn new(text: &str) -> Self {
            static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let file = Self(std::env::temp_dir().join(format!("aquifer-watch-{}-{number}", std::process::id())));
            file.write(text);
            file
        }

        fn write(&self, text: &str) {
            std::fs::write(&self.0, text).unwrap();
        }

        /// Like editors that write a new file and rename it.
        fn replace(&self, text: &str) {
            let draft = self.0.with_extension("draft");
            std::fs::write(&draft, text).unwrap();
            std::fs::rename(draft, &self.0).unwrap();
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// The number of checks until a change is due, if it becomes due.
    fn looks(watched: &mut WatchedFiles, served: &[&str]) -> Option<usize> {
        (1..20).find(|_| watched.is_due(served))
    }

    #[test]
    fn a_change_is_due_once_it_has_come_to_rest() {
        const TEXT: &str = "meta = true\n[[gate.rule]]\neffect = \"deny\"\n";
        // (content, number of checks)
        let table = [
            ("meta = false\n[[gate.rule]]\neffect = \"deny\"\n", 2),
            ("", 6),
            ("meta = true\n", 6),
            ("meta = true", 6),
            ("meta = true\n[[gate.rule]]\neffect = \"de", 6),
            ("meta = true\n[[gate.rule]]\neffect = \"deny\"\n# more\n", 2),
            ("# less\n", 2),
        ];
        for (written, expected) in table {
            let file = File::new(TEXT);
            let mut watched = WatchedFiles::new(Some(&file.0));
            assert_eq!(looks(&mut watched, &[TEXT]), None, "nothing has changed");
            file.write(written);
            assert_eq!(looks(&mut watched, &[TEXT]), Some(expected), "{written:?}");
            assert_eq!(looks(&mut watched, &[TEXT]), None, "{written:?} is told once");
        }
    }

    #[test]
    fn a_file_that_is_written_in_steps_is_not_read_in_between() {
        const TEXT: &str = "one = 1\ntwo = 2\n";
        let file = File::new(TEXT);
        let mut watched = WatchedFiles::new(Some(&file.0));
        for step in ["", "one = 1\n", "one = 1\ntwo", "one = 1\ntwo = 3\n"] {
            file.write(step);
            assert!(!watched.is_due(&[TEXT]), "{step:?}");
        }
        assert!(watched.is_due(&[TEXT]));
    }

    #[test]
    fn a_file_that_is_replaced_or_deleted_is_noticed() {
        const TEXT: &str = "one = 1\n";
        let file = File::new(TEXT);
        let mut watched = WatchedFiles::new(Some(&file.0));
        file.replace("one = 2\n");
        assert_eq!(
            looks(&mut watched, &[TEXT]),
            Some(2),
            "of the same length, perhaps within the same tick of the clock"
        );
        std::fs::remove_file(&file.0).unwrap();
        assert_eq!(looks(&mut watched, &[TEXT]), Some(2));
        assert_eq!(looks(&mut watched, &[TEXT]), None, "a file that is gone is told once");
        file.write("one = 1\n");
        assert_eq!(looks(&mut watched, &[TEXT]), Some(2));
    }

    /// Like Kubernetes ConfigMaps: the file is a link whose target changes.
    #[test]
    fn a_link_that_leads_to_another_file_is_noticed() {
        const TEXT: &str = "one = 1\n";
        let (one, other) = (File::new(TEXT), File::new("one = 2\n"));
        let link = File(one.0.with_extension("link"));
        std::os::unix::fs::symlink(&one.0, &link.0).unwrap();
        let mut watched = WatchedFiles::new(Some(&link.0));
        assert_eq!(looks(&mut watched, &[TEXT]), None);
        std::fs::remove_file(&link.0).unwrap();
        std::os::unix::fs::symlink(&other.0, &link.0).unwrap();
        assert_eq!(looks(&mut watched, &[TEXT]), Some(2));
    }

    #[test]
    fn a_named_file_that_is_half_written_is_given_time() {
        const CONFIG: &str = "meta = true\n";
        const OVERRIDES: &str = "one: destructive\ntwo: forbidden\n";
        let (config, named) = (File::new(CONFIG), File::new(OVERRIDES));
        let mut watched = WatchedFiles::new(Some(&config.0));
        watched.name(std::slice::from_ref(&named.0));
        let served = [CONFIG, OVERRIDES];
        assert_eq!(looks(&mut watched, &served), Some(2), "read once more");
        named.write("one: destructive\n");
        assert_eq!(looks(&mut watched, &served), Some(6));
    }

    #[test]
    fn what_changes_while_it_is_read_is_read_again() {
        const TEXT: &str = "one = 1\n";
        let (config, named) = (File::new(TEXT), File::new("{}"));
        let mut watched = WatchedFiles::new(Some(&config.0));
        // Read, and changed before watching begins.
        config.write("one = 11\n");
        watched.name(std::slice::from_ref(&named.0));
        assert_eq!(looks(&mut watched, &[TEXT]), Some(2));
        assert_eq!(looks(&mut watched, &[TEXT]), None);
        watched.name(&[]);
        assert_eq!(looks(&mut watched, &[TEXT]), None, "what is not named any more is not watched");
    }
}
