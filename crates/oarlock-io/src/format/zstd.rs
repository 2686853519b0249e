//! Zstandard files as a stream. A file may hold several frames one behind the other, and frames to be skipped.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses all frames of `source`.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    /// Inside a frame?
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Frames<R> {
        Frames { source, decoder: FrameDecoder::new(), inside: false }
    }

    /// Starts the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.inside = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(e) => return Err(invalid(e)),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.inside = false;
        let (stored, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if stored.is_some() && stored != found {
            return Err(invalid("the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

fn invalid(e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.next_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(invalid)?;
            }
            match self.decoder.read(out)? {
                0 if !out.is_empty() => self.end_frame()?,
                n => return Ok(n),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn decompress(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Frames::new(bytes).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let frame = |text: &[u8]| compress_to_vec(text, CompressionLevel::Fastest);
        let long: Vec<u8> = (0..300_000u32).flat_map(|i| (i / 7).to_string().into_bytes()).collect();
        let skipped = [&0x184d_2a53u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"abc"].concat();
        let file = [frame(b"one"), frame(b""), skipped.clone(), frame(&long), skipped].concat();
        assert_eq!(decompress(&file).unwrap(), [b"one", &long[..]].concat());
        assert_eq!(decompress(b"").unwrap(), b"");
    }

    #[test]
    fn damaged_zstd_frames_are_refused() {
        let frame = compress_to_vec(&b"some text, some text, some text"[..], CompressionLevel::Fastest);
        assert!(decompress(&frame[..frame.len() - 5]).is_err());
        assert!(decompress(b"not a frame").is_err());
    }
}
