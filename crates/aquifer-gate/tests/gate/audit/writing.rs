//! What is written, when, and where.

use std::collections::BTreeSet;
use std::time::Duration;

use aquifer_engine::{Caller, Context};
use aquifer_gate::audit::{
    Audit, AuditSettings, Entry, Event, FaultKind, Heads, OperationOutcome, Sink, verify, verify_store,
};
use serde_json::{Map, json};

use super::support::*;

#[tokio::test]
async fn r_saf_5_an_entry_says_what_the_specification_asks_for() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    let caller = Caller { principal: Some("ada".into()), session: Some("sess-4711".into()) };
    let context = Context::new(caller, "req-1");
    let params: Map<_, _> = json!({ "id": 7 }).as_object().unwrap().clone();
    let entry = Entry::for_operation(Event::TokenRejected, &deletion())
        .context(&context)
        .token("conf_abcdefghijklmnopqrstuvwxyz")
        .code("TOKEN_EXPIRED")
        .reason("expired a second ago")
        .parameters(&deletion(), None, &params);
    audit.record(entry).await.unwrap();
    let intent = audit.record(intent("req-2")).await.unwrap();
    audit
        .record(
            Entry::for_operation(Event::Outcome(OperationOutcome::Failed), &deletion())
                .intent(&intent.clone().into())
                .code("UPSTREAM_ERROR"),
        )
        .await
        .unwrap();
    audit.record(Entry::new(Event::QuotaPaused).quota("calls per hour", 100, 100)).await.unwrap();

    let lines = lines(&folder.0);
    assert_eq!(lines[0]["event"], "CHAIN_STARTED");
    assert_eq!(lines[0]["process"], std::process::id());
    assert_eq!(lines[0]["version"], env!("CARGO_PKG_VERSION"));
    assert!(lines[0]["started"].is_string());
    let entry = &lines[1];
    for (name, value) in [
        ("sequence", json!(2)),
        ("event", json!("TOKEN_REJECTED")),
        ("result", json!("denied")),
        ("adapter_name", json!("crm")),
        ("operation", json!("delete_user")),
        ("endpoint", json!("DELETE")),
        ("danger", json!("destructive")),
        ("danger_level", json!(2)),
        ("adapter_trust", json!("accepted")),
        ("code", json!("TOKEN_EXPIRED")),
        ("reason", json!("expired a second ago")),
        ("request_id", json!("req-1")),
        ("user_id", json!("ada")),
        ("parameters", json!({ "id": 7 })),
        ("previous", lines[0]["hash"].clone()),
        ("chain", lines[0]["chain"].clone()),
    ] {
        assert_eq!(entry[name], value, "{name}");
    }
    assert!(entry["timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(entry["token_id"].as_str().unwrap().starts_with("token_"));
    assert!(entry["session_id"].as_str().unwrap().starts_with("session_"));
    assert!(!entry.to_string().contains("conf_") && !entry.to_string().contains("sess-4711"));
    assert_eq!(lines[3]["intent"], format!("{}/{}", intent.chain, intent.sequence));
    assert_eq!((&lines[3]["result"], &lines[3]["code"]), (&json!("failed"), &json!("UPSTREAM_ERROR")));
    assert_eq!(lines[4]["quota"], json!({ "name": "calls per hour", "used": 100, "most": 100 }));
    assert!(verify_directory(&folder.0, &store).await.is_intact());
}

#[tokio::test]
async fn every_event_has_a_name_and_a_result() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    let table = [
        (Event::Denied, "OPERATION_DENIED", "denied"),
        (Event::ConfirmationRequired, "CONFIRMATION_REQUIRED", "confirmation_required"),
        (Event::Confirmed, "CONFIRMATION_GRANTED", "confirmed"),
        (Event::TokenRejected, "TOKEN_REJECTED", "denied"),
        (Event::Approved, "APPROVAL_GRANTED", "approved"),
        (Event::Declined, "APPROVAL_DECLINED", "denied"),
        (Event::Allowed, "OPERATION_ALLOWED", "allowed"),
        (Event::Intent, "OPERATION_INTENT", "intended"),
        (Event::Outcome(OperationOutcome::Done), "OPERATION_OUTCOME", "done"),
        (Event::Outcome(OperationOutcome::Failed), "OPERATION_OUTCOME", "failed"),
        (Event::Outcome(OperationOutcome::Unknown), "OPERATION_OUTCOME", "unknown"),
        (Event::QuotaWarned, "QUOTA_WARNED", "allowed"),
        (Event::QuotaPaused, "QUOTA_PAUSED", "confirmation_required"),
        (Event::QuotaContinued, "QUOTA_CONTINUED", "confirmed"),
        (Event::QuotaStopped, "QUOTA_STOPPED", "denied"),
    ];
    for (event, _, _) in table {
        audit.submit(Entry::for_operation(event, &deletion())).unwrap();
    }
    audit.flush().await.unwrap();
    let lines = lines(&folder.0);
    assert_eq!(lines.len(), table.len() + 1);
    for ((_, event, result), line) in table.iter().zip(lines.iter().skip(1)) {
        assert_eq!((line["event"].as_str(), line["result"].as_str()), (Some(*event), Some(*result)));
    }
}

