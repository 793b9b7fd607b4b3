//! Which pages are open: each has an `alive` answer that goes on until the page is closed.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

#[derive(Clone, Copy, Default)]
struct Pages {
    /// Ever opened.
    opened: u64,
    /// Open at the moment.
    open: usize,
}

/// The pages that are open.
pub(crate) struct Presence(watch::Sender<Pages>);

/// One page, until it is dropped.
pub(crate) struct Here(watch::Sender<Pages>);

impl Presence {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::default())
    }

    pub(crate) fn enter(&self) -> Here {
        self.0.send_modify(|pages| {
            pages.opened += 1;
            pages.open += 1;
        });
        Here(self.0.clone())
    }

    /// Waits until the last page has been closed for `pause`. A page that is loaded anew closes and comes back; before the first page there is
    /// nothing to wait for the end of.
    pub(crate) async fn ended(&self, pause: Duration) {
        let mut pages = self.0.subscribe();
        loop {
            let all_closed = pages.wait_for(|pages| pages.opened > 0 && pages.open == 0);
            let Ok(opened) = all_closed.await.map(|pages| pages.opened) else {
                return;
            };
            tokio::select! {
                _ = pages.wait_for(|pages| pages.opened != opened) => (),
                () = sleep(pause) => return,
            }
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.0.send_modify(|pages| pages.open -= 1);
    }
}
