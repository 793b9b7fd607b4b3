/* IndexedDB for hosts in C and C++, on Chromium's own store. How to build, link and use it, and the rules of threads and of
 * callbacks, stand in c/README.md. Made by cbindgen of the crate larder-c: do not edit it.
 *
 * For every function: a handle that it gives belongs to the host, which frees it, unless its description says that it is lent. Handles
 * that it takes are only looked at while it runs. A null handle is an error, never undefined behaviour, and is passed over by those
 * that free. A function with an `error` writes a new error there when it fails, which the host frees; null is fine. What fails has done
 * nothing. No function throws, and none ends the process but for want of memory. */

#ifndef LARDER_H
#define LARDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The name of an exception: those of `DOMException` that IndexedDB uses, and `TypeError`.
 */
enum larder_exception
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The transaction was aborted.
   */
  LARDER_EXCEPTION_ABORT = 1,
  /**
   * A key is there already, or a unique index has it for another record, or the key generator is used up.
   */
  LARDER_EXCEPTION_CONSTRAINT = 2,
  /**
   * Not a key, not a range, or a key that is not asked for here.
   */
  LARDER_EXCEPTION_DATA = 3,
  /**
   * The value has no form that can be stored, or its bytes are not those of a value.
   */
  LARDER_EXCEPTION_DATA_CLONE = 4,
  /**
   * Not possible with these parameters.
   */
  LARDER_EXCEPTION_INVALID_ACCESS = 5,
  /**
   * Not possible in this state.
   */
  LARDER_EXCEPTION_INVALID_STATE = 6,
  /**
   * No object store or index of that name.
   */
  LARDER_EXCEPTION_NOT_FOUND = 7,
  /**
   * The content of a blob or file cannot be read.
   */
  LARDER_EXCEPTION_NOT_READABLE = 8,
  /**
   * The disk is full, or the origin's quota has no room.
   */
  LARDER_EXCEPTION_QUOTA_EXCEEDED = 9,
  /**
   * The transaction, or the storage, only reads.
   */
  LARDER_EXCEPTION_READ_ONLY = 10,
  /**
   * Not for this origin: an opaque one has no storage.
   */
  LARDER_EXCEPTION_SECURITY = 11,
  /**
   * Not a key path.
   */
  LARDER_EXCEPTION_SYNTAX = 12,
  /**
   * The transaction takes no requests any more.
   */
  LARDER_EXCEPTION_TRANSACTION_INACTIVE = 13,
  /**
   * An argument of no meaning, such as a null pointer where there must be something.
   */
  LARDER_EXCEPTION_TYPE = 14,
  /**
   * What lies below failed: see the kind and the message.
   */
  LARDER_EXCEPTION_UNKNOWN = 15,
  /**
   * The database has a greater version.
   */
  LARDER_EXCEPTION_VERSION = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_exception larder_exception;
#else
typedef uint32_t larder_exception;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What the host can do about an error.
 */
enum larder_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Bytes on disk are not what they must be. Everything that does not depend on them is still readable.
   */
  LARDER_KIND_CORRUPTION = 1,
  /**
   * The operating system refused.
   */
  LARDER_KIND_IO = 2,
  /**
   * The call itself was wrong.
   */
  LARDER_KIND_USAGE = 3,
  /**
   * The store is of an age that this version does not read.
   */
  LARDER_KIND_UNSUPPORTED = 4,
  /**
   * There is no store here.
   */
  LARDER_KIND_NOT_A_STORE = 5,
  /**
   * A rule of the database, such as a unique index. Nothing was written; the transaction goes on.
   */
  LARDER_KIND_CONSTRAINT = 6,
  /**
   * Another program has the store, or another transaction the object store.
   */
  LARDER_KIND_CONFLICT = 7,
  /**
   * The store takes no writes any more: an earlier one failed. Opening it again shows what is there.
   */
  LARDER_KIND_CLOSED = 8,
  /**
   * A commit failed and could not be taken back: opening the store again shows whether it is there.
   */
  LARDER_KIND_UNCERTAIN = 9,
  /**
   * A defect of this library, which has panicked. What the call was about may be half done; the process goes on.
   */
  LARDER_KIND_INTERNAL = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_kind larder_kind;
#else
typedef uint32_t larder_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Where a transaction stands.
 */
enum larder_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It takes requests.
   */
  LARDER_STATE_ACTIVE = 0,
  /**
   * It commits once what was asked for is done.
   */
  LARDER_STATE_COMMITTING = 1,
  /**
   * It was aborted, and is being rolled back.
   */
  LARDER_STATE_ABORTING = 2,
  /**
   * It was committed or rolled back.
   */
  LARDER_STATE_FINISHED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_state larder_state;
#else
typedef uint32_t larder_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a transaction may do.
 */
enum larder_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Read.
   */
  LARDER_MODE_READ_ONLY = 0,
  /**
   * Read and write records.
   */
  LARDER_MODE_READ_WRITE = 1,
  /**
   * All that, and change object stores and indexes: only that of an upgrade.
   */
  LARDER_MODE_VERSION_CHANGE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_mode larder_mode;
#else
typedef uint32_t larder_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a key is. Keys of a type that comes later are greater.
 */
enum larder_key_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * No key: the type of a null pointer.
   */
  LARDER_KEY_KIND_NONE = 0,
  /**
   * A number.
   */
  LARDER_KEY_KIND_NUMBER = 1,
  /**
   * A date: milliseconds since 1970 UTC.
   */
  LARDER_KEY_KIND_DATE = 2,
  /**
   * A string.
   */
  LARDER_KEY_KIND_STRING = 3,
  /**
   * Bytes.
   */
  LARDER_KEY_KIND_BINARY = 4,
  /**
   * An array of keys.
   */
  LARDER_KEY_KIND_ARRAY = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_key_kind larder_key_kind;
#else
typedef uint32_t larder_key_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What has happened to something that was stored.
 */
enum larder_loss_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing: that of a null pointer.
   */
  LARDER_LOSS_KIND_NONE = 0,
  /**
   * A crash, mostly a power cut, has taken the end of a file. What was committed as strict is there; other transactions that were committed
   * shortly before may be missing.
   */
  LARDER_LOSS_KIND_TORN_TAIL = 1,
  /**
   * The store is damaged and cannot be opened. `larder_factory_repair` brings back what is whole.
   */
  LARDER_LOSS_KIND_UNOPENABLE = 2,
  /**
   * A part of the store cannot be read, and the request that asked for it has failed. Everything else can be read.
   */
  LARDER_LOSS_KIND_UNREADABLE = 3,
  /**
   * Something else, of a later version.
   */
  LARDER_LOSS_KIND_OTHER = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_loss_kind larder_loss_kind;
#else
typedef uint32_t larder_loss_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Where a cursor goes.
 */
enum larder_direction
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Ascending.
   */
  LARDER_DIRECTION_NEXT = 0,
  /**
   * Ascending, one entry of each key.
   */
  LARDER_DIRECTION_NEXT_UNIQUE = 1,
  /**
   * Descending.
   */
  LARDER_DIRECTION_PREV = 2,
  /**
   * Descending, one entry of each key.
   */
  LARDER_DIRECTION_PREV_UNIQUE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_direction larder_direction;
#else
typedef uint32_t larder_direction;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * When a transaction counts as committed.
 */
enum larder_durability
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Chromium's default: relaxed.
   */
  LARDER_DURABILITY_DEFAULT = 0,
  /**
   * When the operating system has it: it survives the end of the process.
   */
  LARDER_DURABILITY_RELAXED = 1,
  /**
   * When it was synced: it survives the end of the machine.
   */
  LARDER_DURABILITY_STRICT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_durability larder_durability;
#else
typedef uint32_t larder_durability;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * When a store's data version may be raised for a value that has no form in it.
 */
enum larder_raise_data_version
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Never: such a value is refused.
   */
  LARDER_RAISE_DATA_VERSION_NEVER = 0,
  /**
   * As long as a store that was made here has not been closed: no other program has opened it yet.
   */
  LARDER_RAISE_DATA_VERSION_WHILE_NEW = 1,
  /**
   * Whenever a value needs it.
   */
  LARDER_RAISE_DATA_VERSION_WHEN_NEEDED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum larder_raise_data_version larder_raise_data_version;
#else
typedef uint32_t larder_raise_data_version;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A blob, a file, or a handle of a page's file system. The host owns it. Its content can be read as long as it is there.
 */
typedef struct larder_blob larder_blob;

/**
 * A connection to a database. The host owns it; freeing it closes it.
 */
typedef struct larder_connection larder_connection;

/**
 * A cursor at an entry, in a transaction, which it keeps from ending. The host owns it.
 *
 * It stays where it is, and can be read at any time. A move is a request that comes to another cursor, at the entry that was reached;
 * after that, this one moves, updates and deletes no more (`LARDER_EXCEPTION_INVALID_STATE`).
 */
typedef struct larder_cursor larder_cursor;

/**
 * The databases of an origin. The host owns the list.
 */
typedef struct larder_databases larder_databases;

/**
 * Why something failed. Freed with `larder_error_free`, unless it is lent.
 */
typedef struct larder_error larder_error;

/**
 * The databases of one origin: of its default bucket, of another one, or in a private session. The host owns it.
 */
