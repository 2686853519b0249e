//! `pyramid_hash`: an embedding for every run of neighbouring ids of a sequence, put together from pieces found by hashes.

use oarlock_ir::{AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{EMPTY, fail, kernel, sig, slots};
use oarlock_ops_support::{checks, lod_rows};
use oarlock_tensor::{DType, Dims, Element, Lod, Tensor};

use crate::embedding::bloom_filter::BloomFilter;

pub(crate) const OPS: &[&dyn OpDef] = &[&PyramidHash, &PyramidHashGrad];

struct PyramidHash;

impl OpDef for PyramidHash {
    sig! {
        "pyramid_hash":
            "a term is a run of 2 to pyramid_layer neighbouring ids of a sequence; for each term that the filters and chance leave, a row: \
             for j = 0, rand_len, 2 rand_len, ... below num_emb, rand_len numbers of W from XXH32(the ids as f32, seed j) % space_len \
             on. A sequence without terms has a row of zeros. Without training, rows are multiplied by drop_out_percent";
        in "X": "i32 [rows, 1], ids, with a LoD";
        in "W": "[space_len + rand_len, 1], f32; i8 without training";
        in? "WhiteList": "a Bloom filter of the terms that count, as f32 [white_list_len, 1]; all of them without";
        in? "BlackList": "a Bloom filter of the terms that do not count, as f32 [black_list_len, 1]";
        out "Out": "[terms, num_emb], like `W`, with a LoD";
        out "DropPos": "i32 [rows * pyramid_layer, 1], for the gradient: 1 for each term that counts, 0 for the others; with a LoD";
        out "X_Temp_Out": "f32, for the gradient: the ids";
        attr "num_emb" = 0, "numbers of a row";
        attr "space_len" = 0, "places at which pieces can begin";
        attr "pyramid_layer" = 2, "ids of the longest term; at least 2";
        attr "rand_len" = 0, "numbers of a piece";
        attr "drop_out_percent" = 0.0f32, "the chance that a term is left out in training, or the factor of rows without it";
        attr "is_training" = 0, "leave out terms by chance";
        attr "use_filter" = true, "use the filters";
        attr "white_list_len" = 0, "numbers of `WhiteList`; 0 for none";
        attr "black_list_len" = 0, "numbers of `BlackList`; 0 for none";
        attr "seed" = 0, "of what is left out";
        attr "lr" = 0.0f32, "the learning rate with which the gradient updates `W`";
        hints ["distribute_update_vars"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, w, sizes) = (cx.input("X")?, cx.input("W")?, Sizes::new(&cx.attrs())?);
        if x.dtype != DType::I32 || !matches!(w.dtype, DType::F32 | DType::I8) {
            fail!(
                Kind::DType,
                "`pyramid_hash` needs i32 in {} and f32 or i8 in {}",
                cx.describe("X"),
                cx.describe("W")
            );
        }
        let rows = Dim::Is(sizes.space + sizes.piece);
        let fits = x.shape.rank() == 2 && matches!(&w.shape[..], [n, one] if n.fits(rows) && one.fits(Dim::Is(1)));
        if !fits {
            let what = format_args!("cannot use {} and {} together", cx.describe("X"), cx.describe("W"));
            let note = format!("X is [rows, 1]; W is [{}, 1] by `space_len` and `rand_len`", sizes.space + sizes.piece);
            return Err(cx.shape_error(what).note(note));
        }
        cx.set("Out", VarType::tensor(w.dtype, vec![Dim::Any, Dim::Is(sizes.width)]).with_lod(x.lod_level));
        cx.set("DropPos", VarType::tensor(DType::I32, vec![Dim::Any, Dim::Is(1)]).with_lod(x.lod_level));
        cx.set("X_Temp_Out", VarType { dtype: DType::F32, ..x });
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let hash = Forward::new(p)?;
        match p.dtype("W")? {
            DType::I8 => kernel(move |io| hash.run::<i8>(io, |_| {})),
            _ => {
                let factor = p.attrs().f32("drop_out_percent")?;
                kernel(move |io| hash.run::<f32>(io, |rows| rows.iter_mut().for_each(|v| *v *= factor)))
            }
        }
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        // Nothing is asked of the ids, and so nothing of the weight, as in Fluid.
        if g.input_grads("X").iter().all(|name| *name == EMPTY) {
            return Ok(());
        }
        let reads = ["DropPos", "Out@GRAD", "W", "X", "X_Temp_Out"];
        let mut op = g.make("pyramid_hash_grad", &reads, &["X@GRAD"]);
        op.outputs.set("WOut", g.arguments("W"));
        g.push(op)
    }
}

/// The attributes that both operators read.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    width: usize,
    space: usize,
    longest: usize,
    piece: usize,
}

