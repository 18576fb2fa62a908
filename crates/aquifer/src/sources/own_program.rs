//! Recognizes servers that are this program. Aquifer must not serve itself, because it would start itself recursively.
//!
//! It is started as a program, by a package runner, in a container or by a shell. Only the word that names the program
//! counts: an argument such as a folder may be called `aquifer`, too.

use aquifer_discovery::servers::{Server, ServerTransport};

/// The names of the program, its packages and its image.
const NAMES: &[&str] = &["aquifer", "aquifer-mcp", "aquifer_mcp"];
/// How many programs may start each other, as in `env sh -c "npx …"`.
const MAX_DEPTH: usize = 8;

/// How a program names the program that it starts.
enum Launcher {
    /// The rest is a command, after some operands: `env A=1 COMMAND`, `timeout 60 COMMAND`.
    Wrapper { options_with_value: &'static [&'static str], operand_count: usize },
    /// The first word is a package, an image or a script, after a subcommand if there is one: `uv tool run PACKAGE`.
    Package { subcommands: &'static [&'static str], options_with_value: &'static [&'static str] },
    /// The first word is an image. Nearly every option has a value: `docker run -v A:B IMAGE`.
    Container,
    /// An option contains the command as one text: `sh -c "COMMAND"`.
    Shell,
}

/// Whether a server is this program.
pub(crate) fn is_aquifer(server: &Server) -> bool {
    match &server.transport {
        ServerTransport::Stdio { command, args, .. } => {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            // Some people write the whole command line as the command.
            let is_line = args.is_empty() && command.contains(char::is_whitespace);
            starts_aquifer(command, &args, MAX_DEPTH) || (is_line && line_starts_aquifer(command, MAX_DEPTH))
        }
        ServerTransport::Http { .. } => false,
    }
}

fn starts_aquifer(program: &str, args: &[&str], depth: usize) -> bool {
    if names_aquifer(program) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    match launcher(&base_name(program)) {
        None => false,
        Some(Launcher::Shell) => shell_starts_aquifer(args, depth),
        Some(Launcher::Wrapper { options_with_value, operand_count }) => {
            let is_assignment = |word: &&&str| word.contains('=') && !word.starts_with('-');
            let Some((_, at)) = first_word(args, options_with_value) else { return false };
            let rest = args.get(at + operand_count..).unwrap_or_default();
            let mut rest = rest.iter().skip_while(|word| is_assignment(word)).copied();
            let Some(program) = rest.next() else { return false };
            starts_aquifer(program, &rest.collect::<Vec<_>>(), depth)
        }
        Some(Launcher::Package { subcommands, options_with_value }) => {
            package_is_aquifer(args, subcommands, options_with_value, depth)
        }
        Some(Launcher::Container) => container_is_aquifer(args),
    }
}

fn shell_starts_aquifer(args: &[&str], depth: usize) -> bool {
    let is_command = |word: &str| word.eq_ignore_ascii_case("/c") || (word.starts_with('-') && word.ends_with('c'));
    let Some(at) = args.iter().position(|word| is_command(word)) else {
        return first_word(args, &[]).is_some_and(|(script, _)| names_aquifer(script));
    };
    let rest = args.get(at + 1..).unwrap_or_default();
    // `cmd /c` joins its arguments, and so do people who forget the quotes.
    line_starts_aquifer(&rest.join(" "), depth)
}

fn package_is_aquifer(mut args: &[&str], subcommands: &[&str], options_with_value: &[&str], depth: usize) -> bool {
    while let Some((word, at)) = first_word(args, options_with_value)
        && subcommands.contains(&word)
    {
        args = args.get(at + 1..).unwrap_or_default();
    }
    let of_option = |names: &[&str]| option_value(args, names).is_some_and(names_aquifer);
    let is_line = option_value(args, &["-c", "--call"]).is_some_and(|line| line_starts_aquifer(line, depth));
    let is_first = first_word(args, options_with_value).is_some_and(|(word, _)| names_aquifer(word));
    is_first || is_line || of_option(&["-p", "--package", "--from", "--spec", "-m"])
}

fn container_is_aquifer(args: &[&str]) -> bool {
    let Some(at) = args.iter().position(|word| matches!(*word, "run" | "exec")) else { return false };
    let rest = args.get(at + 1..).unwrap_or_default();
    let Some((image, index)) = container_image(rest) else { return false };
    // Arguments of an image may be folders with this name.
    let is_program = |word: &&str| *word == "aquifer" || word.ends_with("/bin/aquifer");
    names_aquifer(image) || rest.get(index + 1).is_some_and(is_program)
}

