//! `cargo xtask applications [NAME...]`: checks databases of third-party applications. Applications from PyPI and npm
//! migrate their own schema to SQLite and PostgreSQL and fill it with their own code. Each database is served, must be
//! granted level 2 by the conformance runner, and is compared with plain SQL.
//!
//! The checks know nothing about the content of the databases, so a failure is a fault of the server or of the runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::install;
use crate::postgres;
use crate::step::{self, announce, root, target};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask applications [NAME...]

Installs applications from PyPI and npm under target/applications, lets each create its own database on SQLite and on
PostgreSQL, and checks how Aquifer serves it: conformance level 2, and every row of every table compared with SQL.

Names: wagtail, oscar, mlflow, vendure; all of them by default. With '--sqlite', PostgreSQL is skipped.";

/// An application, and the script that fills a database with it.
struct Application {
    name: &'static str,
    script: &'static str,
    /// A script that compares what the application finds with what Aquifer finds.
    lookups: Option<&'static str>,
    from: Registry,
}

enum Registry {
    /// The requirements file.
    PyPi(&'static str),
    Npm,
}

static ALL: [Application; 4] = [
    Application {
        name: "wagtail",
        script: "wagtail_site.py",
        lookups: Some("wagtail_lookups.py"),
        from: Registry::PyPi("requirements-wagtail.txt"),
    },
    Application {
        name: "oscar",
        script: "oscar_shop.py",
        lookups: None,
        from: Registry::PyPi("requirements-oscar.txt"),
    },
    Application {
        name: "mlflow",
        script: "mlflow_tracking.py",
        lookups: None,
        from: Registry::PyPi("requirements-mlflow.txt"),
    },
    Application { name: "vendure", script: "vendure_shop.cjs", lookups: None, from: Registry::Npm },
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--sqlite").collect();
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|own| own.name == **name)) {
        bail!("unknown argument '{unknown}'\n\n{USAGE}");
    }
    install::check_interpreters()?;
    // The same build as for the tests, so that nothing is built twice.
    step::build_aquifer()?;
    let postgres = if arguments.iter().any(|word| word == "--sqlite") { None } else { Some(postgres::provide()?) };
    let mut failed = Vec::new();
    for application in ALL.iter().filter(|own| names.is_empty() || names.contains(&own.name)) {
        let program = application.install()?;
        let work = databases()?;
        let mut urls = vec![fresh_file(&work, application.name)?];
        if let Some(postgres) = &postgres {
            urls.push(fresh_database(&postgres.url()?, application.name, &application.python()?)?);
        }
        for url in urls {
            let place = if url.starts_with("sqlite:") { "SQLite" } else { "PostgreSQL" };
            announce(&format!("{} on {place}: migrate and fill", application.name));
            step::run(application.fill(&program)?.arg(&url), "The application could not fill its database.")?;
            announce(&format!("{} on {place}: conformance and comparison", application.name));
            if let Err(problem) = check(application, &work, &url) {
                println!("{problem:#}");
                failed.push(format!("{} on {place}", application.name));
            }
        }
    }
    if !failed.is_empty() {
        bail!("these checks failed: {}", failed.join(", "));
    }
    announce("every application's database has level 2 and equals the results of SQL");
    Ok(())
}

/// A SQLite file that an application created and filled, as a source to serve.
pub(crate) fn sqlite(name: &str) -> Result<String> {
    let application = named(name)?;
    let url = fresh_file(&databases()?, &format!("{name}-served"))?;
    application.create(&url)?;
    Ok(url.replacen("sqlite://", "sqlite:", 1))
}

/// A PostgreSQL database that an application created and filled. Returns its URL.
pub(crate) fn postgres(name: &str, server: &str) -> Result<String> {
    let application = named(name)?;
    application.install()?;
    let url = fresh_database(server, &format!("{name}_served"), &application.python()?)?;
    application.create(&url)?;
    Ok(url)
}

/// Installs these applications.
pub(crate) fn install(names: &[&str]) -> Result<()> {
    names.iter().try_for_each(|name| named(name)?.install().map(drop))
}

fn named(name: &str) -> Result<&'static Application> {
    ALL.iter().find(|own| own.name == name).with_context(|| format!("there is no application '{name}'"))
}

fn databases() -> Result<PathBuf> {
    let work = target().join("applications/databases");
    fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
    Ok(work)
}

