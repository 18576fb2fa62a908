//! What a run of the tests says of itself: the slowest tests, and those that passed only when they were run again. From the
//! report that nextest writes.

use std::fs;

use anyhow::{Context, Result};

use crate::step::root;

const SHOWN: usize = 10;

/// Prints the slowest tests of the last run, and those that failed once.
pub(super) fn print() -> Result<()> {
    let report = root().join("target/nextest/default/junit.xml");
    let report = fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
    println!("The slowest tests, in seconds:");
    for (seconds, name) in slowest(&report) {
        println!("  {seconds:>7.1}  {name}");
    }
    for name in retried(&report) {
        println!("FAILED ONCE, and passed when run again: {name}");
    }
    Ok(())
}

/// The tests of a JUnit report that passed only when they were run again.
fn retried(report: &str) -> Vec<String> {
    let tests = report.split("<testcase ").skip(1).filter(|element| element.contains("<flakyFailure"));
    tests.filter_map(test).map(|(_, name)| name).collect()
}

/// The tests of a JUnit report that took longest, longest first.
fn slowest(report: &str) -> Vec<(f64, String)> {
    let mut tests: Vec<_> = report.split("<testcase ").skip(1).filter_map(test).collect();
    tests.sort_by(|one, other| other.0.total_cmp(&one.0));
    tests.truncate(SHOWN);
    tests
}

fn test(element: &str) -> Option<(f64, String)> {
    let start = element.split('>').next()?;
    let attribute = |name: &str| start.split(&format!(" {name}=\"")).nth(1)?.split('"').next();
    let name = start.strip_prefix("name=\"")?.split('"').next()?;
    Some((attribute("time")?.parse().ok()?, format!("{} {name}", attribute("classname")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_come_first() {
        let report = r#"<testsuites><testsuite name="a" time="9.5">
            <testcase name="one" classname="a::b" timestamp="T" time="0.250"></testcase>
            <testcase name="two" classname="a" timestamp="T" time="12.5">
                <system-out>printed</system-out></testcase>
            <testcase name="no time" classname="a"/></testsuite></testsuites>"#;
        assert_eq!(retried(report), Vec::<String>::new());
        assert_eq!(slowest(report), [(12.5, "a two".to_owned()), (0.25, "a::b one".to_owned())]);
    }
    #[test]
    fn tests_that_failed_once_are_listed() {
        let report = r#"<testsuite><testcase name="steady" classname="a" time="1"></testcase>
            <testcase name="shaky" classname="a" time="1"><flakyFailure message="it was late" type="test failure"/></testcase>
            <testcase name="wrong" classname="a" time="1"><failure/></testcase></testsuite>"#;
        assert_eq!(retried(report), ["a shaky"]);
    }
}
