//! `shard_index`: ids within their shard.

use oarlock_ir::{AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_tensor::{DType, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&ShardIndex];

struct ShardIndex;

/// One shard of a range of ids.
#[derive(Clone, Copy)]
struct Shard {
    /// Ids of one shard.
    size: i64,
    id: i64,
    /// The value in place of ids of other shards.
    other: i64,
}

impl Shard {
    fn parse(attrs: AttrView<'_>) -> Result<Shard> {
        let (all, shards, id) = (attrs.int("index_num")?, attrs.int("nshards")?, attrs.int("shard_id")?);
        if all <= 0 || shards <= 0 || !(0..shards).contains(&id) {
            fail!(Kind::Argument, "`shard_index` cannot take shard {id} of {shards} shards of {all} ids");
        }
        // The last shard may be smaller than the others.
        let size = all.unsigned_abs().div_ceil(shards.unsigned_abs()) as i64;
        Ok(Shard { size, id, other: attrs.int("ignore_value")? })
    }

    fn place(self, id: i64) -> i64 {
        if id / self.size == self.id { id % self.size } else { self.other }
    }
}

impl OpDef for ShardIndex {
    sig! {
        "shard_index": "Out = X counted from the start of its shard, or `ignore_value` if it is in another shard";
        in "X": "ids from 0 on, i32 or i64; the last size is 1";
        out "Out": "like `X`";
        attr "index_num": "how many ids there are";
        attr "nshards": "how many shards there are";
        attr "shard_id": "which of them this is";
        attr "ignore_value" = -1, "what stands for ids of other shards";
        traits Traits::GRADIENT_FREE.in_place(&[("X", "Out")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.integer("X")?;
        Shard::parse(cx.attrs())?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        match p.dtype("X")? {
            DType::I32 => prepare::<i32>(p),
            _ => prepare::<i64>(p),
        }
    }
}

fn prepare<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, out, shard) = (p.input("X")?, p.output("Out")?, Shard::parse(p.attrs())?);
    kernel(move |io| {
        let mut to = io.update(x, out)?;
        for v in io.data_mut::<T>(out, &mut to)? {
            let id = v.to_i64();
            if id < 0 {
                return Err(io.error(Kind::Range, x, format_args!("holds {id}, but ids are not negative")));
            }
            *v = T::from_i64(shard.place(id));
        }
        Ok(())
    })
}

#[test]
fn shard_index() {
    use crate::testing::{check, tensor_of};
    let shard = |ids: &[i64]| {
        let ids = tensor_of([ids.len(), 1], ids);
        check("shard_index").input("X", ids).attr("index_num", 21).attr("nshards", 2).attr("shard_id", 1)
    };
    shard(&[10, 11, 20]).output("Out", tensor_of::<i64>([3, 1], &[-1, 0, 9])).run();
    shard(&[10]).attr("ignore_value", -7).output("Out", tensor_of::<i64>([1, 1], &[-7])).run();
    let negative = shard(&[-1]).any_output("Out").error();
    assert!(negative.contains("holds -1, but ids are not negative"), "{negative}");
    let wrong = shard(&[1]).attr("shard_id", 2).any_output("Out").error();
    assert!(wrong.contains("`shard_index` cannot take shard 2 of 2 shards of 21 ids"), "{wrong}");
}
