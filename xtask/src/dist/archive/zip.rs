//! zip, as Python wheels need it: deflated files with Unix permissions.

use std::io::Write as _;

use anyhow::Result;
use flate2::Crc;
use flate2::write::DeflateEncoder;

use super::{Format, Tree};
use crate::dist::calendar::date;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_OF_DIRECTORY: u32 = 0x0605_4b50;
const REGULAR_FILE: u32 = 0o100_000;
/// Made on Unix, in version 2.0 of the format.
const MADE_BY: u16 = (3 << 8) | 20;

/// Writes a zip archive of the files. Links are not possible in wheels, and folders are implied.
pub(crate) fn zip(tree: &Tree, format: Format) -> Result<Vec<u8>> {
    let (mut out, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    let (date, time) = dos_time(format.time);
    for (path, mode, bytes) in tree.files() {
        let mut checksum = Crc::new();
        checksum.update(bytes);
        let mut encoder = DeflateEncoder::new(Vec::new(), format.effort.level());
        encoder.write_all(bytes)?;
        let packed = encoder.finish()?;
        let offset = u32::try_from(out.len())?;
        let mut common = Vec::new();
        // The version to read it, no flags, deflated.
        [20_u16, 0, 8, time, date].iter().for_each(|field| common.extend(field.to_le_bytes()));
        let sizes = [checksum.sum(), u32::try_from(packed.len())?, u32::try_from(bytes.len())?];
        sizes.iter().for_each(|field| common.extend(field.to_le_bytes()));
        common.extend(u16::try_from(path.len())?.to_le_bytes());
        common.extend([0, 0]);

        out.extend(LOCAL_HEADER.to_le_bytes());
        out.extend_from_slice(&common);
        out.extend_from_slice(path.as_bytes());
        out.extend(packed);

        directory.extend(CENTRAL_HEADER.to_le_bytes());
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(common);
        // No comment, the first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(((REGULAR_FILE | mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend_from_slice(path.as_bytes());
        count += 1;
    }
    let (start, size) = (u32::try_from(out.len())?, u32::try_from(directory.len())?);
    out.extend(directory);
    out.extend(END_OF_DIRECTORY.to_le_bytes());
    [0_u16, 0, count, count].iter().for_each(|field| out.extend(field.to_le_bytes()));
    [size, start].iter().for_each(|field| out.extend(field.to_le_bytes()));
    out.extend([0, 0]);
    Ok(out)
}

/// The date and time of a zip entry, in UTC. They begin in 1980 and count two seconds.
fn dos_time(seconds: u64) -> (u16, u16) {
    let (year, month, day) = date(seconds);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let date = (year.saturating_sub(1980).min(127) << 9) | (month << 5) | day;
    let time = (hour << 11) | (minute << 5) | (second / 2);
    (u16::try_from(date).unwrap_or_default(), u16::try_from(time).unwrap_or_default())
}
