//! Reading pickles of protocols 2 to 4.

use std::collections::HashMap;

use oarlock_ir::{Error, Result};
use oarlock_tensor::{DType, Dims, Tensor};

use super::op;
use crate::format::cursor::ByteCursor;
use crate::format::dtype_names;

/// A value of a pickled dictionary.
#[derive(Debug, Clone, PartialEq)]
pub enum Pickled {
    /// A numpy array.
    Array(Tensor),
    /// Text.
    Text(String),
    /// A whole number; booleans are 0 and 1.
    Int(i64),
    /// A number.
    Float(f64),
    /// A dictionary, in order.
    Dict(Vec<(String, Pickled)>),
    /// A list or tuple.
    List(Vec<Pickled>),
    /// Nothing.
    None,
}

/// Reads a pickled dictionary whose keys are text; `origin` names it in messages.
pub fn read_pickle(bytes: &[u8], origin: &str) -> Result<Vec<(String, Pickled)>> {
    let mut machine = Machine {
        r: ByteCursor::new(bytes, origin),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        objects: Vec::new(),
        budget: bytes.len().saturating_mul(4),
    };
    let StackItem::Object(root) = machine.run()? else { return Err(machine.bad("it is not a dictionary")) };
    match machine.value(&StackItem::Object(root), 0)? {
        Pickled::Dict(items) => Ok(items),
        _ => Err(machine.bad("it is not a dictionary")),
    }
}

/// A function that a pickle may name.
#[derive(Clone, Copy, PartialEq)]
enum KnownGlobal {
    Reconstruct,
    NdArray,
    DTypeClass,
    Encode,
    OrderedDict,
}

/// An item on the stack. Texts and bytes stay in the file.
#[derive(Clone)]
enum StackItem<'a> {
    None,
    Int(i64),
    Float(f64),
    Text(&'a [u8]),
    /// Bytes as they are, or as text whose characters stand for bytes.
    Bytes {
        text: &'a [u8],
        latin1: bool,
    },
    Tuple(std::rc::Rc<Vec<StackItem<'a>>>),
    Global(KnownGlobal),
    /// Something that changes after it was made, by its number.
    Object(usize),
}

enum Object<'a> {
    Dict(Vec<(StackItem<'a>, StackItem<'a>)>),
    List(Vec<StackItem<'a>>),
    DType(DType),
    Array(Option<Array<'a>>),
}

/// The state of an array. Its bytes are copied when it is asked for.
#[derive(Clone)]
struct Array<'a> {
    dtype: DType,
    dims: Dims,
    text: &'a [u8],
    latin1: bool,
}

/// How deep dictionaries and lists may stand inside each other.
const MAX_DEPTH: usize = 32;

struct Machine<'a> {
    r: ByteCursor<'a, &'a [u8]>,
    stack: Vec<StackItem<'a>>,
    /// Where the groups on the stack start.
    marks: Vec<usize>,
    memo: HashMap<u32, StackItem<'a>>,
    objects: Vec<Object<'a>>,
    /// The bytes that may still be made of the file. Few arrays of a real file are listed twice; a file that repeats
    /// one array by reference over and over could otherwise ask for any amount of memory.
    budget: usize,
}

impl<'a> Machine<'a> {
    fn bad(&self, what: impl std::fmt::Display) -> Error {
        self.r.error(format_args!("not a pickle of parameters: {what}"))
    }

    /// Runs to the end; what is left on the stack is the result.
    fn run(&mut self) -> Result<StackItem<'a>> {
        loop {
            let code = self.r.u8("a pickle's next step")?;
            if code == op::STOP {
                return self.pop();
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Result<()> {
        match code {
            op::PROTO => self.protocol(),
            op::FRAME => self.r.skip(8, "a frame").map(drop),
            op::MARK => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            op::NONE => self.push(StackItem::None),
            op::NEWTRUE => self.push(StackItem::Int(1)),
            op::NEWFALSE => self.push(StackItem::Int(0)),
            op::BINPUT | op::LONG_BINPUT | op::MEMOIZE => self.put(code),
            op::BINGET | op::LONG_BINGET => self.get(code),
            op::GLOBAL | op::STACK_GLOBAL => self.global(code),
            op::REDUCE => self.reduce(),
            op::BUILD => self.build(),
            op::EMPTY_DICT => self.new_object(Object::Dict(Vec::new())),
            op::EMPTY_LIST => self.new_object(Object::List(Vec::new())),
            op::SETITEM | op::SETITEMS => self.set_items(code),
            op::APPEND | op::APPENDS => self.append(code),
            op::EMPTY_TUPLE | op::TUPLE1 | op::TUPLE2 | op::TUPLE3 | op::TUPLE => self.tuple(code),
            op::BININT | op::BININT1 | op::BININT2 | op::LONG1 | op::BINFLOAT => self.number(code),
            _ => self.string(code),
        }
    }

    fn protocol(&mut self) -> Result<()> {
        match self.r.u8("the protocol")? {
            2..=4 => Ok(()),
            other => Err(self.bad(format_args!("protocol {other}; 2, 3 and 4 are known"))),
        }
    }

    fn push(&mut self, item: StackItem<'a>) -> Result<()> {
        self.stack.push(item);
        Ok(())
    }

    fn new_object(&mut self, object: Object<'a>) -> Result<()> {
        self.objects.push(object);
        self.push(StackItem::Object(self.objects.len() - 1))
    }

    fn pop(&mut self) -> Result<StackItem<'a>> {
        // A group must not reach below its mark.
        let bottom = self.marks.last().copied().unwrap_or(0);
        match self.stack.len() > bottom {
            true => self.stack.pop().ok_or_else(|| self.bad("something is missing")),
            false => Err(self.bad("something is missing")),
        }
    }

    /// Everything since the last mark.
    fn pop_group(&mut self) -> Result<Vec<StackItem<'a>>> {
        let Some(mark) = self.marks.pop() else { return Err(self.bad("a group has no start")) };
        Ok(self.stack.split_off(mark))
    }