typedef struct larder_factory larder_factory;

/**
 * A value of another engine in the making: its bytes, and the keys that it has in each index. The host owns it.
 */
typedef struct larder_foreign larder_foreign;

/**
 * Keys that a host finds in a value for a new index. Lent to the callback.
 */
typedef struct larder_found_keys larder_found_keys;

/**
 * An index, in a transaction, which it keeps from ending. The host owns it.
 *
 * Functions that make a request fail at once with `LARDER_EXCEPTION_INVALID_STATE` if the index or its object store has been deleted, and
 * with `LARDER_EXCEPTION_TRANSACTION_INACTIVE` if the transaction is committing or has ended.
 */
typedef struct larder_index larder_index;

/**
 * A key. The host owns it.
 */
typedef struct larder_key larder_key;

/**
 * A range of keys. The host owns it; it has copies of its keys.
 */
typedef struct larder_key_range larder_key_range;

/**
 * Something that an origin had stored is damaged, or was lost. Lent to the callback.
 */
typedef struct larder_loss larder_loss;

/**
 * A list of texts, owned by the host.
 */
typedef struct larder_names larder_names;

/**
 * An object store, in a transaction, which it keeps from ending. The host owns it.
 *
 * Functions that make a request fail at once with `LARDER_EXCEPTION_INVALID_STATE` if the object store has been deleted,
 * `LARDER_EXCEPTION_TRANSACTION_INACTIVE` if the transaction is committing or has ended, and, if they write, `LARDER_EXCEPTION_READ_ONLY`.
 */
typedef struct larder_object_store larder_object_store;

/**
 * How a storage is set up. The host owns it, and frees it when the storage is there.
 */
typedef struct larder_options larder_options;

/**
 * Origins and buckets that store something, or that were deleted. The host owns the list.
 */
typedef struct larder_origins larder_origins;

/**
 * A session whose stores lie in memory, beside those on disk: private browsing. The host owns it.
 */
typedef struct larder_private_session larder_private_session;

/**
 * Records or index entries in their order. The host owns them.
 */
typedef struct larder_records larder_records;

/**
 * A request of the host's, and its result or error once it is done. The host owns it and frees it, at any time: before
 * it is done that changes nothing but that its callback is not called any more; an unfinished request to open a
 * database is given up.
 *
 * An error that reached the host, by a callback or by waiting, counts as handled, and the transaction goes on. An
 * error that has not reached the host when the transaction commits aborts it.
 *
 * It keeps the transaction that it was made in from being aborted for want of handles.
 */
typedef struct larder_request larder_request;

/**
 * The databases of all origins. The host owns it.
 */
typedef struct larder_storage larder_storage;

/**
 * A text, owned by the host, in UTF-16 and in UTF-8.
 */
typedef struct larder_text larder_text;

/**
 * A transaction. The host owns it. It does not commit by itself: when it, its object stores, indexes, cursors and
 * requests are all freed and no commit was requested, it is aborted.
 */
typedef struct larder_transaction larder_transaction;

/**
 * A value that is to be put, or was read. The host owns it. It does not change; a value that was read can be put again.
 */
typedef struct larder_value larder_value;

/**
 * A value in the making. Call what stands for the next part: between a `begin` and its `larder_builder_end`, of objects names
 * and values in turn, of maps keys and values in turn, of arrays and sets their elements. The host owns it.
 */
typedef struct larder_builder larder_builder;

/**
 * Text that a function reads while it runs: UTF-16 units or UTF-8 bytes. Made by `larder_utf8`, `larder_utf8_n`, `larder_utf16` or
 * `larder_null`, or by hand.
 */
typedef struct larder_str {
  /**
   * The UTF-16 units, lone surrogates among them as they like; null if the text is in UTF-8.
   */
  const uint16_t *utf16;
  /**
   * The UTF-8 bytes, which need no zero byte behind them; not looked at if `utf16` is not null.
   */
  const char *utf8;
  /**
   * How many units or bytes there are.
   */
  size_t len;
} larder_str;

/**
 * Says that there is something for `larder_storage_run` to do. Called on any thread, also in the middle of a call of the host's: it
 * passes the word on to the host's loop, calls nothing of this library, and waits for no lock that is held around such calls.
 */
typedef void (*larder_wake_callback)(void *user_data);

/**
 * A transaction would pass its origin's quota. The answer is the origin's quota in bytes from now on; if it is not greater than
 * `limit_bytes`, the transaction ends with `LARDER_EXCEPTION_QUOTA_EXCEEDED`. Called on the thread that commits, which is one of the
 * storage's if it has threads; it calls nothing of this library.
 */
typedef uint64_t (*larder_quota_callback)(void *user_data,
                                          uint64_t usage_bytes,
                                          uint64_t needed_bytes,
                                          uint64_t limit_bytes);

/**
 * Something that an origin had stored is damaged, or was lost; `loss` is lent. Each loss is reported once as long as
 * its store is open. The requests that meet it fail in any case.
 */
typedef void (*larder_loss_callback)(void *user_data, const struct larder_loss *loss);

/**
 * One of a list of origins.
 */
typedef struct larder_origin_info {
  /**
   * The bucket's number; 0 if it is the origin's default one in its own site.
   */
  uint64_t bucket;
  /**
   * The bytes of its files.
   */
  uint64_t usage_bytes;
  /**
   * When it was last used: microseconds since 1601-01-01 UTC.
   */
  int64_t last_used_micros;
  /**
   * When something was last committed, likewise.
   */
  int64_t last_modified_micros;
  /**
   * Whether it is to stay when room is wanted.
   */
  bool is_persisted;
  /**
   * Whether there are connections, or requests under way.
   */
  bool is_in_use;
} larder_origin_info;

/**
 * A request is done.
 */
typedef void (*larder_request_callback)(void *user_data, struct larder_request *request);

/**
 * Bytes that are read while a function runs, or that lie in a handle as long as that is there.
 */
typedef struct larder_bytes {
  /**
   * The first; may be null if there are none.
   */
  const uint8_t *data;
  /**
   * How many there are.
   */
  size_t len;
} larder_bytes;

/**
 * A database that is being opened is new or has a lower version. `transaction`, which the host owns from now on, is where object
 * stores and indexes are made; the host commits it, or aborts it, or does so in later callbacks, and frees it. `old_version` is 0 if
 * the database is new.
 */
typedef void (*larder_upgrade_callback)(void *user_data,
                                        struct larder_transaction *transaction,
                                        uint64_t old_version,
                                        uint64_t new_version);

/**
 * A request to open or delete a database waits until other connections are closed. `new_version` is 0 if it is to be deleted.
 */
typedef void (*larder_blocked_callback)(void *user_data, uint64_t old_version, uint64_t new_version);

/**
 * The database of a connection is wanted in another version, or is to be deleted: then `new_version` is 0. That waits until this
 * connection is closed, which is the least that a host should do here.
 */
typedef void (*larder_version_change_callback)(void *user_data,
                                               struct larder_connection *connection,
                                               uint64_t old_version,
                                               uint64_t new_version);

/**
 * A connection was closed by force, its transactions aborted.
 */
typedef void (*larder_close_callback)(void *user_data, struct larder_connection *connection);

/**
 * Finds the keys that a value of another engine has in a new index, and adds them to `found` (`larder_found_keys_add`); `primary_key`,
 * the bytes and `found` are lent for that long. False aborts the upgrade. Called on the thread that executes the upgrade, which is one
 * of the storage's if it has threads; it calls nothing of this library but what makes, reads and frees keys.
 */
typedef bool (*larder_keys_callback)(void *user_data,
                                     const struct larder_key *primary_key,
                                     struct larder_bytes bytes,
                                     struct larder_found_keys *found);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is linked, such as `"0.1.0"`: ends with a zero byte, and is there for ever.
 */
const char *larder_version(void);

/**
 * No text, where a function allows that: not the empty one.
 */
struct larder_str larder_null(void);

/**
 * UTF-8 text up to a zero byte.
 *
 * # Safety
 * `text` is null, or ends with a zero byte, and stays as it is as long as the result is used.
 */
struct larder_str larder_utf8(const char *text);

/**
 * UTF-8 text of so many bytes. A null pointer is `larder_null`, also of no bytes, as an empty `std::string_view` may have it.
 *
 * # Safety
 * `text` points at `len` bytes, which stay as they are as long as the result is used.
 */
struct larder_str larder_utf8_n(const char *text,
                                size_t len);

/**
 * UTF-16 text of so many units. A null pointer is `larder_null`, also of no units.
 *
 * # Safety
 * `units` points at `len` units, which stay as they are as long as the result is used.
 */
struct larder_str larder_utf16(const uint16_t *units, size_t len);

/**
 * The name of the exception. Of null, `LARDER_EXCEPTION_UNKNOWN`.
 */
larder_exception larder_error_name(const struct larder_error *error);

/**
 * The name as a page has it in `error.name`, such as `"NotFoundError"`: ends with a zero byte, and is there for ever.
 */
const char *larder_error_name_text(const struct larder_error *error);

/**
 * What can be done about it. Of null, `LARDER_KIND_INTERNAL`.
 */
larder_kind larder_error_kind(const struct larder_error *error);

