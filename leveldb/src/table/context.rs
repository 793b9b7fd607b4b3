//! What the readers of a store's tables share: order, cache, damage.

use super::DamageLog;
use crate::cache::BlockCache;
use crate::internal_key::InternalOrder;
use crate::on_damage::OnDamage;

/// The part of a store that reading a table needs. Which tables are open is not part of it.
#[derive(Debug)]
pub(crate) struct TableContext {
    pub(crate) order: InternalOrder,
    pub(crate) on_damage: OnDamage,
    pub(crate) cache: BlockCache,
    pub(crate) damage: DamageLog,
}

impl TableContext {
    /// With no damage yet.
    pub(crate) fn new(
        order: InternalOrder,
        on_damage: OnDamage,
        cache: BlockCache,
    ) -> TableContext {
        TableContext {
            order,
            on_damage,
            cache,
            damage: DamageLog::default(),
        }
    }
}