    fn put(&mut self, code: u8) -> Result<()> {
        let n = match code {
            op::BINPUT => u32::from(self.r.u8("a number to remember by")?),
            op::LONG_BINPUT => self.r.u32("a number to remember by")?,
            _ => self.memo.len() as u32,
        };
        let Some(item) = self.stack.last().cloned() else { return Err(self.bad("nothing to remember")) };
        self.memo.insert(n, item);
        Ok(())
    }

    fn get(&mut self, code: u8) -> Result<()> {
        let n = match code {
            op::BINGET => u32::from(self.r.u8("a number remembered")?),
            _ => self.r.u32("a number remembered")?,
        };
        let item = self.memo.get(&n).cloned().ok_or_else(|| self.bad(format_args!("nothing has number {n}")))?;
        self.push(item)
    }

    fn number(&mut self, code: u8) -> Result<()> {
        let what = "a number";
        let item = match code {
            op::BININT => StackItem::Int(i32::from_le_bytes(self.r.array(what)?).into()),
            op::BININT1 => StackItem::Int(self.r.u8(what)?.into()),
            op::BININT2 => StackItem::Int(u16::from_le_bytes(self.r.array(what)?).into()),
            op::BINFLOAT => StackItem::Float(f64::from_be_bytes(self.r.array(what)?)),
            _ => {
                let n = self.r.u8(what)?.into();
                let bytes = self.r.slice(n, what)?;
                StackItem::Int(long(bytes).ok_or_else(|| self.bad("a number is too large"))?)
            }
        };
        self.push(item)
    }

    fn string(&mut self, code: u8) -> Result<()> {
        let what = "the length of a text";
        let len = match code {
            op::SHORT_BINSTRING | op::SHORT_BINUNICODE | op::SHORT_BINBYTES => self.r.u8(what)?.into(),
            op::BINSTRING | op::BINUNICODE | op::BINBYTES => self.r.u32(what)? as usize,
            op::BINUNICODE8 | op::BINBYTES8 => self.r.count(1, what)?,
            other => return Err(self.bad(format_args!("step {other:#04x} has no place in parameters"))),
        };
        let text = self.r.slice(len, "a text")?;
        self.push(match code {
            op::SHORT_BINUNICODE | op::BINUNICODE | op::BINUNICODE8 => StackItem::Text(text),
            _ => StackItem::Bytes { text, latin1: false },
        })
    }

    fn tuple(&mut self, code: u8) -> Result<()> {
        let items = match code {
            op::TUPLE => self.pop_group()?,
            _ => {
                let n = if code == op::EMPTY_TUPLE { 0 } else { usize::from(code - op::TUPLE1) + 1 };
                let mut items = (0..n).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
                items.reverse();
                items
            }
        };
        self.push(StackItem::Tuple(items.into()))
    }

