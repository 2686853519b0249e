//! `average_accumulates`: sums of a parameter over the last steps, from which its average is made.

use oarlock_ir::{Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, checked_kernel, sig, slots};
use oarlock_tensor::Float;

use crate::optimizer::row_rule::Pair;

pub(crate) const OPS: &[&dyn OpDef] = &[&AverageAccumulates];

/// After this number of updates the first sum is moved to the second, which keeps rounding small.
const MOVE_EVERY: i64 = 16384;

const SUM_1: (&str, &str) = ("in_sum_1", "out_sum_1");
const SUM_2: (&str, &str) = ("in_sum_2", "out_sum_2");
const SUM_3: (&str, &str) = ("in_sum_3", "out_sum_3");
const ACCUMULATES: (&str, &str) = ("in_num_accumulates", "out_num_accumulates");
const OLD_ACCUMULATES: (&str, &str) = ("in_old_num_accumulates", "out_old_num_accumulates");
const UPDATES: (&str, &str) = ("in_num_updates", "out_num_updates");

const PAIRS: &[(&str, &str)] = &[SUM_1, SUM_2, SUM_3, ACCUMULATES, OLD_ACCUMULATES, UPDATES];

struct AverageAccumulates;

impl OpDef for AverageAccumulates {
    sig! {
        "average_accumulates":
            "sum_1 += param, counting updates and accumulates; every 16384 updates sum_2 += sum_1 and sum_1 = 0; \
             once the window is full (accumulates >= min_average_window and accumulates >= \
             min(max_average_window, updates * average_window)) sum_3 = sum_1 + sum_2, the other two start again, \
             old_num_accumulates = accumulates and accumulates = 0";
        in "param": "the parameter";
        in "in_sum_1": "like `param`";
        in "in_sum_2": "like `param`";
        in "in_sum_3": "like `param`";
        in "in_num_accumulates": "one i64: steps in sum_1 and sum_2";
        in "in_old_num_accumulates": "one i64: steps in sum_3";
        in "in_num_updates": "one i64: steps altogether";
        out "out_sum_1": "updated";
        out "out_sum_2": "updated";
        out "out_sum_3": "updated";
        out "out_num_accumulates": "updated";
        out "out_old_num_accumulates": "updated";
        out "out_num_updates": "updated";
        attr "average_window" = 0.0f32, "length of the window relative to the number of updates";
        attr "min_average_window" = 10000i64, "shortest window";
        attr "max_average_window": "longest window";
        traits Traits::NONE.in_place(PAIRS);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.float("param")?;
        PAIRS.iter().try_for_each(|(from, to)| cx.same(to, from))
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let a = p.attrs();
        let (shortest, longest) = (a.int("min_average_window")?, a.int("max_average_window")?);
        let window = Window { share: a.f32("average_window")?, shortest, longest };
        let sums = Sums::new(p)?;
        by_float!(p.float("param")?, T => {
            checked_kernel(move |io| sums.check::<T>(io), move |io| sums.run::<T>(io, &window))
        })
    }
}

/// How many steps an average covers.
struct Window {
    share: f32,
    shortest: i64,
    longest: i64,
}

impl Window {
    fn is_full(&self, accumulates: i64, updates: i64) -> bool {
        let wanted = self.longest.min((updates as f32 * self.share) as i64);
        accumulates >= self.shortest && accumulates >= wanted
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Sums(p) {
        param: input "param",
        sums: [Pair; 3] = [Pair::new(p, SUM_1)?, Pair::new(p, SUM_2)?, Pair::new(p, SUM_3)?],
        /// Accumulates, old accumulates, updates.
        counts: [Pair; 3] = [Pair::new(p, ACCUMULATES)?, Pair::new(p, OLD_ACCUMULATES)?, Pair::new(p, UPDATES)?],
    }
}

impl Sums {
    fn check<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let param = io.dense(self.param)?;
        io.data::<T>(self.param, &param)?;
        for pair in self.sums {
            let sum = pair.old::<T>(io)?;
            if sum.numel() != param.numel() {
                let what = format!("is {}, but {} is {}", param.dims(), pair.describe(io), sum.dims());
                return Err(io.error(Kind::Shape, self.param, what));
            }
        }
        self.counts.iter().try_for_each(|c| c.check_number::<i64>(io))
    }

    fn run<T: Float>(&self, io: &Io<'_>, window: &Window) -> Result<()> {
        let param = io.dense(self.param)?;
        let param = io.data::<T>(self.param, &param)?;
        let [accumulates, old, updates] = self.counts;
        let (done, count) = (updates.index(io)? + 1, accumulates.index(io)? + 1);
        let full = window.is_full(count, done);
        let [mut sum_1, mut sum_2, mut sum_3] =
            [self.sums[0].update(io)?, self.sums[1].update(io)?, self.sums[2].update(io)?];
        let sum_1 = self.sums[0].data_mut::<T>(io, &mut sum_1)?;
        let sum_2 = self.sums[1].data_mut::<T>(io, &mut sum_2)?;
        add(sum_1, param);
        if done % MOVE_EVERY == 0 {
            add(sum_2, sum_1);
            sum_1.fill(T::ZERO);
        }
        if full {
            let sum_3 = self.sums[2].data_mut::<T>(io, &mut sum_3)?;
            sum_3.copy_from_slice(sum_1);
            add(sum_3, sum_2);
            sum_1.fill(T::ZERO);
            sum_2.fill(T::ZERO);
        }
        let old_count = old.index(io)?;
        updates.set(io, done)?;
        accumulates.set(io, if full { 0 } else { count })?;
        old.set(io, if full { count } else { old_count })
    }
}

fn add<T: Float>(to: &mut [T], what: &[T]) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += *w;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn case(updates: i64, accumulates: i64) -> Check {
        check("average_accumulates")
            .input("param", tensor([2], &[1.0, 2.0]))
            .input("in_sum_1", tensor([2], &[10.0, 20.0]))
            .input("in_sum_2", tensor([2], &[100.0, 200.0]))
            .input("in_sum_3", tensor([2], &[7.0, 7.0]))
            .input("in_num_accumulates", tensor_of([1], &[accumulates]))
            .input("in_old_num_accumulates", tensor_of([1], &[5i64]))
            .input("in_num_updates", tensor_of([1], &[updates]))
            .attr("average_window", 0.5f32)
            .attr("min_average_window", 2i64)
            .attr("max_average_window", 100i64)
    }

    fn expect(c: Check, sums: [[f32; 2]; 3], counts: [i64; 3]) {
        c.output("out_sum_1", tensor([2], &sums[0]))
            .output("out_sum_2", tensor([2], &sums[1]))
            .output("out_sum_3", tensor([2], &sums[2]))
            .output("out_num_accumulates", tensor_of([1], &[counts[0]]))
            .output("out_old_num_accumulates", tensor_of([1], &[counts[1]]))
            .output("out_num_updates", tensor_of([1], &[counts[2]]))
            .run();
    }

    #[test]
    fn sums_grow_until_the_window_is_full() {
        expect(case(9, 3), [[11.0, 22.0], [100.0, 200.0], [7.0, 7.0]], [4, 5, 10]);
        expect(case(9, 4), [[0.0, 0.0], [0.0, 0.0], [111.0, 222.0]], [0, 5, 10]);
    }

    #[test]
    fn a_long_sum_moves_on() {
        expect(case(16383, 3), [[0.0, 0.0], [111.0, 222.0], [7.0, 7.0]], [4, 5, 16384]);
    }
}