fn launcher(program: &str) -> Option<Launcher> {
    const WRAPPER: &[&str] = &["-u", "--user", "-n", "-C", "--chdir", "-d", "-k", "-s", "-c"];
    const NPM: &[&str] = &["-p", "--package", "-c", "--call", "--registry", "--prefix", "-w", "--workspace", "--cache"];
    const UV: &[&str] = &["--from", "--with", "-p", "--python", "--index", "--index-url", "--directory", "--spec"];
    const NIX: &[&str] = &["--extra-experimental-features", "--experimental-features", "--inputs-from", "-j", "-p"];
    let launcher = match program {
        "sh" | "bash" | "zsh" | "dash" | "fish" | "ash" | "ksh" | "cmd" | "powershell" | "pwsh" => Launcher::Shell,
        "env" | "sudo" | "doas" | "nice" | "nohup" | "exec" | "command" | "time" | "setsid" | "wsl" | "stdbuf"
        | "caffeinate" | "ionice" => Launcher::Wrapper { options_with_value: WRAPPER, operand_count: 0 },
        // They begin with a duration, or with a priority.
        "timeout" | "chrt" => Launcher::Wrapper { options_with_value: WRAPPER, operand_count: 1 },
        "npx" | "bunx" | "pnpx" => Launcher::Package { subcommands: &[], options_with_value: NPM },
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => {
            Launcher::Package { subcommands: &["exec", "x", "dlx", "run"], options_with_value: NPM }
        }
        "uvx" => Launcher::Package { subcommands: &[], options_with_value: UV },
        "uv" | "pipx" => Launcher::Package { subcommands: &["tool", "run"], options_with_value: UV },
        "nix" => Launcher::Package { subcommands: &["run"], options_with_value: NIX },
        "node" | "nodejs" | "python" | "python3" | "py" => Launcher::Package {
            subcommands: &[],
            options_with_value: &["-r", "--require", "--import", "-m", "-c", "-W", "-X"],
        },
        "docker" | "podman" | "nerdctl" | "container" => Launcher::Container,
        _ => return None,
    };
    Some(launcher)
}

/// The first word that is not an option, and its position.
fn first_word<'a>(args: &[&'a str], options_with_value: &[&str]) -> Option<(&'a str, usize)> {
    first_argument(args, |option| options_with_value.contains(&option))
}

/// The first word that is neither an option nor the value of one, and its position.
fn first_argument<'a>(args: &[&'a str], takes_value: impl Fn(&str) -> bool) -> Option<(&'a str, usize)> {
    let mut is_value = false;
    for (index, word) in args.iter().enumerate() {
        if std::mem::take(&mut is_value) || *word == "--" {
            continue;
        }
        if !word.starts_with('-') {
            return Some((word, index));
        }
        is_value = takes_value(word);
    }
    None
}

fn option_value<'a>(args: &[&'a str], names: &[&str]) -> Option<&'a str> {
    // What follows the first word belongs to the program that is started.
    let before = first_word(args, names).map_or(args.len(), |(_, at)| at);
    let options = args.get(..before).unwrap_or_default();
    options.iter().enumerate().find_map(|(index, word)| match word.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some(value),
        _ if names.contains(word) => args.get(index + 1).copied(),
        _ => None,
    })
}

/// The image in the arguments of `docker run`, and its position.
fn container_image<'a>(args: &[&'a str]) -> Option<(&'a str, usize)> {
    const SWITCHES: &[&str] = &[
        "--rm",
        "--init",
        "--interactive",
        "--tty",
        "--detach",
        "--privileged",
        "--read-only",
        "--no-healthcheck",
        "--quiet",
    ];
    first_argument(args, |word| {
        let is_short_switch =
            !word.starts_with("--") && word.chars().skip(1).all(|c| matches!(c, 'i' | 't' | 'd' | 'q' | 'P'));
        // `-eNAME=1` contains its value.
        let has_value = word.contains('=') || (!word.starts_with("--") && word.len() > 2);
        !is_short_switch && !has_value && !SWITCHES.contains(&word)
    })
}

/// Whether a command line of a shell starts Aquifer.
fn line_starts_aquifer(line: &str, depth: usize) -> bool {
    let commands = line.split(['\n', ';', '&', '|', '(', ')', '`']);
    commands.into_iter().any(|command| {
        let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        let mut words = words.into_iter().skip_while(|word| word.contains('=') && !word.starts_with('-'));
        let Some(program) = words.next() else { return false };
        starts_aquifer(program, &words.collect::<Vec<_>>(), depth)
    })
}

