//! Parameters as Python pickles: `.pdparams` and `.pdopt`, a dictionary from names to numpy arrays.
//!
//! A pickle is a program for a small machine that can call any function. This one only knows the few calls by which
//! numpy arrays are made; everything else is an error, and nothing is ever executed.

mod read;
mod write;

pub use read::{Pickled, read_pickle};
pub(crate) use write::check_pickle;
pub use write::write_pickle;

/// The opcodes of a pickle; the names are Python's.
mod op {
    pub(super) const MARK: u8 = b'(';
    pub(super) const STOP: u8 = b'.';
    pub(super) const BINFLOAT: u8 = b'G';
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const BININT2: u8 = b'M';
    pub(super) const NONE: u8 = b'N';
    pub(super) const REDUCE: u8 = b'R';
    pub(super) const BINSTRING: u8 = b'T';
    pub(super) const SHORT_BINSTRING: u8 = b'U';
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const APPEND: u8 = b'a';
    pub(super) const BUILD: u8 = b'b';
    pub(super) const GLOBAL: u8 = b'c';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const BINGET: u8 = b'h';
    pub(super) const LONG_BINGET: u8 = b'j';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const BINPUT: u8 = b'q';
    pub(super) const LONG_BINPUT: u8 = b'r';
    pub(super) const SETITEM: u8 = b's';
    pub(super) const TUPLE: u8 = b't';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const EMPTY_TUPLE: u8 = b')';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const PROTO: u8 = 0x80;
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const TUPLE2: u8 = 0x86;
    pub(super) const TUPLE3: u8 = 0x87;
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const LONG1: u8 = 0x8a;
    pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(super) const BINUNICODE8: u8 = 0x8d;
    pub(super) const BINBYTES8: u8 = 0x8e;
    pub(super) const STACK_GLOBAL: u8 = 0x93;
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const FRAME: u8 = 0x95;
    pub(super) const BINBYTES: u8 = b'B';
    pub(super) const SHORT_BINBYTES: u8 = b'C';
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Name;
    use oarlock_tensor::Tensor;

    use super::*;

    fn sample() -> Vec<(Name, Tensor)> {
        vec![
            ("a".into(), Tensor::from_slice([2, 1], &[1.5f32, -2.0]).unwrap()),
            ("b".into(), Tensor::from_slice([1], &[i64::MIN]).unwrap()),
            ("c".into(), Tensor::from_slice([300, 1, 1, 1], &[0xffu8; 300]).unwrap()),
            ("d".into(), Tensor::from_slice([0], &[0f64; 0]).unwrap()),
        ]
    }

    fn pickled(items: &[(Name, Tensor)]) -> Vec<u8> {
        let items: Vec<(Name, &Tensor)> = items.iter().map(|(n, t)| (n.clone(), t)).collect();
        let mut bytes = Vec::new();
        write_pickle(&items, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn arrays_come_back() {
        for n in 0..=sample().len() {
            let items = &sample()[..n];
            let read = read_pickle(&pickled(items), "p").unwrap();
            let expected: Vec<_> = items.iter().map(|(n, t)| (n.to_string(), Pickled::Array(t.clone()))).collect();
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn calls_are_refused_by_name() {
        let evil = b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.";
        let e = read_pickle(evil, "p.pdparams").unwrap_err();
        assert_eq!(
            e.report().what,
            "p.pdparams: not a pickle of parameters: it calls posix.system, which has no place in parameters (at byte 16)"
        );
    }

    #[test]
    fn repeating_by_reference_is_bounded() {
        let mut bytes = pickled(&sample()[2..3]);
        // Before the end, the array (number 17 is its state; its object was remembered before) is listed many times.
        bytes.pop();
        let array = (0..=255u8).find(|n| {
            let mut probe = bytes.clone();
            probe.extend([op::MARK, op::BINUNICODE, 1, 0, 0, 0, b'x', op::BINGET, *n, op::SETITEMS, op::STOP]);
            read_pickle(&probe, "p").is_ok_and(|d| matches!(d.last(), Some((_, Pickled::Array(_)))))
        });
        let array = array.expect("the array is remembered");
        for _ in 0..10_000 {
            bytes.extend([op::BINUNICODE, 0, 0, 0, 0, op::BINGET, array, op::SETITEM]);
        }
        bytes.push(op::STOP);
        let e = read_pickle(&bytes, "p").unwrap_err();
        assert!(e.report().what.contains("over and over"), "{e}");
    }
}
