#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| larder_fuzz_oracles::dexie(data));
