//! The modules of a crate form layers: none uses itself through others, and a reader sees them at one glance.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::documents::root;

/// The maximum number of files and folders at the top of a crate.
const MAX_ENTRIES: usize = 13;

/// Which module uses which other one, each with a place that does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// The `src` folder of every crate, by the name of the crate.
fn crates() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path().join("src")));
    named.filter(|(_, source)| source.is_dir()).collect()
}

/// The Rust files below a folder, without those of tests.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => files(&path, found),
            false if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") => {
                found.push(path);
            }
            false => {}
        }
    }
}

/// The code without comments and without items that only tests have.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut skipped: Option<&str> = None;
    for line in text.lines() {
        let indent = line.get(..line.len() - line.trim_start().len()).unwrap_or_default();
        let rest = line.trim();
        match skipped {
            Some(outer) => {
                let is_outside = indent == outer && !rest.is_empty() && !rest.starts_with("#[");
                if is_outside && (rest.starts_with('}') || rest.ends_with(';') || rest.ends_with("{}")) {
                    skipped = None;
                }
            }
            None if rest.starts_with("#[cfg(test)]") || rest.starts_with("#[cfg(all(test") => skipped = Some(indent),
            None if rest.starts_with("//") => {}
            None => {
                code.push_str(rest);
                code.push('\n');
            }
        }
    }
    code
}

/// The text of the path that begins here, with everything in its braces.
fn path_text(code: &str) -> &str {
    let mut depth = 0_usize;
    let end = code.find(|c: char| {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            _ => return depth == 0 && !(c.is_alphanumeric() || c == '_' || c == ':'),
        }
        false
    });
    code.get(..end.unwrap_or(code.len())).unwrap_or_default()
}

/// The paths in a tree such as `a::{b, c::d}`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let Some((prefix, inner)) = tree.split_once('{') else {
        // An item is known by its new name, if it has one.
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
        let mut steps: Vec<String> = path.split("::").map(|step| step.trim().to_owned()).collect();
        steps.retain(|step| !step.is_empty());
        if let (Some(name), Some(last)) = (name, steps.last_mut()) {
            name.trim().clone_into(last);
        }
        return if steps.is_empty() { Vec::new() } else { vec![steps] };
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let mut depth = 0_usize;
    let parts = inner.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let prefix: Vec<String> =
        prefix.split("::").map(|step| step.trim().to_owned()).filter(|step| !step.is_empty()).collect();
    parts.flat_map(expand).map(|path| prefix.iter().cloned().chain(path).collect()).collect()
}

/// The paths that begin with this word.
fn paths(code: &str, first: &str) -> Vec<Vec<String>> {
    let start = format!("{first}::");
    let begins = code.match_indices(&start).filter(|(at, _)| {
        let before = code.get(..*at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    });
    begins.flat_map(|(at, _)| expand(path_text(code.get(at..).unwrap_or_default()))).collect()
}

/// The modules of a crate, as its root declares them, and the modules of what its root re-exports.
fn modules(code: &str) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let declared = code.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix(';')?.split_once("mod ")?;
        Some(name.to_owned())
    });
    let modules: BTreeSet<String> = declared.collect();
    let mut exported = BTreeMap::new();
    for module in &modules {
        for path in paths(code, module) {
            exported.extend(path.last().filter(|_| path.len() > 1).map(|name| (name.clone(), module.clone())));
        }
    }
    (modules, exported)
}

/// Which modules of a crate use each other. `read` are its files below `src`, each with its code.
fn uses(crate_root: &str, read: &[(PathBuf, String)]) -> Uses {
    let (modules, exported) = modules(crate_root);
    let mut uses = Uses::new();
    for (file, code) in read {
        let mut own: Vec<&str> = file.iter().filter_map(|step| step.to_str()).collect();
        let last = own.pop().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
        own.extend((last != "mod").then_some(last));
        let Some(module) = own.first().filter(|module| modules.contains(**module)) else { continue };
        let from_root = paths(code, "crate").into_iter().map(|path| (1, path));
        let from_here = paths(code, "super").into_iter().filter_map(|path| {
            let steps_up = path.iter().take_while(|step| *step == "super").count();
            (steps_up == own.len()).then_some((steps_up, path))
        });
        for (skipped, path) in from_root.chain(from_here) {
            let Some(name) = path.get(skipped) else { continue };
            let used = modules.get(name).or_else(|| exported.get(name)).filter(|used| used != module);
            if let Some(used) = used {
                let place = || format!("{} uses {}", file.display(), path.join("::"));
                uses.entry((*module).to_owned()).or_default().entry(used.clone()).or_insert_with(place);
            }
        }
    }
    uses
}

