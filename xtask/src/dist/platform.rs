//! The platforms for which there are packages, and their names in each package format.

use anyhow::{Context, Result, bail};

/// An operating system and processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    LinuxX64,
    LinuxArm64,
}

/// How a binary finds the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// It contains all it needs and runs on every Linux of its processor.
    Static,
    /// It needs the C library of the machine it was built on, or a newer one. Only debug builds are like this.
    Dynamic,
}

const ELF_MAGIC: &[u8] = b"\x7fELF\x02\x01";
const MACHINE_OFFSET: usize = 18;
const SEGMENTS_OFFSET: usize = 32;
const SEGMENT_SIZE_OFFSET: usize = 54;
const SEGMENT_COUNT_OFFSET: usize = 56;
/// The segment that names the dynamic loader.
const INTERPRETER_SEGMENT: u16 = 3;
const MACHINE_X64: u16 = 62;
const MACHINE_ARM64: u16 = 183;

impl Platform {
    /// Reads from the header of a binary what it runs on.
    pub(crate) fn of_binary(binary: &[u8]) -> Result<(Self, Linkage)> {
        if !binary.starts_with(ELF_MAGIC) {
            bail!("the binary is not a 64-bit ELF file; packages are made for Linux");
        }
        let platform = match short(binary, MACHINE_OFFSET)? {
            MACHINE_X64 => Self::LinuxX64,
            MACHINE_ARM64 => Self::LinuxArm64,
            other => bail!("there are no packages for processors of the kind {other}"),
        };
        let start = binary.get(SEGMENTS_OFFSET..SEGMENTS_OFFSET + 8).context("the ELF header is cut off")?;
        let start = usize::try_from(u64::from_le_bytes(start.try_into()?))?;
        let size = usize::from(short(binary, SEGMENT_SIZE_OFFSET)?);
        for index in 0..usize::from(short(binary, SEGMENT_COUNT_OFFSET)?) {
            if short(binary, start + index * size)? == INTERPRETER_SEGMENT {
                return Ok((platform, Linkage::Dynamic));
            }
        }
        Ok((platform, Linkage::Static))
    }

    /// The platform of this machine.
    pub(crate) fn host() -> Result<Self> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => Ok(Self::LinuxX64),
            ("linux", "aarch64") => Ok(Self::LinuxArm64),
            (system, processor) => bail!("packages are made on Linux (x86_64 or aarch64), not on {system} {processor}"),
        }
    }

    /// The target of the compiler.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::LinuxX64 => "x86_64-unknown-linux-musl",
            Self::LinuxArm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The name in npm packages, in the words of Node.js.
    pub(crate) fn npm(self) -> (&'static str, &'static str) {
        match self {
            Self::LinuxX64 => ("linux", "x64"),
            Self::LinuxArm64 => ("linux", "arm64"),
        }
    }

    /// The machine in the tags of Python wheels.
    pub(crate) fn python(self) -> &'static str {
        match self {
            Self::LinuxX64 => "x86_64",
            Self::LinuxArm64 => "aarch64",
        }
    }

    /// The architecture of Debian packages and of container images.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::LinuxX64 => "amd64",
            Self::LinuxArm64 => "arm64",
        }
    }
}

fn short(binary: &[u8], offset: usize) -> Result<u16> {
    let bytes = binary.get(offset..offset + 2).context("the ELF header is cut off")?;
    Ok(u16::from_le_bytes(bytes.try_into()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with one segment.
    fn header(machine: u8, segment: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        for (offset, value) in [(18, machine), (32, 64), (54, 56), (56, 1), (64, segment)] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte = value;
            }
        }
        bytes.splice(..ELF_MAGIC.len(), ELF_MAGIC.iter().copied());
        bytes
    }

    #[test]
    fn the_header_of_a_binary_tells_its_platform() -> Result<()> {
        assert_eq!(Platform::of_binary(&header(62, 1))?, (Platform::LinuxX64, Linkage::Static));
        assert_eq!(Platform::of_binary(&header(183, 3))?, (Platform::LinuxArm64, Linkage::Dynamic));
        for broken in [&b""[..], b"#!/bin/sh", &header(40, 1), header(62, 1).get(..60).unwrap_or_default()] {
            assert!(Platform::of_binary(broken).is_err(), "{broken:?}");
        }
        Ok(())
    }
}