#[tokio::test]
async fn r_saf_5_an_intent_is_in_the_file_when_recording_returns() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    assert!(listed(&folder.0).is_empty(), "nothing happened, so nothing is written");
    for number in 0..20 {
        let noted = audit.record(intent(&format!("mark-{number}"))).await.unwrap();
        let lines = lines(&folder.0);
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["request_id"], &last["sequence"]),
            (&json!(format!("mark-{number}")), &json!(noted.sequence))
        );
        // And confirmed by the head.
        let heads = Heads::load(&*store).await.unwrap();
        assert_eq!((heads.known[0].sequence, json!(heads.known[0].hash)), (noted.sequence, last["hash"].clone()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_5_a_thousand_intents_at_once_share_their_syncs() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 64 * 1024, 1000), &store);
    let tasks: Vec<_> = (0..1000)
        .map(|number| {
            let audit = audit.clone();
            tokio::spawn(async move { audit.record(intent(&format!("mark-{number}"))).await.unwrap().sequence })
        })
        .collect();
    let mut numbers = BTreeSet::new();
    for task in tasks {
        numbers.insert(tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap());
    }
    assert_eq!(numbers.len(), 1000);
    let found: BTreeSet<String> =
        lines(&folder.0).iter().filter_map(|line| Some(line["request_id"].as_str()?.to_owned())).collect();
    assert_eq!(found.len(), 1000);
    let stats = audit.stats();
    assert_eq!((stats.entries, stats.failures), (1000, 0));
    assert!(stats.writes <= 500, "{stats:?}");
    // However large the batch was, the file is full now.
    audit.record(intent("one more")).await.unwrap();
    assert!(listed(&folder.0).len() > 1, "it did not rotate");
    let report = verify_directory(&folder.0, &store).await;
    assert!(report.is_intact(), "{report}");
}

#[tokio::test]
async fn r_saf_5_rotation_is_recorded_and_old_files_are_dropped() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 3000, 3), &store);
    for number in 0..60 {
        audit.record(intent(&format!("mark-{number}"))).await.unwrap();
        let report = verify_directory(&folder.0, &store).await;
        assert!(report.is_intact(), "after {number}: {report}");
    }
    let files = listed(&folder.0);
    assert!((2..=4).contains(&files.len()), "{files:?}");
    let mut before = None;
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.len() < 4000, "{}", text.len());
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["event"], "CHAIN_CONTINUED");
        if let Some((name, hash)) = before {
            assert_eq!((&first["file"], &first["previous"]), (&name, &hash));
        }
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        before = Some((json!(file.file_name().unwrap().to_str().unwrap()), last["hash"].clone()));
    }
    assert!(events(&folder.0).contains(&"FILES_DROPPED".to_owned()));
    // Without the head, the chain itself records its beginning.
    let report = verify(std::slice::from_ref(&folder.0), None).unwrap();
    assert!(report.is_intact() && report.chains[0].first > 1, "{report}");
    // A missing file that was not dropped is detected.
    std::fs::remove_file(&files[0]).unwrap();
    let report = verify_directory(&folder.0, &store).await;
    let fault = report.faults().next().unwrap();
    assert_eq!((fault.kind, &fault.spot.file, fault.spot.line), (FaultKind::Removed, &files[1], 1), "{report}");
}

