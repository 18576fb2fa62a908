#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| aquifer_fuzz_checks::sql::check(bytes));
