//! Fetched values as people read them.

use oarlock_tensor::{Tensor, Value};

/// How many elements of a tensor are printed.
const SHOWN: usize = 6;

/// `batch 300: loss 0.5417, auc 0.7621`
pub(crate) fn line(batch: u64, fetches: &[(String, String)], values: &[Value]) -> String {
    let parts = fetches.iter().zip(values).map(|((_, label), value)| format!("{label} {}", short(value)));
    format!("batch {batch}: {}", parts.collect::<Vec<_>>().join(", "))
}

/// `loss 0.5417, auc 0.7621`: what is a single number.
pub(crate) fn status(labels: Vec<&str>, values: &[Value]) -> String {
    let single = |value: &Value| value.dense().is_ok_and(|t| t.dims().numel() == 1);
    let parts = labels.into_iter().zip(values).filter(|(_, v)| single(v));
    parts.map(|(label, value)| format!("{label} {}", short(value))).collect::<Vec<_>>().join(", ")
}

fn short(value: &Value) -> String {
    match value {
        Value::Dense(t) if t.dims().numel() == 1 => number(t.to_f64()[0]),
        Value::Dense(t) => format!("{}{}", t.dims(), elements(t)),
        Value::Rows(r) => format!("{} rows of {}", r.rows.len(), r.value.dims()),
        other => other.kind().to_string(),
    }
}

fn elements(t: &Tensor) -> String {
    let values = t.to_f64();
    let shown: Vec<String> = values.iter().take(SHOWN).map(|v| number(*v)).collect();
    let more = if values.len() > SHOWN { " ..." } else { "" };
    format!(" {}{more}", shown.join(" "))
}

/// Six digits, and no more than needed.
fn number(v: f64) -> String {
    let text = format!("{v:.5e}").parse::<f64>().unwrap_or(v);
    format!("{text}")
}

#[test]
fn values_are_short() {
    let fetches = [("a".to_string(), "loss".to_string()), ("b".to_string(), "p".to_string())];
    let many: Vec<f32> = (0..8).map(|i| i as f32 / 3.0).collect();
    let values = [Tensor::scalar(0.123_456_79f32).into(), Tensor::from_slice([2, 4], &many).unwrap().into()];
    assert_eq!(
        line(3, &fetches, &values),
        "batch 3: loss 0.123457, p [2, 4] 0 0.333333 0.666667 1 1.33333 1.66667 ..."
    );
    assert_eq!(status(vec!["loss", "p"], &values), "loss 0.123457");
}
