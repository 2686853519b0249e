//! Whatever is written comes back: tensors of every type, of any sizes, with and without sequences.

use oarlock_io::{
    Pickled, decode_rows, decode_safetensors, decode_tensor, encode_tensor, read_pickle, write_pickle, write_rows,
    write_safetensors,
};
use oarlock_ir::Name;
use oarlock_tensor::{DType, Dims, Lod, SelectedRows, Tensor};
use proptest::prelude::*;

fn tensor() -> impl Strategy<Value = Tensor> {
    let sizes = prop::collection::vec(0usize..5, 0..5);
    (0..DType::ALL.len(), sizes, any::<u64>()).prop_map(|(dtype, sizes, seed)| {
        let mut tensor = Tensor::zeros(DType::ALL[dtype], Dims::new(&sizes));
        let mut state = seed;
        for byte in tensor.bytes_mut() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *byte = (state >> 56) as u8;
        }
        tensor
    })
}

/// The same, with its rows divided into sequences.
fn with_lod() -> impl Strategy<Value = Tensor> {
    (tensor(), 0usize..3).prop_map(|(mut tensor, levels)| {
        let mut lengths = vec![vec![1; tensor.rows()]];
        lengths.insert(0, vec![tensor.rows()]);
        tensor.set_lod(Lod::from_lengths(&lengths[2 - levels..]));
        tensor
    })
}

fn names(tensors: &[Tensor]) -> Vec<(Name, &Tensor)> {
    tensors.iter().enumerate().map(|(i, t)| (format!("fc_{i}.w_0").into(), t)).collect()
}

proptest! {
    #[test]
    fn tensors_follow_each_other(tensors in prop::collection::vec(with_lod(), 0..4)) {
        let mut bytes = Vec::new();
        tensors.iter().for_each(|t| encode_tensor(t, &mut bytes));
        let mut at = 0;
        for expected in &tensors {
            let (found, used) = decode_tensor(&bytes[at..], "t").unwrap();
            prop_assert_eq!(&found, expected);
            at += used;
        }
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn rows(value in tensor().prop_filter("rows have a first size", |t| t.dims().rank() > 0), height in any::<i64>(), first in any::<i64>()) {
        let rows = SelectedRows { rows: (0..value.rows()).map(|i| first.wrapping_add(i as i64)).collect(), height, value };
        let mut bytes = Vec::new();
        write_rows(&rows, &mut bytes).unwrap();
        let (found, used) = decode_rows(&bytes, "t").unwrap();
        prop_assert_eq!((found, used), (rows, bytes.len()));
    }

    #[test]
    fn pickles(tensors in prop::collection::vec(tensor().prop_filter("numpy has no bf16", |t| t.dtype() != DType::BF16), 0..6)) {
        let mut bytes = Vec::new();
        write_pickle(&names(&tensors), &mut bytes).unwrap();
        let found = read_pickle(&bytes, "p").unwrap();
        let expected: Vec<_> = names(&tensors).into_iter().map(|(n, t)| (n.to_string(), Pickled::Array(t.clone()))).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn safetensors(tensors in prop::collection::vec(tensor(), 0..6)) {
        let mut bytes = Vec::new();
        write_safetensors(&names(&tensors), &mut bytes).unwrap();
        let found = decode_safetensors(&bytes, "t").unwrap();
        prop_assert_eq!(found, names(&tensors).into_iter().map(|(n, t)| (n.to_string(), t.clone())).collect());
    }
}