/// The shortest way from a module through others back to itself.
fn circle(uses: &Uses, start: &str) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|last| uses.get(last)).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                return Some(way);
            }
            if seen.insert(next.clone()) {
                ways.push_back(way.iter().cloned().chain([next.clone()]).collect());
            }
        }
    }
    None
}

/// Each circle once, with the places that make it one.
fn circles(uses: &Uses) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut described = Vec::new();
    for start in uses.keys() {
        let Some(way) = circle(uses, start) else { continue };
        if found.insert(way.iter().cloned().collect::<BTreeSet<_>>()) {
            let ends = way.iter().skip(1).chain(way.first());
            let places = way.iter().zip(ends).map(|(from, to)| uses[from][to].as_str());
            described.push(format!("{} → {start} ({})", way.join(" → "), places.collect::<Vec<_>>().join("; ")));
        }
    }
    described
}

#[test]
fn no_module_uses_itself_through_others() {
    let mut found = Vec::new();
    for (name, source) in crates() {
        let mut all = Vec::new();
        files(&source, &mut all);
        let (roots, modules): (Vec<PathBuf>, Vec<PathBuf>) =
            all.into_iter().partition(|path| *path == source.join("lib.rs") || *path == source.join("main.rs"));
        let read = |path: &Path| code(&std::fs::read_to_string(path).unwrap());
        let crate_root: String = roots.iter().map(|path| read(path)).collect();
        let modules: Vec<(PathBuf, String)> =
            modules.iter().map(|path| (path.strip_prefix(&source).unwrap().to_owned(), read(path))).collect();
        found.extend(circles(&uses(&crate_root, &modules)).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn crates_have_few_entries_at_the_top() {
    for (name, source) in crates() {
        let count = std::fs::read_dir(source).unwrap().count();
        assert!(count <= MAX_ENTRIES, "crates/{name}/src has {count} entries, more than {MAX_ENTRIES}");
    }
}

#[test]
fn circles_are_found() {
    let crate_root =
        "mod low;\npub mod mid;\nmod top;\npub use mid::Thing;\npub use low::{self, deep::{Depth as Deep}};\n";
    let find = |table: &[(&str, &str)]| {
        let read: Vec<(PathBuf, String)> = table.iter().map(|(file, text)| (file.into(), code(text))).collect();
        circles(&uses(crate_root, &read))
    };
    let layers =
        [("mid.rs", "use crate::low::{a, b::{c, d}};"), ("top.rs", "use crate::{low, mid::x};\ncrate::mid::y();")];
    assert_eq!(find(&layers), [""; 0]);
    let table: &[(&str, &str, &str)] = &[
        ("low.rs", "use crate::mid::x;", "low → mid → low (low.rs uses crate::mid::x; mid.rs uses crate::low::a)"),
        ("low/deep.rs", "use super::super::top;", "low → top → low"),
        ("low/mod.rs", "fn f(_: crate::Thing) {}", "low → mid → low"),
        ("mid.rs", "use crate::{Deep, top::x};", "mid → top → mid"),
        ("low/mod.rs", "    let _ = super::mid::x();", "low → mid → low"),
    ];
    for (file, text, expected) in table {
        let found = find(&[&layers[..], &[(file, text)]].concat());
        assert!(found.iter().any(|circle| circle.starts_with(expected)), "{found:?}");
    }
    let harmless: &[(&str, &str)] = &[
        ("low.rs", "#[cfg(test)]\nmod tests {\n    use crate::mid::x;\n}"),
        ("low.rs", "#[cfg(test)]\nuse crate::mid::x;"),
        ("low.rs", "/// See [`crate::mid`].\nfn f() {}"),
        ("low/deep.rs", "use super::mid;"),
        ("low/deep.rs", "pub(in crate::low) fn f() {}"),
    ];
    for (file, text) in harmless {
        assert_eq!(find(&[&layers[..], &[(file, text)]].concat()), [""; 0], "{file} {text}");
    }
}