#[tokio::test]
async fn r_saf_5_chains_that_have_ended_are_dropped_and_those_in_use_are_not() {
    let (folder, store) = (Folder::new(), memory());
    let living = open(files(&folder.0, 3000, 2), &store);
    living.record(intent("living")).await.unwrap();
    let ended = open(files(&folder.0, 3000, 2), &store);
    for number in 0..4 {
        ended.record(intent(&format!("ended-{number}"))).await.unwrap();
    }
    ended.flush().await.unwrap();
    drop(ended);
    // The writer stops, and releases the lock.
    let third = open(files(&folder.0, 3000, 2), &store);
    let all = |mark: &str| {
        let lines = lines(&folder.0);
        lines.iter().any(|line| line["request_id"].as_str().is_some_and(|id| id.starts_with(mark)))
    };
    for number in 0..200 {
        third.record(intent(&format!("third-{number}"))).await.unwrap();
        if !all("ended-") {
            break;
        }
    }
    assert!(!all("ended-"), "nobody dropped the ended chain");
    assert!(all("living"));
    living.record(intent("living on")).await.unwrap();
    let report = verify_directory(&folder.0, &store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains.len(), 2, "{report}");
}

#[cfg(unix)]
#[tokio::test]
async fn r_saf_5_only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, store) = (Folder::new(), memory());
    let inside = folder.0.join("a/b");
    let audit = open(files(&inside, 1000, 3), &store);
    for _ in 0..5 {
        audit.record(intent("x")).await.unwrap();
    }
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inside), 0o700);
    assert!(listed(&inside).len() > 1);
    assert!(listed(&inside).iter().all(|file| mode(file) == 0o600));
}

#[tokio::test]
async fn r_saf_5_the_store_can_hold_the_lines_too() {
    let store = memory();
    let folder = Folder::new();
    let store_sink = Sink::Store { keep: Duration::from_secs(3600) };
    let mut settings = files(&folder.0, 1 << 20, 3);
    settings.sinks.push(store_sink.clone());
    let audit = open(settings, &store);
    for _ in 0..5 {
        audit.record(intent("x")).await.unwrap();
    }
    let heads = Heads::load(&*store).await.unwrap();
    let report = verify_store(&*store, &heads).await.unwrap();
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.intact_entries(), 6);
    let file = std::fs::read(&listed(&folder.0)[0]).unwrap();
    let held: Vec<u8> = store
        .list("audit/line/", 100)
        .await
        .unwrap()
        .into_iter()
        .flat_map(|(_, record)| [record.value, b"\n".to_vec()].concat())
        .collect();
    assert_eq!(file, held);
    // Altered and removed in the store.
    let all = store.list("audit/line/", 100).await.unwrap();
    for (position, value, kind) in [(2, b"{}".to_vec(), FaultKind::Altered)] {
        let (key, record) = &all[position];
        store.compare_and_set(key, Some(record.version), value, Duration::from_secs(60)).await.unwrap();
        let report = verify_store(&*store, &heads).await.unwrap();
        let fault = report.faults().next().unwrap();
        assert_eq!((fault.kind, fault.spot.line, report.intact_entries()), (kind, 3, 3));
    }

    // And alone.
    let store = memory();
    let settings = AuditSettings { sinks: vec![store_sink], ..AuditSettings::default() };
    let audit = open(settings, &store);
    audit.record(intent("x")).await.unwrap();
    audit.record(intent("y")).await.unwrap();
    let report = verify_store(&*store, &Heads::load(&*store).await.unwrap()).await.unwrap();
    assert!(report.is_intact() && report.intact_entries() == 3, "{report}");
}

#[tokio::test]
async fn without_a_sink_nothing_is_required_and_nothing_fails() {
    let audit = Audit::open(AuditSettings::default(), clock(), memory()).unwrap();
    assert!(!audit.is_required());
    assert_eq!(audit.record(intent("x")).await.unwrap().sequence, 0);
    audit.submit(intent("x")).unwrap();
    audit.flush().await.unwrap();
    assert!(!Audit::disabled(clock()).is_required());
}

#[test]
fn invalid_settings_are_refused_at_once() {
    let folder = Folder::new();
    // There is no runtime to access the store with.
    Audit::open(files(&folder.0, 1000, 1), clock(), memory()).unwrap_err();
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let error = Audit::open(files(&file.join("below"), 1000, 1), clock(), memory()).unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
        let mut twice = files(&folder.0, 1000, 1);
        twice.sinks.extend(twice.sinks.clone());
        Audit::open(twice, clock(), memory()).unwrap_err();
    });
}
