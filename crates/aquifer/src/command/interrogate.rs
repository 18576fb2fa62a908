//! `aquifer interrogate`: writes what a server offers to a discovery bundle.

use anyhow::Context as _;

use crate::CommandOutcome;
use crate::cli::{InterrogateArgs, default_config};
use crate::config::Config;
use crate::config::target::is_source;
use crate::sources::gather::gather;
use crate::terminal;

use super::capture;
use super::table::count;
use crate::files::write;

pub(crate) async fn run(arguments: InterrogateArgs) -> anyhow::Result<CommandOutcome> {
    let is_name = |source: &String| !is_source(source);
    let config = match (&arguments.config, arguments.source.as_ref().filter(|source| is_name(source))) {
        (Some(config), _) => Config::read(Some(config))?,
        (None, Some(_)) => Config::read(default_config().as_deref())?,
        (None, None) => Config::default(),
    };
    let source = arguments.source.as_deref();
    let settings = capture::server(source, arguments.name.as_deref(), &arguments.upstream, &config)?;
    let asked = vec![(settings.name.clone(), capture::capture(&settings))];
    let bundle = gather(asked, false, Result::is_ok).await.into_iter().flatten().next();
    let bundle = bundle.context("cannot interrogate the server")??;
    let text = bundle.write()?;
    match arguments.output.as_ref().filter(|path| !write::is_stdout(path)) {
        Some(path) => {
            write::file(path, &text, true)?;
            let operations = bundle.normalized_bundle.operations.len();
            let review = bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review).count();
            note!("{}: {}, {review} to review", path.display(), count(operations, "operation"));
        }
        None => terminal::print_exact(text.trim_end())?,
    }
    Ok(CommandOutcome::Done)
}
