//! The server: tells the protocols apart by their paths, refuses where it is to, keeps count.

use super::conversation::{Conversation, Reply};
use super::script::{Move, Prompt, Script};
use super::stream::{Events, document};
use super::{anthropic, chat, gemini, responses};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How the models behave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// They do what the script says.
    Work,
    /// They refuse so many requests, then do what the script says.
    Refuse(Refusal, usize),
    /// They begin to answer, and never end.
    Hang,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// 401.
    Credentials,
    /// 429, with the seconds to wait where that is said.
    TooMany(Option<u32>),
}

/// All of them.
const EVERY: usize = usize::MAX;

impl Behaviour {
    /// Refuses whatever comes.
    pub(crate) const fn refuse(refusal: Refusal) -> Self {
        Self::Refuse(refusal, EVERY)
    }
}

/// A server on loopback that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ModelServer {
    address: SocketAddr,
    models: Arc<Models>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Models {
    behaviour: Behaviour,
    script: Script,
    /// Requests for an answer of a model, refused ones too.
    requests: AtomicUsize,
}

impl ModelServer {
    pub(crate) fn start(behaviour: Behaviour, script: Script) -> Self {
        let models = Arc::new(Models { behaviour, script, requests: AtomicUsize::new(0) });
        let (stop, stopped) = oneshot::channel();
        let (told, listening) = mpsc::channel();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&models));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
                told.send(listener.local_addr().expect("an address")).expect("somebody waits");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        let address = listening.recv().expect("the server listens");
        Self { address, models, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens, such as `http://127.0.0.1:1234`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many answers models were asked for.
    pub(crate) fn requests(&self) -> usize {
        self.models.requests.load(Ordering::Relaxed)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server did not panic");
        }
    }
}

/// The protocols, by what their paths end with.
#[derive(Clone, Copy, Debug)]
enum Protocol {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

async fn answer(State(models): State<Arc<Models>>, uri: Uri, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = uri.path();
    let protocol = match path.rsplit(['/', ':']).next().unwrap_or_default() {
        "messages" => Protocol::Anthropic,
        "responses" => Protocol::Responses,
        "completions" => Protocol::Chat,
        "generateContent" | "streamGenerateContent" => Protocol::Gemini,
        "count_tokens" | "countTokens" => {
            return document(StatusCode::OK, &json!({"input_tokens": 100, "totalTokens": 100}), None);
        }
        _ => return document(StatusCode::OK, &json!({"object": "list", "data": [], "models": []}), None),
    };
    let number = models.requests.fetch_add(1, Ordering::Relaxed);
    match models.behaviour {
        Behaviour::Refuse(refusal, times) if number < times => refused(protocol, refusal),
        Behaviour::Refuse(..) | Behaviour::Work => protocol.whole(&body, path, number, models.script),
        Behaviour::Hang => protocol.events(&body, path, number, models.script).stalled(),
    }
}

impl Protocol {
    /// Returns the answer as a stream where the agent wants one, and as a document else.
    fn whole(self, body: &Value, path: &str, number: usize, script: Script) -> Response {
        if body["stream"] == true || path.ends_with(":streamGenerateContent") {
            return self.events(body, path, number, script).response();
        }
        let (reply, model) = (self.reply(body, script), &body["model"]);
        let whole = match self {
            Self::Anthropic => anthropic::document(number, model, &reply),
            Self::Responses => responses::document(number, model, &reply),
            Self::Chat => chat::document(number, model, &reply),
            Self::Gemini => gemini::document(number, path, &reply),
        };
        document(StatusCode::OK, &whole, None)
    }

    fn events(self, body: &Value, path: &str, number: usize, script: Script) -> Events {
        let (reply, model) = (self.reply(body, script), &body["model"]);
        match self {
            Self::Anthropic => anthropic::events(number, model, &reply),
            Self::Responses => responses::events(number, model, &reply),
            Self::Chat => chat::events(number, model, &reply),
            Self::Gemini => gemini::events(number, path, &reply),
        }
    }

    /// Makes the next move of the script; a request without tools wants a title, a summary or the like.
    fn reply(self, body: &Value, script: Script) -> Reply {
        let conversation = self.read(body);
        if conversation.tools.is_empty() {
            return Reply::Say("A title".to_owned());
        }
        let moves = script(&Prompt::read(&conversation.said));
        let next = moves.into_iter().nth(conversation.answers);
        conversation.reply(next.unwrap_or_else(|| Move::Say("There is nothing left to do".to_owned())))
    }

    fn read(self, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(body),
        }
    }
}

fn refused(protocol: Protocol, refusal: Refusal) -> Response {
    let (status, kind, state, message, retry_after) = match refusal {
        Refusal::Credentials => {
            (StatusCode::UNAUTHORIZED, "authentication_error", "UNAUTHENTICATED", "invalid x-api-key", None)
        }
        Refusal::TooMany(seconds) => {
            (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "RESOURCE_EXHAUSTED", "Rate limit reached", seconds)
        }
    };
    let error = match protocol {
        Protocol::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Protocol::Responses | Protocol::Chat => json!({"error": {"message": message, "type": kind, "code": kind}}),
        Protocol::Gemini => json!({"error": {"code": status.as_u16(), "message": message, "status": state}}),
    };
    document(status, &error, retry_after)
}
