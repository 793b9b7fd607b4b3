//! The server: a port of the loopback, its connections, its end.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::connections::{Connections, Place};
use crate::gate;
use crate::limits::Limits;
use crate::presence::Presence;
use crate::routes::Routes;
use crate::secret::Secret;
use crate::source::Source;
use crate::stream::Patient;
use crate::tickets::{Clock, Tickets};

/// The head of a request has at most so many bytes. Browsers send what other servers at 127.0.0.1 have left with them (cookies have no port).
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// The stack of a thread that answers, as much as a command's own: values in a store may lie deep in one another.
const STACK_BYTES: usize = 8 << 20;
/// After a connection could not be taken, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// What a server is asked to be.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port; 0: one that is free.
    pub port: u16,
    /// Whether the server ends a few seconds after the last page has been closed.
    pub until_closed: bool,
}

/// A server for the page, at 127.0.0.1 and nowhere else.
pub struct Server {
    listener: TcpListener,
    routes: Routes,
    until_closed: bool,
    stop: watch::Sender<bool>,
}

/// Ends a [`Server`] from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Server {
    /// Takes the port. Clients wait from now on, and are answered by [`run`](Self::run).
    ///
    /// # Errors
    /// If the port is taken, or the system gives no random bits.
    pub fn bind(options: Options, source: Arc<dyn Source>) -> io::Result<Self> {
        let start = Instant::now();
        let clock: Clock = Arc::new(move || start.elapsed());
        Self::bind_within(options, Limits::default(), clock, source)
    }

    /// [`bind`](Self::bind) with other limits, and another clock for tickets: for tests, which wait for neither.
    ///
    /// # Errors
    /// As `bind`.
    pub fn bind_within(
        options: Options,
        limits: Limits,
        clock: Clock,
        source: Arc<dyn Source>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let routes = Routes {
            source,
            authority: gate::authority(listener.local_addr()?.port()),
            token: Secret::new()?,
            tickets: Tickets::new(Arc::clone(&clock), limits.ticket),
            entries: Tickets::new(clock, limits.ticket),
            presence: Presence::new(),
            threads: Arc::new(Semaphore::new(limits.questions)),
            limits,
        };
        Ok(Self {
            listener,
            routes,
            until_closed: options.until_closed,
            stop: watch::Sender::new(false),
        })
    }

    /// Where the page is: `http://127.0.0.1:PORT/#TOKEN`. It is as secret as what is in the stores.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "http://{}/#{}",
            self.routes.authority,
            self.routes.token.digits()
        )
    }

    /// An address that opens the page once, within a minute: for a browser's command line, which other users of the machine can read.
    ///
    /// # Errors
    /// If the system gives no random bits, or 64 such addresses wait to be opened.
    pub fn url_for_once(&self) -> io::Result<String> {
        let entry = self.routes.entries.give(())?;
        let many = || io::Error::other("too many addresses wait to be opened");
        let authority = &self.routes.authority;
        Ok(format!(
            "http://{authority}/#once={}",
            entry.ok_or_else(many)?
        ))
    }

    /// What ends the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until the server is stopped. Every connection is closed then; a thread on which the source does not write to its answer for
    /// [`Limits::ending`] is left behind.
    ///
    /// # Errors
    /// If the system gives no means to wait for connections.
    pub fn run(self) -> io::Result<()> {
        let mut runtime = runtime::Builder::new_current_thread();
        let runtime = runtime
            .enable_all()
            .max_blocking_threads(self.routes.limits.questions)
            .thread_stack_size(STACK_BYTES)
            .build()?;
        let ending = self.routes.limits.ending;
        let ended = runtime.block_on(self.serve());
        runtime.shutdown_timeout(ending);
        ended
    }

    async fn serve(self) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let routes = Arc::new(self.routes);
        let mut stopped = self.stop.subscribe();
        let page_closed = async {
            match self.until_closed {
                true => routes.presence.ended(routes.limits.closed).await,
                false => std::future::pending().await,
            }
        };
        let mut all = JoinSet::new();
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => (),
            () = page_closed => (),
            () = accept(&listener, &routes, &mut all) => (),
        }
        all.shutdown().await;
        Ok(())
    }
}

async fn accept(listener: &tokio::net::TcpListener, routes: &Arc<Routes>, all: &mut JoinSet<()>) {
    let limits = &routes.limits;
    let connections = Connections::new(limits.connections, limits.grace);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let place = connections.admit().await;
        while all.try_join_next().is_some() {}
        all.spawn(connection(stream, Arc::clone(routes), place));
    }
}

/// One connection, to its end.
async fn connection(stream: TcpStream, routes: Arc<Routes>, place: Place) {
    // Lines come one at a time, and are not to wait for each other.
    let _ = stream.set_nodelay(true);
    let connection = &place.connection;
    let stream = Patient::new(stream, Arc::clone(connection), routes.limits.unread);
    let service = service_fn(|request| {
        let routes = &routes;
        async move { Ok::<_, Infallible>(routes.respond(request, connection).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new());
    server.header_read_timeout(routes.limits.head);
    server.max_headers(HEADERS_MAX);
    server.max_buf_size(HEAD_BYTES_MAX);
    tokio::select! {
        // What a connection fails by is its client's affair.
        _ = server.serve_connection(TokioIo::new(stream), service) => (),
        () = connection.given_up() => (),
    }
}

impl Stopper {
    /// Ends the server, or has it end as soon as it runs. Every answer that is on its way is broken off.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl fmt::Debug for Server {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("authority", &self.routes.authority)
            .finish_non_exhaustive()
    }
}