/**
 * What happened, in words: UTF-8 that ends with a zero byte, there as long as the error. Of null, an empty text.
 */
const char *larder_error_message(const struct larder_error *error);

/**
 * Frees an error that the host owns. Null is passed over.
 */
void larder_error_free(struct larder_error *error);

/**
 * The UTF-16 units, there as long as the text; their number is written to `len` unless that is null. Never null but of null: with its
 * length it is what `larder_utf16` takes, also of an empty text.
 */
const uint16_t *larder_text_utf16(const struct larder_text *text,
                                  size_t *len);

/**
 * The text in UTF-8, there as long as the text: ends with a zero byte. Lone surrogates are U+FFFD there, and zero units left out.
 */
const char *larder_text_utf8(const struct larder_text *text);

/**
 * Frees a text that the host owns. Null is passed over.
 */
void larder_text_free(struct larder_text *text);

/**
 * How many there are.
 */
size_t larder_names_len(const struct larder_names *names);

/**
 * One of them, counted from 0, lent by the list; null beyond its end.
 */
const struct larder_text *larder_names_at(const struct larder_names *names, size_t at);

/**
 * Frees a list. Null is passed over.
 */
void larder_names_free(struct larder_names *names);

/**
 * For stores in this folder: of each origin, `ORIGIN.indexeddb.leveldb` and `ORIGIN.indexeddb.blob`, as Chromium has them in a
 * profile's `IndexedDB`. The folder is made when something is stored. Null if the name is no text: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_options *larder_options_new(struct larder_str folder,
                                          larder_error ** error);

/**
 * For stores in memory, which are gone with the storage.
 */
struct larder_options *larder_options_in_memory(void);

/**
 * How many threads of the storage's do the work. With 0, as it is at first, there are none: all of it is done by `larder_storage_run` and
 * `larder_request_wait`. Callbacks are called where the host runs its loop in either case.
 */
void larder_options_set_threads(struct larder_options *options,
                                size_t threads);

/**
 * What is called when `larder_storage_run` has something to do, once after each time when that has said that there is no more: on any
 * thread, also in the middle of a call of the host's. It passes the word on to the host's loop, calls nothing of this library, and
 * waits for no lock that is held around such calls. Once `larder_storage_free` has returned it is not called any more, nor running.
 */
void larder_options_set_waker(struct larder_options *options,
                              larder_wake_callback waker,
                              void *user_data);

/**
 * How many bytes the files of each origin may have: `UINT64_MAX`, as it is at first, is no limit. `callback` may be null; else it is
 * asked before a transaction is refused.
 */
void larder_options_set_quota(struct larder_options *options,
                              uint64_t quota_bytes,
                              larder_quota_callback callback,
                              void *user_data);

/**
 * After so many milliseconds a store that nothing uses is closed, so that other programs can open it (2000); `UINT64_MAX` leaves it open.
 */
void larder_options_set_idle_grace(struct larder_options *options,
                                   uint64_t milliseconds);

/**
 * Where the stores of buckets lie, in `ID/IndexedDB/indexeddb.leveldb` each: at first `WebStorage` beside the folder of the origins'
 * stores, as in a profile of Chromium's. False if the name is no text: `LARDER_EXCEPTION_TYPE`.
 */
bool larder_options_set_buckets_folder(struct larder_options *options,
                                       struct larder_str folder,
                                       larder_error ** error);

/**
 * Whether stores are only read (false): nothing is written, made, locked or removed, and another program may have them open. A store is
 * seen as it was committed when it was opened, and again after it has been idle. What would write fails with
 * `LARDER_EXCEPTION_READ_ONLY`: a transaction that writes, an upgrade, a database to be made or deleted, and what deletes, repairs or marks an
 * origin.
 */
void larder_options_set_read_only(struct larder_options *options,
                                  bool is_read_only);

/**
 * What is called, on the host's loop, when something that was stored turns out to be damaged or lost: when a store is opened, and when it
 * is read. Null takes it back.
 */
void larder_options_set_on_loss(struct larder_options *options,
                                larder_loss_callback callback,
                                void *user_data);

/**
 * When a store's data version may be raised for a value that has no form in it: a browser with lesser versions **deletes** the store when
 * it opens it next. At first `LARDER_RAISE_DATA_VERSION_WHILE_NEW`, in memory `LARDER_RAISE_DATA_VERSION_WHEN_NEEDED`. False for another
 * number: `LARDER_EXCEPTION_TYPE`.
 */
bool larder_options_set_raise_data_version(struct larder_options *options,
                                           larder_raise_data_version raise,
                                           larder_error ** error);

/**
 * Frees options. Null is passed over.
 */
void larder_options_free(struct larder_options *options);

/**
 * Sets a storage up: the host owns it. No store is opened before it is needed. Null: `LARDER_EXCEPTION_UNKNOWN` if a thread cannot be
 * started.
 */
struct larder_storage *larder_storage_new(const struct larder_options *options,
                                          larder_error ** error);

/**
 * What the host's loop does when the waker was called: calls the callbacks that are due and, if the storage has no threads, does what there
 * is to do. At most `steps_max` calls and steps if that is not 0: whether there is more. This and `larder_request_wait` are the only
 * functions that call callbacks, one at a time, always on the thread that has called them. Called in a callback, or while another
 * thread is at it, it does nothing, and the waker is called if something is left when that is over. It is called, too, when there is
 * something again.
 *
 * # Safety
 * `storage` is null, or a storage that is not freed.
 */
bool larder_storage_run(const struct larder_storage *storage,
                        size_t steps_max);

/**
 * Writes in how many milliseconds there is something to do for `larder_storage_run` that the waker does not say: a store that
 * nothing uses is closed then. False if there is no such time, as when the storage has threads: then nothing is written. For a loop that
 * sleeps; one that passes over it keeps idle stores open longer.
 */
bool larder_storage_next_due(const struct larder_storage *storage,
                             uint64_t *milliseconds);

/**
 * The databases of an origin, such as `https://example.com`: the host owns the factory. Null: `LARDER_EXCEPTION_SECURITY` for what is no
 * origin, or an opaque one.
 */
struct larder_factory *larder_storage_factory(const struct larder_storage *storage,
                                              struct larder_str origin,
                                              larder_error ** error);

/**
 * Requests the origins and buckets that store something (`larder_request_take_origins`).
 */
struct larder_request *larder_storage_origins(const struct larder_storage *storage, larder_error ** error);

/**
 * Requests the bytes of the files of all origins (`larder_request_take_number`).
 */
struct larder_request *larder_storage_usage(const struct larder_storage *storage, larder_error ** error);

/**
 * Deletes all that an origin stores, in all its buckets. Its connections are closed by force, and their close
 * callbacks are called. The request fails with `LARDER_EXCEPTION_UNKNOWN` if another process has the store open, or
 * files cannot be removed.
 */
struct larder_request *larder_storage_delete_origin(const struct larder_storage *storage,
                                                    struct larder_str origin,
                                                    larder_error ** error);

/**
 * Deletes the origins in which something was committed at this time or later: microseconds since 1601-01-01 UTC
 * (`larder_request_take_origins`, which says of each whether it is gone).
 */
struct larder_request *larder_storage_delete_modified_since(const struct larder_storage *storage,
                                                            int64_t time_micros,
                                                            larder_error ** error);

/**
 * Deletes origins, the least recently used first, until all together have at most `kept_bytes`; none that is in use or persisted
 * (`larder_request_take_origins`, which says of each whether it is gone). A host with an order of its own lists and deletes.
 */
struct larder_request *larder_storage_evict(const struct larder_storage *storage,
                                            uint64_t kept_bytes,
                                            larder_error ** error);

/**
 * Lets what runs come to its end, and begins nothing new: connections take no transactions, and are closed when those they have have
 * ended, which the host sees to; requests to open fail. The request is done when the stores are closed. `larder_storage_close` ends at any
 * time what is left.
 */
struct larder_request *larder_storage_finish(const struct larder_storage *storage,
                                             larder_error ** error);

/**
 * Closes it: transactions are aborted, connections closed by force, requests to open fail. Commits that are under way are brought to
 * their end. Callbacks that are due then are called by the next `larder_storage_run`. False if a store could not make everything
 * durable.
 */
bool larder_storage_close(const struct larder_storage *storage,
                          larder_error ** error);

/**
 * Closes a storage and frees it. No callback is called any more, also of those that were due, nor the waker. Handles that it has given stay, and are
 * to be freed; what they are asked for fails. Null is passed over.
 */
void larder_storage_free(struct larder_storage *storage);

/**
 * The databases of an origin in another bucket than its default one in its own site: the host owns the factory. `id` is the
 * number in Chromium's quota database, or the host's own, from 1 to 2^63 - 1.
 */
struct larder_factory *larder_storage_bucket(const struct larder_storage *storage,
                                             struct larder_str origin,
                                             uint64_t id,
                                             larder_error ** error);

/**
 * Deletes what a bucket stores, and nothing else of its origin.
 */
struct larder_request *larder_storage_delete_bucket(const struct larder_storage *storage,
                                                    struct larder_str origin,
                                                    uint64_t id,
                                                    larder_error ** error);