impl Sizes {
    fn new(attrs: &AttrView<'_>) -> Result<Sizes> {
        let sizes = Sizes {
            width: attrs.count("num_emb")?,
            space: attrs.count("space_len")?,
            longest: attrs.count("pyramid_layer")?,
            piece: attrs.count("rand_len")?,
        };
        if sizes.space == 0 || sizes.piece == 0 || sizes.longest < 2 || !sizes.width.is_multiple_of(sizes.piece) {
            fail!(
                Kind::Argument,
                "`pyramid_hash` needs `space_len` and `rand_len` above 0, `pyramid_layer` of at least 2 and a multiple of \
                 `rand_len` in `num_emb`, not {}, {}, {} and {}",
                sizes.space,
                sizes.piece,
                sizes.longest,
                sizes.width
            );
        }
        Ok(sizes)
    }

    /// The terms of a sequence: first row and end.
    fn terms(self, rows: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let (start, end) = (rows[0], rows[1]);
        let of_length = move |len: usize| (start..(end + 1).saturating_sub(len)).map(move |at| at..at + len);
        (2..=self.longest.min(end - start)).flat_map(of_length)
    }

    /// Where the pieces of a term's row begin in `W`.
    fn places(self, term: &[f32]) -> impl Iterator<Item = usize> {
        let key = bytes(term);
        let piece = move |j: usize| xxh32(&key, j as u32) as usize % self.space;
        (0..self.width).step_by(self.piece).map(piece)
    }

    fn check_weight(self, io: &Io<'_>, slot: In, w: &Tensor) -> Result<()> {
        checks::expect_dims(io, slot, w, &[self.space + self.piece, 1], "`space_len` + `rand_len`")
    }
}

fn bytes(term: &[f32]) -> Vec<u8> {
    term.iter().flat_map(|id| id.to_le_bytes()).collect()
}

slots! {
    struct Forward(p) {
        x: input "X",
        w: input "W",
        lists: [Option<In>; 2] = lists(p)?,
        out: output "Out",
        used: output "DropPos",
        ids: output "X_Temp_Out",
        sizes: Sizes = Sizes::new(&p.attrs())?,
        training: bool "is_training",
        chance: f32 "drop_out_percent",
        seed: int "seed",
    }
}

/// The filters in use, white and black.
fn lists(p: &Prepare<'_>) -> Result<[Option<In>; 2]> {
    let list = |slot: &str, len: &str| {
        let used = p.attrs().bool("use_filter")? && p.attrs().count(len)? > 0;
        if used { p.input(slot).map(Some) } else { Ok(None) }
    };
    Ok([list("WhiteList", "white_list_len")?, list("BlackList", "black_list_len")?])
}

impl Forward {
    fn run<T: Element>(&self, io: &Io<'_>, scale: impl Fn(&mut [T])) -> Result<()> {
        let (x, w) = (io.dense(self.x)?, io.dense(self.w)?);
        self.sizes.check_weight(io, self.w, &w)?;
        checks::expect_dims(io, self.x, &x, &[x.rows(), 1], "an id per row")?;
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        let mut ids = io.out_sized(self.ids, DType::F32, *x.dims())?;
        let ids = io.data_mut::<f32>(self.ids, &mut ids)?;
        ids.iter_mut().zip(io.data::<i32>(self.x, &x)?).for_each(|(to, id)| *to = *id as f32);
        let (used, counts) = self.choose(io, offsets, ids)?;
        let rows = counts.iter().map(|&n| n.max(1));
        let dims = Dims::from([rows.clone().sum(), self.sizes.width]);
        let mut to = io.out_sized(self.out, T::DTYPE, dims)?;
        to.set_lod(lod_rows::lod_of(&Lod::default(), rows));
        let to = io.data_mut::<T>(self.out, &mut to)?;
        let (w, mut used, mut row) = (io.data::<T>(self.w, &w)?, used.iter(), 0);
        for (of, &count) in offsets.windows(2).zip(&counts) {
            if count == 0 {
                to[row * self.sizes.width..][..self.sizes.width].fill(T::default());
                row += 1;
            }
            for term in self.sizes.terms(of).zip(used.by_ref()).filter(|(_, used)| **used == 1).map(|(term, _)| term) {
                let pieces = to[row * self.sizes.width..][..self.sizes.width].chunks_exact_mut(self.sizes.piece);
                for (to, place) in pieces.zip(self.sizes.places(&ids[term])) {
                    to.copy_from_slice(&w[place..][..self.sizes.piece]);
                }
                row += 1;
            }
        }
        if !self.training {
            scale(to);
        }
        Ok(())
    }

