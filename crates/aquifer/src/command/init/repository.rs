//! Warns of secrets in a git repository.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::system::quoted;

/// Lines of a `.gitignore` that cover every env file.
const PATTERNS: &[&str] = &["*", "*.env", "*.env*"];

/// Says that an env file must not be committed, if it is in a git repository that does not ignore it.
pub(super) fn warn(env_file: &Path) {
    let Ok(path) = env_file.canonicalize() else { return };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
    let Some(root) = folder.ancestors().find(|folder| folder.join(".git").exists()) else { return };
    let mut between = folder.ancestors().take_while(|folder| folder.starts_with(root));
    let is_ignored = ignored_by_git(folder, name)
        .unwrap_or_else(|| between.any(|folder| is_listed(&folder.join(".gitignore"), name)));
    if is_ignored {
        return;
    }
    let command =
        format!("echo {} >> {}", quoted(&format!("{name}*")), quoted(&folder.join(".gitignore").display().to_string()));
    let line = format!(
        "\n{} is for secrets, and this is a git repository. Do not commit it. To ignore it: {command}",
        path.display()
    );
    note!("{line}");
}

/// Whether git ignores a file. `None` if git is not installed or cannot tell.
fn ignored_by_git(folder: &Path, name: &str) -> Option<bool> {
    // A repository can name a program that watches its files. It is not started.
    let options = ["-c", "core.fsmonitor=false", "check-ignore", "--quiet", "--"];
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(options).arg(name).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match git.status().ok()?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

/// Whether a `.gitignore` covers the file with one of the usual patterns.
fn is_listed(file: &Path, name: &str) -> bool {
    let text = crate::files::read(file).unwrap_or_default();
    let own = [name.to_owned(), format!("{name}*")];
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches('/'));
    lines.any(|line| PATTERNS.contains(&line) || own.iter().any(|own| own == line))
}