/**
 * A session: the host owns it. Null of null: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_private_session *larder_private_session_new(const struct larder_storage *storage, larder_error ** error);

/**
 * The databases of an origin in this session: the host owns the factory.
 */
struct larder_factory *larder_private_session_factory(const struct larder_private_session *session,
                                                      struct larder_str origin,
                                                      larder_error ** error);

/**
 * Frees a session, and deletes all that it stores: connections are closed by force, and their close callbacks are
 * called. Null is passed over.
 */
void larder_private_session_free(struct larder_private_session *session);

/**
 * How many there are.
 */
size_t larder_databases_len(const struct larder_databases *databases);

/**
 * The name of one of them: the host owns the text. Counted from 0; null beyond the end.
 */
struct larder_text *larder_databases_name(const struct larder_databases *databases, size_t at);

/**
 * The version of one of them. Counted from 0; 0 beyond the end.
 */
uint64_t larder_databases_version(const struct larder_databases *databases, size_t at);

/**
 * Frees the list. Null is passed over.
 */
void larder_databases_free(struct larder_databases *databases);

/**
 * How many there are.
 */
size_t larder_origins_len(const struct larder_origins *origins);

/**
 * One of them, such as `https://example.com`: the host owns the text. Counted from 0; null beyond the end.
 */
struct larder_text *larder_origins_origin(const struct larder_origins *origins, size_t at);

/**
 * What there is to say of one of them. Counted from 0; zeros beyond the end.
 */
struct larder_origin_info larder_origins_info(const struct larder_origins *origins, size_t at);

/**
 * Why one of them was not deleted, of a list of those that were to be: lent by the list. Null if it is gone.
 */
const struct larder_error *larder_origins_error(const struct larder_origins *origins, size_t at);

/**
 * Frees the list. Null is passed over.
 */
void larder_origins_free(struct larder_origins *origins);

/**
 * Opens a database, which is made if it is not there. With a version above its own it is upgraded (`larder_request_on_upgrade`); with
 * version 0 it is opened as it is, and made with version 1. The request comes to a connection (`larder_request_take_connection`), or
 * fails:
 *
 * - `LARDER_EXCEPTION_VERSION` if the database has a greater version
 * - `LARDER_EXCEPTION_ABORT` if its upgrade is aborted
 * - `LARDER_EXCEPTION_UNKNOWN` if the store cannot be opened; with the kind `LARDER_KIND_CONFLICT` if another process has it
 *
 * Null at once: `LARDER_EXCEPTION_TYPE` for a version above 2^53 - 1, `LARDER_EXCEPTION_SECURITY` for an opaque origin,
 * `LARDER_EXCEPTION_INVALID_STATE` if the storage is closed.
 */
struct larder_request *larder_factory_open(const struct larder_factory *factory,
                                           struct larder_str name,
                                           uint64_t version,
                                           larder_error ** error);

/**
 * Deletes a database once all connections to it are closed. There need be none. The request comes to the version that it had, or 0
 * (`larder_request_take_number`).
 */
struct larder_request *larder_factory_delete_database(const struct larder_factory *factory,
                                                      struct larder_str name,
                                                      larder_error ** error);

/**
 * Requests the databases that are there, by name (`larder_request_take_databases`).
 */
struct larder_request *larder_factory_databases(const struct larder_factory *factory, larder_error ** error);

/**
 * Asks what the origin stores and may store (`larder_request_take_estimate`).
 */
struct larder_request *larder_factory_estimate(const struct larder_factory *factory, larder_error ** error);

/**
 * Gives the origin a quota of its own, in bytes, as long as the storage is there: `UINT64_MAX` is none.
 */
void larder_factory_set_quota_bytes(const struct larder_factory *factory, uint64_t quota_bytes);

/**
 * Says whether the origin is to stay when room is wanted (`larder_storage_evict`).
 */
struct larder_request *larder_factory_set_persisted(const struct larder_factory *factory,
                                                    bool is_to_stay,
                                                    larder_error ** error);

/**
 * Asks whether the origin is to stay when room is wanted: 1 or 0 (`larder_request_take_number`).
 */
struct larder_request *larder_factory_persisted(const struct larder_factory *factory, larder_error ** error);

/**
 * Aborts all transactions of a database, or of all databases of the origin if there is no name (`larder_null`), and
 * closes the connections, whose close callbacks are called (`larder_connection_on_close`).
 */
bool larder_factory_force_close(const struct larder_factory *factory, struct larder_str name, larder_error ** error);

/**
 * Closes everything of the origin by force, and then its store, so that another program can open it. It is opened again with
 * the next request that needs it.
 */
struct larder_request *larder_factory_close(const struct larder_factory *factory,
                                            larder_error ** error);

/**
 * Repairs the origin's store, which cannot be opened because it is damaged: what is whole is written anew, what could
 * not be read is set aside in the folder `lost` of the store's, and nothing is deleted that was not read whole.
 * Connections are closed by force before, and their close callbacks called; the next request opens the repaired store.
 * With `brings_back`, records come back of which something newer may be lost. The request comes to a text that says
 * what was done (`larder_request_take_text`). It fails with `LARDER_EXCEPTION_UNKNOWN` if there is no store, or its
 * files cannot be read or written; with the kind `LARDER_KIND_CONFLICT` if another process has it.
 */
struct larder_request *larder_factory_repair(const struct larder_factory *factory,
                                             bool brings_back,
                                             larder_error ** error);

/**
 * Compares two keys, as `indexedDB.cmp()` does: -1, 0 or 1. Null is less than any key.
 */
int32_t larder_key_cmp(const struct larder_key *first, const struct larder_key *second);

/**
 * Frees a factory. Connections and requests that it has made stay. Null is passed over.
 */
void larder_factory_free(struct larder_factory *factory);

/**
 * Calls `callback` once, on the host's loop, when the request is done; if it is, then in the next run of the loop. Another call in
 * the place of this one replaces the callback, null takes it back. Requests of one transaction are called back in their order.
 *
 * # Safety
 * `request` is null, or a request that is not freed.
 */
void larder_request_on_done(struct larder_request *request,
                            larder_request_callback callback,
                            void *user_data);

/**
 * Waits until the request is done: whether it succeeded; if not, `error` has what `larder_request_error` has.
 *
 * Outside of callbacks this runs the host's loop meanwhile, as `larder_storage_run` does: callbacks are called, of other requests
 * too, and they may free this one. In a callback none is called, nor on another thread than the one that has run the loop last, which is
 * allowed only if the storage has threads. Without threads, what cannot be done meanwhile fails at once with
 * `LARDER_EXCEPTION_INVALID_STATE`, and is still under way: a request whose transaction waits for one that is not committed, or one
 * that needs a callback while another one is running. With threads such a wait has no end.
 *
 * # Safety
 * `request` is null, or a request that is not freed.
 */
bool larder_request_wait(const struct larder_request *request,
                         larder_error ** error);

/**
 * Whether it is done, with a result or an error. Asking brings nothing on.
 */
bool larder_request_is_done(const struct larder_request *request);

/**
 * The error that it failed with, lent by the request; null if it has not failed.
 */
const struct larder_error *larder_request_error(const struct larder_request *request);

/**
 * The key that was stored, or found: the host owns it. Null if there is none: nothing was found, it is not done or has failed, it
 * comes to something else, or the key was taken before.
 */
struct larder_key *larder_request_take_key(const struct larder_request *request);

/**
 * The value that was found: the host owns it. Null as of `larder_request_take_key`.
 */
struct larder_value *larder_request_take_value(const struct larder_request *request);

/**
 * The records that were found, maybe none: the host owns them. Null if there is no such result, or it was taken before.
 */
struct larder_records *larder_request_take_records(const struct larder_request *request);

/**
 * The cursor at the entry that was reached: the host owns it. Null as of `larder_request_take_key`, so also at the end.
 */
struct larder_cursor *larder_request_take_cursor(const struct larder_request *request);

/**
 * The connection that a request to open has come to: the host owns it. Null if there is none, or it was taken before.
 */
struct larder_connection *larder_request_take_connection(const struct larder_request *request);

/**
 * The list that `larder_factory_databases` has come to: the host owns it. Null if there is none, or it was taken before.
 */
struct larder_databases *larder_request_take_databases(const struct larder_request *request);

/**
 * The list of origins that were asked for or deleted: the host owns it. Null if there is none, or it was taken before.
 */
struct larder_origins *larder_request_take_origins(const struct larder_request *request);

/**
 * Writes the number that it has come to: a count, bytes, or the version that a deleted database had. False if there is none, or it was
 * taken before; then nothing is written.
 */
bool larder_request_take_number(const struct larder_request *request,
                                uint64_t *number);

/**
 * Writes what `larder_factory_estimate` has come to: the bytes of the origin's files, and how many they may be (`UINT64_MAX`: no
 * limit). False if there is nothing, or it was taken before.
 */
bool larder_request_take_estimate(const struct larder_request *request,
                                  uint64_t *usage_bytes,
                                  uint64_t *quota_bytes);

/**
 * The text that `larder_factory_repair` has come to: the host owns it. Null if there is none, or it was taken before.
 */
struct larder_text *larder_request_take_text(const struct larder_request *request);

/**
 * The bytes that `larder_storage_read_blob` has come to, there as long as the request. Without a first byte if there are none.
 */
