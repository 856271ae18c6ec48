//! The server: tells the protocols apart by their paths, refuses where it is to, keeps count.

use super::conversation::{Conversation, Reply};
use super::refusal::{Refusal, reset_after};
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
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// How the models behave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// They do what the script says.
    Work,
    /// They refuse whatever comes.
    Refuse(Refusal),
    /// Their limit is used up for so long from the first request on, then they do what the script says.
    RefuseFor(Duration),
    /// They begin to answer, and never end.
    Hang,
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
    /// When a used up limit is over, once that is known.
    reset: OnceLock<SystemTime>,
}

impl ModelServer {
    pub(crate) fn start(behaviour: Behaviour, script: Script) -> Self {
        let models = Arc::new(Models {
            behaviour,
            script,
            requests: AtomicUsize::new(0),
            reset: OnceLock::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let (told, listening) = mpsc::channel();
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&models));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                    .await
                    .expect("a free port");
                told.send(listener.local_addr().expect("an address"))
                    .expect("somebody waits");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        let address = listening.recv().expect("the server listens");
        Self {
            address,
            models,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Where it listens, such as `http://127.0.0.1:1234`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many answers models were asked for.
    pub(crate) fn requests(&self) -> usize {
        self.models.requests.load(Ordering::Relaxed)
    }

    /// When a used up limit is over, once somebody ran into it.
    pub(crate) fn reset(&self) -> Option<SystemTime> {
        self.models.reset.get().copied()
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

impl Models {
    /// Why a request is refused now, if it is.
    fn refusal(&self) -> Option<Refusal> {
        match self.behaviour {
            Behaviour::Work | Behaviour::Hang => None,
            Behaviour::Refuse(refusal) => Some(refusal),
            Behaviour::RefuseFor(wait) => {
                let reset = *self.reset.get_or_init(|| reset_after(wait));
                (SystemTime::now() < reset).then_some(Refusal::UsedUpUntil(reset))
            }
        }
    }
}

/// The protocols, by what their paths end with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
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
            return document(
                StatusCode::OK,
                &json!({"input_tokens": 100, "totalTokens": 100}),
            );
        }
        _ => {
            return document(
                StatusCode::OK,
                &json!({"object": "list", "data": [], "models": []}),
            );
        }
    };
    let number = models.requests.fetch_add(1, Ordering::Relaxed);
    if let Some(refusal) = models.refusal() {
        return refusal.response(protocol);
    }
    match models.behaviour {
        Behaviour::Refuse(_) | Behaviour::RefuseFor(_) | Behaviour::Work => {
            protocol.whole(&body, path, number, models.script)
        }
        Behaviour::Hang => protocol
            .events(&body, path, number, models.script)
            .stalled(),
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
        document(StatusCode::OK, &whole)
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
        conversation
            .reply(next.unwrap_or_else(|| Move::Say("There is nothing left to do".to_owned())))
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
