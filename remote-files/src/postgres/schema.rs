//! The tables and the function, and the statements that use them.

use tokio_postgres::types::Type;

/// How a session is set up: durability as the contract has it, whatever the server's default is; a commit's statements see what others
/// have committed before each; keys are looked up, never searched; a reader that vanishes lets go of its revision.
pub(super) const SESSION: &str = "
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');
    set default_transaction_isolation = 'read committed';
    set statement_timeout = 0;
    set lock_timeout = 0;
    set idle_in_transaction_session_timeout = '60s';
    set enable_seqscan = off;
    set enable_bitmapscan = off;
    set client_min_messages = warning;
";

/// Whether the schema is there.
pub(super) const IS_THERE: &str = "select to_regclass('larder.segments') is not null";

/// Makes what is not there. Two that do so at once wait for one another.
///
/// `make_commit` returns whether the commit was made. A row that is not there cannot be locked, so that keys are, by a number made of
/// each. Rows that must be as they were are locked themselves, too: a range that is deleted has no keys. Each statement of the
/// function sees what was committed before it, so that what is compared after waiting for a lock is what is there then.
pub(super) const MAKE: &str = r#"
begin;
select pg_advisory_xact_lock(7813267190441);
create schema if not exists larder;
create table if not exists larder.rows (key bytea primary key, value bytea not null);
create table if not exists larder.segments (key bytea primary key, bytes bytea not null);
alter table larder.segments alter column bytes set storage external;
create or replace function larder.make_commit(
    required_keys bytea[], required_values bytea[], absent_keys bytea[],
    put_keys bytea[], put_values bytea[], deleted_keys bytea[], deleted_from bytea[], deleted_to bytea[]
) returns boolean language plpgsql as $function$
declare
    number bigint;
    found_count bigint;
begin
    for number in
        select distinct hashtextextended(encode(one.key, 'hex'), 0) as hash
        from unnest(required_keys || absent_keys || put_keys || deleted_keys) as one (key) order by hash
    loop
        perform pg_advisory_xact_lock(number);
    end loop;
    select count(*) into found_count from (
        select 1 from larder.rows r
        join unnest(required_keys, required_values) as one (key, value) on r.key = one.key and r.value = one.value
        order by r.key for update of r
    ) as locked;
    if found_count <> cardinality(required_keys) then
        return false;
    end if;
    perform 1 from larder.rows where key = any (absent_keys);
    if found then
        return false;
    end if;
    delete from larder.rows where key = any (deleted_keys);
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

pub(super) const COMMIT: Text = (
    "select larder.make_commit($1, $2, $3, $4, $5, $6, $7, $8)",
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