struct larder_bytes larder_request_bytes(const struct larder_request *request);

/**
 * Frees a request, done or not. Its callbacks are not called any more. Null is passed over.
 */
void larder_request_free(struct larder_request *request);

/**
 * Calls `callback` if the database has to be upgraded; registered before the loop runs again. Without one, a database gets its version
 * and nothing else. For requests of `larder_factory_open`.
 */
bool larder_request_on_upgrade(const struct larder_request *request,
                               larder_upgrade_callback callback,
                               void *user_data,
                               larder_error ** error);

/**
 * Calls `callback` if the request waits for other connections to be closed. For requests of `larder_factory_open` and
 * `larder_factory_delete_database`.
 */
bool larder_request_on_blocked(const struct larder_request *request,
                               larder_blocked_callback callback,
                               void *user_data,
                               larder_error ** error);

/**
 * The database's name: the host owns the text. Null of null.
 */
struct larder_text *larder_connection_name(const struct larder_connection *connection);

/**
 * The database's version as this connection sees it. Of null, 0.
 */
uint64_t larder_connection_version(const struct larder_connection *connection);

/**
 * The names of the object stores, sorted by UTF-16 units: the host owns the list. Null of null.
 */
struct larder_names *larder_connection_object_store_names(const struct larder_connection *connection);

/**
 * Begins a transaction over the object stores of these names, in one of the modes `LARDER_MODE_READ_ONLY` and `LARDER_MODE_READ_WRITE`. The
 * host owns it, and either commits it or aborts it. It starts when its turn comes: after all that were made before, if they have an
 * object store in common with it and one of the two writes. Null if it fails:
 *
 * - `LARDER_EXCEPTION_INVALID_STATE` while the database is being upgraded, or once the connection is to be closed
 * - `LARDER_EXCEPTION_NOT_FOUND` if there is no object store of one of the names
 * - `LARDER_EXCEPTION_INVALID_ACCESS` if there are no names
 * - `LARDER_EXCEPTION_TYPE` for another mode or durability
 *
 * # Safety
 * `names` points at `names_len` texts.
 */
struct larder_transaction *larder_connection_transaction(const struct larder_connection *connection,
                                                         const struct larder_str *names,
                                                         size_t names_len,
                                                         larder_mode mode,
                                                         larder_durability durability,
                                                         larder_error ** error);

/**
 * Calls `callback` on the host's loop each time when the database is wanted in another version or is to be deleted. Another call
 * replaces the callback, null takes it back. What happened before the host took the connection from its request is not
 * missed if this is called in the same callback, or before the loop runs again.
 *
 * # Safety
 * `connection` is null, or a connection that is not freed.
 */
void larder_connection_on_version_change(struct larder_connection *connection,
                                         larder_version_change_callback callback,
                                         void *user_data);

/**
 * Calls `callback` on the host's loop if the connection is closed by force.
 *
 * # Safety
 * `connection` is null, or a connection that is not freed.
 */
void larder_connection_on_close(struct larder_connection *connection, larder_close_callback callback, void *user_data);

/**
 * Closes the connection: it takes no new transactions, and is closed when those it has have ended. Null is passed over.
 */
void larder_connection_close(const struct larder_connection *connection);

/**
 * Whether `larder_connection_close` was called, or it was closed otherwise. Of null, true.
 */
bool larder_connection_is_close_pending(const struct larder_connection *connection);

/**
 * Closes a connection and frees it. Its transactions go on; its callbacks are not called any more. Null is passed over.
 */
void larder_connection_free(struct larder_connection *connection);

/**
 * An object store of its scope: the host owns it. Null: `LARDER_EXCEPTION_NOT_FOUND` if there is none of this name,
 * `LARDER_EXCEPTION_INVALID_STATE` if the transaction was aborted or has finished.
 */
struct larder_object_store *larder_transaction_object_store(const struct larder_transaction *transaction,
                                                            struct larder_str name,
                                                            larder_error ** error);

/**
 * Takes no more requests, and commits when those that were made are done. The request succeeds when it is committed, and fails
 * with what the transaction was aborted for. Freeing the request at once is fine: it is committed all the same. Null:
 * `LARDER_EXCEPTION_INVALID_STATE` if it is committing or has ended.
 */
struct larder_request *larder_transaction_commit(const struct larder_transaction *transaction,
                                                 larder_error ** error);

/**
 * Commits if nothing that was asked for is left to be executed: whether it does. For hosts that commit as a page's transactions do, when
 * a callback has returned and has asked for nothing.
 */
bool larder_transaction_commit_if_idle(const struct larder_transaction *transaction);

/**
 * Takes everything back. Requests that are not done fail with `LARDER_EXCEPTION_ABORT`. False: `LARDER_EXCEPTION_INVALID_STATE` if it is
 * committing or has ended.
 */
bool larder_transaction_abort(const struct larder_transaction *transaction,
                              larder_error ** error);

/**
 * Aborts like `larder_transaction_abort`, for a reason: that is what `larder_transaction_finished` fails with.
 */
bool larder_transaction_abort_because(const struct larder_transaction *transaction,
                                      larder_exception name,
                                      struct larder_str message,
                                      larder_error ** error);

/**
 * A request for the transaction's end, whatever brings it about: succeeds when it was committed, and fails when it was
 * aborted, with the reason. Its callback is what a page has as `complete` and `abort`.
 */
struct larder_request *larder_transaction_finished(const struct larder_transaction *transaction, larder_error ** error);

/**
 * Where it stands. Of null, `LARDER_STATE_FINISHED`.
 */
larder_state larder_transaction_state(const struct larder_transaction *transaction);

/**
 * Its mode. Of null, `LARDER_MODE_READ_ONLY`.
 */
larder_mode larder_transaction_mode(const struct larder_transaction *transaction);

/**
 * The names of the object stores in its scope, sorted: the host owns the list. Null of null.
 */
struct larder_names *larder_transaction_object_store_names(const struct larder_transaction *transaction);

/**
 * Frees a transaction, and aborts it if no commit was requested and nothing of it is left. Null is passed over.
 */
void larder_transaction_free(struct larder_transaction *transaction);

/**
 * Creates an object store: the host owns the handle. Keys are found in values where `key_path` leads, such as `larder_utf8("id")`; with
 * `larder_null()` they are given apart. With `auto_increment`, keys that are not there are generated. Null:
 *
 * - `LARDER_EXCEPTION_INVALID_STATE` if the transaction is not that of an upgrade, or has finished
 * - `LARDER_EXCEPTION_CONSTRAINT` if there is an object store of this name
 * - `LARDER_EXCEPTION_SYNTAX` for what is no key path
 * - `LARDER_EXCEPTION_INVALID_ACCESS` for `auto_increment` with an empty key path
 */
struct larder_object_store *larder_transaction_create_object_store(const struct larder_transaction *transaction,
                                                                   struct larder_str name,
                                                                   struct larder_str key_path,
                                                                   bool auto_increment,
                                                                   larder_error ** error);

/**
 * Makes an object store like `larder_transaction_create_object_store`, with several key paths: keys are arrays of what
 * is found there.
 *
 * # Safety
 * `key_paths` points at `key_paths_len` texts.
 */
struct larder_object_store *larder_transaction_create_object_store_of_key_paths(const struct larder_transaction *transaction,
                                                                                struct larder_str name,
                                                                                const struct larder_str *key_paths,
                                                                                size_t key_paths_len,
                                                                                larder_error ** error);

/**
 * Deletes an object store with its indexes and records. False: `LARDER_EXCEPTION_NOT_FOUND`, or as of
 * `larder_transaction_create_object_store`.
 */
bool larder_transaction_delete_object_store(const struct larder_transaction *transaction,
                                            struct larder_str name,
                                            larder_error ** error);

/**
 * Gives an object store another name, in the transaction of an upgrade. False: `LARDER_EXCEPTION_CONSTRAINT` if there is another one of
 * this name, `LARDER_EXCEPTION_INVALID_STATE`, `LARDER_EXCEPTION_TRANSACTION_INACTIVE`.
 */
bool larder_object_store_rename(const struct larder_object_store *store,
                                struct larder_str name,
                                larder_error ** error);

/**
 * Creates an index of what is found in values where `key_path` leads: the host owns the handle. With `unique`, no two records may
 * have the same key; with `multi_entry`, an array gives one entry for each of its members. The records that are there are put into
 * it later; if they break its rule, the transaction is aborted with `LARDER_EXCEPTION_CONSTRAINT`. Null:
 * `LARDER_EXCEPTION_INVALID_STATE`, `LARDER_EXCEPTION_TRANSACTION_INACTIVE`, `LARDER_EXCEPTION_CONSTRAINT` if there is one of this name,
 * `LARDER_EXCEPTION_SYNTAX` for what is no key path.
 */
struct larder_index *larder_object_store_create_index(const struct larder_object_store *store,
                                                      struct larder_str name,
                                                      struct larder_str key_path,
                                                      bool unique,
                                                      bool multi_entry,
                                                      larder_error ** error);

/**
 * Makes an index like `larder_object_store_create_index`, with several key paths: index keys are arrays of what is
 * found there.
 *
 * # Safety
 * `key_paths` points at `key_paths_len` texts.
 */
