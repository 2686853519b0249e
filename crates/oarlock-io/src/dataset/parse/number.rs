//! Numbers from text, many bytes at a time. Knows neither slots nor lines.
//!
//! Ids follow `strtoull` and values `strtof`, which wrote the meaning of this format, with one difference: a token must be
//! a number as a whole. Hexadecimal floats are refused, and so is an id that does not fit into 64 bits.

/// `POW10[n]` is ten to the power `n`.
const POW10: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Powers of ten that an f32 holds exactly.
const POW10_F32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

/// Powers of ten that an f64 holds exactly.
const POW10_F64: [f64; 17] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];

/// Why a token is not the number it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotANumber {
    /// Not a number, or not only a number.
    Malformed,
    /// A number beyond 64 bits.
    TooLarge,
}

/// White space inside a line.
#[inline(always)]
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Does a token that ran up to `at` end there?
#[inline(always)]
fn ends(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| b == b'\n' || is_blank(b))
}

/// Where the token that begins at `at` ends.
pub(crate) fn token_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().position(|&b| b == b'\n' || is_blank(b)).map_or(text.len(), |n| at + n)
}

/// Eight bytes of text as a number, the first one lowest; zeros beyond the end.
#[inline(always)]
fn load8(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => load_tail(text.get(at..).unwrap_or_default()),
    }
}

#[cold]
fn load_tail(rest: &[u8]) -> u64 {
    rest.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
}

