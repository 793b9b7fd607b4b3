//! What is at which path.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::answering::{self, Beginning};
use crate::connections::{Busy, Connection};
use crate::content::{Content, Kind};
use crate::gate::{self, QUESTION_BYTES_MAX};
use crate::limits::Limits;
use crate::page;
use crate::presence::Presence;
use crate::response::{self, Denial};
use crate::secret::Secret;
use crate::source::{Form, Source};
use crate::tickets::Tickets;

/// A body that is no longer comes with its head, nearly always, and need not be waited for.
const SHORT_BYTES: u64 = 4 << 10;

/// What all connections have in common.
pub(crate) struct Routes {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) authority: String,
    pub(crate) token: Secret,
    /// What has been asked for to be downloaded.
    pub(crate) tickets: Tickets<Vec<u8>>,
    /// Addresses that are good once.
    pub(crate) entries: Tickets<()>,
    pub(crate) presence: Presence,
    /// A permit for each thread.
    pub(crate) threads: Arc<Semaphore>,
    pub(crate) limits: Limits,
}

impl Routes {
    pub(crate) async fn respond(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
    ) -> Response<Content> {
        let length = request.body().size_hint().upper();
        let has_long_body = length.is_none_or(|length| length > SHORT_BYTES);
        let responded = self.route(request, connection).await;
        responded.unwrap_or_else(|denial| {
            if has_long_body {
                connection.leave_unread();
            }
            denial.response(connection.busy())
        })
    }

    async fn route(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
    ) -> Result<Response<Content>, Denial> {
        let busy = connection.busy();
        gate::check_sender(&request, &self.authority)?;
        if request.uri().query().is_some() {
            return Err(Denial::not_found());
        }
        let path = request.uri().path().to_owned();
        if let Some(question) = path.strip_prefix("/api/") {
            if request.method() != Method::POST {
                return Err(Denial::method("POST"));
            }
            if question == "enter" {
                return self.enter(&request, connection);
            }
            gate::check_question(&request, |shown| self.token.is(shown))?;
            connection.authorise();
            let asked = self.read(request.into_body()).await?;
            return self.question(question, asked, busy).await;
        }
        if let Some(ticket) = path.strip_prefix("/download/") {
            if request.method() != Method::GET {
                return Err(Denial::method("GET"));
            }
            let gone = "this download has begun already, or was not begun in time";
            let asked = self.tickets.take(ticket.as_bytes());
            let asked = asked.ok_or_else(|| Denial::new(StatusCode::NOT_FOUND, gone))?;
            connection.authorise();
            return self.ask("download", asked, busy).await;
        }
        let file = page::file(&path).ok_or_else(Denial::not_found)?;
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Denial::method("GET, HEAD"));
        }
        let body = Kind::Whole(file.bytes.into());
        Ok(response::response(
            StatusCode::OK,
            file.media_type,
            body,
            busy,
        ))
    }

    /// The token, for the secret of an address that is good once. The body is not read.
    fn enter(
        &self,
        request: &Request<Incoming>,
        connection: &Arc<Connection>,
    ) -> Result<Response<Content>, Denial> {
        gate::check_question(request, |shown| self.entries.take(shown).is_some())?;
        connection.authorise();
        let token = self.token.digits();
        Ok(own_answer(&json!({ "token": token }), connection.busy()))
    }

    /// A question's body.
    async fn read(&self, mut body: Incoming) -> Result<Vec<u8>, Denial> {
        let whole = async {
            let mut read = Vec::new();
            while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                let Ok(frame) = frame else {
                    return Err(Denial::new(
                        StatusCode::BAD_REQUEST,
                        "the question ends early",
                    ));
                };
                let Ok(bytes) = frame.into_data() else {
                    continue;
                };
                if read.len() + bytes.len() > QUESTION_BYTES_MAX {
                    return Err(gate::too_long());
                }
                read.extend_from_slice(&bytes);
            }
            Ok(read)
        };
        let late = |_| Denial::new(StatusCode::REQUEST_TIMEOUT, "the question does not come");
        timeout(self.limits.body, whole).await.map_err(late)?
    }

    async fn question(
        &self,
        question: &str,
        asked: Vec<u8>,
        busy: Busy,
    ) -> Result<Response<Content>, Denial> {
        match question {
            "alive" => Ok(self.alive(busy)),
            "ticket" => self.ticket(&asked, busy),
            // By a ticket alone.
            "download" => Err(Denial::not_found()),
            _ if is_name(question) => self.ask(question, asked, busy).await,
            _ => Err(Denial::not_found()),
        }
    }

    fn alive(&self, busy: Busy) -> Response<Content> {
        let mut interval = interval(self.limits.heartbeat);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let body = Kind::Alive {
            interval,
            _page: self.presence.enter(),
        };
        response::answer(&Form::Lines, body, busy)
    }

    fn ticket(&self, asked: &[u8], busy: Busy) -> Result<Response<Content>, Denial> {
        let asked = serde_json::from_slice::<Value>(asked).ok();
        let download = asked.as_ref().and_then(|asked| asked.get("download"));
        let Some(download) = download.filter(|download| download.is_object()) else {
            return Err(Denial::new(
                StatusCode::BAD_REQUEST,
                "no `download` to give a ticket for",
            ));
        };
        let failed =
            |error: io::Error| Denial::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
        let ticket = self
            .tickets
            .give(download.to_string().into())
            .map_err(failed)?;
        let many = || {
            Denial::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many downloads wait to be begun",
            )
        };
        let ticket = ticket.ok_or_else(many)?;
        let url = format!("/download/{ticket}");
        Ok(own_answer(&json!({ "url": url }), busy))
    }

    /// What the source answers, on a thread of its own.
    async fn ask(
        &self,
        question: &str,
        asked: Vec<u8>,
        busy: Busy,
    ) -> Result<Response<Content>, Denial> {
        let ended = || Denial::new(StatusCode::SERVICE_UNAVAILABLE, "the server ends");
        let permit = Arc::clone(&self.threads).acquire_owned().await;
        let permit = permit.map_err(|_| ended())?;
        let (outgoing, incoming) = answering::channel();
        let (source, question) = (Arc::clone(&self.source), question.to_owned());
        spawn_blocking(move || {
            outgoing.answer(&*source, &question, &asked);
            drop(permit);
        });
        match incoming.beginning.await.map_err(|_| ended())? {
            Beginning::Refused(refusal) => Err(refusal.into()),
            Beginning::Whole(form, bytes) => Ok(response::answer(&form, Kind::Whole(bytes), busy)),
            Beginning::Pieces(form) => {
                let body = Kind::Pieces {
                    pieces: incoming.pieces,
                    left: answering::size(&form),
                };
                Ok(response::answer(&form, body, busy))
            }
        }
    }
}

/// An answer of the server's own.
fn own_answer(answer: &Value, busy: Busy) -> Response<Content> {
    let body = Kind::Whole(answer.to_string().into());
    response::answer(&Form::Json, body, busy)
}

/// Whether a question may be called so. Names that no source has are not even asked for.
fn is_name(question: &str) -> bool {
    let letters = question.bytes().all(|byte| byte.is_ascii_alphabetic());
    letters && (1..=32).contains(&question.len())
}
