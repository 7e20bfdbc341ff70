//! Output of programs as plain text: what a person would see in the end, without colours.

/// The longest escape sequence in bytes. What goes on without an end is not a sequence.
const MAX_SEQUENCE_BYTES: usize = 1024;

/// Plain text of output. Escape sequences go, a carriage return begins its line anew (progress bars), a backspace
/// takes a character back; other control characters go; bytes that are not UTF-8 become `�`.
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => {
                out.push(c);
                line_start = out.len();
            }
            '\t' => out.push(c),
            '\r' => {
                // A line end of other systems, or several of them.
                let mut ahead = rest.clone();
                while ahead.next_if_eq(&'\r').is_some() {}
                if ahead.peek() != Some(&'\n') && ahead.peek().is_some() {
                    out.truncate(line_start);
                }
            }
            '\u{8}' if out.len() > line_start => {
                out.pop();
            }
            '\x1b' => skip_sequence(&mut rest),
            '\u{9b}' => skip_control(&mut rest),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_sequence(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let before = rest.clone();
            rest.next();
            // Up to BEL or `ESC \`; an unfinished one must not hide what follows.
            let mut escaped = false;
            for _ in 0..MAX_SEQUENCE_BYTES {
                match rest.next() {
                    Some('\x07' | '\u{9c}') => return,
                    Some('\\') if escaped => return,
                    Some('\n') | None => break,
                    Some(c) => escaped = c == '\x1b',
                }
            }
            *rest = before;
            rest.next();
        }
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// `ESC [ parameters final`
fn skip_control(rest: &mut Rest<'_>) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}