    /// Writes which terms count; returns it, and how many of each sequence do.
    fn choose(&self, io: &Io<'_>, offsets: &[usize], ids: &[f32]) -> Result<(Vec<i32>, Vec<usize>)> {
        let lists = [self.tensor(io, 0)?, self.tensor(io, 1)?];
        let [white, black] = [self.filter(io, &lists, 0)?, self.filter(io, &lists, 1)?];
        let mut random = RandR(self.seed as u32);
        let (mut used, mut counts) = (Vec::new(), Vec::with_capacity(offsets.len() - 1));
        for of in offsets.windows(2) {
            let before = used.len();
            for term in self.sizes.terms(of) {
                let key = bytes(&ids[term]);
                let known = white.as_ref().is_none_or(|f| f.contains(&key))
                    && !black.as_ref().is_some_and(|f| f.contains(&key));
                used.push(i32::from(known && (!self.training || random.next() >= self.chance)));
            }
            counts.push(used[before..].iter().filter(|used| **used == 1).count());
        }
        let mut to = io.out_sized(self.used, DType::I32, Dims::from([ids.len() * self.sizes.longest, 1]))?;
        to.set_lod(lod_rows::lod_of(&Lod::default(), counts.iter().copied()));
        let to = io.data_mut::<i32>(self.used, &mut to)?;
        to.fill(0);
        to[..used.len()].copy_from_slice(&used);
        Ok((used, counts))
    }

    fn tensor<'a>(&self, io: &Io<'a>, list: usize) -> Result<Option<std::cell::Ref<'a, Tensor>>> {
        self.lists[list].map(|slot| io.dense(slot)).transpose()
    }

    fn filter<'t>(
        &self,
        io: &Io<'_>,
        lists: &'t [Option<std::cell::Ref<'_, Tensor>>; 2],
        list: usize,
    ) -> Result<Option<BloomFilter<'t>>> {
        let (Some(slot), Some(tensor)) = (self.lists[list], &lists[list]) else { return Ok(None) };
        BloomFilter::new(tensor.bytes()).map(Some).map_err(|what| {
            io.error(Kind::Argument, slot, what).help("load the filter before the first step, or set use_filter=False")
        })
    }
}

struct PyramidHashGrad;

impl OpDef for PyramidHashGrad {
    sig! {
        "pyramid_hash_grad":
            "gradient of `pyramid_hash`: subtracts lr * Out@GRAD from the pieces of W that it came from; X@GRAD = 0";
        in "X": "of the forward operator";
        in "W": "of the forward operator";
        in "DropPos": "of the forward operator";
        in "X_Temp_Out": "of the forward operator";
        in "Out@GRAD": "gradient of the forward operator's output";
        out? "X@GRAD": "zeros, like `X`";
        out? "WOut": "`W` itself, updated; programs of Fluid leave it out, and update `W` all the same";
        with |sig: Sig| sig.attrs_of(&PyramidHash.sig());
        traits Traits::NONE.in_place(&[("W", "WOut")]).by_rows();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("X@GRAD", "X")?;
        cx.same("WOut", "W")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        if p.maybe_output("WOut")?.is_none() {
            fail!(
                Kind::Missing,
                "`pyramid_hash_grad` needs the output `WOut`, the weight that it updates, which programs of Fluid lack; append the \
                 gradients again (`minimize`)"
            );
        }
        let backward = Backward::new(p)?;
        kernel(move |io| backward.run(io))
    }
}

slots! {
    struct Backward(p) {
        x: input "X",
        w: input "W",
        used: input "DropPos",
        ids: input "X_Temp_Out",
        dout: input "Out@GRAD",
        dx: maybe_output "X@GRAD",
        out: output "WOut",
        sizes: Sizes = Sizes::new(&p.attrs())?,
        rate: f32 "lr",
    }
}

