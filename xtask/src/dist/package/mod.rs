//! The packages: which files each contains, and where.

mod container;
mod debian;
mod npm;
mod source;
mod tarball;
mod wheel;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::archive::{Effort, Format, Tree};
use super::manual;
use super::platform::{Linkage, Platform};
use super::release::Release;
use crate::step::{output, root};

pub(crate) use container::context as container_context;
pub(crate) use npm::main_package as npm_main;
pub(crate) use source::{formula, source_archive};

/// A file to hand out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) kind: Kind,
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    /// The size of the files in it.
    pub(crate) installed_size: usize,
}

/// What a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Unpacked by hand.
    Tarball,
    /// The package that people name, without a binary.
    NpmMain,
    /// The binary for one platform.
    NpmPlatform,
    Wheel,
    Debian,
    /// The sources, for Homebrew and others who build.
    Source,
}

/// Everything that packages of one platform contain.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) release: Release,
    pub(crate) platform: Platform,
    pub(crate) linkage: Linkage,
    pub(crate) effort: Effort,
    pub(crate) binary: Arc<[u8]>,
    /// Manual pages by their file names.
    manuals: Vec<(String, String)>,
    /// Completion scripts by their path below `share`.
    completions: Vec<(&'static str, String)>,
}

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/aquifer"),
    ("zsh", "zsh/vendor-completions/_aquifer"),
    ("fish", "fish/vendor_completions.d/aquifer.fish"),
];

impl Parts {
    /// Collects the parts for a binary. `runnable` is a binary of the same version for this machine, which prints its
    /// completion scripts.
    pub(crate) fn collect(release: &Release, binary: &Path, runnable: &Path, effort: Effort) -> Result<Self> {
        let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let (platform, linkage) = Platform::of_binary(&bytes)?;
        let version = output(runnable, &["-V"]).with_context(|| format!("{} does not run here", runnable.display()))?;
        if version != format!("aquifer {}", release.version) {
            bail!("{} is '{version}', not version {}", runnable.display(), release.version);
        }
        let completions = COMPLETIONS.iter().map(|(shell, path)| {
            let script =
                output(runnable, &["completions", shell]).with_context(|| format!("no completions for {shell}"))?;
            Ok((*path, script + "\n"))
        });
        let commands = text("docs/commands.md")?;
        Ok(Self {
            release: release.clone(),
            platform,
            linkage,
            effort,
            binary: bytes.into(),
            manuals: manual::pages(&commands, release)?,
            completions: completions.collect::<Result<_>>()?,
        })
    }

    /// All packages of the platform. Compressing takes long, so they are packed at the same time.
    pub(crate) fn packages(&self) -> Result<Vec<Package>> {
        let packers: [fn(&Self) -> Result<Package>; 4] =
            [tarball::pack, npm::platform_package, wheel::pack, debian::pack];
        std::thread::scope(|scope| {
            let packing = packers.map(|pack| scope.spawn(move || pack(self)));
            packing
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| bail!("a package was not packed")))
                .collect()
        })
    }

    fn format(&self) -> Format {
        Format { time: self.release.time, effort: self.effort }
    }

    /// The binary, manual pages and completion scripts, as they are below `/usr` or `~/.local`.
    fn usr(&self, is_compressed: bool) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.add_file("bin/aquifer", 0o755, self.binary.clone())?;
        for (name, page) in &self.manuals {
            if is_compressed {
                let page = super::archive::gzip(page.as_bytes(), self.format().smallest())?;
                tree.add_file(&format!("share/man/man1/{name}.gz"), 0o644, page)?;
            } else {
                tree.add_file(&format!("share/man/man1/{name}"), 0o644, page.as_bytes())?;
            }
        }
        for (path, script) in &self.completions {
            tree.add_file(&format!("share/{path}"), 0o644, script.as_bytes())?;
        }
        Ok(tree)
    }
}

/// A text file of the repository.
pub(crate) fn text(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts with a file that is no program.
    fn parts() -> Result<Parts> {
        let release = Release::for_tests();
        Ok(Parts {
            manuals: manual::pages(&text("docs/commands.md")?, &release)?,
            release,
            platform: Platform::LinuxX64,
            linkage: Linkage::Static,
            effort: Effort::Best,
            binary: b"\x7fELF program".repeat(5000).into(),
            completions: COMPLETIONS.iter().map(|(shell, path)| (*path, (*shell).to_owned())).collect(),
        })
    }

    #[test]
    fn packing_twice_gives_the_same_bytes() -> Result<()> {
        let (first, again) = (parts()?.packages()?, parts()?.packages()?);
        for (first, again) in first.iter().zip(&again) {
            assert!(first == again, "{} differs", first.file);
        }
        let files: Vec<&str> = first.iter().map(|package| package.file.as_str()).collect();
        let wheel = "aquifer_mcp-0.0.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl";
        let expected =
            ["aquifer-0.0.0-x86_64-linux.tar.gz", "aquifer-mcp-linux-x64-0.0.0.tgz", wheel, "aquifer_0.0.0_amd64.deb"];
        assert_eq!(files, expected);
        Ok(())
    }

    #[test]
    fn a_binary_that_needs_a_c_library_claims_no_other_systems() -> Result<()> {
        let parts = Parts { linkage: Linkage::Dynamic, ..parts()? };
        let files: Vec<String> = parts.packages()?.into_iter().map(|package| package.file).collect();
        assert!(files.contains(&"aquifer_mcp-0.0.0-py3-none-linux_x86_64.whl".to_owned()), "{files:?}");
        Ok(())
    }
}
