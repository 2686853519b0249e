//! Which elements along each axis, and what shape they make; shared by `slice` and `strided_slice`.

use oarlock_ir::kernel;
use oarlock_ir::{Dim, Error, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_ops_support::int_list::IntList;
use oarlock_ops_support::strided_view::View;
use oarlock_tensor::{Dims, Element, Tensor, by_element};

/// The elements along one axis: the first, how far apart, how many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) step: isize,
    pub(crate) count: usize,
}

/// The two operators: how they are called, and the elements along an axis of `size` from `start` to before `end`.
pub(crate) struct Window {
    /// Operator types: forward and gradient.
    pub(crate) types: [&'static str; 2],
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// Takes steps other than 1.
    pub(crate) strided: bool,
}

/// Its gradient.
pub(crate) struct WindowGrad(pub(crate) &'static Window);

impl Window {
    fn with_attrs(&self, mut sig: Sig) -> Sig {
        sig = sig
            .optional_input("StartsTensor", "the starts as one i32 tensor, instead of attribute `starts`")
            .optional_input("EndsTensor", "the ends as one i32 tensor, instead of attribute `ends`")
            .optional_inputs("StartsTensorList", "the starts as i32 tensors of one number each, instead of all else")
            .optional_inputs("EndsTensorList", "the ends as i32 tensors of one number each, instead of all else");
        if self.strided {
            sig = sig
                .optional_input("StridesTensor", "the steps as one i32 tensor, instead of attribute `strides`")
                .optional_inputs(
                    "StridesTensorList",
                    "the steps as i32 tensors of one number each, instead of all else",
                )
                .attr("strides", Vec::<i32>::new(), "the step along each axis; negative ones go backwards");
        }
        sig.required_attr("axes", "the axes that are cut")
            .attr("starts", Vec::<i32>::new(), "the first element along each axis; negative ones count from the end")
            .attr(
                "ends",
                Vec::<i32>::new(),
                "the element after the last one along each axis; negative ones count from the end",
            )
            .attr("decrease_axis", Vec::<i32>::new(), "axes of one element that are dropped afterwards")
            .attr("infer_flags", Vec::<i32>::new(), "-1 for an axis whose start or end only a tensor knows")
    }

    /// The elements along an axis; `None` if there are none. Going backwards Fluid takes the elements that going forwards would
    /// find in the same stretch, and then reverses them: 4 to 0 by -2 is 3, 1.
    fn range(&self, size: usize, start: i64, end: i64, step: i64) -> Option<Range> {
        let size = size as i64;
        let start = if start < 0 { start + size } else { start };
        // Going backwards, -1 is what comes before the first element.
        let end = if end < 0 && !(end == -1 && step < 0) { end + size } else { end };
        let (left, right) = if step < 0 { (end + 1, start + 1) } else { (start, end) };
        let (left, right) = (left.max(0), right.min(size));
        if step == 0 || right <= left {
            return None;
        }
        let count = (right - left).unsigned_abs().div_ceil(step.unsigned_abs()) as usize;
        let last = left + (count as i64 - 1) * step.abs();
        let first = if step < 0 { last } else { left };
        Some(Range { start: first as usize, step: step as isize, count })
    }
}

impl OpDef for Window {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.types[0], self.doc);
        self.with_attrs(
            sig.input("Input", "any tensor").output("Out", "the elements from each start to before each end"),
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let input = cx.input("Input")?;
        let out = self.infer_shape(cx, &input)?;
        let keeps_rows = !cx.attrs().ints("axes")?.contains(&0);
        let lod = if keeps_rows { input.lod_level } else { 0 };
        cx.set("Out", VarType::tensor(input.dtype, out).with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out) = (p.input("Input")?, p.output("Out")?);
        let mut cut = Cut::prepare(p, self)?;
        kernel(move |io| {
            let tensor = io.dense(input)?;
            let view = cut.view(io, input, tensor.dims())?;
            let mut to = io.out_sized(out, tensor.dtype(), cut.decreased(view.dims()))?;
            if cut.keeps_rows() {
                to.set_lod(tensor.lod().clone());
            }
            by_element!(tensor.dtype(), T => {
                view.gather(io.data::<T>(input, &tensor)?, io.data_mut::<T>(out, &mut to)?);
                Ok(())
            })
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads: Vec<&str> = ["Input"].into_iter().chain(self.bounds()).chain(["Out@GRAD"]).collect();
        g.emit(self.types[1], &reads, &["Input@GRAD"])
    }
}

impl Window {
    /// The slots of starts, ends and strides.
    fn bounds(&self) -> Vec<&'static str> {
        let mut slots = vec!["StartsTensor", "EndsTensor", "StartsTensorList", "EndsTensorList"];
        if self.strided {
            slots.extend(["StridesTensor", "StridesTensorList"]);
        }
        slots
    }

    fn infer_shape(&self, cx: &Infer<'_>, input: &VarType) -> Result<Vec<Dim>> {
        let attrs = cx.attrs();
        let (axes, flags) = (attrs.ints("axes")?, attrs.ints("infer_flags")?);
        let (starts, ends, decrease) = (attrs.ints("starts")?, attrs.ints("ends")?, attrs.ints("decrease_axis")?);
        let strides = if self.strided { attrs.ints("strides")? } else { Vec::new() };
        let lists = ["StartsTensor", "EndsTensor", "StridesTensor"];
        let by_tensor = lists.iter().any(|l| cx.has(l) || cx.has(&format!("{l}List")));
        let mut out = input.shape.0.clone();
        for (i, axis) in axes.iter().enumerate() {
            let Some(dim) = usize::try_from(*axis).ok().and_then(|a| out.get_mut(a)) else {
                return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("Input"))));
            };
            let known = starts.get(i).zip(ends.get(i));
            let open = flags.get(i) == Some(&-1) || (by_tensor && (flags.is_empty() || known.is_none()));
            *dim = match (*dim, known) {
                _ if open => Dim::Any,
                (Dim::Any, _) => Dim::Any,
                (Dim::Is(size), Some((start, end))) => {
                    let step = strides.get(i).copied().unwrap_or(1);
                    let end = end_of(*start, *end, decrease.contains(axis));
                    let range = self.range(size, *start, end, step);
                    Dim::Is(range.ok_or_else(|| self.nothing(cx, *axis, *start, end))?.count)
                }
                (_, None) => return Err(cx.shape_error(format!("needs a start and an end for axis {axis}"))),
            };
        }
        Ok(decreased(&out, Dim::Is(1), |i| decrease.contains(&(i as i64))))
    }

    fn nothing(&self, cx: &Infer<'_>, axis: i64, start: i64, end: i64) -> Error {
        let what = format!("of {} along axis {axis} from {start} to {end} has no elements", cx.describe("Input"));
        cx.shape_error(what).help("`ends` must be beyond `starts`, in the direction of the step")
    }
}