impl Backward {
    fn run(&self, io: &Io<'_>) -> Result<()> {
        let (x, used, ids, d) = (io.dense(self.x)?, io.dense(self.used)?, io.dense(self.ids)?, io.dense(self.dout)?);
        let (width, piece) = (self.sizes.width, self.sizes.piece);
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        let ids = checks::sized::<f32>(io, self.ids, &ids, x.rows())?;
        let used = checks::sized::<i32>(io, self.used, &used, x.rows() * self.sizes.longest)?;
        let d = io.data::<f32>(self.dout, &d)?;
        let mut w = io.update(self.w, self.out)?;
        self.sizes.check_weight(io, self.w, &w)?;
        let w = io.data_mut::<f32>(self.out, &mut w)?;
        let (mut used, mut rows) = (used.iter(), d.chunks_exact(width.max(1)));
        for of in offsets.windows(2) {
            let mut found = false;
            for term in self.sizes.terms(of).zip(used.by_ref()).filter(|(_, used)| **used == 1).map(|(term, _)| term) {
                found = true;
                let Some(row) = rows.next() else { return Err(self.too_few(io)) };
                for (d, place) in row.chunks_exact(piece).zip(self.sizes.places(&ids[term])) {
                    w[place..][..piece].iter_mut().zip(d).for_each(|(w, d)| *w -= self.rate * *d);
                }
            }
            if !found && rows.next().is_none() {
                return Err(self.too_few(io));
            }
        }
        let Some(dx) = self.dx else { return Ok(()) };
        let mut to = io.out_sized(dx, DType::I32, *x.dims())?;
        to.set_lod(x.lod().clone());
        to.bytes_mut().fill(0);
        Ok(())
    }

    #[cold]
    fn too_few(&self, io: &Io<'_>) -> oarlock_ir::Error {
        io.error(Kind::Shape, self.dout, "has fewer rows than there are terms")
    }
}

/// glibc's `rand_r`.
struct RandR(u32);

impl RandR {
    /// The next number, as a part of the greatest.
    fn next(&mut self) -> f32 {
        let mut bits = |range: u32| {
            self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (self.0 >> 16) % range
        };
        let number = (bits(2048) << 20) ^ (bits(1024) << 10) ^ bits(1024);
        number as f32 / i32::MAX as f32
    }
}

const PRIMES: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];

