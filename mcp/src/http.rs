//! Streamable HTTP for this machine alone: loopback addresses, checked hosts and origins, a token in every request.

use crate::error::Error;
use crate::server::Server;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 24;

/// A server that listens.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    router: Router,
}

/// Returns a token that nobody can guess.
///
/// # Errors
/// The system gives no randomness.
pub fn new_token() -> Result<String, Error> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| Error::Token { source })?;
    Ok(bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

impl HttpServer {
    /// Listens on a loopback address; port 0 takes any that is free. Every request has to bear the token.
    ///
    /// # Errors
    /// The address reaches beyond this machine, or is taken.
    pub async fn listen(server: Server, address: SocketAddr, token: &str) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| Error::Listen { address, source })?;
        let config = StreamableHttpServerConfig::default().with_allowed_origins([
            "http://localhost:*",
            "http://127.0.0.1:*",
            "http://[::1]:*",
        ]);
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let expected: Arc<str> = format!("Bearer {token}").into();
        let router = Router::new()
            .nest_service("/mcp", service)
            .layer(from_fn_with_state(expected, check_token));
        Ok(Self { listener, router })
    }

    /// Returns where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener
            .local_addr()
            .map_err(|error| Error::Protocol(error.to_string()))
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// The system refused to go on.
    pub async fn serve(self) -> Result<(), Error> {
        axum::serve(self.listener, self.router)
            .await
            .map_err(|error| Error::Protocol(error.to_string()))
    }
}

async fn check_token(State(expected): State<Arc<str>>, request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get(header::AUTHORIZATION)
        .map_or(&b""[..], |value| value.as_bytes());
    if is_same(given, expected.as_bytes()) {
        return next.run(request).await;
    }
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, "Bearer")],
        "the token is missing or wrong\n",
    )
        .into_response()
}

/// Compares in a time that does not tell how much is right.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let difference = given
        .iter()
        .zip(expected)
        .fold(0, |difference, (one, other)| difference | (one ^ other));
    given.len() == expected.len() && difference == 0
}