/// Whether a word names Aquifer: a path, a package with a version, an image with a tag, or a flake.
fn names_aquifer(word: &str) -> bool {
    let word = word.trim().trim_matches(['"', '\'']);
    // `github:owner/aquifer?dir=nix#default`, and `.#aquifer`.
    let (place, output) = word.split_once('#').map_or((word, ""), |(place, output)| (place, output));
    let place = place.split('?').next().unwrap_or_default();
    [place, output].into_iter().any(|part| {
        let name = base_name(part);
        let name = name.strip_prefix("npm:").unwrap_or(&name);
        let end = name.find(['@', '=', '<', '>', '~', '!', '[', ':']).unwrap_or(name.len());
        NAMES.contains(&name.get(..end).unwrap_or_default())
    })
}

/// The last part of a path without the ending of a program, in lower case.
fn base_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let stem = [".exe", ".cmd", ".bat", ".ps1", ".js", ".mjs", ".cjs", ".py", ".sh", ".appimage"];
    stem.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_recognized(line: &str) -> bool {
        let mut words = line.split(" | ").map(str::to_owned);
        let transport = ServerTransport::Stdio {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            env: Vec::new(),
            env_file: None,
            cwd: None,
        };
        let name = "x".to_owned();
        is_aquifer(&Server { name, line: 1, disabled: false, transport, timeout: None, hidden_tools: Vec::new() })
    }

    #[test]
    fn every_way_to_start_aquifer_is_recognized() {
        for line in [
            "aquifer",
            "/opt/aquifer/bin/aquifer | serve",
            "C:\\Programs\\Aquifer.exe | serve",
            "aquifer serve --config x.toml",
            "npx | -y | aquifer-mcp | serve | sqlite:shop.db",
            "npx | --yes | aquifer-mcp@latest | serve",
            "npx | -p | aquifer-mcp | aquifer | serve",
            "npx | --package=aquifer-mcp@0.1.0 | -c | aquifer serve",
            "npm | exec | -- | aquifer-mcp | serve",
            "pnpm | dlx | aquifer-mcp",
            "deno | run | -A | npm:aquifer-mcp@1",
            "cmd | /c | npx | -y | aquifer-mcp",
            "uvx | aquifer-mcp==0.1.0 | serve",
            "uvx | --from | aquifer-mcp | aquifer | serve",
            "uv | tool | run | aquifer-mcp",
            "pipx | run | aquifer-mcp",
            "python3 | -m | aquifer_mcp",
            "node | /usr/lib/node_modules/aquifer-mcp/bin/aquifer.js | serve",
            "nix | run | github:aquifer-mcp/aquifer?dir=packaging/nix | -- | serve",
            "nix | --extra-experimental-features | nix-command flakes | run | .#aquifer",
            "sh | -c | aquifer serve",
            "bash | -lc | cd /srv && exec env A=1 '/usr/bin/aquifer' serve",
            "env | A=1 | B=2 | aquifer | serve",
            "sudo | -u | me | aquifer",
            "timeout | -k | 5 | 60 | aquifer | serve",
            "ionice | -c | 3 | nice | -n | 10 | aquifer",
            "docker | run | -i | --rm | -v | /home/me/aquifer:/data | ghcr.io/aquifer-mcp/aquifer:0.1 | serve",
            "podman | run | --rm | -it | localhost/aquifer",
            "docker | exec | -i | gateway | aquifer | serve",
        ] {
            assert!(is_recognized(line), "{line}");
        }
    }

    #[test]
    fn other_programs_are_not() {
        for line in [
            "",
            "files",
            "npx | -y | server-files | /home/me/aquifer",
            "npx | -y | server-files | -p | aquifer",
            "npx | -y | aquifer-notes",
            "npx | -y | @aquifer/notes",
            "/home/aquifer/bin/notes | aquifer",
            "uvx | server-git | --repository | aquifer",
            "docker | run | -i | --name | aquifer | -e | aquifer | mcp/files | /aquifer",
            "docker | ps",
            "sh | -c | notes --folder aquifer",
            "sh | -c",
            "env | A=1",
            "timeout | 60",
            "timeout | 60 | notes | aquifer",
            "python3 | aquifer_notes.py",
            "nix | run | github:aquifer/notes",
        ] {
            assert!(!is_recognized(line), "{line}");
        }
        let deep = format!("{}aquifer", "env | ".repeat(100));
        assert!(!is_recognized(&deep));
    }
}
