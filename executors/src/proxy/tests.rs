//! The proxy as programs meet it, on the loopback address.

use super::*;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use tm_sandbox::SOCKET;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// A server that says the same to everybody, after what it was sent.
async fn server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut sent = [0; 1024];
                let length = client.read(&mut sent).await.unwrap_or(0);
                let said = [b"HTTP/1.0 200 OK\r\n\r\nheard ", &sent[..length]].concat();
                client.write_all(&said).await
            });
        }
    });
    port
}

async fn start(level: Level, allowed: &str, folder: &Path) -> Proxy {
    let allowed = AllowList::read(allowed.split_whitespace()).expect("hosts");
    let started = Proxy::start(level, allowed, "`x: on` opens it", folder).await;
    started.expect("it listens")
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    let mut answer = String::new();
    // Who is gone says nothing.
    let _sent = stream.write_all(request.as_bytes()).await;
    let _ended = stream.shutdown().await;
    let _read = stream.read_to_string(&mut answer).await;
    answer
}

async fn ask_socket(folder: &Path, request: &str) -> String {
    // However long its path is.
    let opened = std::fs::File::open(folder).expect("a folder");
    let path = format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd());
    match UnixStream::connect(path).await {
        Ok(stream) => ask(stream, request).await,
        Err(error) => error.to_string(),
    }
}

async fn ask_port(port: u16, request: &str) -> String {
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => ask(stream, request).await,
        Err(error) => error.to_string(),
    }
}

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

#[tokio::test]
async fn who_is_listed_is_reached_and_who_is_not_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (listed, other) = (server().await, server().await);
    let allowed = format!("localhost:{listed} *.example.invalid");
    let proxy = start(Level::Bwrap, &allowed, folder).await;
    let target = format!("127.0.0.1:{listed}");
    let early = connect(&target) + "early";
    assert_eq!(
        ask_socket(folder, &early).await,
        "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.0 200 OK\r\n\r\nheard early"
    );
    let asked = format!("GET http://{target}/a HTTP/1.1\r\n\r\n");
    let sent = format!("GET /a HTTP/1.1\r\nHost: localhost:{listed}\r\nConnection: close\r\n\r\n");
    assert_eq!(
        ask_socket(folder, &asked).await,
        format!("HTTP/1.0 200 OK\r\n\r\nheard {sent}")
    );
    let elsewhere = format!("localhost:{other}");
    for _ in 0..2 {
        let refused = ask_socket(folder, &connect(&elsewhere)).await;
        let why = format!("tm's sandbox lets nothing through to {elsewhere}: `x: on` opens it\n");
        assert!(
            refused.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{refused}"
        );
        assert!(refused.ends_with(&format!("\r\n\r\n{why}")), "{refused}");
    }
    let refused = ask_socket(folder, &connect("example.org\u{1}:443")).await;
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    // Listed, and there is no such host: that is told, and is no refusal.
    let failed = ask_socket(folder, &connect("no.example.invalid:443")).await;
    assert!(failed.starts_with("HTTP/1.1 502 "), "{failed}");
    assert_eq!(proxy.refused(), ["(unreadable)", elsewhere.as_str()]);
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_unless_the_list_has_the_address() {
    let Some(name) = name_of_loopback().await else {
        eprintln!("skipped: no name of this machine leads to its loopback address alone");
        return;
    };
    let port = server().await;
    let target = format!("{name}:{port}");
    for (besides, begins, refused) in [
        ("", "HTTP/1.1 403 ", vec![format!("{target} at 127.0.0.1")]),
        (&format!("localhost:{port}"), "HTTP/1.1 200 ", Vec::new()),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let proxy = start(Level::Bwrap, &format!("{target} {besides}"), folder.path()).await;
        let answer = ask_socket(folder.path(), &connect(&target)).await;
        assert!(answer.starts_with(begins), "{besides}: {answer}");
        assert_eq!(proxy.refused(), refused);
    }
}

