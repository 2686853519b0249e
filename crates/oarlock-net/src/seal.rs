//! Proofs of knowledge of a job's token, for lines of text outside the wire.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A proof, in hexadecimal, that the writer of these parts knows the token; `-` without one.
pub fn seal(token: Option<&str>, parts: &[&[u8]]) -> String {
    let Some(token) = token else { return "-".to_string() };
    // Keys of any length are good.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token.as_bytes()) else { return "-".to_string() };
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    hex(&mac.finalize().into_bytes())
}

/// Are two proofs the same? Takes as long for any two of one length.
pub fn same_seal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// A word that was never used before.
pub fn nonce() -> String {
    let mut bytes = [0; 16];
    // Without chance from the system, the place in memory and the process must do: the word then only tells connections apart.
    if getrandom::fill(&mut bytes).is_err() {
        let place = std::ptr::from_ref(&bytes).addr() as u64 ^ u64::from(std::process::id()) << 32;
        bytes[..8].copy_from_slice(&place.to_le_bytes());
    }
    hex(&bytes)
}

/// A short digest of bytes, to compare files by.
pub fn fingerprint(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// A name, such as that of a job, as the name of a file.
pub fn file_name(name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text: String = name.chars().map(|c| if kept(c) { c } else { '_' }).collect();
    let dots = text.chars().all(|c| c == '.');
    // Two names that differ only in what is replaced must not share a file.
    if text == name && !dots { text } else { format!("{text}-{}", fingerprint(name.as_bytes())) }
}

#[test]
fn names_of_jobs_become_names_of_files() {
    assert_eq!(file_name("launch-12"), "launch-12");
    assert!(file_name("../a b").starts_with(".._a_b-"));
    assert!(file_name("..").starts_with("..-"));
    assert_ne!(file_name("a b"), file_name("a:b"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_seal_is_of_all_parts() {
    let one = seal(Some("t"), &[b"ab", b"c"]);
    assert!(same_seal(&one, &seal(Some("t"), &[b"ab", b"c"])));
    assert!(!same_seal(&one, &seal(Some("t"), &[b"a", b"bc"])));
    assert_eq!((one.len(), fingerprint(b"").len(), nonce().len()), (64, 16, 32));
    assert_ne!(nonce(), nonce());
}