/// The end of a range. Of an axis that will be dropped exactly one element is meant, so -1 to 0 is the last one: `x[i]` with `i` = -1
/// comes as `i` to `i + 1`.
fn end_of(start: i64, end: i64, dropped: bool) -> i64 {
    if dropped && start == -1 && end == 0 { i64::from(i32::MAX) } else { end }
}

/// The sizes without the axes that are dropped; a number is [1].
fn decreased<D: Copy>(dims: &[D], one: D, dropped: impl Fn(usize) -> bool) -> Vec<D> {
    let left: Vec<D> = dims.iter().enumerate().filter(|(i, _)| !dropped(*i)).map(|(_, d)| *d).collect();
    if left.is_empty() { vec![one] } else { left }
}

/// The part to cut out, as a kernel needs it.
struct Cut {
    op: [&'static str; 2],
    strided: bool,
    axes: Vec<i64>,
    starts: IntList,
    ends: IntList,
    strides: Option<IntList>,
    decrease: Vec<i64>,
    lists: [Vec<i64>; 3],
}

impl Cut {
    fn prepare(p: &Prepare<'_>, op: &Window) -> Result<Cut> {
        let strides = || IntList::prepare(p, "strides", "StridesTensor", "StridesTensorList");
        Ok(Cut {
            op: op.types,
            strided: op.strided,
            axes: p.attrs().ints("axes")?,
            starts: IntList::prepare(p, "starts", "StartsTensor", "StartsTensorList")?,
            ends: IntList::prepare(p, "ends", "EndsTensor", "EndsTensorList")?,
            strides: if op.strided { Some(strides()?) } else { None },
            decrease: p.attrs().ints("decrease_axis")?,
            lists: Default::default(),
        })
    }

    fn keeps_rows(&self) -> bool {
        !self.axes.contains(&0)
    }