struct larder_index *larder_object_store_create_index_of_key_paths(const struct larder_object_store *store,
                                                                   struct larder_str name,
                                                                   const struct larder_str *key_paths,
                                                                   size_t key_paths_len,
                                                                   bool unique,
                                                                   larder_error ** error);

/**
 * Deletes an index. False: `LARDER_EXCEPTION_NOT_FOUND`, or as of `larder_object_store_create_index`.
 */
bool larder_object_store_delete_index(const struct larder_object_store *store,
                                      struct larder_str name,
                                      larder_error ** error);

/**
 * Gives an index another name, in the transaction of an upgrade. False: as of `larder_object_store_rename`.
 */
bool larder_index_rename(const struct larder_index *index, struct larder_str name, larder_error ** error);

/**
 * Its name: the host owns the text. Null of null.
 */
struct larder_text *larder_object_store_name(const struct larder_object_store *store);

/**
 * Where keys are found in values: the host owns the list. Null if they are given apart. With several key paths `is_array` becomes true,
 * also if there is one in the list; null for it is passed over.
 */
struct larder_names *larder_object_store_key_path(const struct larder_object_store *store,
                                                  bool *is_array);

/**
 * Whether it has a key generator. Of null, false.
 */
bool larder_object_store_auto_increment(const struct larder_object_store *store);

/**
 * The names of its indexes, sorted: the host owns the list. Null of null.
 */
struct larder_names *larder_object_store_index_names(const struct larder_object_store *store);

/**
 * One of its indexes: the host owns the handle. Null: `LARDER_EXCEPTION_NOT_FOUND` if there is none of this name,
 * `LARDER_EXCEPTION_INVALID_STATE` if the object store has been deleted or the transaction has ended.
 */
struct larder_index *larder_object_store_index(const struct larder_object_store *store,
                                               struct larder_str name,
                                               larder_error ** error);

/**
 * Puts a record, in the place of any with the same key. `key` is null if keys are found in values or generated. Value and key are
 * copied. The request comes to the key (`larder_request_take_key`), or fails with `LARDER_EXCEPTION_CONSTRAINT` if a unique
 * index has one of the keys for another record. Null also: `LARDER_EXCEPTION_DATA` if a key is missing, not wanted or no key,
 * `LARDER_EXCEPTION_DATA_CLONE` if the value cannot be stored.
 */
struct larder_request *larder_object_store_put(const struct larder_object_store *store,
                                               const struct larder_value *value,
                                               const struct larder_key *key,
                                               larder_error ** error);

/**
 * Puts a record like `larder_object_store_put`, unless there is a record with that key: then the request fails with
 * `LARDER_EXCEPTION_CONSTRAINT`.
 */
struct larder_request *larder_object_store_add(const struct larder_object_store *store,
                                               const struct larder_value *value,
                                               const struct larder_key *key,
                                               larder_error ** error);

/**
 * Deletes the record with this key, if there is one.
 */
struct larder_request *larder_object_store_delete(const struct larder_object_store *store,
                                                  const struct larder_key *key,
                                                  larder_error ** error);

/**
 * Deletes the records in a range. Null for it fails with `LARDER_EXCEPTION_TYPE`: that is what `larder_object_store_clear` is for.
 */
struct larder_request *larder_object_store_delete_range(const struct larder_object_store *store,
                                                        const struct larder_key_range *range,
                                                        larder_error ** error);

/**
 * Deletes all records. The key generator goes on from where it is.
 */
struct larder_request *larder_object_store_clear(const struct larder_object_store *store, larder_error ** error);

/**
 * Requests the value of the record with this key (`larder_request_take_value`; null if there is none).
 */
struct larder_request *larder_object_store_get(const struct larder_object_store *store,
                                               const struct larder_key *key,
                                               larder_error ** error);

/**
 * Requests the value of the first record in a range; null is all of them (`larder_request_take_value`).
 */
struct larder_request *larder_object_store_get_first(const struct larder_object_store *store,
                                                     const struct larder_key_range *range,
                                                     larder_error ** error);

/**
 * Requests the key of the first record in a range; null is all of them (`larder_request_take_key`).
 */
struct larder_request *larder_object_store_get_key(const struct larder_object_store *store,
                                                   const struct larder_key_range *range,
                                                   larder_error ** error);

/**
 * Requests the records in a range, with keys and values (`larder_request_take_records`): all of them for a null range, at most
 * `count_max` if that is not 0.
 */
struct larder_request *larder_object_store_get_all(const struct larder_object_store *store,
                                                   const struct larder_key_range *range,
                                                   uint32_t count_max,
                                                   larder_error ** error);

/**
 * Requests what `larder_object_store_get_all` requests, without values, which are not read.
 */
struct larder_request *larder_object_store_get_all_keys(const struct larder_object_store *store,
                                                        const struct larder_key_range *range,
                                                        uint32_t count_max,
                                                        larder_error ** error);

/**
 * Counts the records in a range; null is all of them (`larder_request_take_number`).
 */
struct larder_request *larder_object_store_count(const struct larder_object_store *store,
                                                 const struct larder_key_range *range,
                                                 larder_error ** error);

/**
 * Opens a cursor at the first record of a range, in a `larder_direction` (`larder_request_take_cursor`; null if there is none).
 */
struct larder_request *larder_object_store_open_cursor(const struct larder_object_store *store,
                                                       const struct larder_key_range *range,
                                                       larder_direction direction,
                                                       larder_error ** error);

/**
 * Opens what `larder_object_store_open_cursor` opens, without values, which are not read.
 */
struct larder_request *larder_object_store_open_key_cursor(const struct larder_object_store *store,
                                                           const struct larder_key_range *range,
                                                           larder_direction direction,
                                                           larder_error ** error);

/**
 * Frees an object store's handle. Null is passed over.
 */
void larder_object_store_free(struct larder_object_store *store);

/**
 * Its name: the host owns the text. Null of null.
 */
struct larder_text *larder_index_name(const struct larder_index *index);

/**
 * Where index keys are found in values: the host owns the list. With several key paths `is_array` becomes true; null for it is passed
 * over. Null of null.
 */
struct larder_names *larder_index_key_path(const struct larder_index *index,
                                           bool *is_array);

/**
 * Whether no two records may have the same key. Of null, false.
 */
bool larder_index_unique(const struct larder_index *index);

/**
 * Whether an array gives one entry for each of its members. Of null, false.
 */
bool larder_index_multi_entry(const struct larder_index *index);

/**
 * Requests the value of the first record with this index key (`larder_request_take_value`; null if there is none).
 */
struct larder_request *larder_index_get(const struct larder_index *index,
                                        const struct larder_key *key,
                                        larder_error ** error);

/**
 * Requests the value of the first record in a range of index keys; null is all of them (`larder_request_take_value`).
 */
struct larder_request *larder_index_get_first(const struct larder_index *index,
                                              const struct larder_key_range *range,
                                              larder_error ** error);

/**
 * Requests the primary key of the first record in a range of index keys; null is all of them (`larder_request_take_key`).
 */
struct larder_request *larder_index_get_key(const struct larder_index *index,
                                            const struct larder_key_range *range,
                                            larder_error ** error);

/**
 * Requests the records in a range of index keys, with keys, primary keys and values (`larder_request_take_records`): all of them for a null
 * range, at most `count_max` if that is not 0.
 */
struct larder_request *larder_index_get_all(const struct larder_index *index,
                                            const struct larder_key_range *range,
                                            uint32_t count_max,
                                            larder_error ** error);

/**
 * Requests what `larder_index_get_all` requests, without values, which are not read.
 */
struct larder_request *larder_index_get_all_keys(const struct larder_index *index,
                                                 const struct larder_key_range *range,
                                                 uint32_t count_max,
                                                 larder_error ** error);

/**
 * Counts the entries in a range of index keys; null is all of them (`larder_request_take_number`).
 */
struct larder_request *larder_index_count(const struct larder_index *index,
                                          const struct larder_key_range *range,
                                          larder_error ** error);

/**
 * Opens a cursor at the first entry of a range of index keys, in a `larder_direction` (`larder_request_take_cursor`; null if there is none).
 */
struct larder_request *larder_index_open_cursor(const struct larder_index *index,
                                                const struct larder_key_range *range,
                                                larder_direction direction,
                                                larder_error ** error);

/**
 * Opens what `larder_index_open_cursor` opens, without values, which are not read.
 */
struct larder_request *larder_index_open_key_cursor(const struct larder_index *index,
                                                    const struct larder_key_range *range,
                                                    larder_direction direction,
                                                    larder_error ** error);

/**
 * Frees an index's handle. Null is passed over.
 */
void larder_index_free(struct larder_index *index);

/**
 * The index key, or the primary key if it is over an object store: the host owns it. Null of null.
 */
struct larder_key *larder_cursor_key(const struct larder_cursor *cursor);

/**
 * The record's key: the host owns it. Null of null.
 */
struct larder_key *larder_cursor_primary_key(const struct larder_cursor *cursor);

/**
 * The record's value: the host owns it. Null if the cursor was opened for keys.
 */
struct larder_value *larder_cursor_value(const struct larder_cursor *cursor);

