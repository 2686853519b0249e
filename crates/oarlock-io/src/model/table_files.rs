//! Hashed tables in files: one file, or parts that a list names.
//!
//! One file is what Fluid writes of selected rows. A larger table is divided into parts: `NAME.parts` says which files hold
//! it, how many rows each has, and in which form: as selected rows, or as lines of text. Writers add rows piece
//! by piece, and readers keep the rows they want of a part before the next one is read, so that no process needs room for all.

use std::io::Write;

use oarlock_ir::{Error, Kind, Name, Result, Var, VarDType};
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value};
use serde_json::{Value as Json, json};

use crate::format::tensor_stream::{decode_rows, write_rows};
use crate::store::{Staging, StoredFile, View};

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// In one file if it is not larger than a part may be, else in parts.
    Fitting,
    /// In one file, however large.
    One,
    /// In parts, however small.
    Parts,
    /// In parts of text: a line `id TAB width TAB numbers` per row.
    Text,
}

impl TableForm {
    /// By its name: `auto`, `one`, `parts` or `text`.
    pub fn parse(name: &str) -> Option<TableForm> {
        match name {
            "auto" => Some(TableForm::Fitting),
            "one" => Some(TableForm::One),
            "parts" => Some(TableForm::Parts),
            "text" => Some(TableForm::Text),
            _ => None,
        }
    }
}

/// How tables are written, and how large a part may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFiles {
    /// One file or parts.
    pub form: TableForm,
    /// Bytes of rows in a part.
    pub part_bytes: usize,
}

impl Default for TableFiles {
    fn default() -> TableFiles {
        TableFiles { form: TableForm::Fitting, part_bytes: 256 << 20 }
    }
}

/// Elements up to which a hashed table may become a tensor that is mostly zeros.
const MOST_DENSE: usize = 1 << 28;

/// The version of the list's format.
const FORMAT: u64 = 1;

/// The file that lists the parts of a table.
fn list_file(name: &str) -> String {
    format!("{name}.parts")
}

/// Is it the list of a table's parts? Then of which table.
pub(crate) fn table_of_list(file: &str) -> Option<&str> {
    file.strip_suffix(".parts").filter(|name| !name.is_empty())
}

fn part_file(name: &str, part: usize, form: TableForm) -> String {
    let suffix = if form == TableForm::Text { ".txt" } else { "" };
    format!("{name}.part-{part:05}{suffix}")
}

/// Writes a table, some rows after the other. All ids must differ.
pub struct TableWriter<'a> {
    staging: &'a mut dyn Staging,
    name: Name,
    files: TableFiles,
    /// Rows and columns that the variable declares.
    height: usize,
    width: usize,
    /// Rows that are not written yet.
    ids: Vec<i64>,
    data: Vec<f32>,
    /// How many rows each part has that is written.
    written: Vec<usize>,
}

