//! Files in which the state of an upstream is kept between runs. Only their owner can read them.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use aquifer_system::{create_private_directory, make_private};

use crate::settings::Settings;

/// Larger files are ignored.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a regular file of limited size.
pub(crate) fn read_bounded(path: &Path) -> Option<String> {
    // Opening a named pipe would block, so the file type is checked first.
    let is_readable = |facts: std::fs::Metadata| facts.is_file() && facts.len() <= MAX_FILE_BYTES;
    if !is_readable(std::fs::metadata(path).ok()?) {
        return None;
    }
    let opened = std::fs::File::open(path).ok()?;
    if !is_readable(opened.metadata().ok()?) {
        return None;
    }
    let mut text = String::new();
    opened.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Writes a file that only its owner can read. A catalog may reveal much about its user.
pub(crate) fn write_atomically(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private_directory(folder)?;
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let draft = path.with_extension(format!("{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    // A killed process may have left a file with another mode.
    let _ = std::fs::remove_file(&draft);
    make_private(OpenOptions::new().write(true).create_new(true)).open(&draft)?.write_all(text)?;
    std::fs::rename(&draft, path)
}

/// A file of an upstream in the cache folder, named after its settings.
pub(crate) fn catalog_path(settings: &Settings, ending: &str) -> Option<PathBuf> {
    let folder = settings.cache_dir.as_ref()?;
    let name: String = settings.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    Some(folder.join(format!("{name}-{}.{ending}", settings.fingerprint())))
}

/// A file of an upstream that keeps its name when the settings change.
pub(crate) fn identity_path(settings: &Settings, ending: &str) -> Option<PathBuf> {
    let folder = settings.cache_dir.as_ref()?;
    let name: String =
        settings.pin_name().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    Some(folder.join(format!("{name}-{}.{ending}", settings.identity())))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    /// Reading a named pipe without a writer or an endless device would never return.
    #[test]
    fn only_regular_files_are_read() {
        let folder = TestFolder::new("cache");
        let file = |name: &str| folder.0.join(name);
        std::fs::write(file("plain"), "text").unwrap();
        let made = std::process::Command::new("mkfifo").arg(file("pipe")).status().unwrap();
        assert!(made.success());
        for (link, target) in [("zero", Path::new("/dev/zero")), ("linked", &file("plain")), ("to_pipe", &file("pipe"))]
        {
            std::os::unix::fs::symlink(target, file(link)).unwrap();
        }
        let names = ["plain", "linked", "pipe", "to_pipe", "zero", "."].map(file);
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(names.map(|path| read_bounded(&path))).unwrap());
        let read = finished.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let text = Some("text".to_owned());
        assert_eq!(read, [text.clone(), text, None, None, None, None]);
    }
}
