//! The Debian package: the binary, manual pages, completion scripts, and a service with its configuration.

use anyhow::Result;
use md5::{Digest as _, Md5};

use super::{Kind, Package, Parts, text};
use crate::dist::archive::{Tree, ar, gzip, tar};
use crate::dist::calendar::mail_date;
use crate::dist::checksum::hexadecimal;
use crate::dist::platform::Linkage;
use crate::dist::release::{MAINTAINER, REPOSITORY, Release};

const CONFIGURATION: &str = "etc/aquifer/aquifer.toml";

pub(super) fn pack(parts: &Parts) -> Result<Package> {
    let (data, format) = (data(parts)?, parts.format());
    let installed_size = data.size();
    let control = gzip(&tar(&control(parts, &data)?, format)?, format)?;
    let data = gzip(&tar(&data, format)?, format)?;
    let bytes = ar(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)], format)?;
    let file = format!("aquifer_{}_{}.deb", parts.release.version, parts.platform.debian());
    Ok(Package { kind: Kind::Debian, file, bytes, installed_size })
}

fn data(parts: &Parts) -> Result<Tree> {
    let (mut tree, small) = (parts.usr(true)?.below("usr")?, parts.format().smallest());
    let unit = text("packaging/debian/aquifer.service")?;
    tree.add_file("usr/lib/systemd/system/aquifer.service", 0o644, unit.into_bytes())?;
    tree.add_file(CONFIGURATION, 0o644, text("packaging/debian/aquifer.toml")?.into_bytes())?;
    tree.add_file("usr/share/doc/aquifer/copyright", 0o644, copyright()?.into_bytes())?;
    let changes = gzip(changelog(parts).as_bytes(), small)?;
    tree.add_file("usr/share/doc/aquifer/changelog.Debian.gz", 0o644, changes)?;
    let changes = gzip(text("CHANGELOG.md")?.as_bytes(), small)?;
    tree.add_file("usr/share/doc/aquifer/changelog.gz", 0o644, changes)?;
    Ok(tree)
}

fn control(parts: &Parts, data: &Tree) -> Result<Tree> {
    let (version, architecture) = (&parts.release.version, parts.platform.debian());
    // A static binary needs nothing; the certificates are for HTTPS servers.
    let depends = match parts.linkage {
        Linkage::Static => "",
        Linkage::Dynamic => "Depends: libc6, libgcc-s1\n",
    };
    let control = format!(
        "Package: aquifer\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {}\n{depends}Recommends: ca-certificates\nSection: net\nPriority: optional\nHomepage: {REPOSITORY}\n\
         Description: gateway that puts databases, APIs and MCP servers behind MCP-AQL\n \
         An agent sees one to five tools instead of hundreds, discovers operations with\n \
         introspection and requests exactly the data it needs. Operations that can\n \
         destroy something need confirmation.\n .\n \
         The service is not started until its configuration says what to serve.\n",
        data.size().div_ceil(1024)
    );
    let mut tree = Tree::default();
    tree.add_file("control", 0o644, control.into_bytes())?;
    tree.add_file("conffiles", 0o644, format!("/{CONFIGURATION}\n").into_bytes())?;
    for script in ["postinst", "prerm", "postrm"] {
        tree.add_file(script, 0o755, text(&format!("packaging/debian/{script}"))?.into_bytes())?;
    }
    let sums = data.files().filter(|(path, ..)| *path != CONFIGURATION);
    let sums: String = sums.map(|(path, _, bytes)| format!("{}  {path}\n", hexadecimal(&Md5::digest(bytes)))).collect();
    tree.add_file("md5sums", 0o644, sums.into_bytes())?;
    Ok(tree)
}

/// The licences of the program, in the format that Debian's tools read.
fn copyright() -> Result<String> {
    let indented = |licence: &str| -> Result<String> {
        let text = text(licence)?;
        let lines =
            text.lines().map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") });
        Ok(lines.collect())
    };
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: aquifer\n\
         Source: {REPOSITORY}\n\nFiles: *\nCopyright: Aquifer contributors\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{}\nLicense: Apache-2.0\n On Debian systems, the full text of the Apache License 2.0 is in\n \
         /usr/share/common-licenses/Apache-2.0.\n",
        indented("LICENSE-MIT")?
    ))
}

fn changelog(parts: &Parts) -> String {
    let Release { version, commit, time } = &parts.release;
    let date = mail_date(*time);
    format!(
        "aquifer ({version}) unstable; urgency=medium\n\n  * Built from the commit\n    {commit}.\n\n -- {MAINTAINER}  {date}\n"
    )
}
