//! Attacks on the messages that a peer can send. In a process of its own, because the memory that
//! they take is counted.

use oarlock_testkit::{Counting, in_own_process};

use crate::protocol::samples;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CHILD: &str = "OARLOCK_TEST_HOSTILE";

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        samples::attack_all();
    }
}

#[test]
fn mutated_messages_neither_panic_nor_take_much_memory() {
    in_own_process("hostile::child", CHILD);
}
