//! The connections of a client, each with its statements.

use super::{errors, schema};
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Socket, Statement};

type Connected = Pin<Box<dyn Future<Output = Result<(Client, Task)>> + Send>>;

/// The task of a connection, which ends with it: also when setting the connection up was given up.
#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    /// Nothing more is sent: whether the connection is whole is not clear.
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Opens connections.
pub(super) struct Connector {
    place: String,
    connect: Box<dyn Fn() -> Connected + Send + Sync>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl Connector {
    pub(super) fn new<T>(config: &Config, tls: T) -> Connector
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let mut config = config.clone();
        if config.get_application_name().is_none() {
            config.application_name("larder");
        }
        // Of several hosts, the one that takes writes: a standby would answer with what was.
        config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        let place = super::url::place(&config);
        let connect = move || -> Connected {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move {
                let connected = config.connect(tls).await;
                let (client, connection) = connected.map_err(|error| errors::of(&error))?;
                let task = tokio::spawn(async move {
                    // What breaks a connection is reported by the request that waits at it.
                    connection.await.ok();
                });
                Ok((client, Task(task.abort_handle())))
            })
        };
        Connector {
            place,
            connect: Box::new(connect),
        }
    }
}

/// A connection that is good as far as can be seen.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    _task: Task,
    pub(super) statements: Statements,
}

/// Statements that the server has planned.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) get: Statement,
    pub(super) page: Statement,
    pub(super) commit: Statement,
    pub(super) replace: Statement,
    pub(super) append: Statement,
    pub(super) read: Statement,
    pub(super) delete: Statement,
    pub(super) list: Statement,
}

/// The connections.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Connector,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(connector: Connector, connections_max: usize) -> Pool {
        Pool {
            connector,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(connections_max.max(1))),
        }
    }

    /// An idle connection, or a new one.
    pub(super) async fn lease(self: &Arc<Pool>) -> Result<Lease> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit =
            permit.map_err(|_| Error::new(ErrorKind::Unavailable, "the client is closed"))?;
        let connection = loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            match idle {
                Some(connection) if connection.client.is_closed() => drop(connection),
                Some(connection) => break connection,
                None => break self.open().await?,
            }
        };
        Ok(Lease {
            connection,
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    async fn open(&self) -> Result<Connection> {
        let opened = async {
            let (client, task) = (self.connector.connect)().await?;
            let statements = set_up(&client).await;
            Ok(Connection {
                statements: statements.map_err(|error| errors::of(&error))?,
                client,
                _task: task,
            })
        };
        opened
            .await
            .map_err(|error: Error| error.context(&self.connector.place))
    }
}

async fn set_up(client: &Client) -> Result<Statements, tokio_postgres::Error> {
    client.batch_execute(schema::SESSION).await?;
    let is_there = client.query_one_scalar::<bool, _>(schema::IS_THERE, &[]);
    if !is_there.await? {
        client.batch_execute(schema::MAKE).await?;
    }
    let prepare = |(text, types): schema::Text| client.prepare_typed(text, types);
    Ok(Statements {
        get: prepare(schema::GET).await?,
        page: prepare(schema::PAGE).await?,
        commit: prepare(schema::COMMIT).await?,
        replace: prepare(schema::REPLACE).await?,
        append: prepare(schema::APPEND).await?,
        read: prepare(schema::READ).await?,
        delete: prepare(schema::DELETE).await?,
        list: prepare(schema::LIST).await?,
    })
}

/// A connection in use. Dropped, it is closed.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Connection,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl std::ops::Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Lease {
    /// The connection can be used again.
    pub(super) fn give_back(self) {
        let Lease {
            connection, pool, ..
        } = self;
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(connection);
    }
}
