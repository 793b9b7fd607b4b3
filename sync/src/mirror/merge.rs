//! Heads of a page that mirrors have made become one, alike on every device.

use std::collections::BTreeSet;
use std::sync::Arc;

use larder_pages::{
    Conflict as HeadsInConflict, ConflictResolver, Entry, MergePolicy, MergedValue, Page, Priority,
    Snapshot, ThreeWayDiff,
};

use super::conflict::{self, NewValue, PRIORITY};
use super::entry_key::{CONFLICT, LONG_RECORD, RECORD, SCHEMA};
use super::error::{Error, Result};
use super::mirror::Mirror;
use super::options::MergeBy;
use super::property::joined;
use super::schema::Schema;

/// So many differences are looked at together.
const PART_LEN: usize = 256;

/// What merging has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// So many merge commits were made.
    pub merged: u64,
    /// So many conflicts were listed in them.
    pub conflicts: u64,
    /// Whether there is one head now. If not, something must be fetched first.
    pub is_one: bool,
}

impl Mirror {
    /// Merges the page's heads until there is one. The database is not asked.
    ///
    /// A record that one side has changed is taken from it. Where both have changed one, and not alike, the later head's is kept, or
    /// a joint one ([`MergeBy::Property`]); what is not kept is listed ([`conflicts`](Self::conflicts)). If one side has changed a record and the
    /// other removed it, the change is kept and the removal listed, as far as what was removed is in the commit that both come from. The schema is that of the higher version.
    ///
    /// The result depends on the heads and the options alone, so devices come to the same commit.
    ///
    /// # Errors
    /// [`Error::SchemaDiffers`] if two heads have different schemas of one version: then nothing is merged; if the page fails.
    pub fn merge(&self) -> Result<Merged> {
        let mut known: Vec<Schema> = Vec::new();
        for head in self.page.heads() {
            let schema = Schema::of_commit(&self.page, &head)?;
            known
                .iter()
                .try_for_each(|other| schema.check_alike(other))?;
            known.push(schema);
        }
        let mut resolver = Resolver {
            page: &self.page,
            merge_by: self.options.merge_by,
            conflicts: 0,
            listed: BTreeSet::new(),
            failed: None,
        };
        let outcome = self.page.merge(&mut MergePolicy::Custom(&mut resolver));
        if let Some(error) = resolver.failed {
            return Err(error);
        }
        let (outcome, conflicts) = (outcome?, resolver.conflicts);
        Ok(Merged {
            merged: outcome.merged,
            conflicts,
            is_one: outcome.is_one,
        })
    }
}

struct Resolver<'a> {
    page: &'a Page,
    merge_by: MergeBy,
    conflicts: u64,
    /// Keys of conflicts that were listed in this merge.
    listed: BTreeSet<Vec<u8>>,
    /// An error of the mirror's, which pages have no kind for.
    failed: Option<Error>,
}

impl ConflictResolver for Resolver<'_> {
    fn resolve(&mut self, heads: &mut HeadsInConflict<'_>) -> larder_pages::Result<bool> {
        match self.decide(heads) {
            Ok(()) => Ok(true),
            Err(Error::Page(error)) => Err(error),
            Err(error) => {
                let what = error.to_string();
                self.failed = Some(error);
                Err(larder_pages::Error::new(
                    larder_pages::ErrorKind::Usage,
                    what,
                ))
            }
        }
    }
}

/// What an entry becomes. What is not decided on stays as it is on the left.
enum Decision {
    Right,
    New(Vec<u8>),
}

impl Resolver<'_> {
    fn decide(&mut self, heads: &mut HeadsInConflict<'_>) -> Result<()> {
        let left = Schema::of_commit(self.page, heads.left())?;
        let right = Schema::of_commit(self.page, heads.right())?;
        left.check_alike(&right)?;
        self.listed.clear();
        let is_schema_right = right.version > left.version;
        let snapshot = Arc::new(self.page.snapshot(heads.left(), b""));
        let mut from = Some(Vec::new());
        while let Some(start) = from {
            let part = heads.full_diff(&start, PART_LEN)?;
            for diff in part.entries {
                self.decide_on(heads, &snapshot, &diff, is_schema_right)?;
            }
            from = part.next;
        }
        Ok(())
    }

    fn decide_on(
        &mut self,
        heads: &mut HeadsInConflict<'_>,
        snapshot: &Arc<Snapshot>,
        diff: &ThreeWayDiff,
        is_schema_right: bool,
    ) -> Result<()> {
        let kind = diff.key.first().copied();
        let decision = match kind {
            Some(SCHEMA) => is_schema_right.then_some(Decision::Right),
            Some(CONFLICT) if self.listed.contains(&diff.key) => None,
            _ if diff.right == diff.base || diff.left == diff.right => None,
            _ if diff.left == diff.base => Some(Decision::Right),
            // One that was settled on one side only has come back for a reason.
            Some(CONFLICT) => diff.left.is_none().then_some(Decision::Right),
            Some(RECORD | LONG_RECORD) => self.decide_on_record(heads, snapshot, diff)?,
            _ => None,
        };
        match decision {
            None => {}
            Some(Decision::Right) => heads.take_right(diff),
            Some(Decision::New(value)) => {
                heads.merge(&diff.key, MergedValue::New(&value, Priority::Eager))?;
            }
        }
        Ok(())
    }

    /// A record that both sides have changed, and not alike.
    fn decide_on_record(
        &mut self,
        heads: &mut HeadsInConflict<'_>,
        snapshot: &Arc<Snapshot>,
        diff: &ThreeWayDiff,
    ) -> Result<Option<Decision>> {
        if let (MergeBy::Property, Some(base), Some(left), Some(right)) =
            (self.merge_by, &diff.base, &diff.left, &diff.right)
            && let Some(joint) = joined(self.page, snapshot, &diff.key, [base, left, right])?
        {
            if joint.is_lossy {
                self.list(heads, diff, false, Some(right))?;
            }
            return Ok(Some(Decision::New(joint.value)));
        }
        match (&diff.left, &diff.right) {
            (None, _) => {
                self.list(heads, diff, true, None)?;
                Ok(Some(Decision::Right))
            }
            (Some(_), lost) => {
                self.list(heads, diff, false, lost.as_ref())?;
                Ok(None)
            }
        }
    }

    fn list(
        &mut self,
        heads: &mut HeadsInConflict<'_>,
        diff: &ThreeWayDiff,
        is_right_kept: bool,
        lost: Option<&Entry>,
    ) -> Result<()> {
        let met = match is_right_kept {
            true => [heads.right(), heads.left()],
            false => [heads.left(), heads.right()],
        };
        let kept = match is_right_kept {
            true => diff.right.as_ref(),
            false => diff.left.as_ref(),
        };
        let (key, value) = conflict::entry_of(self.page, met, &diff.key, kept, lost)?;
        let value = match &value {
            NewValue::Bytes(bytes) => MergedValue::New(bytes, PRIORITY),
            NewValue::Reference(reference) => MergedValue::Reference(reference, PRIORITY),
        };
        heads.merge(&key, value)?;
        self.listed.insert(key);
        self.conflicts += 1;
        Ok(())
    }
}