    /// The elements to cut out of a tensor of these sizes.
    fn view(&mut self, io: &Io<'_>, input: In, dims: &Dims) -> Result<View> {
        let [starts, ends, strides] = &mut self.lists;
        self.starts.read(io, starts)?;
        self.ends.read(io, ends)?;
        if let Some(list) = &self.strides {
            list.read(io, strides)?;
        }
        let op = Window { types: self.op, doc: "", strided: self.strided };
        let mut view = View::whole(dims);
        for (i, axis) in self.axes.iter().enumerate() {
            let size = usize::try_from(*axis).ok().and_then(|a| dims.get(a));
            let step = strides.get(i).copied().unwrap_or(1);
            let (Some(size), Some(start), Some(end)) = (size, starts.get(i), ends.get(i)) else {
                return Err(io.error(
                    Kind::Shape,
                    input,
                    format_args!("is {dims}: no start and end for its axis {axis}"),
                ));
            };
            let end = end_of(*start, *end, self.decrease.contains(axis));
            let Some(r) = op.range(*size, *start, end, step) else {
                let what = format_args!("is {dims}: along axis {axis} there is nothing from {start} to {end}");
                return Err(io.error(Kind::Shape, input, what));
            };
            view = view.sliced(*axis as usize, r.start, r.step, r.count);
        }
        Ok(view)
    }

    fn decreased(&self, dims: &Dims) -> Dims {
        Dims::new(&decreased(dims, 1, |i| self.decrease.contains(&(i as i64))))
    }
}

impl OpDef for WindowGrad {
    fn sig(&self) -> Sig {
        let mut reads = vec!["Input", "Out@GRAD", "StartsTensor", "EndsTensor", "StartsTensorList", "EndsTensorList"];
        if self.0.strided {
            reads.extend(["StridesTensor", "StridesTensorList"]);
        }
        Sig::new(self.0.types[1], "Input@GRAD = Out@GRAD where it was cut out, 0 elsewhere")
            .grad_of(&self.0.sig(), &reads, &["Input@GRAD"])
            .traits(Traits::NONE.shape_only(&["Input"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["Input"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, dout, dinput) = (p.input("Input")?, p.input("Out@GRAD")?, p.output("Input@GRAD")?);
        let mut cut = Cut::prepare(p, self.0)?;
        kernel(move |io| {
            let tensor = io.dense(input)?;
            let view = cut.view(io, input, tensor.dims())?;
            let d = io.dense(dout)?;
            if d.numel() != view.dims().numel() {
                let what = format_args!("is {}, but what was cut out is {}", d.dims(), view.dims());
                return Err(io.error(Kind::Shape, dout, what));
            }
            by_element!(d.dtype(), T => put_back::<T>(io, &view, (dout, &d), &tensor, dinput))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let bounds: Vec<_> = self.0.bounds().into_iter().map(|slot| (slot, slot)).collect();
        let places = Places { reads: &bounds, grads: &[("Input", "Input@GRAD")], writes: &[("Out", "Out@GRAD")] };
        emit_from(g, self.0.types[0], &places)
    }
}

fn put_back<T: Element>(io: &Io<'_>, view: &View, (dout, d): (In, &Tensor), like: &Tensor, out: Out) -> Result<()> {
    let mut to = io.out_sized(out, T::DTYPE, *like.dims())?;
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(T::default());
    view.scatter(io.data::<T>(dout, d)?, to);
    Ok(())
}

#[test]
fn ranges() {
    let op = Window { types: [""; 2], doc: "", strided: true };
    let all = |size, start, end, step| {
        let r = op.range(size, start, end, step);
        r.map(|r| (0..r.count).map(|i| r.start as isize + i as isize * r.step).collect::<Vec<_>>())
    };
    assert_eq!(all(6, 1, 5, 2), Some(vec![1, 3]));
    assert_eq!(all(5, -3, 10, 1), Some(vec![2, 3, 4]));
    assert_eq!(all(5, 4, 0, -2), Some(vec![3, 1]));
    assert_eq!(all(6, 5, -7, -2), Some(vec![4, 2, 0]));
    assert_eq!(all(3, 9, -1, -1), Some(vec![2, 1, 0]));
    assert_eq!(all(4, -1, i64::from(i32::MAX), 1), Some(vec![3]));
    assert_eq!(all(4, 2, 2, 1), None);
    assert_eq!(all(4, 9, 12, 1), None);
    assert_eq!(all(0, 0, 5, 1), None);
    assert_eq!(all(4, 0, 1, 0), None);
}