/// XXH32, as its specification defines it.
fn xxh32(data: &[u8], seed: u32) -> u32 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let round = |lane: u32, word: u32| lane.wrapping_add(word.wrapping_mul(p2)).rotate_left(13).wrapping_mul(p1);
    let (stripes, rest) = data.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        seed.wrapping_add(p5)
    } else {
        let mut lanes = [seed.wrapping_add(p1).wrapping_add(p2), seed.wrapping_add(p2), seed, seed.wrapping_sub(p1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                *lane = round(*lane, u32::from_le_bytes(*word));
            }
        }
        let turns = lanes.into_iter().zip([1, 7, 12, 18]);
        turns.fold(0u32, |sum, (lane, turn)| sum.wrapping_add(lane.rotate_left(turn)))
    };
    hash = hash.wrapping_add(data.len() as u32);
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(p3)).rotate_left(17).wrapping_mul(p4);
    }
    for byte in rest {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(p5)).rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 13)).wrapping_mul(p3);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use super::{Sizes, bytes, xxh32};
    use crate::embedding::bloom_filter::filter_of;
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    /// Values of the reference implementation.
    #[test]
    fn known_hashes() {
        assert_eq!(xxh32(b"", 0), 0x02CC_5D05);
        assert_eq!(xxh32(b"a", 0), 0x550D_7456);
        assert_eq!(xxh32(b"abc", 0), 0x32D1_53FF);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition", 0), 0xE229_3B2F);
    }

    const SIZES: Sizes = Sizes { width: 4, space: 10, longest: 3, piece: 2 };

    fn case() -> Check {
        check("pyramid_hash")
            .input("X", with_lod(tensor_of([4, 1], &[3i32, 5, 7, 9]), &[&[0, 3, 4]]))
            .input("W", noise([12, 1], 1))
            .attr("num_emb", 4)
            .attr("space_len", 10)
            .attr("pyramid_layer", 3)
            .attr("rand_len", 2)
            .attr("is_training", 1)
    }

    /// The row of a term.
    fn row(term: &[f32]) -> Vec<f32> {
        let w = noise([12, 1], 1);
        let w = w.data::<f32>().expect("f32");
        SIZES.places(term).flat_map(|place| w[place..place + 2].to_vec()).collect()
    }

    fn rows(terms: &[&[f32]], lod: &[usize]) -> Tensor {
        let data: Vec<f32> = terms.iter().flat_map(|t| if t.is_empty() { vec![0.0; 4] } else { row(t) }).collect();
        with_lod(tensor([terms.len(), 4], &data), &[lod])
    }

    #[test]
    fn rows_are_made_of_pieces() {
        let terms: [&[f32]; 4] = [&[3.0, 5.0], &[5.0, 7.0], &[3.0, 5.0, 7.0], &[]];
        case()
            .output("Out", rows(&terms, &[0, 3, 4]))
            .output("DropPos", with_lod(tensor_of([12, 1], &[1i32, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), &[&[0, 3, 3]]))
            .output("X_Temp_Out", tensor([4, 1], &[3.0, 5.0, 7.0, 9.0]))
            .run();
    }

    #[test]
    fn filters_choose_terms() {
        let list = |terms: &[&[f32]]| {
            let keys: Vec<Vec<u8>> = terms.iter().map(|t| bytes(t)).collect();
            let filter = filter_of(&keys.iter().map(|k| &k[..]).collect::<Vec<_>>(), 256, 3);
            let numbers: Vec<f32> = filter.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            tensor([numbers.len(), 1], &numbers)
        };
        let filtered = |slot: &str, attr: &str, terms: &[&[f32]]| {
            let list = list(terms);
            let len = list.numel() as i32;
            case().input(slot, list).attr(attr, len).any_output("DropPos").any_output("X_Temp_Out")
        };
        let (low, high): (&[f32], &[f32]) = (&[3.0, 5.0], &[3.0, 5.0, 7.0]);
        filtered("WhiteList", "white_list_len", &[low, high]).output("Out", rows(&[low, high, &[]], &[0, 2, 3])).run();
        filtered("BlackList", "black_list_len", &[low, high])
            .output("Out", rows(&[&[5.0, 7.0], &[]], &[0, 1, 2]))
            .run();
        let e = case().input("WhiteList", noise([16, 1], 1)).attr("white_list_len", 16).any_output("Out");
        let e = e.any_output("DropPos").any_output("X_Temp_Out").error();
        assert!(e.contains("input `WhiteList` = `WhiteList.0` holds no filter"), "{e}");
    }

    #[test]
    fn gradient_updates_the_weight() {
        let mut w = noise([12, 1], 1);
        let d = noise([4, 4], 2);
        let terms: [&[f32]; 3] = [&[3.0, 5.0], &[5.0, 7.0], &[3.0, 5.0, 7.0]];
        let (to, from) = (w.data_mut::<f32>().expect("f32"), d.data::<f32>().expect("f32"));
        for (term, d) in terms.iter().zip(from.chunks(4)) {
            for (place, d) in SIZES.places(term).zip(d.chunks(2)) {
                to[place] -= 0.5 * d[0];
                to[place + 1] -= 0.5 * d[1];
            }
        }
        check("pyramid_hash_grad")
            .input("X", with_lod(tensor_of([4, 1], &[3i32, 5, 7, 9]), &[&[0, 3, 4]]))
            .input("W", noise([12, 1], 1))
            .input("DropPos", tensor_of([12, 1], &[1i32, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
            .input("X_Temp_Out", tensor([4, 1], &[3.0, 5.0, 7.0, 9.0]))
            .input("Out@GRAD", d)
            .attr("num_emb", 4)
            .attr("space_len", 10)
            .attr("pyramid_layer", 3)
            .attr("rand_len", 2)
            .attr("lr", 0.5f32)
            .output("WOut", w)
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let made = |case: Check| case.any_output("Out").any_output("DropPos").any_output("X_Temp_Out").error();
        let e = made(case().attr("num_emb", 5));
        assert!(e.contains("a multiple of `rand_len` in `num_emb`, not 10, 2, 3 and 5"), "{e}");
        let e = made(case().attr("space_len", 11));
        assert!(e.contains("X is [rows, 1]; W is [13, 1] by `space_len` and `rand_len`"), "{e}");
    }
}
