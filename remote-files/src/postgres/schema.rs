//! The tables and the function, and the statements that use them.

use tokio_postgres::types::Type;

/// How a session is set up: durability as the contract has it, whatever the server's default is; a commit's statements see what others
/// have committed before each; keys are looked up, never searched, and no statement is planned twice; a reader that vanishes lets go of its revision.
pub(super) const SESSION: &str = "
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');
    set default_transaction_isolation = 'read committed';
    set statement_timeout = 0;
    set lock_timeout = 0;
    set idle_in_transaction_session_timeout = '60s';
    set enable_seqscan = off;
    set enable_bitmapscan = off;
    set plan_cache_mode = force_generic_plan;
    set client_min_messages = warning;
";

/// Whether the schema is there, as this version has it: the function's name changes with its body.
pub(super) const IS_THERE: &str = "select to_regprocedure(
    'larder.make_commit_2(bytea[],bytea[],bytea[],bytea[],bytea[],bytea[],bytea[],bytea[])'
) is not null";

/// Makes what is not there. Two that do so at once wait for one another.
///
/// `make_commit_2` returns whether the commit was made. Each of its statements sees what was committed before it, so that what is compared
/// after waiting for a row's lock is what is there then. Rows are locked in the order of their keys, so that two commits seldom wait for each other (the
/// server ends one of them then, and nothing of it is done). A row that is not there cannot be locked: where one must be absent, an empty one is
/// inserted, and deleted before the function writes. Another commit that inserts it waits for the end of this one.
///
/// An earlier version's function stays: its clients may be connected.
///
/// A page keeps room for new versions of its rows, so that an index need not learn of each. Compactions write a store's content anew some twenty times, and what was deleted
/// takes room until the server has cleaned up: with its own settings it does that so slowly that a store of 1 GB had filled 46 GB.
pub(super) const MAKE: &str = r#"
begin;
select pg_advisory_xact_lock(7813267190441);
create schema if not exists larder;
create table if not exists larder.rows (key bytea primary key, value bytea not null);
create table if not exists larder.segments (key bytea primary key, bytes bytea not null);
alter table larder.rows alter column value set storage external;
alter table larder.rows set (fillfactor = 70);
alter table larder.segments alter column bytes set storage external;
alter table larder.segments set (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0
);
create or replace function larder.make_commit_2(
    required_keys bytea[], required_values bytea[], absent_keys bytea[],
    put_keys bytea[], put_values bytea[], deleted_keys bytea[], deleted_from bytea[], deleted_to bytea[]
) returns boolean language plpgsql as $function$
declare
    found_count bigint;
begin
    select count(*) filter (where is_as_required) into found_count from (
        select r.value = one.value as is_as_required from larder.rows r
        left join unnest(required_keys, required_values) as one (key, value) on r.key = one.key
        where r.key = any (required_keys || put_keys || deleted_keys)
        order by r.key for update of r
    ) as locked;
    if found_count <> cardinality(required_keys) then
        return false;
    end if;
    if cardinality(absent_keys) > 0 then
        begin
            insert into larder.rows select one.key, '' from unnest(absent_keys) as one (key) order by one.key
                on conflict (key) do nothing;
            get diagnostics found_count = row_count;
            if found_count <> cardinality(absent_keys) then
                raise exception using errcode = 'LR001', message = 'a row is there';
            end if;
        exception when sqlstate 'LR001' then
            return false;
        end;
    end if;
    delete from larder.rows where key = any (absent_keys || deleted_keys);
    for i in 1 .. cardinality(deleted_from) loop
        delete from larder.rows where key >= deleted_from[i] and key < deleted_to[i];
    end loop;
    insert into larder.rows select * from unnest(put_keys, put_values)
        on conflict (key) do update set value = excluded.value;
    return true;
end
$function$;
commit;
"#;

/// A statement and the types of its parameters.
pub(super) type Text = (&'static str, &'static [Type]);

pub(super) const GET: Text = (
    "select key, value from larder.rows where key = any ($1)",
    &[Type::BYTEA_ARRAY],
);

pub(super) const PAGE: Text = (
    "select key, value from larder.rows where key >= $1 and key < $2 order by key limit $3",
    &[Type::BYTEA, Type::BYTEA, Type::INT8],
);

/// The commit that writers make: it requires one row, replaces it, and otherwise puts rows. The row that is required is the first that is touched, and
/// what it has when its lock is there is what is compared; the others are written only if it was replaced.
pub(super) const REPLACE: Text = (
    "with fence as (
        update larder.rows set value = $3 where key = $1 and value = $2 returning 1
    ), written as (
        insert into larder.rows select one.key, one.value from fence, unnest($4, $5) as one (key, value)
        on conflict (key) do update set value = excluded.value
    ) select exists (select 1 from fence)",
    &[
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
);

/// Any other commit.
pub(super) const COMMIT: Text = (
    "select larder.make_commit_2($1, $2, $3, $4, $5, $6, $7, $8)",
    &[
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
    ],
);

/// A segment that is there has these bytes already.
pub(super) const APPEND: Text = (
    "insert into larder.segments select * from unnest($1, $2) on conflict (key) do nothing",
    &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
);

pub(super) const READ: Text = (
    "select key, bytes from larder.segments where key >= $1 and key < $2 order by key",
    &[Type::BYTEA, Type::BYTEA],
);

pub(super) const DELETE: Text = (
    "delete from larder.segments where key >= $1 and key < $2",
    &[Type::BYTEA, Type::BYTEA],
);

/// The first key of each blob: from each, one step of the index to the first key behind all offsets of its blob.
pub(super) const LIST: Text = (
    "with recursive firsts (key) as (
        (select key from larder.segments where key >= $1 and key < $2 order by key limit 1)
        union all
        select (
            select next.key from larder.segments next
            where next.key >= substring(firsts.key for length(firsts.key) - 8) || '\\xffffffffffffffff'::bytea and next.key < $2
            order by next.key limit 1
        ) from firsts where firsts.key is not null
    ) select key from firsts where key is not null limit $3",
    &[Type::BYTEA, Type::BYTEA, Type::INT8],
);