/**
 * Moves to the next entry; with a key, to the first with this key or behind it. The request comes to a cursor, or to null at the end.
 * Null also: `LARDER_EXCEPTION_DATA` for a key that is not ahead.
 */
struct larder_request *larder_cursor_continue(const struct larder_cursor *cursor,
                                              const struct larder_key *key,
                                              larder_error ** error);

/**
 * Moves a cursor over an index, whose direction is not unique, to the first entry with this key and primary key or behind it. Null also:
 * `LARDER_EXCEPTION_INVALID_ACCESS` for other cursors, `LARDER_EXCEPTION_DATA` for keys that are not ahead.
 */
struct larder_request *larder_cursor_continue_primary_key(const struct larder_cursor *cursor,
                                                          const struct larder_key *key,
                                                          const struct larder_key *primary_key,
                                                          larder_error ** error);

/**
 * Moves by so many entries, 1 or more.
 */
struct larder_request *larder_cursor_advance(const struct larder_cursor *cursor, uint32_t count, larder_error ** error);

/**
 * Puts a value, which is copied, in the place of the record's. The request comes to the key. Null also: `LARDER_EXCEPTION_DATA` if
 * keys are found in values and this one has another, `LARDER_EXCEPTION_READ_ONLY`.
 */
struct larder_request *larder_cursor_update(const struct larder_cursor *cursor,
                                            const struct larder_value *value,
                                            larder_error ** error);

/**
 * Deletes the record.
 */
struct larder_request *larder_cursor_delete(const struct larder_cursor *cursor, larder_error ** error);

/**
 * Frees a cursor. Null is passed over.
 */
void larder_cursor_free(struct larder_cursor *cursor);

/**
 * A number. Null for NaN: `LARDER_EXCEPTION_DATA`.
 */
struct larder_key *larder_key_number(double number, larder_error ** error);

/**
 * A date, in milliseconds since 1970 UTC. Null for NaN: `LARDER_EXCEPTION_DATA`.
 */
struct larder_key *larder_key_date(double milliseconds, larder_error ** error);

/**
 * A string. Null for what is no text: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_key *larder_key_string(struct larder_str text, larder_error ** error);

/**
 * Bytes, which are copied.
 */
struct larder_key *larder_key_binary(struct larder_bytes bytes, larder_error ** error);

/**
 * An array of keys, which are copied. Null if one of them is, or more than 2000 arrays are one inside the other.
 *
 * # Safety
 * `keys` points at `keys_len` keys.
 */
struct larder_key *larder_key_array(const struct larder_key *const *keys, size_t keys_len, larder_error ** error);

/**
 * A copy of a key: the host owns it. Null of null.
 */
struct larder_key *larder_key_copy(const struct larder_key *key);

/**
 * What it is.
 */
larder_key_kind larder_key_type(const struct larder_key *key);

/**
 * Writes the number, or a date's milliseconds. False for other keys: then nothing is written.
 */
bool larder_key_to_number(const struct larder_key *key, double *number);

/**
 * The string: the host owns the text. Null for other keys.
 */
struct larder_text *larder_key_to_text(const struct larder_key *key);

/**
 * The bytes, there as long as the key. None for other keys.
 */
struct larder_bytes larder_key_to_bytes(const struct larder_key *key);

/**
 * How many keys an array has. Of other keys, 0.
 */
size_t larder_key_array_len(const struct larder_key *key);

/**
 * One of the keys of an array, counted from 0: the host owns it. Null beyond its end and of other keys.
 */
struct larder_key *larder_key_array_at(const struct larder_key *key, size_t at);

/**
 * Frees a key. Null is passed over.
 */
void larder_key_free(struct larder_key *key);

/**
 * One key. Null for a null key: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_key_range *larder_key_range_only(const struct larder_key *key, larder_error ** error);

/**
 * From a key on; without that key itself if `open`. Null for a null key: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_key_range *larder_key_range_lower_bound(const struct larder_key *lower, bool open, larder_error ** error);

/**
 * Up to a key; without that key itself if `open`. Null for a null key: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_key_range *larder_key_range_upper_bound(const struct larder_key *upper, bool open, larder_error ** error);

/**
 * Between two keys, without those that are `open`. Null: `LARDER_EXCEPTION_DATA` if nothing can be between them, `LARDER_EXCEPTION_TYPE` if
 * one of them is null.
 */
struct larder_key_range *larder_key_range_bound(const struct larder_key *lower,
                                                const struct larder_key *upper,
                                                bool lower_open,
                                                bool upper_open,
                                                larder_error ** error);

/**
 * Whether a key is in it. Every key is in a null range; no range has a null key.
 */
bool larder_key_range_includes(const struct larder_key_range *range, const struct larder_key *key);

/**
 * Frees a range. Null is passed over.
 */
void larder_key_range_free(struct larder_key_range *range);

/**
 * A value of its bytes, which are copied: as a browser serialises it, in Blink's envelope around V8's format, `ff 15 fe …` today.
 * What is none is refused when it is put. Blobs that the bytes refer to are added by `larder_value_with_blobs`.
 */
struct larder_value *larder_value_from_bytes(struct larder_bytes bytes);

/**
 * The value of a JSON text: objects, arrays, strings, numbers, `true`, `false` and `null`. Not as a page's `JSON.parse`: integers of
 * 64 bits beyond 2^53 become BigInts, and lone surrogates (`"\ud800"`), numbers beyond 1.8e308, and more than 127 arrays and objects one inside the
 * other are refused; `larder_builder` has no such limits. Null: `LARDER_EXCEPTION_SYNTAX` for those and for what is no JSON.
 */
struct larder_value *larder_value_from_json(struct larder_str json,
                                            larder_error ** error);

/**
 * The value's bytes, there as long as the value: what `larder_value_from_bytes` takes. Of null, none.
 */
struct larder_bytes larder_value_bytes(const struct larder_value *value);

/**
 * The value as JSON: the host owns the text. What JSON has no form for stands there as `larder dump` prints it, such as
 * `{"$date":"2020-01-01T00:00:00.000Z"}`. Null if the bytes do not decode: `LARDER_EXCEPTION_UNKNOWN`.
 */
struct larder_text *larder_value_to_json(const struct larder_value *value, larder_error ** error);

/**
 * Writes the number that is where the path leads, or a date's milliseconds: `larder_utf8("size.width")`, or `larder_null()` for the
 * value itself. False if there is no number there: then nothing is written.
 *
 * This and its like read the value anew each time. They are for values of a few properties.
 */
bool larder_value_number(const struct larder_value *value,
                         struct larder_str path,
                         double *number);

/**
 * Writes the `true` or `false` that is where the path leads. False if there is none: then nothing is written.
 */
bool larder_value_bool(const struct larder_value *value, struct larder_str path, bool *flag);

/**
 * The string that is where the path leads: the host owns the text. Null if there is none.
 */
struct larder_text *larder_value_text(const struct larder_value *value, struct larder_str path);

/**
 * The bytes of the array buffer, typed array or `DataView` that is where the path leads, there as long as the value. Without a first
 * byte if there is none.
 */
struct larder_bytes larder_value_binary(const struct larder_value *value,
                                        struct larder_str path);

/**
 * How many blobs and files the value has. Of one that was not read from a store, 0.
 */
size_t larder_value_blobs_len(const struct larder_value *value);

/**
 * A blob or file of a value that was read: the host owns it. Counted from 0; null beyond the end. Its content can be read as long as
 * it is there, whatever becomes of the record.
 */
struct larder_blob *larder_value_blob(const struct larder_value *value,
                                      size_t at);

/**
 * Frees a value. Null is passed over.
 */
void larder_value_free(struct larder_value *value);

/**
 * An empty builder: the host owns it.
 */
struct larder_builder *larder_builder_new(void);

/**
 * `undefined`. This and what follows is false only if the builder is null or a text is none: `LARDER_EXCEPTION_TYPE`.
 */
bool larder_builder_undefined(struct larder_builder *builder, larder_error ** error);

/**
 * `null`
 */
bool larder_builder_null(struct larder_builder *builder, larder_error ** error);

/**
 * `true` or `false`
 */
bool larder_builder_bool(struct larder_builder *builder, bool flag, larder_error ** error);

/**
 * A number.
 */
bool larder_builder_number(struct larder_builder *builder, double number, larder_error ** error);

/**
 * A `Date`: milliseconds since 1970 UTC.
 */
bool larder_builder_date(struct larder_builder *builder, double milliseconds, larder_error ** error);

/**
 * A string.
 */
bool larder_builder_text(struct larder_builder *builder, struct larder_str text, larder_error ** error);

/**
 * A `Uint8Array` of these bytes, which are copied.
 */
bool larder_builder_binary(struct larder_builder *builder, struct larder_bytes bytes, larder_error ** error);

/**
 * A `Blob` of these bytes, which are copied, with a MIME type that may be empty.
 */
bool larder_builder_blob(struct larder_builder *builder,
                         struct larder_bytes bytes,
                         struct larder_str mime_type,
                         larder_error ** error);

/**
 * A `File` of these bytes, which are copied, with a MIME type that may be empty, a name, and when it was last modified: milliseconds
 * since 1970 UTC.
 */
