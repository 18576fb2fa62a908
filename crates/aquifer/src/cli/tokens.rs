//! Arguments of `aquifer tokens`.

use std::path::PathBuf;

use clap::Args;

use super::UpstreamArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  aquifer tokens demo:                           the sample shop: connect, introspection, tasks
  aquifer tokens -- npx -y @modelcontextprotocol/server-filesystem .
                                                 a server's own tools, compared with one to five
  aquifer tokens mcp.json                        all servers in a client's configuration file
  aquifer tokens sqlite:my.db --tasks tasks.toml --svg tokens.svg
                                                 your own tasks, with a chart
  aquifer tokens --url http://127.0.0.1:3910/mcp
                                                 any running server, measured as it is
  aquifer tokens demo: --json > now.json         a report, for example for a budget in CI:
  aquifer tokens --compare before.json now.json --budget 5

A file with tasks (explanations on the right are not part of the file):
  [[task]]
  name = \"unpaid orders\"
  search = \"orders nobody has paid yet\"          what a model would search for
  operation = \"list_orders\"
  params = { filter = { status = \"pending\" } }
  shaped = { fields = [\"id\", \"total\"], first = 5 }
                                                 added to params for the shaped answer
  tool = \"list-orders\"                           the source's own tool, if its name differs
  arguments = { status = \"pending\" }             its arguments, if they differ from params

Without a file, up to three operations are called that only read and need no parameters. An operation that may write is \
called only if a task names it and --allow-writes is given, once over each surface.

docs/tokens.md explains what counts as seen by a model.

Exit codes: 0 success, 1 a server could not be reached, a task in the file failed, or the budget was exceeded, 2 invalid \
usage.";

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// The sources to measure, as for 'aquifer serve'.
    #[arg(value_name = "SOURCE", conflicts_with = "url")]
    pub(crate) sources: Vec<String>,

    /// Measure a running server as it is, instead of a source behind Aquifer.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The configuration file. Default: ./aquifer.toml if no source is named.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) config: Option<PathBuf>,

    /// The file with the tasks to measure. Default: call a few operations that only read.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,

    /// Also call operations that may write, if a task names them.
    #[arg(long, requires = "tasks")]
    pub(crate) allow_writes: bool,

    /// Call no operations: measure only tool lists and introspection.
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) no_calls: bool,

    /// Print one JSON object (docs/tokens.schema.json).
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a bar chart to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Compare two reports instead of measuring.
    #[arg(long, num_args = 2, value_names = ["BEFORE.json", "NOW.json"],
          conflicts_with_all = ["sources", "url", "config", "tasks", "no_calls", "svg", "command"])]
    pub(crate) compare: Option<Vec<PathBuf>>,

    /// By how many percent a figure may grow before the comparison fails.
    #[arg(long, value_name = "PERCENT", requires = "compare", default_value_t = 0.0, value_parser = percent)]
    pub(crate) budget: f64,

    /// The endpoint families, as for 'aquifer serve'.
    #[arg(long, value_name = "PROFILE", help_heading = "Surface", conflicts_with = "url")]
    pub(crate) profile: Option<String>,

    /// Prefix for tool names, as for 'aquifer serve'.
    #[arg(long, value_name = "PREFIX", help_heading = "Surface", conflicts_with = "url")]
    pub(crate) prefix: Option<String>,

    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "use a number, for example 5".to_owned())?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err("use 0 or more".to_owned()) }
}