/// Up to eight digits from `at` on: their value, and how many there are.
#[inline(always)]
fn digits8(text: &[u8], at: usize) -> (u64, usize) {
    let t = load8(text, at) ^ 0x3030_3030_3030_3030;
    // A digit is now 0..=9, so adding 0x76 sets the top bit of any other byte. A carry can only spoil bytes behind the
    // first that is no digit.
    let stops = (t.wrapping_add(0x7676_7676_7676_7676) | t) & 0x8080_8080_8080_8080;
    let n = (stops.trailing_zeros() / 8) as usize;
    if n == 0 {
        return (0, 0);
    }
    // Shifted so that there are always eight digits, with zeros in front; then pairs, fours and all eight are added up.
    let t = t << (64 - 8 * n);
    let t = (t.wrapping_mul(10)).wrapping_add(t >> 8);
    let low = (t & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = (t >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, n)
}

/// A whole token of digits, and where it ends.
#[inline(always)]
pub(crate) fn unsigned(text: &[u8], at: usize) -> Result<(u64, usize), NotANumber> {
    let (value, n) = digits8(text, at);
    let end = at + n;
    if n < 8 {
        return if n > 0 && ends(text, end) { Ok((value, end)) } else { Err(NotANumber::Malformed) };
    }
    long_unsigned(text, value, end)
}

/// The rest of a number whose first eight digits are `value`.
fn long_unsigned(text: &[u8], mut value: u64, mut end: usize) -> Result<(u64, usize), NotANumber> {
    let mut fits = true;
    loop {
        let (part, n) = digits8(text, end);
        end += n;
        match value.checked_mul(POW10[n]).and_then(|v| v.checked_add(part)) {
            Some(v) => value = v,
            // Read on: what follows the digits decides which mistake it is.
            None => fits = false,
        }
        if n < 8 {
            return match (ends(text, end), fits) {
                (false, _) => Err(NotANumber::Malformed),
                (true, false) => Err(NotANumber::TooLarge),
                (true, true) => Ok((value, end)),
            };
        }
    }
}

/// An id: 64 bits, written with or without sign, so -1 and 18446744073709551615 are the same one.
#[inline(always)]
pub(crate) fn id(text: &[u8], at: usize) -> Result<(i64, usize), NotANumber> {
    match text.get(at) {
        Some(b'-') => unsigned(text, at + 1).map(|(v, end)| ((v as i64).wrapping_neg(), end)),
        Some(b'+') => unsigned(text, at + 1).map(|(v, end)| (v as i64, end)),
        _ => unsigned(text, at).map(|(v, end)| (v as i64, end)),
    }
}

/// The f32 nearest to a decimal number, and where it ends.
#[inline(always)]
pub(crate) fn float(text: &[u8], at: usize) -> Result<(f32, usize), NotANumber> {
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (mut mantissa, whole) = digits8(text, start);
    let mut end = start + whole;
    let mut decimals = 0;
    if text.get(end) == Some(&b'.') {
        let (part, n) = digits8(text, end + 1);
        mantissa = mantissa * POW10[n] + part;
        decimals = n;
        end += 1 + n;
        if n == 8 {
            let (part, n) = digits8(text, end);
            if whole + decimals + n > 19 {
                return slow_float(text, at);
            }
            mantissa = mantissa * POW10[n] + part;
            decimals += n;
            end += n;
        }
    }
    let short = whole < 8 && whole + decimals > 0 && ends(text, end);
    match if short { exact(mantissa, decimals) } else { None } {
        Some(v) => Ok((if negative { -v } else { v }, end)),
        None => slow_float(text, at),
    }
}

/// `mantissa / 10^decimals` rounded once, where that can be done with one division.
#[inline(always)]
fn exact(mantissa: u64, decimals: usize) -> Option<f32> {
    // Both are exact as f32, so the quotient is rounded correctly.
    if mantissa < 1 << 24 && decimals < POW10_F32.len() {
        return Some(mantissa as f32 / POW10_F32[decimals]);
    }
    if mantissa >= 1 << 53 || decimals >= POW10_F64.len() {
        return None;
    }
    // The f64 is rounded correctly, and rounding it again is harmless unless it sits half-way between two f32. Below
    // 1e-30 the half-way points of f32 get denser; leave those to the general method.
    let v = mantissa as f64 / POW10_F64[decimals];
    let half_way = v.to_bits() & 0x1fff_ffff == 0x1000_0000;
    (!half_way && v > 1e-30).then_some(v as f32)
}

/// Long mantissas, exponents, `inf` and `nan`.
#[cold]
fn slow_float(text: &[u8], at: usize) -> Result<(f32, usize), NotANumber> {
    let end = token_end(text, at);
    let token = text.get(at..end).and_then(|t| std::str::from_utf8(t).ok());
    let value = token.and_then(|t| t.parse().ok()).ok_or(NotANumber::Malformed)?;
    Ok((value, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse_id(text: &str) -> Result<i64, NotANumber> {
        id(text.as_bytes(), 0).map(|(v, end)| {
            assert_eq!(end, token_end(text.as_bytes(), 0));
            v
        })
    }

    fn parse_float(text: &str) -> Result<f32, NotANumber> {
        float(text.as_bytes(), 0).map(|(v, end)| {
            assert_eq!(end, token_end(text.as_bytes(), 0));
            v
        })
    }

    #[test]
    fn ids_are_64_bits_with_or_without_sign() {
        assert_eq!(parse_id("0"), Ok(0));
        assert_eq!(parse_id("12345678\n"), Ok(12345678));
        assert_eq!(parse_id("123456789012345678 7"), Ok(123456789012345678));
        assert_eq!(parse_id("18446744073709551615"), Ok(-1));
        assert_eq!(parse_id("-5\t"), Ok(-5));
        assert_eq!(parse_id("+5"), Ok(5));
        assert_eq!(parse_id("-18446744073709551615"), Ok(1));
        assert_eq!(parse_id("18446744073709551616"), Err(NotANumber::TooLarge));
        assert_eq!(parse_id("000000000000000000000000000007"), Ok(7));
        for bad in ["", " ", "-", "+-1", "1.5", "7x", "123456789x", "99999999999999999999999999x", "x", "0x10", "1e3"] {
            assert_eq!(parse_id(bad), Err(NotANumber::Malformed), "{bad}");
        }
    }

    #[test]
    fn floats_are_those_of_strtof() {
        for text in
            ["0", "-0", "0.4869", "1.", ".5", "+3", "16777217", "33554435e-1", "0.1234567890123", "-1e-3", "1e39"]
        {
            assert_eq!(parse_float(text).unwrap().to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
        }
        assert_eq!(parse_float("-inf"), Ok(f32::NEG_INFINITY));
        assert!(parse_float("nan").unwrap().is_nan());
        // Half-way between two f32 but for the last digit: rounding through f64 alone would get these wrong.
        assert_eq!(parse_float("16777217.00000001"), Ok(16777218.0));
        assert_eq!(parse_float("16777216.99999999"), Ok(16777216.0));
        for bad in ["", ".", "-", "1.5.2", "1,5", "0x1p2", "1e", "--1", "abc"] {
            assert_eq!(parse_float(bad), Err(NotANumber::Malformed), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_id_comes_back(v: i64, behind in "[ \n]?") {
            prop_assert_eq!(parse_id(&format!("{v}{behind}")), Ok(v));
            prop_assert_eq!(parse_id(&format!("{}{behind}", v as u64)), Ok(v));
        }

        #[test]
        fn any_decimal_is_rounded_like_the_standard_library(
            text in "-?[0-9]{0,12}\\.?[0-9]{0,20}(e-?[0-9]{1,2})?", behind in "[ \n\t]?",
        ) {
            let ours = parse_float(&format!("{text}{behind}")).map(f32::to_bits).ok();
            prop_assert_eq!(ours, text.parse::<f32>().map(f32::to_bits).ok());
        }

        #[test]
        fn a_printed_float_comes_back(bits: u32) {
            let v = f32::from_bits(bits);
            let back = parse_float(&format!("{v}")).unwrap();
            prop_assert!(back == v || v.is_nan() && back.is_nan());
        }
    }
}
