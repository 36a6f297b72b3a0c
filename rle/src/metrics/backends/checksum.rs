//! CRC-32 and CRC-32C, eight bytes a step ("slicing by eight", Kounavis and Berry 2005).

/// The polynomial of zip and PNG, reflected.
pub(super) static CRC32: Crc = Crc::new(0xedb8_8320);
/// Castagnoli's polynomial (iSCSI, RFC 3720), reflected.
pub(super) static CRC32C: Crc = Crc::new(0x82f6_3b78);

/// The tables of one polynomial.
pub(in crate::metrics) struct Crc {
    tables: [[u32; 256]; 8],
}

impl Crc {
    const fn new(polynomial: u32) -> Self {
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut crc = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
                bit += 1;
            }
            tables[0][byte] = crc;
            byte += 1;
        }
        let mut table = 1;
        while table < 8 {
            let mut byte = 0;
            while byte < 256 {
                let before = tables[table - 1][byte];
                tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
                byte += 1;
            }
            table += 1;
        }
        Self { tables }
    }

    /// The checksum of all parts, one after the other.
    pub(in crate::metrics) fn of(&self, parts: &[&[u8]]) -> u32 {
        !parts.iter().fold(!0, |crc, part| self.update(crc, part))
    }

    fn update(&self, mut crc: u32, bytes: &[u8]) -> u32 {
        let at = |table: usize, byte: u64| self.tables[table][(byte & 0xff) as usize];
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let both = u64::from_le_bytes(*eight) ^ u64::from(crc);
            crc = (0..8).fold(0, |sum, byte| sum ^ at(7 - byte, both >> (8 * byte)));
        }
        rest.iter().fold(crc, |crc, byte| (crc >> 8) ^ at(0, u64::from(crc) ^ u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_both_polynomials_come_out() {
        assert_eq!(CRC32.of(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(CRC32C.of(&[b"123456789"]), 0xe306_9283);
        // RFC 3720, B.4: 32 bytes of zeros, of ones, and rising.
        assert_eq!(CRC32C.of(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(CRC32C.of(&[&[0xff; 32]]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(CRC32C.of(&[&rising]), 0x46dd_794e);
    }

    #[test]
    fn parts_count_as_one_text() {
        let text: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        for cut in [0, 1, 7, 8, 9, 500, 1_000] {
            let (head, tail) = text.split_at(cut);
            assert_eq!(CRC32.of(&[head, tail]), CRC32.of(&[&text]), "cut at {cut}");
        }
    }
}
