//! Percent-encoding in addresses.

/// The text that an encoded part of an address stands for.
pub(crate) fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits
            .filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        match byte {
            Some(byte) => bytes.push(byte),
            None => {
                let wrong = String::from_utf8_lossy(&rest[..rest.len().min(3)]);
                return Err(format!("{wrong} is no encoded byte"));
            }
        }
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| format!("{text} is not UTF-8"))
}

/// Refuses an address whose user or password has a `/`, which ends them: what comes behind it would be shown as a name.
pub(crate) fn check_slashes(rest: &str) -> Result<(), String> {
    match rest.split_once('/') {
        Some((authority, path)) if path.contains('@') && !authority.contains('@') => {
            Err("a / in a user or password is written %2F, and an @ in a name %40".to_owned())
        }
        _ => Ok(()),
    }
}
