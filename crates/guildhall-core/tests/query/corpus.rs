//! What the fuzzer found worth keeping, once more.

use std::fs;
use std::path::Path;

use crate::laws;

#[test]
fn laws_hold_for_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/query");
    let mut replayed = 0;
    for entry in fs::read_dir(&corpus).expect("the corpus is in the repository") {
        let path = entry.expect("readable").path();
        laws::hold_for_bytes(&fs::read(&path).expect("readable"));
        replayed += 1;
    }
    assert!(replayed > 0, "{} is empty", corpus.display());
}