/// A name that is none of those that stand for the loopback address, and leads there.
async fn name_of_loopback() -> Option<String> {
    let own = rustix::system::uname();
    let own = own.nodename().to_str().ok()?.to_lowercase();
    for name in ["a.localhost".to_owned(), own] {
        let found = tokio::net::lookup_host((name.as_str(), 1)).await;
        if found.is_ok_and(|mut found| found.all(|address| address.ip() == Ipv4Addr::LOCALHOST)) {
            return Some(name);
        }
    }
    None
}

#[tokio::test]
async fn a_proxy_that_was_killed_is_found_again_where_it_was() {
    for level in [Level::Bwrap, Level::Landlock] {
        let folder = tempfile::tempdir().expect("a folder");
        // Longer than the path of a socket may be.
        let folder = folder.path().join("x".repeat(120));
        std::fs::create_dir(&folder).expect("made");
        let port = server().await;
        let mut told = Vec::new();
        for times in 1..=2 {
            let mut proxy = start(level, &format!("localhost:{port}"), &folder).await;
            told.push((proxy.network(), proxy.variables()));
            let refused = format!("example.org:{times}");
            let listed = ask_told(&proxy, &folder, &format!("localhost:{port}")).await;
            assert!(listed.starts_with("HTTP/1.1 200 "), "{listed}");
            let answer = ask_told(&proxy, &folder, &refused).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
            assert_eq!(proxy.refused().len(), times, "{:?}", proxy.refused());
            proxy.accepting.abort();
            let _ended = (&mut proxy.accepting).await;
        }
        assert_eq!(told[0], told[1]);
        let Network::Proxy { servers, .. } = &told[0].0 else {
            panic!("{told:?}")
        };
        assert_eq!(*servers, [port]);
    }
}

/// Asks for a connection as somebody who was told of the proxy.
async fn ask_told(proxy: &Proxy, folder: &Path, target: &str) -> String {
    let Whereabouts { port, password } = &proxy.whereabouts;
    if password.is_empty() {
        return ask_socket(folder, &connect(target)).await;
    }
    let credentials = proxy.whereabouts.credentials();
    let known = format!("\r\nProxy-Authorization: Basic {credentials}\r\n\r\n");
    ask_port(*port, &connect(target).replace("\r\n\r\n", &known)).await
}

#[tokio::test]
async fn at_a_port_only_those_are_served_who_were_told_the_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = server().await;
    let target = format!("localhost:{port}");
    let proxy = start(Level::Landlock, &target, folder.path()).await;
    let Whereabouts { port, password } = &proxy.whereabouts;
    assert_eq!(password.len(), 32);
    let address = format!("http://tm:{password}@127.0.0.1:{port}");
    assert!(proxy.variables().contains(&("HTTPS_PROXY", address)));
    for asked in [&target, "example.org:443"] {
        let answer = ask_port(*port, &connect(asked)).await;
        assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
    }
    assert_eq!(proxy.refused(), Vec::<String>::new());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a file that is torn on purpose")]
async fn a_port_that_was_not_wholly_written_down_is_chosen_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    for torn in ["", "610", "61000 ", "61000 0123"] {
        std::fs::write(folder.path().join("port"), torn).expect("written");
        let proxy = start(Level::Landlock, "", folder.path()).await;
        assert_eq!(proxy.whereabouts.password.len(), 32, "{torn}");
    }
}

#[tokio::test]
async fn a_head_without_an_end_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let proxy = start(Level::Bwrap, "", folder.path()).await;
    let endless = "x".repeat(64 << 10);
    let endless = format!("GET http://example.org/ HTTP/1.1\r\nX: {endless}");
    assert_eq!(ask_socket(folder.path(), &endless).await, "");
    assert_eq!(proxy.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn who_keeps_connections_and_says_nothing_gets_no_more_than_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let _proxy = start(Level::Bwrap, "", folder.path()).await;
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        let stream = UnixStream::connect(folder.path().join(SOCKET)).await;
        silent.push(stream.expect("connected"));
    }
    let mut waits = Box::pin(ask_socket(folder.path(), "x"));
    tokio::select! {
        biased;
        answer = &mut waits => panic!("{answer}"),
        () = all_are_idle() => {}
    }
    drop(silent);
    waits.await;
}

/// Ends when everything that this thread could do is done.
async fn all_are_idle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
