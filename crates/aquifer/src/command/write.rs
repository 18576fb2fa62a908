//! Files that commands write: whole or not at all, and never over something unasked.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, bail};

/// Writes a file beside its place and then moves it there.
pub(crate) fn file(path: &Path, text: &str, over: bool) -> anyhow::Result<()> {
    let shown = path.display();
    if !over && path.exists() && crate::files::read(path).ok().as_deref() != Some(text) {
        bail!("{shown} is there already. Write over it with --force, or choose another file with -o");
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = Path::new(&draft);
    let written = std::fs::File::create(draft).and_then(|mut file| file.write_all(text.as_bytes()));
    let moved = written.and_then(|()| std::fs::rename(draft, path));
    if moved.is_err() {
        let _ = std::fs::remove_file(draft);
    }
    moved.with_context(|| format!("cannot write {shown}"))
}

/// Writes a file anew, for the same people as before.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = Path::new(&draft);
    let written = std::fs::File::create(draft).and_then(|mut file| {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| std::fs::rename(draft, path));
    if moved.is_err() {
        let _ = std::fs::remove_file(draft);
    }
    moved.with_context(|| format!("cannot write {}", path.display()))
}