impl<'a> TableWriter<'a> {
    /// A table that its variable declares with `height` rows of `width` elements.
    pub fn new(
        staging: &'a mut dyn Staging,
        name: &Name,
        (height, width): (usize, usize),
        files: TableFiles,
    ) -> TableWriter<'a> {
        let (ids, data, written) = (Vec::new(), Vec::new(), Vec::new());
        TableWriter { staging, name: name.clone(), files, height, width: width.max(1), ids, data, written }
    }

    /// Adds rows.
    pub fn add(&mut self, rows: &SelectedRows) -> Result<()> {
        let data = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("`{}` {e}", self.name)))?;
        if data.len() != rows.rows.len() * self.width {
            let what = format!("rows of `{}` should have {} elements", self.name, self.width);
            return Err(Error::new(Kind::Shape, what));
        }
        self.ids.extend_from_slice(&rows.rows);
        self.data.extend_from_slice(data);
        let whole = (self.files.part_bytes / (8 + 4 * self.width)).max(1);
        while self.files.form != TableForm::One && self.ids.len() > whole {
            self.write_part(whole)?;
        }
        Ok(())
    }

    /// Writes what is left. What the folder holds of this table from an earlier save (`before`), and this one does not replace, is
    /// left without rows.
    pub fn finish(mut self, before: Option<&dyn View>) -> Result<()> {
        let one = match self.files.form {
            TableForm::One => true,
            TableForm::Fitting => self.written.is_empty(),
            TableForm::Parts | TableForm::Text => false,
        };
        let files = if one { self.write_one()? } else { self.write_rest()? };
        // An earlier list must not stand for what is written now.
        if !one || before.is_some_and(|view| view.has(&list_file(&self.name))) {
            let list = if one { whole(&self.name) } else { self.list(&files) };
            let text = format!("{list:#}\n");
            self.staging.file(&list_file(&self.name), &[], &mut |out| out.write_all(text.as_bytes()))?;
        }
        before.map_or(Ok(()), |view| self.empty_others(view, &files))
    }

    fn write_one(&mut self) -> Result<Vec<String>> {
        let rows = self.take(self.ids.len())?;
        self.staging.file(&self.name, &[], &mut |out| write_rows(&rows, out))?;
        Ok(vec![self.name.to_string()])
    }

    fn write_rest(&mut self) -> Result<Vec<String>> {
        if !self.ids.is_empty() || self.written.is_empty() {
            self.write_part(self.ids.len())?;
        }
        Ok((0..self.written.len()).map(|part| part_file(&self.name, part, self.files.form)).collect())
    }

    fn list(&self, files: &[String]) -> Json {
        let form = if self.files.form == TableForm::Text { "text" } else { "rows" };
        let part = |(file, rows): (&String, &usize)| json!({"file": file, "rows": rows});
        let parts: Vec<Json> = files.iter().zip(&self.written).map(part).collect();
        json!({"format": FORMAT, "form": form, "width": self.width, "parts": parts})
    }

    fn empty_others(&mut self, view: &dyn View, files: &[String]) -> Result<()> {
        let stem = format!("{}.part-", self.name);
        let own = |file: &String| file.starts_with(&stem) || *file == *self.name.as_str();
        let stale: Vec<String> = view.files()?.into_iter().filter(|f| own(f) && !files.contains(f)).collect();
        for file in stale {
            let none = Tensor::zeros(DType::F32, [0, self.width]);
            let none = SelectedRows { rows: Vec::new(), height: 0, value: none };
            self.staging.file(&file, &[], &mut |out| write_rows(&none, out))?;
        }
        Ok(())
    }

    /// Takes the first rows in the order of ids.
    fn take(&mut self, count: usize) -> Result<SelectedRows> {
        let width = self.width;
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by_key(|at| self.ids[*at]);
        let mut data = Vec::with_capacity(count * width);
        order.iter().for_each(|at| data.extend_from_slice(&self.data[at * width..][..width]));
        let rows: Vec<i64> = order.iter().map(|at| self.ids[*at]).collect();
        self.ids.drain(..count);
        self.data.drain(..count * width);
        let value = Tensor::from_slice([count, width], &data).map_err(|e| Error::internal(e.to_string()))?;
        Ok(SelectedRows { height: self.height as i64, rows, value })
    }

    fn write_part(&mut self, count: usize) -> Result<()> {
        let rows = self.take(count)?;
        let (file, form) = (part_file(&self.name, self.written.len(), self.files.form), self.files.form);
        self.staging.file(&file, &[], &mut |out| match form {
            TableForm::Text => write_lines(&rows, out),
            _ => write_rows(&rows, out),
        })?;
        self.written.push(count);
        Ok(())
    }
}

