//! Tables of rows, and ids as vectors.

use oarlock_ir::{Attr, Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;
use oarlock_tensor::table::{Admission, Retention, show_click};

use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, Param, VarRef};

options! {
    /// `embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32')`
    Embedding::size(
        /// How many ids the table has.
        rows: usize,
        /// Numbers per id.
        width: usize,
    ) {
        /// The gradient holds only the rows of the batch.
        is_sparse: bool = false,
        /// A hashed table: rows are made on first use, on parameter servers, or in memory where there are none.
        is_distributed: bool = false,
        /// Which ids get a row of a distributed table.
        entry: Entry = Entry::Every,
        /// Which rows of a distributed table go by themselves; none unless it is said.
        evict: Retention = Retention::default(),
        /// The id whose row is zero; negative ones count from the end.
        padding_idx: Option<i64> = None,
        /// The table.
        param_attr(into): Param = Param::default(),
        /// Element type of the table.
        dtype: DType = DType::F32,
    }
}

/// Which ids get a row of their own in a table on servers. Until then an id reads as its row would start, and does not learn.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Entry {
    /// Every id, when it is first looked up.
    #[default]
    Every,
    /// An id that was looked up this number of times: `CountFilterEntry`.
    Count(u32),
    /// An id, with this probability each time it is looked up: `ProbabilityEntry`.
    Probability(f64),
    /// Every id, and rows count how often they were shown and clicked, which variables of one number per sample say:
    /// `ShowClickEntry`.
    ShowClick {
        /// The variable with shows.
        show: String,
        /// The variable with clicks.
        click: String,
    },
}

impl Entry {
    /// Parses the text in a program: `count_filter_entry:N`, `probability_entry:P` or `show_click_entry:SHOW:CLICK`.
    pub fn parse(text: &str) -> Result<Entry> {
        if let Some((show, click)) = show_click(text) {
            return Ok(Entry::ShowClick { show: show.into(), click: click.into() });
        }
        match Admission::parse(text) {
            Some(Admission::Always) => Ok(Entry::Every),
            Some(Admission::Count(count)) => Ok(Entry::Count(count)),
            Some(Admission::Probability(probability)) => Ok(Entry::Probability(probability)),
            None => fail!(Kind::Argument, "{text:?} does not say which ids get a row of a table"),
        }
    }

    /// As programs say it.
    fn attr(&self) -> Option<String> {
        match self {
            Entry::Every => None,
            Entry::Count(count) => Some(format!("count_filter_entry:{count}")),
            Entry::Probability(probability) => Some(format!("probability_entry:{probability}")),
            Entry::ShowClick { show, click } => Some(format!("show_click_entry:{show}:{click}")),
        }
    }
}

impl Net {
    /// `fluid.layers.embedding`: the rows of ids `[..., 1]`; the width takes the place of the last dimension.
    #[track_caller]
    pub fn embedding(&mut self, input: &VarRef, options: Embedding) -> Result<VarRef> {
        self.lookup("lookup_table", input, options)
    }

    /// `fluid.embedding`: the rows of ids of any shape; the width is appended.
    #[track_caller]
    pub fn embedding_v2(&mut self, input: &VarRef, options: Embedding) -> Result<VarRef> {
        self.lookup("lookup_table_v2", input, options)
    }

    #[track_caller]
    fn lookup(&mut self, op_type: &str, input: &VarRef, options: Embedding) -> Result<VarRef> {
        let mut layer = self.layer("embedding");
        let rows = options.rows as i64;
        let padding = match options.padding_idx {
            None => -1,
            Some(id) if id >= -rows && id < rows => id.rem_euclid(rows),
            Some(id) => fail!(Kind::Range, "padding_idx is {id}, but the table has {rows} rows"),
        };
        let w = layer.weight(&options.param_attr, &[options.rows, options.width], options.dtype)?;
        layer.var_mut(&w)?.meta.is_distributed = options.is_distributed;
        if let Some(first) = layer.startup.global_mut().vars.get_mut(w.name()) {
            // On one machine, too, the table begins without rows.
            first.meta.is_distributed = options.is_distributed;
        }
        let mut op = Op::new(op_type)
            .input("Ids", [input])
            .input("W", [&w])
            .attr("is_sparse", options.is_sparse)
            .attr("is_distributed", options.is_distributed)
            .attr("remote_prefetch", options.is_sparse && !options.is_distributed)
            .attr("padding_idx", padding);
        let evict = Some(options.evict.to_string()).filter(|evict| !evict.is_empty());
        for (name, value) in [("entry", options.entry.attr()), ("evict", evict)] {
            let Some(value) = value else { continue };
            if !options.is_distributed {
                fail!(
                    Kind::Argument,
                    "`{name}` chooses the rows of a table that is distributed, and this table is not: set is_sparse and \
                     is_distributed"
                );
            }
            op = op.attr(name, value);
        }
        layer.out(options.dtype, op)
    }

    /// `fluid.layers.one_hot(input, depth, allow_out_of_range=False)`: of ids `[..., 1]`; `depth` takes the place of the last
    /// dimension.
    #[track_caller]
    pub fn one_hot(&mut self, input: &VarRef, depth: i32, allow_out_of_range: bool) -> Result<VarRef> {
        self.one_hot_as("one_hot", input, depth, allow_out_of_range)
    }

