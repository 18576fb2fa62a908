//! Writes the output files of commands: completely or not at all, and never over existing content without `--force`.
//!
//! A regular file is written to a temporary file beside it and renamed. A rename would replace a device, a pipe or a
//! symbolic link with a file, so devices and pipes are written to and links are followed.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Writes text to a path given by the user. Without `over`, a file with different text is not overwritten.
pub(crate) fn file(path: &Path, text: &str, over: bool) -> anyhow::Result<()> {
    if !over && is_other(path, text) {
        bail!("{} already exists. Overwrite it with --force, or choose another file with -o", path.display());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    write(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether `-o` names stdout with `-`, as in other programs.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a regular file with different text exists. Other files are not read, because a pipe would block the command.
pub(crate) fn is_other(path: &Path, text: &str) -> bool {
    path.is_file() && crate::files::read(path).ok().as_deref() != Some(text)
}

fn write(path: &Path, bytes: &[u8]) -> IoResult<()> {
    if is_open_descriptor(path) {
        // Output redirected to a file is appended, because truncating would lose earlier output.
        return append(path, bytes);
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => replace(&path.canonicalize()?, bytes, Some(&found)),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if crate::system::is_block_device(&found) => {
            Err(Error::new(ErrorKind::InvalidInput, "it is a block device, and writing would destroy its contents"))
        }
        Ok(_) => append(path, bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => match path.is_symlink() {
            // For a link without a target, the system creates the target.
            true => OpenOptions::new().write(true).create(true).truncate(true).open(path)?.write_all(bytes),
            false => replace(path, bytes, None),
        },
        Err(error) => Err(error),
    }
}

/// Whether a path refers to a descriptor of this process: `/dev/stdout`, or the path of a shell's `>(…)`.
fn is_open_descriptor(path: &Path) -> bool {
    let is_standard = ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name));
    is_standard || path.starts_with("/dev/fd") || (path.starts_with("/proc") && path.to_string_lossy().contains("/fd/"))
}

/// Writes into an existing device or pipe.
fn append(path: &Path, bytes: &[u8]) -> IoResult<()> {
    match OpenOptions::new().append(true).open(path)?.write_all(bytes) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Replaces a file atomically and keeps its permissions, and its owner if the system allows that.
fn replace(path: &Path, bytes: &[u8], before: Option<&Metadata>) -> IoResult<()> {
    let draft = draft(path);
    let written = create(&draft, before.map(Metadata::permissions)).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Some(before) = before {
            crate::system::keep_owner(&file, before);
        }
        file.sync_all()
    });
    let moved = written.and_then(|()| std::fs::rename(&draft, path));
    if moved.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    moved
}

/// Creates a new file after removing one left behind by a killed process. A link that another user created there is not
/// followed.
fn create(draft: &Path, permissions: Option<Permissions>) -> IoResult<File> {
    let _ = std::fs::remove_file(draft);
    let file = OpenOptions::new().write(true).create_new(true).open(draft)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    Ok(file)
}

fn draft(path: &Path) -> PathBuf {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    draft.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("aquifer-write-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort_unstable();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The device of the machine is tried only by users who could not replace it.
    #[test]
    fn a_device_stays_a_device() {
        let folder = Folder::new("device");
        let own = folder.0.join("null");
        let made = std::process::Command::new("mknod").arg(&own).args(["c", "1", "3"]).output().unwrap();
        let device = match (made.status.success(), rustix::process::geteuid().is_root()) {
            (true, _) => own,
            (false, false) => PathBuf::from("/dev/null"),
            (false, true) => return,
        };
        let link = folder.0.join("link");
        symlink(&device, &link).unwrap();
        let names = folder.names();
        let before = std::fs::metadata(&device).unwrap();
        for (path, over) in [(&device, true), (&device, false), (&link, true), (&link, false)] {
            file(path, "text", over).unwrap();
            let after = std::fs::metadata(path).unwrap();
            assert!(after.file_type().is_char_device(), "{}", path.display());
            assert_eq!((before.ino(), before.rdev()), (after.ino(), after.rdev()));
        }
        assert!(link.is_symlink());
        assert_eq!(folder.names(), names);
    }

    #[test]
    fn a_pipe_stays_a_pipe_and_its_reader_gets_the_text() {
        let folder = Folder::new("pipe");
        let pipe = folder.0.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        // Without --force, too: a pipe has no text that could be lost.
        file(&pipe, "text", false).unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(folder.names(), ["pipe"]);
    }

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let folder = Folder::new("link");
        let (target, link) = (folder.0.join("target"), folder.0.join("link"));
        symlink("target", &link).unwrap();
        // First a link whose target is missing, then one whose target is there.
        file(&link, "first", false).unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        assert!(file(&link, "second", false).is_err());
        file(&link, "second", true).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "second");
        assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(folder.names(), ["link", "target"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let folder = Folder::new("none");
        assert!(file(&folder.0, "text", true).is_err());
        assert!(file(&folder.0.join("file"), "text", true).is_ok());
        assert!(file(&folder.0.join("file/below"), "text", true).is_err());
        assert_eq!(folder.names(), ["file"]);
    }
}