fn write_lines(rows: &SelectedRows, out: &mut dyn Write) -> std::io::Result<()> {
    let width = rows.value.dims().matrix(1).1;
    let data = rows.value.data::<f32>().unwrap_or_default();
    for (id, row) in rows.rows.iter().zip(data.chunks(width.max(1))) {
        write!(out, "{id}\t{width}\t")?;
        for (at, number) in row.iter().enumerate() {
            // The shortest text that means this number: nothing is lost.
            write!(out, "{}{number}", if at > 0 { " " } else { "" })?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The files of a table.
pub(crate) struct TableList {
    text: bool,
    /// Elements of a row, if the list says it.
    pub(crate) width: Option<usize>,
    /// Each with its number of rows, if the list says it.
    pub(crate) parts: Vec<(String, Option<usize>)>,
}

/// Where a table is; `None` if it is not there at all.
pub(crate) fn table_list(view: &dyn View, name: &str) -> Result<Option<TableList>> {
    let file = list_file(name);
    if !view.has(&file) {
        let one = TableList { text: false, width: None, parts: vec![(name.to_string(), None)] };
        return Ok(view.has(name).then_some(one));
    }
    let source = view.open(&file)?;
    let origin = source.origin().to_string();
    let list: Json = serde_json::from_slice(&source.bytes()?).unwrap_or_default();
    if let Some(format) = list["format"].as_u64().filter(|format| *format != FORMAT) {
        let what = format!("{origin} is of format {format}, and this version knows {FORMAT}");
        return Err(Error::new(Kind::Format, what).help("load it with the version that wrote it, or a newer one"));
    }
    let parsed = parse_list(&list);
    parsed.map(Some).ok_or_else(|| Error::new(Kind::Format, format!("{origin} does not say where `{name}` is")))
}

fn parse_list(list: &Json) -> Option<TableList> {
    if let Some(file) = list["file"].as_str() {
        return Some(TableList { text: false, width: None, parts: vec![(file.to_string(), None)] });
    }
    let number = |json: &Json| json.as_u64().and_then(|n| usize::try_from(n).ok());
    let part = |part: &Json| Some((part["file"].as_str()?.to_string(), Some(number(&part["rows"])?)));
    let text = match list["form"].as_str()? {
        "rows" => false,
        "text" => true,
        _ => return None,
    };
    let parts = list["parts"].as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?;
    Some(TableList { text, width: Some(number(&list["width"])?), parts })
}

/// Reads the rows of a table whose ids are wanted. All of it is read and checked, part by part.
pub fn read_table(view: &dyn View, name: &Name, wanted: &dyn Fn(i64) -> bool) -> Result<SelectedRows> {
    let Some(list) = table_list(view, name)? else {
        let what = format!("table `{name}` is not in {}", view.describe());
        return Err(Error::new(Kind::Missing, what).help("load what was saved from this program"));
    };
    let (mut ids, mut data, mut width) = (Vec::new(), Vec::new(), list.width);
    for (file, count) in &list.parts {
        let rows = read_part(view.open(file)?, list.text)?;
        let bad = |what: String| Err(Error::new(Kind::Format, format!("{file}, a part of table `{name}`, {what}")));
        let own = rows.value.dims().matrix(1).1;
        if count.is_some_and(|count| count != rows.rows.len()) {
            return bad(format!("holds {} rows instead of {}", rows.rows.len(), count.unwrap_or(0)));
        }
        if *width.get_or_insert(own) != own && !rows.rows.is_empty() {
            return bad(format!("has rows of {own} elements, others of {}", width.unwrap_or(0)));
        }
        let values = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("{file} {e}")))?;
        for (id, row) in rows.rows.iter().zip(values.chunks(own.max(1))).filter(|(id, _)| wanted(**id)) {
            ids.push(*id);
            data.extend_from_slice(row);
        }
    }
    let value = Tensor::from_slice([ids.len(), width.unwrap_or(1)], &data);
    let value = value.map_err(|e| Error::new(Kind::Format, format!("table `{name}`: {e}")))?;
    Ok(SelectedRows { height: ids.len() as i64, rows: ids, value })
}

fn read_part(file: StoredFile, text: bool) -> Result<SelectedRows> {
    let origin = file.origin().to_string();
    let bytes = file.bytes()?;
    if text {
        return read_lines(&bytes, &origin);
    }
    let (rows, len) = decode_rows(&bytes, &origin)?;
    if len != bytes.len() {
        return Err(Error::new(Kind::Format, format!("{origin}: {} bytes are left over", bytes.len() - len)));
    }
    Ok(rows)
}

fn read_lines(bytes: &[u8], origin: &str) -> Result<SelectedRows> {
    let bad = |line: usize| {
        let form = "a row is `id TAB width TAB numbers`, as long as the first";
        Error::new(Kind::Format, format!("{origin}, line {}: {form}", line + 1))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| bad(0))?;
    let (mut ids, mut data, mut width) = (Vec::new(), Vec::new(), None);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let (id, row) = read_line(line).ok_or_else(|| bad(at))?;
        if *width.get_or_insert(row.len()) != row.len() {
            return Err(bad(at));
        }
        ids.push(id);
        data.extend(row);
    }
    let value = Tensor::from_slice([ids.len(), width.unwrap_or(1)], &data);
    let value = value.map_err(|e| Error::new(Kind::Format, format!("{origin}: {e}")))?;
    Ok(SelectedRows { height: ids.len() as i64, rows: ids, value })
}

fn read_line(line: &str) -> Option<(i64, Vec<f32>)> {
    let mut parts = line.split('\t');
    let (id, count): (i64, usize) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let row: Vec<f32> = parts.next()?.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    (row.len() == count && parts.next().is_none()).then_some((id, row))
}

/// Are these rows of the variable, as the program declares it?
fn check(var: &Var, rows: SelectedRows) -> Result<Value> {
    let declared: Option<Vec<usize>> = var.shape.iter().map(|size| size.known()).collect();
    let width = rows.value.dims().matrix(1).1;
    match declared.as_deref() {
        Some([height, row @ ..])
            if !row.is_empty()
                && row.iter().try_fold(1, |all: usize, size| all.checked_mul(*size)) == Some(width)
                && is_f32(var) =>
        {
            Ok(Value::Rows(SelectedRows { height: *height as i64, ..rows }))
        }
        _ => {
            let (name, ty) = (&var.name, var.ty());
            let what = format!("variable `{name}` is declared {ty}, and its file holds rows of {width} elements");
            Err(Error::new(Kind::Shape, what).help("load what was saved from this program"))
        }
    }
}