/// The URL of a SQLite file that does not exist. One from an earlier run would be taken for the application's.
fn fresh_file(work: &Path, name: &str) -> Result<String> {
    let file = work.join(format!("{name}.db"));
    for suffix in ["", "-wal", "-shm"] {
        let old = PathBuf::from(format!("{}{suffix}", file.display()));
        if old.exists() {
            fs::remove_file(&old).with_context(|| format!("cannot delete {}", old.display()))?;
        }
    }
    Ok(format!("sqlite://{}", file.display()))
}

/// Checks that level 2 is granted and that every row equals the result of SQL.
fn check(application: &Application, work: &Path, url: &str) -> Result<()> {
    let aquifer = step::aquifer();
    let configuration = work.join(format!("{}.toml", application.name));
    fs::write(&configuration, format!("[[source]]\nname = \"app\"\ntarget = \"{url}\"\n"))?;
    let state = work.join("state");
    // Compare first, because conformance writes.
    let mut compare = Command::new(application.python()?);
    compare.arg(scripts().join("compare.py")).arg(url).arg(&aquifer);
    compare.args(["serve", "--mode", "single", "--config"]).arg(&configuration).env("XDG_STATE_HOME", &state);
    step::run(&mut compare, "The served rows differ from those in the database.")?;
    if let Some(script) = application.lookups {
        let mut lookups = Command::new(application.python()?);
        lookups.arg(scripts().join(script)).arg(url).arg(&aquifer);
        lookups.args(["serve", "--mode", "single", "--config"]).arg(&configuration).env("XDG_STATE_HOME", &state);
        step::run(&mut lookups, "The application does not find what Aquifer wrote, or the reverse.")?;
    }
    let mut conformance = Command::new(&aquifer);
    conformance.args(["conformance", "--level", "2", "--allow-writes", "--timeout", "60", "--"]).arg(&aquifer);
    conformance.args(["serve", "--config"]).arg(&configuration).env("XDG_STATE_HOME", &state);
    step::run(&mut conformance, "Level 2 is not granted, or there are warnings.")
}

impl Application {
    /// Installs it and lets it create its database.
    fn create(&self, url: &str) -> Result<()> {
        let program = self.install()?;
        announce(&format!("{}: migrate and fill", self.name));
        step::run(
            self.fill(&program)?.arg(url).stdout(Stdio::null()).stderr(Stdio::null()),
            "The application could not fill its database.",
        )
    }

    /// Installs it. Returns its folder.
    fn install(&self) -> Result<PathBuf> {
        let home = target().join("applications").join(self.name);
        match self.from {
            Registry::PyPi(requirements) => {
                install::python(&scripts().join(requirements), &home)?;
            }
            Registry::Npm => install::npm(&scripts(), &home)?,
        }
        Ok(home)
    }

    /// A Python with drivers for both databases: the application's own, or Wagtail's.
    fn python(&self) -> Result<PathBuf> {
        let (name, requirements) = match self.from {
            Registry::PyPi(requirements) => (self.name, requirements),
            Registry::Npm => ("wagtail", "requirements-wagtail.txt"),
        };
        install::python(&scripts().join(requirements), &target().join("applications").join(name))
    }

    /// The command that fills a database, without its URL.
    fn fill(&self, home: &Path) -> Result<Command> {
        let mut command = match self.from {
            Registry::PyPi(_) => Command::new(self.python()?),
            Registry::Npm => Command::new("node"),
        };
        command.arg(scripts().join(self.script)).current_dir(home);
        Ok(command)
    }
}

fn scripts() -> PathBuf {
    root().join("tests/applications")
}

/// Creates an empty database, replacing one of the same name.
fn fresh_database(server: &str, name: &str, python: &Path) -> Result<String> {
    let name = format!("application_{name}");
    let script = "import sys, psycopg\nc = psycopg.connect(sys.argv[1].replace('postgres://', 'postgresql://', 1), autocommit=True)\n\
                  c.execute(f'DROP DATABASE IF EXISTS {sys.argv[2]}')\nc.execute(f'CREATE DATABASE {sys.argv[2]}')\n";
    let mut command = Command::new(python);
    step::run(command.args(["-c", script, server, &name]), "PostgreSQL could not create the database.")?;
    let (base, _) = server.rsplit_once('/').context("the PostgreSQL URL contains no database name")?;
    Ok(format!("{base}/{name}"))
}
