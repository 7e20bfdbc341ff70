//! How much memory there is to have.

/// The memory that programs could still get, in bytes; `None` where the system does not say.
pub(crate) fn available() -> Option<u64> {
    read(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn read(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:   24036724 kB\nBuffers: 1 kB\n";
        assert_eq!(read(text), Some(24_036_724 * 1024));
        assert_eq!(read("MemTotal: 1 kB\n"), None);
        assert_eq!(read("MemAvailable: x kB\n"), None);
    }
}