fn is_f32(var: &Var) -> bool {
    matches!(var.dtype, VarDType::Is(DType::F32))
}

/// Converts the rows of a hashed table that were read for a variable declared as a tensor: to a tensor if its ids are rows of that, where
/// rows that were never trained are zero; otherwise the rows, which lookups take as they are.
pub(crate) fn as_tensor(var: &Var, rows: SelectedRows) -> Result<Value> {
    let dims: Vec<usize> = var.shape.iter().filter_map(|size| size.known()).collect();
    let (width, height) = (rows.value.dims().matrix(1).1, dims.first().copied().unwrap_or(0));
    if !rows.rows.iter().all(|id| usize::try_from(*id).is_ok_and(|id| id < height)) {
        return Ok(Value::Rows(rows));
    }
    // A hashed table may be declared far larger than it ever gets, and than memory is.
    let elements = dims.iter().try_fold(1, |all: usize, size| all.checked_mul(*size));
    if elements.is_none_or(|n| n > MOST_DENSE.max(4 * rows.value.numel())) {
        return Ok(Value::Rows(rows));
    }
    let mut whole = Tensor::zeros(DType::F32, Dims::new(&dims));
    let from = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("`{}` {e}", var.name)))?;
    let to = whole.data_mut::<f32>().map_err(|e| Error::internal(e.to_string()))?;
    for (id, row) in rows.rows.iter().zip(from.chunks(width.max(1))) {
        to[*id as usize * width..][..width].copy_from_slice(row);
    }
    Ok(Value::Dense(whole))
}

/// Reads a variable that the program declares as a tensor from files of a hashed table, as servers save it.
pub(crate) fn read_rows_as(view: &dyn View, var: &Var) -> Result<Value> {
    check(var, read_table(view, &var.name, &|_| true)?)
}

/// The same from its one file, if that holds rows.
pub(crate) fn read_one_as(view: &dyn View, var: &Var) -> Option<Result<Value>> {
    let rows = read_part(view.open(&var.name).ok()?, false).ok()?;
    Some(check(var, rows))
}

/// Is there anything of a variable in a folder?
pub fn is_saved(view: &dyn View, name: &str) -> bool {
    view.has(name) || view.has(&list_file(name))
}

/// Is a variable in parts?
pub(crate) fn is_in_parts(view: &dyn View, name: &str) -> Result<bool> {
    Ok(view.has(&list_file(name)) && table_list(view, name)?.is_some_and(|list| list.width.is_some()))
}

