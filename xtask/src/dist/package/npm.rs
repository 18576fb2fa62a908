//! npm packages. The main one contains a few lines of JavaScript and depends on one package for each platform, of which
//! npm installs the one that fits. Nothing runs at installation.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Kind, Package, Parts, text};
use crate::dist::archive::{Format, Tree, gzip, tar};
use crate::dist::platform::Platform;
use crate::dist::release::{PACKAGE, REPOSITORY, Release, SUMMARY};

/// The oldest Node.js that the main package is tested with.
const MIN_NODE: &str = ">=18";

/// The package that people name. It depends on the packages of these platforms.
pub(crate) fn main_package(release: &Release, platforms: &[Platform], format: Format) -> Result<Package> {
    let dependencies: serde_json::Map<String, Value> =
        platforms.iter().map(|platform| (platform_name(*platform), json!(release.version))).collect();
    let mut manifest = manifest(PACKAGE, release, SUMMARY);
    let more = json!({
        "keywords": ["mcp", "model-context-protocol", "mcp-aql", "sqlite", "postgresql", "openapi", "gateway"],
        "bin": { "aquifer": "bin/aquifer.js", PACKAGE: "bin/aquifer.js" },
        "files": ["bin"],
        "engines": { "node": MIN_NODE },
        "optionalDependencies": dependencies,
    });
    extend(&mut manifest, more);
    let mut tree = Tree::default();
    tree.add_file("package.json", 0o644, pretty(&manifest)?)?;
    tree.add_file("bin/aquifer.js", 0o755, text("packaging/npm/aquifer.js")?.into_bytes())?;
    tree.add_file("README.md", 0o644, text("packaging/npm/README.md")?.into_bytes())?;
    let file = format!("{PACKAGE}-{}.tgz", release.version);
    pack(Kind::NpmMain, file, tree, format)
}

/// The package with the binary of one platform. The binary is static, so `libc` does not restrict it.
pub(super) fn platform_package(parts: &Parts) -> Result<Package> {
    let (system, processor) = parts.platform.npm();
    let name = platform_name(parts.platform);
    let mut manifest = manifest(&name, &parts.release, &format!("The binary of {PACKAGE} for {system} {processor}"));
    extend(&mut manifest, json!({ "os": [system], "cpu": [processor], "files": ["bin"], "preferUnplugged": true }));
    let mut tree = Tree::default();
    tree.add_file("package.json", 0o644, pretty(&manifest)?)?;
    tree.add_file("bin/aquifer", 0o755, parts.binary.clone())?;
    let readme = format!(
        "# {name}\n\nThe binary of [{PACKAGE}](https://www.npmjs.com/package/{PACKAGE}) for {system} {processor}.\n"
    );
    tree.add_file("README.md", 0o644, readme.into_bytes())?;
    let file = format!("{}-{}.tgz", name.trim_start_matches('@').replace('/', "-"), parts.release.version);
    pack(Kind::NpmPlatform, file, tree, parts.format())
}

/// The scope is the name of the main package, and its rest as in `process.platform` and `process.arch`.
fn platform_name(platform: Platform) -> String {
    let (system, processor) = platform.npm();
    format!("@{PACKAGE}/{system}-{processor}")
}

fn manifest(name: &str, release: &Release, description: &str) -> Value {
    json!({
        "name": name,
        "version": release.version,
        "description": description,
        "license": "MIT OR Apache-2.0",
        "homepage": REPOSITORY,
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
        "publishConfig": { "access": "public" },
    })
}

fn extend(manifest: &mut Value, more: Value) {
    if let (Value::Object(manifest), Value::Object(more)) = (manifest, more) {
        manifest.extend(more);
    }
}

fn pretty(manifest: &Value) -> Result<Vec<u8>> {
    Ok((serde_json::to_string_pretty(manifest)? + "\n").into_bytes())
}

fn pack(kind: Kind, file: String, mut tree: Tree, format: Format) -> Result<Package> {
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.add_file(licence, 0o644, text(licence)?.into_bytes())?;
    }
    let (installed_size, tree) = (tree.size(), tree.below("package")?);
    Ok(Package { kind, file, bytes: gzip(&tar(&tree, format)?, format)?, installed_size })
}
