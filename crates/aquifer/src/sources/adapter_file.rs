//! Reads reviewed adapters: the file and the sidecar beside it.

use std::path::{Path, PathBuf};

use aquifer_discovery::Adapter;

/// The path of an adapter file's sidecar.
pub(crate) fn sidecar_of(file: &Path) -> PathBuf {
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    file.with_file_name(format!("{name}.provenance.json"))
}

/// The adapter, and the texts of its files.
pub(super) fn read(file: &Path) -> Result<(Adapter, Vec<String>), String> {
    let shown = file.display();
    let text = crate::files::read(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let sidecar = match crate::files::read(&sidecar_of(file)) {
        Ok(sidecar) => Some(sidecar),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("cannot read {}: {error}", sidecar_of(file).display())),
    };
    match Adapter::read(&text, sidecar.as_deref()) {
        Ok(adapter) => Ok((adapter, [Some(text), sidecar].into_iter().flatten().collect())),
        Err(problems) => {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            let more = problems.len().saturating_sub(1);
            let more = if more == 0 { String::new() } else { format!(" (and {more} more: aquifer validate {shown})") };
            Err(format!("{shown}:{first}{more}"))
        }
    }
}