    fn global(&mut self, code: u8) -> Result<()> {
        let (module, name) = match code {
            op::GLOBAL => (self.line()?, self.line()?),
            _ => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (module, name) {
                    (StackItem::Text(module), StackItem::Text(name)) => (module, name),
                    _ => return Err(self.bad("a function has no name")),
                }
            }
        };
        let (module, name) = (String::from_utf8_lossy(module), String::from_utf8_lossy(name));
        let known = match (&*module, &*name) {
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => KnownGlobal::Reconstruct,
            ("numpy", "ndarray") => KnownGlobal::NdArray,
            ("numpy", "dtype") => KnownGlobal::DTypeClass,
            ("_codecs", "encode") => KnownGlobal::Encode,
            ("collections", "OrderedDict") => KnownGlobal::OrderedDict,
            _ => return Err(self.bad(format_args!("it calls {module}.{name}, which has no place in parameters"))),
        };
        self.push(StackItem::Global(known))
    }

    /// Up to the end of the line.
    fn line(&mut self) -> Result<&'a [u8]> {
        const LONGEST: usize = 256;
        let rest = self.r.peek();
        match rest.iter().take(LONGEST).position(|b| *b == b'\n') {
            Some(n) => Ok(&self.r.slice(n + 1, "a function's name")?[..n]),
            None => Err(self.bad("a function's name does not end")),
        }
    }

    /// Calls one of the few functions.
    fn reduce(&mut self) -> Result<()> {
        let (args, function) = (self.pop()?, self.pop()?);
        let StackItem::Tuple(args) = args else { return Err(self.bad("a call has no arguments")) };
        match (function, &args[..]) {
            (StackItem::Global(KnownGlobal::Encode), [StackItem::Text(text), StackItem::Text(b"latin1")]) => {
                self.push(StackItem::Bytes { text, latin1: true })
            }
            (StackItem::Global(KnownGlobal::Reconstruct), [StackItem::Global(KnownGlobal::NdArray), ..]) => {
                self.new_object(Object::Array(None))
            }
            (
                StackItem::Global(KnownGlobal::DTypeClass),
                [StackItem::Text(name) | StackItem::Bytes { text: name, latin1: false }, ..],
            ) => {
                let name = String::from_utf8_lossy(name);
                let Some(dtype) = dtype_names::of_numpy(&name) else {
                    return Err(self.bad(format_args!("arrays of `{name}` cannot be read")));
                };
                self.new_object(Object::DType(dtype))
            }
            (StackItem::Global(KnownGlobal::OrderedDict), []) => self.new_object(Object::Dict(Vec::new())),
            _ => Err(self.bad("a call has unexpected arguments")),
        }
    }

    /// Gives an object its state.
    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let (Some(StackItem::Object(n)), StackItem::Tuple(state)) = (self.stack.last(), state) else {
            return Err(self.bad("a state belongs to nothing"));
        };
        let n = *n;
        match self.objects[n] {
            Object::DType(_) => self.check_byte_order(&state),
            Object::Array(_) => {
                let array = self.array_state(&state)?;
                self.objects[n] = Object::Array(Some(array));
                Ok(())
            }
            _ => Err(self.bad("a state belongs to something that has none")),
        }
    }

    fn check_byte_order(&self, state: &[StackItem<'a>]) -> Result<()> {
        match state.get(1) {
            Some(StackItem::Text(order) | StackItem::Bytes { text: order, .. })
                if [&b"<"[..], b"|", b"="].contains(order) =>
            {
                Ok(())
            }
            _ => Err(self.bad("an array is not little-endian")),
        }
    }

    /// `(version, shape, dtype, by column, data)`
    fn array_state(&self, state: &[StackItem<'a>]) -> Result<Array<'a>> {
        let [_, StackItem::Tuple(shape), StackItem::Object(dtype), StackItem::Int(by_column), data] = state else {
            return Err(self.bad("the state of an array is malformed"));
        };
        let Some(Object::DType(dtype)) = self.objects.get(*dtype) else {
            return Err(self.bad("an array has no element type"));
        };
        let size = |item: &StackItem<'a>| match item {
            StackItem::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        let sizes: Option<Vec<usize>> = shape.iter().map(size).collect();
        let dims = sizes.and_then(|sizes| Dims::try_new(&sizes).ok());
        let Some(dims) = dims else { return Err(self.bad("the sizes of an array are malformed")) };
        if *by_column != 0 && dims.iter().filter(|n| **n > 1).count() > 1 {
            return Err(self.bad("an array is stored by columns; save it as numpy.ascontiguousarray gives it"));
        }
        let (text, latin1) = match data {
            StackItem::Bytes { text, latin1 } => (*text, *latin1),
            // Files of Python 2, read by Python 3 and written again.
            StackItem::Text(text) => (*text, true),
            _ => return Err(self.bad("an array has no elements")),
        };
        let bytes = dims.iter().try_fold(dtype.size(), |n, d| n.checked_mul(*d));
        let found = if latin1 { characters(text) } else { text.len() };
        if bytes != Some(found) {
            return Err(self.bad(format_args!("an array of {dtype}{dims} has {found} bytes of elements")));
        }
        Ok(Array { dtype: *dtype, dims, text, latin1 })
    }

    fn set_items(&mut self, code: u8) -> Result<()> {
        let items = match code {
            op::SETITEMS => self.pop_group()?,
            _ => {
                let (value, key) = (self.pop()?, self.pop()?);
                vec![key, value]
            }
        };
        let Some(StackItem::Object(n)) = self.stack.last() else { return Err(self.bad("items belong to nothing")) };
        let (n, odd) = (*n, items.len() % 2 == 1);
        let Object::Dict(dict) = &mut self.objects[n] else {
            return Err(self.bad("items belong to something that is no dictionary"));
        };
        if odd {
            return Err(self.bad("a key has no value"));
        }
        let mut items = items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            dict.push((key, value));
        }
        Ok(())
    }

    fn append(&mut self, code: u8) -> Result<()> {
        let items = if code == op::APPENDS { self.pop_group()? } else { vec![self.pop()?] };
        let Some(StackItem::Object(n)) = self.stack.last() else { return Err(self.bad("items belong to nothing")) };
        match &mut self.objects[*n] {
            Object::List(list) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(self.bad("items belong to something that is no list")),
        }
    }

    /// Returns the value of an item, when all is done.
    fn value(&mut self, item: &StackItem<'a>, depth: usize) -> Result<Pickled> {
        // References make it possible to say much in few bytes; all that is made is counted, the small things too.
        self.spend(1)?;
        if depth > MAX_DEPTH {
            return Err(self.bad("it is nested too deeply"));
        }
        Ok(match item {
            StackItem::None => Pickled::None,
            StackItem::Int(n) => Pickled::Int(*n),
            StackItem::Float(n) => Pickled::Float(*n),
            StackItem::Text(text) | StackItem::Bytes { text, .. } => Pickled::Text(self.text(text)?),
            StackItem::Tuple(items) => self.list(&items.clone(), depth)?,
            StackItem::Global(_) => return Err(self.bad("a function stands where a value belongs")),
            StackItem::Object(n) => match &self.objects[*n] {
                Object::Array(Some(array)) => self.tensor(array.clone())?,
                Object::List(items) => self.list(&items.clone(), depth)?,
                Object::Dict(items) => self.dict(items.clone(), depth)?,
                Object::Array(None) => return Err(self.bad("an array has no elements")),
                Object::DType(_) => return Err(self.bad("a type stands where a value belongs")),
            },
        })
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.bad("it refers to the same things over and over, to more than the file holds")),
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<String> {
        self.spend(text.len())?;
        String::from_utf8(text.to_vec()).map_err(|_| self.bad("a text is not UTF-8"))
    }

    fn list(&mut self, items: &[StackItem<'a>], depth: usize) -> Result<Pickled> {
        items.iter().map(|item| self.value(item, depth + 1)).collect::<Result<_>>().map(Pickled::List)
    }

    fn dict(&mut self, items: Vec<(StackItem<'a>, StackItem<'a>)>, depth: usize) -> Result<Pickled> {
        let mut dict = Vec::with_capacity(items.len());
        for (key, value) in items {
            let (StackItem::Text(key) | StackItem::Bytes { text: key, .. }) = key else {
                return Err(self.bad("the key of a dictionary is not text"));
            };
            dict.push((self.text(key)?, self.value(&value, depth + 1)?));
        }
        Ok(Pickled::Dict(dict))
    }

    fn tensor(&mut self, array: Array<'a>) -> Result<Pickled> {
        self.spend(array.dims.numel() * array.dtype.size())?;
        let mut tensor = Tensor::new();
        tensor.resize(array.dtype, array.dims);
        if !array.latin1 {
            tensor.bytes_mut().copy_from_slice(array.text);
            return Ok(Pickled::Array(tensor));
        }
        match fill_latin1(array.text, tensor.bytes_mut()) {
            true => Ok(Pickled::Array(tensor)),
            false => Err(self.bad("the elements of an array are not bytes")),
        }
    }
}

/// A little-endian number with a sign, of at most 8 bytes.
fn long(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.last().is_some_and(|b| *b >= 0x80);
    let mut all = [if negative { 0xff } else { 0 }; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(all))
}

/// How many characters UTF-8 text has.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|b| **b & 0xc0 != 0x80).count()
}

/// Characters below 256 back to bytes. False if there are others, or not as many as `out` is long.
fn fill_latin1(text: &[u8], out: &mut [u8]) -> bool {
    let (mut from, mut to) = (text.iter(), out.iter_mut());
    while let Some(&b) = from.next() {
        let byte = match b {
            0..0x80 => b,
            0xc2 | 0xc3 => match from.next() {
                Some(low) if low & 0xc0 == 0x80 => (b & 3) << 6 | low & 0x3f,
                _ => return false,
            },
            _ => return false,
        };
        match to.next() {
            Some(slot) => *slot = byte,
            None => return false,
        }
    }
    to.next().is_none()
}
