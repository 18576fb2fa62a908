//! The examples reach conformance level 2, as they are.

use aquifer_adapter::serve_stdio;
use aquifer_conformance::Target;
use aquifer_conformance::options::Options;
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::run;

use crate::book_index::Library;
use crate::guest_book::GuestBook;
use crate::task_board::Board;
use crate::unusual_types::Badges;

const EXAMPLE: &str = "EXAMPLE_ON_STDIO";

/// The server side of the tests below, which start this program again. The test runner's own output is not JSON, and
/// clients skip it.
#[tokio::test]
#[allow(clippy::print_stdout)]
async fn serves_an_example_if_requested() {
    let Ok(example) = std::env::var(EXAMPLE) else { return };
    println!();
    match example.as_str() {
        "task_board" => serve_stdio(Board::default()).await.unwrap(),
        "book_index" => serve_stdio(Library::default()).await.unwrap(),
        "guest_book" => serve_stdio(GuestBook::default()).await.unwrap(),
        "unusual_types" => serve_stdio(Badges::default()).await.unwrap(),
        other => panic!("there is no example {other}"),
    }
}

async fn expect_level_2(example: &str) {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let arguments = ["--exact", "examples::serves_an_example_if_requested", "--nocapture"].map(str::to_owned);
    let env = vec![(EXAMPLE.to_owned(), example.to_owned())];
    let target = Target::Command { argv: [vec![program], arguments.to_vec()].concat(), env };
    let options = Options { allow_writes: true, ..Options::default() };
    let report = run(&target, &options, |_| {}).await.unwrap().report;
    let tests = report.categories.iter().flat_map(|section| &section.tests);
    let problems: Vec<String> = tests
        .filter(|test| test.result != Verdict::Pass && test.id != "semantic.evaluation")
        .map(|test| format!("{:?} {}: {}", test.result, test.id, test.detail))
        .collect();
    assert_eq!((report.conformance_level, problems), (2, Vec::new()), "{example}");
}

#[tokio::test]
async fn r_con_1_the_task_board_is_level_2() {
    expect_level_2("task_board").await;
}

#[tokio::test]
async fn r_con_1_a_collection_over_an_index_is_level_2() {
    expect_level_2("book_index").await;
}

#[tokio::test]
async fn r_con_1_an_adapter_with_its_own_extractor_is_level_2() {
    expect_level_2("guest_book").await;
}

#[tokio::test]
async fn r_con_1_an_adapter_with_unusual_types_is_level_2() {
    expect_level_2("unusual_types").await;
}
