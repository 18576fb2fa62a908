//! Verification uses the same amount of memory for small and large audits.

#[cfg(target_os = "linux")]
#[test]
fn r_saf_5_verification_streams() {
    use super::support::{Folder, again, in_child};
    const TEST: &str = "audit::memory::r_saf_5_verification_streams";
    if let Some(directory) = in_child() {
        let report = aquifer_gate::audit::verify(&[directory], None).unwrap();
        assert!(report.is_intact(), "{report}");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        println!("\nentries {} peak {}", report.intact_entries(), peak.trim().strip_suffix(" kB").unwrap());
        return;
    }
    let measure = |entries: u64| -> u64 {
        let folder = Folder::new();
        make(&folder.0.join(format!("audit-20260101T000000Z-{}-000000000001.jsonl", "a".repeat(32))), entries);
        let done = again(TEST, &folder.0).output().unwrap();
        let out = String::from_utf8_lossy(&done.stdout);
        let line = out.lines().find_map(|line| line.strip_prefix("entries ")).unwrap_or_else(|| panic!("{out}"));
        let (counted, peak) = line.split_once(" peak ").unwrap();
        assert_eq!(counted.parse::<u64>().unwrap(), entries);
        peak.parse().unwrap()
    };
    // A few hundred kilobytes, and thirty megabytes.
    let (little, much) = (measure(100), measure(8000));
    assert!(much < little + 4096, "{little} kB for little, {much} kB for much");
}

/// Writes a chain of long lines, built as documented.
#[cfg(target_os = "linux")]
fn make(path: &std::path::Path, entries: u64) {
    use std::io::Write as _;
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (chain, filler, mut previous) = ("a".repeat(32), "x".repeat(4000), "0".repeat(64));
    for sequence in 1..=entries {
        let body = format!(
            "{{\"sequence\":{sequence},\"timestamp\":\"2026-01-01T00:00:00Z\",\"chain\":\"{chain}\",\"event\":\"X\",\
             \"reason\":\"{filler}\",\"previous\":\"{previous}\""
        );
        previous = super::tampering::sha256(&format!("{body}}}"));
        writeln!(file, "{body},\"hash\":\"{previous}\"}}").unwrap();
    }
}
