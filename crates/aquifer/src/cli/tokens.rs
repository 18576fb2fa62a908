//! `aquifer tokens` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::UpstreamArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  aquifer tokens demo:                           the sample shop: connect, introspection, tasks
  aquifer tokens -- npx -y @modelcontextprotocol/server-filesystem .
                                                 a server's own tools, and the same behind one to five
  aquifer tokens mcp.json                        all the servers of a client's file together
  aquifer tokens sqlite:my.db --tasks tasks.toml --svg tokens.svg
                                                 what your own tasks cost, as a picture, too
  aquifer tokens --url http://127.0.0.1:3910/mcp a running server of any kind, as it is
  aquifer tokens demo: --json > now.json         for a budget in CI:
  aquifer tokens --compare before.json now.json --budget 5

A file of tasks:
  [[task]]
  name = \"unpaid orders\"
  search = \"orders nobody has paid yet\"          the words a model would search with
  operation = \"list_orders\"
  params = { filter = { status = \"pending\" } }
  shaped = { fields = [\"id\", \"total\"], first = 5 }
                                                 laid over params for the shaped answer
  tool = \"list-orders\"                           the source's own tool, if its name does not tell
  arguments = { status = \"pending\" }             and its arguments, if they are not params

Without a file up to three operations are called that only read and need no parameters. What may write is called only if
a task names it and --allow-writes is given: then once over each surface.
What counts as seen by a model is told in docs/tokens.md. Exit codes: 0 done, 1 a server is not there, a task of the file
cannot be done, or the budget is exceeded, 2 bad usage.";

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// What to measure: whatever serve takes.
    #[arg(value_name = "SOURCE", conflicts_with = "url")]
    pub(crate) sources: Vec<String>,

    /// A running server, measured as it is instead of behind ours.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Read the configuration from this file, else from ./aquifer.toml where no source is named.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) config: Option<PathBuf>,

    /// What a model is to do; else a few reading operations are tried.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,

    /// Call what may write, too, where a task names it.
    #[arg(long, requires = "tasks")]
    pub(crate) allow_writes: bool,

    /// Do no task: nothing but lists and introspection.
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) no_calls: bool,

    /// Print one JSON object (docs/tokens.schema.json).
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw the bars into this file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Measure nothing, but hold a report of before against one of now.
    #[arg(long, num_args = 2, value_names = ["BEFORE.json", "NOW.json"],
          conflicts_with_all = ["sources", "url", "config", "tasks", "no_calls", "svg", "command"])]
    pub(crate) compare: Option<Vec<PathBuf>>,

    /// By how many percent a figure may grow.
    #[arg(long, value_name = "PERCENT", requires = "compare", default_value_t = 0.0, value_parser = percent)]
    pub(crate) budget: f64,

    /// Which endpoint families there are, as serve takes it.
    #[arg(long, value_name = "PROFILE", help_heading = "Surface", conflicts_with = "url")]
    pub(crate) profile: Option<String>,

    /// What tool names begin with, as serve takes it.
    #[arg(long, value_name = "PREFIX", help_heading = "Surface", conflicts_with = "url")]
    pub(crate) prefix: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "use a number, for example 5".to_owned())?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err("use 0 or more".to_owned()) }
}
