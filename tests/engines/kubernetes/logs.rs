//! What a pod prints, for whoever asks the API server, which asks the node. Answers one question of a kubelet's many.

use super::environment::{items, text};
use super::kubelet::Node;
use super::pod::log_of;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// So often it looks for more.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for whoever asks.
pub(super) struct LogServer {
    listener: TcpListener,
    config: Arc<ServerConfig>,
}

impl LogServer {
    pub(super) fn bind(certificates: &Path) -> Self {
        let chain = CertificateDer::pem_file_iter(certificates.join("apiserver.crt"));
        let chain = chain.expect("certificates").map(|item| item.expect("PEM"));
        let key = PrivateKeyDer::from_pem_file(certificates.join("apiserver.key"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain.collect(), key.expect("a key"))
            .expect("a certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        Self {
            listener,
            config: Arc::new(config),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().expect("an address").port()
    }

    /// Answers until the node ends.
    pub(super) fn serve(self, node: &Arc<Node>) {
        while !node.is_ended() {
            let Ok((stream, _)) = self.listener.accept() else {
                std::thread::sleep(LOOK);
                continue;
            };
            let (node, config) = (node.clone(), self.config.clone());
            // Who hangs up has heard enough.
            std::thread::spawn(move || drop(answer(&node, stream, config)));
        }
    }
}

fn answer(node: &Node, stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut stream = reader.into_inner();
    let asked = first.split_whitespace().nth(1).unwrap_or_default();
    let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let ["", "containerLogs", namespace, pod, _] = parts.as_slice() else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let uid = uid_of(node, namespace, pod);
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")?;
    let mut log = std::fs::File::open(log_of(node.folder(), &uid))?;
    let options: Vec<(&str, &str)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    if let Some((_, lines)) = options.iter().find(|(name, _)| *name == "tailLines") {
        let begin = tail(&mut log, lines.parse().unwrap_or(0))?;
        log.seek(SeekFrom::Start(begin))?;
    }
    let follows = options.contains(&("follow", "true"));
    loop {
        let is_over = !follows || node.is_over(&uid) || node.is_ended();
        let mut more = Vec::new();
        log.read_to_end(&mut more)?;
        stream.write_all(&more)?;
        stream.flush()?;
        if is_over {
            stream.conn.send_close_notify();
            return stream.flush();
        }
        std::thread::sleep(LOOK);
    }
}

fn uid_of(node: &Node, namespace: &str, name: &str) -> String {
    let bound = node.bound().map(|bound| bound["items"].clone());
    let bound = bound.unwrap_or_default();
    let of_pod = |key: &str, pod: &serde_json::Value| text(&pod["metadata"][key]);
    let pod = items(&bound)
        .find(|pod| of_pod("name", pod) == name && of_pod("namespace", pod) == namespace);
    pod.map(|pod| of_pod("uid", pod)).unwrap_or_default()
}

/// Where the last lines begin.
fn tail(log: &mut std::fs::File, lines: usize) -> std::io::Result<u64> {
    let mut text = Vec::new();
    log.read_to_end(&mut text)?;
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<usize> = ends.map(|(place, _)| place + 1).collect();
    let last = ends.len().checked_sub(lines + 1);
    Ok(last.map_or(0, |last| ends[last] as u64))
}