/// Variables that are saved whole now, and were in parts before: says so, so that the old parts are not read.
pub(crate) fn stage_wholes<'a>(
    staging: &mut dyn Staging,
    before: &dyn View,
    names: impl Iterator<Item = &'a Name>,
) -> Result<()> {
    for name in names.filter(|name| before.has(&list_file(name))) {
        let text = format!("{:#}\n", whole(name));
        staging.file(&list_file(name), &[], &mut |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// The list of a table that is in one file.
fn whole(name: &Name) -> Json {
    json!({"format": FORMAT, "file": name.as_str()})
}

#[cfg(test)]
mod tests {
    use oarlock_ir::{Shape, VarType};

    use super::*;
    use crate::store::{Local, Store};

    /// A folder that goes away with the test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let dir = std::env::temp_dir().join(format!("oarlock-table-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Folder(dir)
        }

        fn save(&self, pieces: &[SelectedRows], form: TableForm, part_bytes: usize) {
            let store = Local::at(&self.0);
            let mut staging = store.begin().unwrap();
            let mut writer = TableWriter::new(&mut *staging, &"t".into(), (9, 2), TableFiles { form, part_bytes });
            pieces.iter().for_each(|piece| writer.add(piece).unwrap());
            let before = store.view().unwrap();
            writer.finish(Some(&*before)).unwrap();
            drop(before);
            staging.commit().unwrap();
        }

        fn files(&self) -> Vec<String> {
            Local::at(&self.0).view().unwrap().files().unwrap()
        }

        fn read(&self, wanted: &dyn Fn(i64) -> bool) -> Result<SelectedRows> {
            read_table(&*Local::at(&self.0).view()?, &"t".into(), wanted)
        }

        /// Every row of id n is `n, 1 / n`.
        fn check(&self, ids: &[i64]) {
            let rows = self.read(&|_| true).unwrap();
            let mut found: Vec<i64> = rows.rows.clone();
            found.sort_unstable();
            assert_eq!(found, ids);
            for (id, row) in rows.rows.iter().zip(rows.value.data::<f32>().unwrap().chunks(2)) {
                assert_eq!(row, [*id as f32, 1.0 / *id as f32]);
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    fn piece(ids: &[i64]) -> SelectedRows {
        let data: Vec<f32> = ids.iter().flat_map(|id| [*id as f32, 1.0 / *id as f32]).collect();
        let value = Tensor::from_slice([ids.len(), 2], &data).unwrap();
        SelectedRows { rows: ids.to_vec(), height: ids.len() as i64, value }
    }

    fn pieces() -> [SelectedRows; 2] {
        [piece(&[7, -3, 11, 2]), piece(&[i64::MAX, 5, 1])]
    }

    const IDS: [i64; 7] = [-3, 1, 2, 5, 7, 11, i64::MAX];

    #[test]
    fn a_table_comes_back_from_every_form() {
        let folder = Folder::new("forms");
        folder.save(&pieces(), TableForm::Fitting, 1 << 20);
        assert_eq!(folder.files(), ["t"]);
        folder.check(&IDS);
        folder.save(&pieces(), TableForm::Fitting, 48);
        assert_eq!(folder.files(), ["t", "t.part-00000", "t.part-00001", "t.part-00002", "t.parts"]);
        folder.check(&IDS);
        // The one file of the save before is not in the way, and takes no room.
        assert!(std::fs::metadata(folder.0.join("t")).unwrap().len() < 60);
        folder.save(&pieces()[..1], TableForm::Text, 1 << 20);
        folder.check(&[-3, 2, 7, 11]);
        let text = std::fs::read_to_string(folder.0.join("t.part-00000.txt")).unwrap();
        assert_eq!(text.lines().next().unwrap(), "-3\t2\t-3 -0.33333334");
        folder.save(&pieces(), TableForm::One, 48);
        folder.check(&IDS);
        assert_eq!(folder.read(&|id| id > 5).unwrap().rows, [7, 11, i64::MAX]);
    }

    #[test]
    fn missing_and_damaged_parts_of_a_table_are_named() {
        let folder = Folder::new("damage");
        assert_eq!(
            folder.read(&|_| true).unwrap_err().report().what,
            format!("table `t` is not in {}", folder.0.display())
        );
        folder.save(&pieces(), TableForm::Text, 48);
        let part = folder.0.join("t.part-00001.txt");
        std::fs::remove_file(folder.0.join("oarlock.manifest")).unwrap();
        std::fs::write(&part, "2\t2\t1 2\n3\t2\t1\n").unwrap();
        let form = "a row is `id TAB width TAB numbers`, as long as the first";
        assert_eq!(folder.read(&|_| true).unwrap_err().report().what, format!("{}, line 2: {form}", part.display()));
        std::fs::write(&part, "2\t2\t1 2\n").unwrap();
        assert_eq!(
            folder.read(&|_| true).unwrap_err().report().what,
            "t.part-00001.txt, a part of table `t`, holds 1 rows instead of 3"
        );
        std::fs::remove_file(&part).unwrap();
        assert!(folder.read(&|_| true).unwrap_err().to_string().contains("t.part-00001.txt"));
    }

    #[test]
    fn ids_that_are_rows_make_a_tensor() {
        let var = |dims: &[i64]| Var::new("t", VarType::tensor(DType::F32, Shape::from_i64(dims)));
        let dense = as_tensor(&var(&[4, 2]), piece(&[3, 1])).unwrap();
        let expected = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 3.0, 1.0 / 3.0];
        assert_eq!(dense.dense().unwrap().data::<f32>().unwrap(), expected);
        let Value::Rows(rows) = check(&var(&[4, 2]), piece(&[3, 9])).unwrap() else { panic!("no rows") };
        assert_eq!((&rows.rows[..], rows.height), (&[3, 9][..], 4));
        assert!(matches!(as_tensor(&var(&[4, 2]), rows), Ok(Value::Rows(_))));
        let huge = as_tensor(&var(&[1_000_000_000_000, 2]), piece(&[3, 1]));
        assert!(matches!(huge, Ok(Value::Rows(_))), "more than memory holds");
        assert_eq!(
            check(&var(&[4, 3]), piece(&[3])).unwrap_err().report().what,
            "variable `t` is declared f32[4, 3], and its file holds rows of 2 elements"
        );
    }
}