bool larder_builder_file(struct larder_builder *builder,
                         struct larder_bytes bytes,
                         struct larder_str mime_type,
                         struct larder_str name,
                         int64_t modified_milliseconds,
                         larder_error ** error);

/**
 * The name of the property whose value comes next.
 */
bool larder_builder_name(struct larder_builder *builder, struct larder_str name, larder_error ** error);

/**
 * An object begins.
 */
bool larder_builder_begin_object(struct larder_builder *builder, larder_error ** error);

/**
 * An array of exactly `length` elements begins.
 */
bool larder_builder_begin_array(struct larder_builder *builder, uint32_t length, larder_error ** error);

/**
 * A `Map` begins.
 */
bool larder_builder_begin_map(struct larder_builder *builder, larder_error ** error);

/**
 * A `Set` begins.
 */
bool larder_builder_begin_set(struct larder_builder *builder, larder_error ** error);

/**
 * What was begun last ends.
 */
bool larder_builder_end(struct larder_builder *builder, larder_error ** error);

/**
 * The value of all parts, which the host owns; the builder stays as it is. Parts in a wrong order make a value that cannot be read;
 * what is still open is ended. Null of null: `LARDER_EXCEPTION_TYPE`.
 */
struct larder_value *larder_builder_value(const struct larder_builder *builder,
                                          larder_error ** error);

/**
 * Frees a builder. Null is passed over.
 */
void larder_builder_free(struct larder_builder *builder);

/**
 * Begins a value of another engine: `engine` is its name, of printable ASCII without blanks and at most 64 bytes long, `format` the version
 * of its wire format. The bytes are copied. Where keys are found in values, the host finds the primary key and gives it to
 * `larder_object_store_put`; where it is null, one is generated.
 */
struct larder_foreign *larder_foreign_new(struct larder_str engine,
                                          uint32_t format,
                                          struct larder_bytes bytes,
                                          larder_error ** error);

/**
 * Says which keys, maybe none, the value has in an index. To be called for each index of the object store, once. The keys are
 * copied.
 *
 * # Safety
 * `keys` points at `keys_len` keys.
 */
bool larder_foreign_add_keys(struct larder_foreign *foreign,
                             struct larder_str index,
                             const struct larder_key *const *keys,
                             size_t keys_len,
                             larder_error ** error);

/**
 * The value, which the host owns. Null: `LARDER_EXCEPTION_TYPE` for an engine that has no such name.
 */
struct larder_value *larder_foreign_value(const struct larder_foreign *foreign, larder_error ** error);

/**
 * Frees a value in the making. Null is passed over.
 */
void larder_foreign_free(struct larder_foreign *foreign);

/**
 * The engine of a value that was read: the host owns the text. Null if it is V8's.
 */
struct larder_text *larder_value_engine(const struct larder_value *value);

/**
 * The version of the wire format of a value of another engine. Of others, 0.
 */
uint32_t larder_value_format(const struct larder_value *value);

/**
 * The bytes of a value of another engine as they were put, there as long as the value. Of others, none. Such a value is put again by
 * way of `larder_foreign_new`, with its keys; as it is, it is refused with `LARDER_EXCEPTION_DATA` where there are indexes.
 */
struct larder_bytes larder_value_foreign_bytes(const struct larder_value *value);

/**
 * Takes the next number of the key generator, for a host that has to write the key into the value before it is put
 * (`larder_request_take_key`). It is used up, put or not. Null also: `LARDER_EXCEPTION_INVALID_ACCESS` if there is no generator.
 */
struct larder_request *larder_object_store_generate_key(const struct larder_object_store *store,
                                                        larder_error ** error);

/**
 * Does what `larder_object_store_create_index` does, for an object store that may have values of other engines:
 * `callback` finds the keys of each that is there. Without it, such a value aborts the upgrade with
 * `LARDER_EXCEPTION_DATA`.
 */
struct larder_index *larder_object_store_create_index_with_keys(const struct larder_object_store *store,
                                                                struct larder_str name,
                                                                struct larder_str key_path,
                                                                bool unique,
                                                                bool multi_entry,
                                                                larder_keys_callback callback,
                                                                void *user_data,
                                                                larder_error ** error);

/**
 * Adds a key, which is copied, to those that a callback has found. False for a null key: `LARDER_EXCEPTION_TYPE`.
 */
bool larder_found_keys_add(struct larder_found_keys *found, const struct larder_key *key, larder_error ** error);

/**
 * Writes its size in bytes. False for a handle: then nothing is written.
 */
bool larder_blob_size(const struct larder_blob *blob, uint64_t *size_bytes);

/**
 * Its MIME type, maybe empty: the host owns the text. Null for a handle.
 */
struct larder_text *larder_blob_mime_type(const struct larder_blob *blob);

/**
 * A file's name: the host owns the text. Null if it is no file.
 */
struct larder_text *larder_blob_file_name(const struct larder_blob *blob);

/**
 * Reads all of the content, and writes where it is: there as long as the blob. Reads files on the calling thread, once: `larder_storage_read_blob`
 * does not keep that. False:
 * `LARDER_EXCEPTION_NOT_READABLE`.
 */
bool larder_blob_read(const struct larder_blob *blob,
                      struct larder_bytes *content,
                      larder_error ** error);

/**
 * Requests `len` bytes of the content from `offset` on: those that there are (`larder_request_bytes`). The storage's threads read them, or
 * the host's loop. The request fails with `LARDER_EXCEPTION_NOT_READABLE`; of the kind `LARDER_KIND_CORRUPTION` if the file is gone.
 */
struct larder_request *larder_storage_read_blob(const struct larder_storage *storage,
                                                const struct larder_blob *blob,
                                                uint64_t offset,
                                                uint64_t len,
                                                larder_error ** error);

/**
 * Frees a blob, and what was read of it. Null is passed over.
 */
void larder_blob_free(struct larder_blob *blob);

/**
 * A blob of these bytes, which are copied, with a MIME type that may be empty; a file if `name` is not `larder_null`, last modified
 * then: milliseconds since 1970 UTC. The host owns it. For `larder_value_with_blobs`.
 */
struct larder_blob *larder_blob_new(struct larder_bytes bytes,
                                    struct larder_str mime_type,
                                    struct larder_str name,
                                    int64_t modified_milliseconds,
                                    larder_error ** error);

/**
 * Makes a blob like `larder_blob_new`, with the content of a file of the host's, which is read piece by piece when the
 * transaction commits. Until then it has to stay as long as it is now: if it cannot be read, or is longer or shorter,
 * the transaction is aborted. Null: `LARDER_EXCEPTION_NOT_READABLE` if there is no such file.
 */
struct larder_blob *larder_blob_new_of_path(struct larder_str path,
                                            struct larder_str mime_type,
                                            struct larder_str name,
                                            int64_t modified_milliseconds,
                                            larder_error ** error);

/**
 * A handle of a page's file system, with the token that the host finds it by, which is copied: the host owns it. For
 * `larder_value_with_blobs`.
 */
struct larder_blob *larder_blob_new_handle(struct larder_bytes token, larder_error ** error);

/**
 * A copy of a value with these blobs, files and handles in the place of any that it has: the host owns it. The bytes of a browser's value
 * refer to blobs and files by their places among themselves, and to handles likewise; those of another engine as they like. They may be
 * new, or of a value that was read, of this storage or another. Null if one of them is null: `LARDER_EXCEPTION_TYPE`.
 *
 * # Safety
 * `blobs` points at `blobs_len` blobs.
 */
struct larder_value *larder_value_with_blobs(const struct larder_value *value,
                                             const struct larder_blob *const *blobs,
                                             size_t blobs_len,
                                             larder_error ** error);

/**
 * How many there are.
 */
size_t larder_records_len(const struct larder_records *records);

/**
 * The index key of one of them if an index was asked, else the primary key: the host owns it. Counted from 0; null beyond the end.
 */
struct larder_key *larder_records_key(const struct larder_records *records,
                                      size_t at);

/**
 * The key of one of the records: the host owns it. Counted from 0; null beyond the end.
 */
struct larder_key *larder_records_primary_key(const struct larder_records *records, size_t at);

/**
 * The value of one of the records: the host owns it. Counted from 0; null beyond the end, and if only keys were asked for.
 */
struct larder_value *larder_records_value(const struct larder_records *records,
                                          size_t at);

/**
 * Frees records. Null is passed over.
 */
void larder_records_free(struct larder_records *records);

/**
 * The origin whose it was: the host owns the text. Null of null.
 */
struct larder_text *larder_loss_origin(const struct larder_loss *loss);

/**
 * The bucket's number; 0 if it is the origin's default one in its own site.
 */
uint64_t larder_loss_bucket(const struct larder_loss *loss);

/**
 * What has happened.
 */
larder_loss_kind larder_loss_type(const struct larder_loss *loss);

/**
 * Sentences for the person that uses the host, with database, object store and key as far as they could be read: UTF-8
 * that ends with a zero byte, there as long as the loss. For null, an empty text.
 */
const char *larder_loss_message(const struct larder_loss *loss);

/**
 * What was found damaged, with file and offset, for a log: lent by the loss. Null of `LARDER_LOSS_KIND_TORN_TAIL`.
 */
const struct larder_error *larder_loss_error(const struct larder_loss *loss);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LARDER_H */
