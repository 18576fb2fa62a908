//! The container image, as a plain folder: the last stage of the container file is carried out in it, and its program runs
//! there as it would in a container. No daemon is needed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Subject;
use super::agent::Agent;
use super::process::{Environment, bounded, run, word};
use crate::dist::platform::Linkage;
use crate::step::{announce, output};

/// Where certificates are on Debian, from which the first stage takes them.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What the last stage of a container file says.
#[derive(Debug, Default, PartialEq)]
struct Image {
    copies: Vec<Copy>,
    user: u32,
    environment: Vec<(String, String)>,
    state: String,
    healthcheck: Vec<String>,
    program: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Copy {
    /// Whether it comes from another stage instead of the folder.
    from_stage: bool,
    /// Whether it belongs to the user of the image.
    is_owned: bool,
    source: String,
    destination: String,
}

impl Image {
    /// Reads the last stage. An unknown instruction is an error, so that nothing goes unchecked.
    fn parse(file: &str, architecture: &str) -> Result<Self> {
        let file = file.replace("\\\n", " ").replace("${TARGETARCH}", architecture);
        let (_, stage) = file.rsplit_once("\nFROM scratch\n").context("the last stage is not 'FROM scratch'")?;
        let mut image = Self::default();
        for line in stage.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (instruction, rest) = line.split_once(' ').context("an instruction without arguments")?;
            match instruction {
                "COPY" => image.copies.push(Copy::parse(rest)?),
                "USER" => {
                    let (user, group) = rest.split_once(':').context("USER without a group")?;
                    ensure!(user == group, "the user and its group differ");
                    image.user = user.parse().context("the user is not a number")?;
                }
                "ENV" => {
                    let (name, value) = rest.split_once('=').context("ENV without a value")?;
                    image.environment.push((name.to_owned(), value.to_owned()));
                }
                "VOLUME" => image.state = list(rest)?.concat(),
                "HEALTHCHECK" => {
                    let (_, command) = rest.split_once("CMD ").context("HEALTHCHECK without a command")?;
                    image.healthcheck = list(command)?;
                }
                "ENTRYPOINT" | "CMD" => image.program.extend(list(rest)?),
                "ARG" | "EXPOSE" => {}
                other => bail!("the check does not know the instruction {other}"),
            }
        }
        ensure!(image.user != 0 && !image.healthcheck.is_empty(), "the image needs a user and a health check");
        Ok(image)
    }
}

impl Copy {
    fn parse(words: &str) -> Result<Self> {
        let (options, paths): (Vec<&str>, Vec<&str>) =
            words.split_whitespace().partition(|word| word.starts_with("--"));
        let [source, destination] = paths.as_slice() else { bail!("COPY needs two paths: {words}") };
        let has = |name: &str| options.iter().any(|option| option.starts_with(name));
        Ok(Self {
            from_stage: has("--from="),
            is_owned: has("--chown="),
            source: (*source).to_owned(),
            destination: (*destination).to_owned(),
        })
    }

    fn run(&self, context: &Path, root: &Path, user: u32) -> Result<()> {
        let destination = root.join(self.destination.trim_start_matches('/'));
        fs::create_dir_all(destination.parent().context("no folder")?)?;
        match (self.from_stage, self.source.as_str()) {
            (false, source) => fs::copy(context.join(source), &destination).map(drop)?,
            (true, CERTIFICATES) if Path::new(CERTIFICATES).exists() => {
                fs::copy(CERTIFICATES, &destination).map(drop)?
            }
            (true, CERTIFICATES) => announce("this machine has no certificates to copy into the image"),
            (true, "/empty") => fs::create_dir(&destination)?,
            (true, other) => bail!("the check does not know {other} of the first stage"),
        }
        if self.is_owned {
            chown(&destination, Some(user), Some(user))?;
            fs::set_permissions(&destination, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
}

/// A list of words as JSON.
fn list(text: &str) -> Result<Vec<String>> {
    serde_json::from_str(text).with_context(|| format!("'{text}' is not a list of words"))
}

pub(super) fn check(subject: &Subject, agent: &Agent) -> Result<()> {
    let environment = Environment::new(subject.work("container"))?;
    let (context, root) = (subject.folder.join("container"), environment.path("root"));
    let file = fs::read_to_string(context.join("Containerfile"))?;
    let image = Image::parse(&file, subject.parts.platform.debian())?;
    for folder in ["tmp", "etc"] {
        fs::create_dir_all(root.join(folder))?;
    }
    image.copies.iter().try_for_each(|copy| copy.run(&context, &root, image.user))?;
    if subject.parts.linkage == Linkage::Dynamic {
        announce("the debug binary is not static: its libraries are copied into the image");
        copy_libraries(&context.join(subject.parts.platform.debian()).join("aquifer"), &root)?;
    }
    let variables: serde_json::Map<String, Value> =
        image.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let description = json!({
        "root": root,
        "user": image.user,
        "state": image.state,
        "environment": variables,
        "program": image.program,
        "healthcheck": image.healthcheck,
        "agent": agent.command(&["demo", "http", "http://127.0.0.1:3910/mcp"]),
    });
    let path = environment.path("image.json");
    fs::write(&path, description.to_string())?;
    let mut namespaces = bounded("unshare", &environment);
    namespaces.args(["--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]).arg(&agent.python);
    run(agent.provide_sdk(namespaces.arg(Agent::script("container.py")).arg(&path)))?;
    fs::remove_dir_all(&root).context("the image cannot be removed")
}

/// Copies the libraries of a program, and the loader that finds them.
fn copy_libraries(program: &Path, root: &Path) -> Result<()> {
    let listed = output("ldd", &[&word(program)]).context("ldd does not run")?;
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let destination = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(destination.parent().context("no folder")?)?;
        fs::copy(library, &destination).with_context(|| format!("cannot copy {library}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::package::text;

    #[test]
    fn the_image_has_one_program_and_no_rights() -> Result<()> {
        let image = Image::parse(&text("packaging/container/Containerfile")?, "amd64")?;
        assert_eq!(image.user, 65_532);
        assert_eq!(image.program, ["/usr/bin/aquifer", "serve", "/etc/aquifer/aquifer.toml"]);
        assert_eq!(image.healthcheck, ["/usr/bin/aquifer", "health"]);
        let programs: Vec<&str> = image.copies.iter().map(|copy| copy.destination.as_str()).collect();
        assert_eq!(programs, [CERTIFICATES, "/var/lib/aquifer", "/usr/bin/aquifer", "/etc/aquifer/aquifer.toml"]);
        assert!(Image::parse("\nFROM scratch\nADD x y\n", "amd64").is_err());
        Ok(())
    }
}