    /// `fluid.one_hot(input, depth, allow_out_of_range=False)`: of ids of any shape; `depth` is appended.
    #[track_caller]
    pub fn one_hot_v2(&mut self, input: &VarRef, depth: i32, allow_out_of_range: bool) -> Result<VarRef> {
        self.one_hot_as("one_hot_v2", input, depth, allow_out_of_range)
    }

    #[track_caller]
    fn one_hot_as(&mut self, op_type: &str, input: &VarRef, depth: i32, out_of_range: bool) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let out = layer.temp_without_gradient(DType::F32);
        let op = Op::new(op_type).input("X", [input]).output("Out", [&out]);
        layer.append_op(op.attr("depth", depth).attr("allow_out_of_range", Attr::Bool(out_of_range)))?;
        Ok(out)
    }
}

declare! {
    /// Looks up rows of a weight matrix by id. ``fluid.embedding`` is the same for ids without the last dimension of 1.
    ///
    /// Args:
    ///     input (Variable): ids, int64 ``[..., 1]``.
    ///     size (list): ``[rows, width]`` of the table.
    ///     is_sparse (bool): the gradient holds only the rows that were looked up.
    ///     is_distributed (bool): a hashed table: any int64 is an id, rows are made on first use and live on parameter servers.
    ///     padding_idx (int): this id reads as zeros and is not trained; a negative one counts from the last row.
    ///     param_attr (ParamAttr): name, initializer, regularizer of the table; two layers with one name share it.
    ///     dtype (str): the element type.
    ///     entry (str): ``paddle.distributed.CountFilterEntry`` or another rule of admission to a hashed table (not in Fluid).
    ///     evict (str): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction`` of a hashed table (not in Fluid).
    ///
    /// Returns:
    ///     Variable: ``[..., width]``.
    ///
    /// Example:
    ///     >>> ids = fluid.data("ids", [None, 1], "int64")
    ///     >>> fluid.layers.embedding(ids, [1000, 8], is_sparse=True).shape
    ///     (-1, 8)
    "nn.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, \
     dtype='float32', *, entry=None, evict=None)"
        => |net, a| net.embedding(&a.var("input")?, embedding(a)?);

    /// Rows of a table by ids ``[...]``; the width becomes the last dimension. ``entry`` and ``evict`` as in
    /// ``fluid.layers.embedding``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     size (list): ``[rows, width]`` of the table.
    ///     is_sparse (bool): the gradient holds only the rows of the batch.
    ///     is_distributed (bool): rows are found by id and made on first use: on parameter servers, or in memory where there are none.
    ///     padding_idx (int): the id whose row is zero; negative ones count from the end.
    ///     param_attr (ParamAttr): the table.
    ///     dtype (str): element type of the table.
    ///     entry (str): which ids get a row of a distributed table.
    ///     evict (str): which rows of a distributed table go by themselves; none unless it is said.
    "fluid.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, \
     dtype='float32', *, entry=None, evict=None)"
        => |net, a| net.embedding_v2(&a.var("input")?, embedding(a)?);

    /// Vectors with a one at the position of the id.
    ///
    /// Args:
    ///     input (Variable): ids, int64 ``[..., 1]``.
    ///     depth (int): the length of the vectors.
    ///     allow_out_of_range (bool): an id outside of ``[0, depth)`` gives zeros instead of an error.
    ///
    /// Returns:
    ///     Variable: float32 ``[..., depth]``.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1], [0]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.one_hot(ids, 3)])[0].tolist()
    ///     [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    "nn.one_hot(input, depth, allow_out_of_range=False)"
        => |net, a| net.one_hot(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);

    /// A 1 at the place of each id among ``depth`` zeros, along a new last dimension.
    ///
    /// Args:
    ///     input (Variable): i32 or i64, [..., 1].
    ///     depth (int): the length of the rows.
    ///     allow_out_of_range (bool): an element outside of 0 to depth - 1 makes a row of zeros, not an error.
    "fluid.one_hot(input, depth, allow_out_of_range=False)"
        => |net, a| net.one_hot_v2(&a.var("input")?, a.i32("depth")?, a.bool("allow_out_of_range")?);

    /// A SelectedRows variable in which every row occurs once: values of duplicate rows are summed.
    ///
    /// Args:
    ///     x (Variable): row-sparse.
    "nn.merge_selected_rows(x, name=None)" => |net, a| net.merge_selected_rows(&a.var("x")?);

    /// The values of a SelectedRows variable as a dense tensor, one row per listed row.
    ///
    /// Args:
    ///     x (Variable): row-sparse.
    "nn.get_tensor_from_selected_rows(x, name=None)" => |net, a| net.get_tensor_from_selected_rows(&a.var("x")?);
}

fn embedding(a: &Args) -> Result<Embedding> {
    let size = a.sizes("size")?;
    let [rows, width] = size[..] else {
        return Err(Error::new(Kind::Argument, format!("`embedding` takes [rows, width] as `size`, not {size:?}")));
    };
    Ok(Embedding::size(rows, width)
        .is_sparse(a.bool("is_sparse")?)
        .is_distributed(a.bool("is_distributed")?)
        .padding_idx(a.opt("padding_idx", Args::i64)?)
        .entry(Entry::parse(&a.opt("entry", Args::str)?.unwrap_or_default())?)
        .evict(
            Retention::parse(&a.opt("evict", Args::str)?.unwrap_or_default())
                .map_err(|e| Error::new(Kind::Argument, e))?,
        )
        .param_attr(a.param("param_attr")?)
        .dtype(a.dtype("dtype")?))
}
