//! Payloads of 16 bits: half the bytes for those who accept the rounding.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use oarlock_ir::{Error, Kind, Result};

use super::codec::{Reader, Writer};

/// How the floats of a section are written. Who sends a section says it in the frame's meta ([`Floats::write`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Floats {
    /// As they are.
    #[default]
    F32,
    /// The upper half of each: the same range, 8 bits of precision.
    Bf16,
    /// IEEE half precision: 11 bits of precision, infinite above 65504.
    F16,
}

impl Floats {
    /// Bytes of one number.
    pub fn width(self) -> usize {
        match self {
            Floats::F32 => 4,
            Floats::Bf16 | Floats::F16 => 2,
        }
    }

    /// Appends to a meta which one it is.
    pub fn write(self, meta: &mut Writer) {
        meta.u8(match self {
            Floats::F32 => 0,
            Floats::Bf16 => 1,
            Floats::F16 => 2,
        });
    }

    /// Reads from a meta which one it is.
    pub fn read(meta: &mut Reader<'_>) -> Result<Floats> {
        match meta.u8()? {
            0 => Ok(Floats::F32),
            1 => Ok(Floats::Bf16),
            2 => Ok(Floats::F16),
            other => Err(Error::new(Kind::Format, format!("a section has numbers of the unknown form {other}"))
                .help("install the same Oarlock on every machine of the job")),
        }
    }

    /// The bytes to send for these numbers: the numbers themselves, or rounded ones in `room`.
    pub fn encode<'a>(self, values: &'a [f32], room: &'a mut Vec<u16>) -> &'a [u8] {
        room.clear();
        match self {
            Floats::F32 => return bytemuck::cast_slice(values),
            Floats::Bf16 => {
                room.resize(values.len(), 0);
                bytemuck::cast_slice_mut::<u16, bf16>(room).convert_from_f32_slice(values);
            }
            Floats::F16 => {
                room.resize(values.len(), 0);
                bytemuck::cast_slice_mut::<u16, f16>(room).convert_from_f32_slice(values);
            }
        }
        bytemuck::cast_slice(room)
    }

    /// Reads a section into `values`; fails unless it has exactly as many numbers.
    pub fn decode(self, section: &[u8], values: &mut [f32]) -> Result<()> {
        if Some(section.len()) != values.len().checked_mul(self.width()) {
            return Err(Error::new(
                Kind::Format,
                format!(
                    "{} numbers of {} bytes are expected, {} bytes came",
                    values.len(),
                    self.width(),
                    section.len()
                ),
            )
            .help("both ends must run the same program"));
        }
        match self {
            Floats::F32 => bytemuck::cast_slice_mut::<f32, u8>(values).copy_from_slice(section),
            Floats::Bf16 => self.halves::<bf16>(section)?.convert_to_f32_slice(values),
            Floats::F16 => self.halves::<f16>(section)?.convert_to_f32_slice(values),
        }
        Ok(())
    }

    fn halves<T: bytemuck::AnyBitPattern>(self, section: &[u8]) -> Result<&[T]> {
        // Sections of a frame are aligned to 64 bytes.
        bytemuck::try_cast_slice(section).map_err(|e| Error::internal(format!("a section that cannot be read: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(form: Floats, values: &[f32]) -> Vec<f32> {
        let mut room = Vec::new();
        let mut back = vec![0.0; values.len()];
        form.decode(form.encode(values, &mut room), &mut back).unwrap();
        back
    }

    #[test]
    fn rounding_is_that_of_the_form() {
        let values: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) * 0.37).collect();
        assert_eq!(round_trip(Floats::F32, &values), values);
        for (form, step) in [(Floats::Bf16, 1.0 / 256.0), (Floats::F16, 1.0 / 2048.0)] {
            for (back, value) in round_trip(form, &values).iter().zip(&values) {
                assert!((back - value).abs() <= value.abs() * step, "{form:?}: {value} became {back}");
            }
        }
        assert_eq!(round_trip(Floats::Bf16, &[1e30])[0].log10().round(), 30.0);
        assert!(round_trip(Floats::F16, &[1e30, f32::NAN]).iter().all(|v| !v.is_finite()));
    }

    #[test]
    fn the_form_is_written_and_lengths_are_checked() {
        for form in [Floats::F32, Floats::Bf16, Floats::F16] {
            let mut meta = Writer::new();
            form.write(&mut meta);
            assert_eq!(Floats::read(&mut Reader::new(meta.as_bytes(), "meta")).unwrap(), form);
            assert!(form.decode(&[0; 6], &mut [0.0; 2]).is_err());
        }
        assert!(Floats::read(&mut Reader::new(&[9], "meta")).is_err());
    }
}
