//! A client that writes what no browser would, and reads what is answered.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};

use super::LONG;

/// A request to be.
#[derive(Clone)]
pub(crate) struct Asked {
    method: String,
    target: String,
    version: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            version: "HTTP/1.1",
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub(crate) fn target(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    pub(crate) fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// A header in place of another of its name.
    pub(crate) fn with(self, name: &str, value: impl Into<String>) -> Self {
        self.without(name).and(name, value)
    }

    /// A header beside others of its name.
    pub(crate) fn and(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.with("Content-Length", length)
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The request without its body.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} {}\r\n", self.method, self.target, self.version);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head.push_str("\r\n");
        head.into()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }
}

/// What was answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body came to its end.
    pub(crate) is_whole: bool,
}

impl Reply {
    /// The header's value. One that comes twice fails the test.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other == name);
        let value = values.next();
        assert!(values.next().is_none(), "{name} comes twice");
        value.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    /// What has been read and is not yet used.
    rest: Vec<u8>,
}

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            rest: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub(crate) fn shut_down_writing(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Reads more; whether there was more.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16 << 10];
        let count = self.stream.read(&mut bytes)?;
        self.rest.extend_from_slice(&bytes[..count]);
        Ok(count > 0)
    }

    fn must_fill(&mut self) -> io::Result<()> {
        match self.fill()? {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn take_line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = self.rest.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.rest.drain(..at + 2).take(at).collect();
                return String::from_utf8(line).map_err(io::Error::other);
            }
            self.must_fill()?;
        }
    }

    /// So many bytes, whatever they are.
    pub(crate) fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.rest.len() < count {
            self.must_fill()?;
        }
        Ok(self.rest.drain(..count).collect())
    }

    /// Status and headers.
    pub(crate) fn reply_head(&mut self) -> io::Result<Reply> {
        let line = self.take_line()?;
        let status = line
            .strip_prefix("HTTP/1.1 ")
            .and_then(|line| line.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(line.clone()))?;
        let mut headers = Vec::new();
        loop {
            let line = self.take_line()?;
            if line.is_empty() {
                return Ok(Reply {
                    status,
                    headers,
                    body: Vec::new(),
                    is_whole: false,
                });
            }
            let (name, value) = line
                .split_once(": ")
                .ok_or_else(|| io::Error::other(line.clone()))?;
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }

    /// One piece of a chunked body, as it was sent; empty at its end.
    pub(crate) fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let size = self.take_line()?;
        let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
        let chunk = self.take(size)?;
        self.take(2)?;
        Ok(chunk)
    }

    /// A whole answer. One whose body is cut off is an answer, too.
    pub(crate) fn reply(&mut self, is_head: bool) -> io::Result<Reply> {
        let mut reply = self.reply_head()?;
        let length = reply
            .header("content-length")
            .map(|length| length.parse().unwrap());
        if is_head {
            reply.is_whole = true;
            return Ok(reply);
        }
        if let Some(length) = length {
            while self.rest.len() < length {
                if !self.fill().unwrap_or(false) {
                    reply.body = std::mem::take(&mut self.rest);
                    return Ok(reply);
                }
            }
            reply.body = self.take(length)?;
            reply.is_whole = true;
            return Ok(reply);
        }
        assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
        while let Ok(chunk) = self.chunk() {
            if chunk.is_empty() {
                reply.is_whole = true;
                break;
            }
            reply.body.extend(chunk);
        }
        Ok(reply)
    }

    /// Reads until the server closes the connection.
    pub(crate) fn read_to_end(&mut self) -> Vec<u8> {
        loop {
            match self.fill() {
                Ok(true) => (),
                Ok(false) => break,
                Err(error) => {
                    let kinds = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
                    assert!(kinds.contains(&error.kind()), "{error}");
                    break;
                }
            }
        }
        std::mem::take(&mut self.rest)
    }
}
