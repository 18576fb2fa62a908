//! Counts the tasks whose operation is shown.

use std::fmt;

use aquifer_engine::Engine;
use serde_json::{Value, json};

use crate::catalog::{Servers, Task, engine, signatures};

/// The results of a set of tasks.
#[derive(Default)]
pub(crate) struct Score {
    pub(crate) tasks: usize,
    /// Tasks with a right operation among the five best, which a caller sees if it asks for five.
    ranked: usize,
    /// Tasks with a right operation among the lines shown by default.
    found: usize,
    first: usize,
    /// The tasks whose first line was not right, and what was shown.
    pub(crate) failures: Vec<String>,
}

impl Score {
    /// The share of tasks with a right operation among the five best, in percent.
    pub(crate) fn ranked(&self) -> f64 {
        percent(self.ranked, self.tasks)
    }

    /// The share of tasks with a right operation among those shown, in percent.
    pub(crate) fn shown(&self) -> f64 {
        percent(self.found, self.tasks)
    }

    /// The share of tasks with a right operation first, in percent.
    pub(crate) fn first(&self) -> f64 {
        percent(self.first, self.tasks)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.ranked += other.ranked;
        self.found += other.found;
        self.first += other.first;
        self.failures.extend(other.failures);
    }

    fn count(&mut self, engine: &Engine, task: &Task, right: &[String]) {
        let names = search(engine, json!({ "query": "signatures", "search": task.words }));
        let five = search(engine, json!({ "query": "signatures", "search": task.words, "first": 5 }));
        let place_in = |names: &[String]| names.iter().position(|name| right.contains(name));
        let place = place_in(&names);
        assert!(names.len() <= 5 && five.starts_with(&names), "{names:?}, {five:?}");
        self.tasks += 1;
        self.ranked += usize::from(place_in(&five).is_some());
        self.found += usize::from(place.is_some());
        self.first += usize::from(place == Some(0));
        if place != Some(0) {
            let mark = if place.is_some() { "later" } else { "MISSED" };
            self.failures.push(format!("{mark} {}: {:?} wants {right:?}, shown {names:?}", task.server, task.words));
        }
    }
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ranked, shown, first) = (self.ranked(), self.shown(), self.first());
        write!(f, "{} tasks, {ranked:.1} % in five, {shown:.1} % shown, {first:.1} % first", self.tasks)
    }
}

/// Each server by itself, with all its tasks of one kind.
pub(crate) fn measure(servers: &Servers, kind: &str) -> Score {
    let mut score = Score::default();
    for (name, server) in &servers.servers {
        let engine = engine([server.clone()]);
        for task in servers.tasks.iter().filter(|task| task.server == *name && task.kind == kind) {
            let right: Vec<String> =
                task.tools.iter().filter_map(|tool| server.operation(tool)).map(str::to_owned).collect();
            score.count(&engine, task, &right);
        }
    }
    score
}

/// All servers together, with the tasks that contain the name of their server or of its product.
pub(crate) fn measure_together(servers: &Servers) -> Score {
    let engine = engine(servers.servers.values().cloned());
    let mut score = Score::default();
    for task in &servers.tasks {
        let words = task.words.to_lowercase();
        let server = &servers.servers[&task.server];
        let products = [task.server.as_str(), "jira", "confluence"];
        if !products.iter().any(|product| words.contains(product)) {
            continue;
        }
        let own = task.tools.iter().filter_map(|tool| server.operation(tool));
        let prefix = format!("{}_", task.server.replace('-', "_"));
        // A name that begins with its source gets no second prefix.
        let right = own.map(|own| if own.starts_with(&prefix) { own.to_owned() } else { format!("{prefix}{own}") });
        let right: Vec<String> = right.collect();
        assert_eq!(signatures(&engine, json!({ "query": "signatures", "names": right })).len(), right.len());
        score.count(&engine, task, &right);
    }
    score
}

/// The names of the operations found.
fn search(engine: &Engine, params: Value) -> Vec<String> {
    let lines = signatures(engine, params);
    lines.iter().filter_map(|line| line.split('(').next()).map(str::to_owned).collect()
}
