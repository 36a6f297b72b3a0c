//! Sends messages, one JSON document a line.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde::Serialize;

/// Sends one message.
///
/// # Errors
/// When the other process is gone, or does not read in time where the socket has a limit.
pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
