/* What a host does wrong, and what it does in callbacks: errors and answers, never a crash. */

#include "support.h"

/* Enough of the loop. */
static void run_all(larder_storage *storage) {
  while (larder_storage_run(storage, 1)) {
  }
}

static void count(void *user_data, larder_request *request) {
  (void)request;
  ++*(int *)user_data;
}

/* ---- Handles that are freed in their own callbacks ---- */

struct freeing {
  larder_storage *storage;
  larder_factory *factory;
  larder_connection *connection;
  larder_object_store *store;
  larder_transaction *transaction;
  int calls;
};

static void free_request(void *user_data, larder_request *request) {
  larder_request_free(request);
  ++((struct freeing *)user_data)->calls;
}

static void free_connection(void *user_data, larder_connection *connection, uint64_t old_version, uint64_t new_version) {
  CHECK(old_version == 1 && new_version == 0);
  larder_connection_free(connection);
  ++((struct freeing *)user_data)->calls;
}

static void free_all(void *user_data, larder_request *request) {
  struct freeing *all = user_data;
  larder_storage_free(all->storage);
  larder_object_store_free(all->store);
  larder_transaction_free(all->transaction);
  larder_connection_free(all->connection);
  larder_factory_free(all->factory);
  larder_request_free(request);
  ++all->calls;
}

/* An upgrade that only frees its transaction is aborted. */
static void free_transaction(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)old_version, (void)new_version;
  larder_transaction_free(transaction);
  ++((struct freeing *)user_data)->calls;
}

static void freed_in_callbacks(size_t threads) {
  larder_error *error = NULL;
  struct freeing all = {0};
  all.storage = new_storage(NULL, threads, NULL, NULL);
  all.factory = new_factory(all.storage);
  larder_request *request = larder_factory_open(all.factory, utf8("aborted"), 1, &error);
  larder_request_on_upgrade(request, free_transaction, &all, &error);
  NO_ERROR(error);
  fails(request, LARDER_EXCEPTION_ABORT);
  CHECK(all.calls == 1);

  all.connection = open_with(all.factory, "db", 1, make_store, NULL);
  larder_connection_on_version_change(all.connection, free_connection, &all);
  CHECK(number_of(larder_factory_delete_database(all.factory, utf8("db"), &error)) == 1);
  CHECK(all.calls == 2);

  all.connection = open_with(all.factory, "db", 1, make_store, NULL);
  all.transaction = begin(all.connection, LARDER_MODE_READ_WRITE, &all.store);
  request = larder_object_store_count(all.store, NULL, &error);
  larder_request_on_done(request, free_request, &all);
  while (all.calls < 3) {
    run_all(all.storage);
  }
  request = larder_object_store_count(all.store, NULL, &error);
  NO_ERROR(error);
  larder_request_on_done(request, free_all, &all);
  larder_storage *storage = all.storage;
  if (threads == 0) {
    /* With the last callback nothing is left that could be run. */
    CHECK(!larder_storage_run(storage, 0));
  } else {
    while (all.calls < 4) {
      larder_storage_run(storage, 1);
    }
  }
  CHECK(all.calls == 4);
}

static void must_not_come(void *user_data, larder_connection *connection, uint64_t old_version, uint64_t new_version) {
  (void)connection, (void)old_version, (void)new_version;
  CHECK(!*(bool *)user_data);
}

/* However far the word of a version change has come when its connection is freed. */
static void freed_before_the_callback(int steps) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, 0, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  bool is_freed = false;
  larder_connection_on_version_change(connection, must_not_come, &is_freed);
  larder_request *deleting = larder_factory_delete_database(factory, utf8("db"), &error);
  NO_ERROR(error);
  for (int i = 0; i < steps; i++) {
    larder_storage_run(storage, 1);
  }
  larder_connection_free(connection);
  is_freed = true;
  CHECK(number_of(deleting) == 1);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

/* A request that is waited for is freed by the callback of another one. */
struct waiting {
  larder_request *waited;
};

static void free_the_other(void *user_data, larder_request *request) {
  struct waiting *both = user_data;
  larder_request_free(both->waited);
  larder_request_free(request);
  both->waited = NULL;
}

static void freed_while_waited_for(size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_request *first = larder_object_store_count(store, NULL, &error);
  struct waiting both = {larder_object_store_count(store, NULL, &error)};
  NO_ERROR(error);
  larder_request_on_done(first, free_the_other, &both);
  if (!larder_request_wait(both.waited, &error)) {
    EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  }
  while (both.waited != NULL) {
    larder_storage_run(storage, 0);
  }
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

/* ---- Handles that have outlived what they are of ---- */

static void stale_handles(size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_index *index = larder_object_store_index(store, utf8("i"), &error);
  larder_key *key = number_key(1);
  larder_value *value = json("{\"name\":\"a\"}");
  done(larder_object_store_put(store, value, key, &error));
  larder_request *opening = larder_object_store_open_cursor(store, NULL, LARDER_DIRECTION_NEXT, &error);
  larder_request_wait(opening, &error);
  larder_cursor *cursor = larder_request_take_cursor(opening);
  larder_request_free(opening);
  larder_connection_close(connection);
  CHECK(larder_connection_is_close_pending(connection));

  /* A connection that is to be closed. */
  larder_str scope[] = {utf8("s")};
  CHECK(larder_connection_transaction(connection, scope, 1, LARDER_MODE_READ_ONLY, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  /* A transaction that has ended. */
  commit(transaction);
  CHECK(larder_transaction_commit(transaction, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  CHECK(larder_transaction_object_store(transaction, utf8("s"), &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  CHECK(larder_object_store_put(store, value, key, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TRANSACTION_INACTIVE);
  CHECK(larder_object_store_get(store, key, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TRANSACTION_INACTIVE);
  CHECK(larder_object_store_rename(store, utf8("x"), &error) == false);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  CHECK(larder_index_count(index, NULL, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TRANSACTION_INACTIVE);
  CHECK(larder_cursor_continue(cursor, NULL, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TRANSACTION_INACTIVE);
  CHECK(is_json(larder_cursor_value(cursor), "{\"name\":\"a\"}"));
  CHECK(!larder_transaction_commit_if_idle(transaction));

  /* A storage that is gone: first closed, then freed before all that is of it. */
  CHECK(larder_storage_close(storage, &error) && larder_storage_close(storage, &error));
  CHECK(larder_factory_open(factory, utf8("db"), 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  larder_request *pending = larder_factory_databases(factory, &error);
  NO_ERROR(error);
  CHECK(!larder_request_wait(pending, &error));
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  larder_storage_free(storage);
  CHECK(larder_connection_version(connection) == 1);
  fails(larder_factory_delete_database(factory, utf8("db"), &error), LARDER_EXCEPTION_INVALID_STATE);
  larder_request_free(pending);
  larder_factory_free(factory);
  larder_connection_free(connection);
  larder_transaction_free(transaction);
  larder_object_store_free(store);
  larder_index_free(index);
  larder_cursor_free(cursor);
  larder_value_free(value);
  larder_key_free(key);
}

/* Callbacks that are due when the storage is freed are not called. */
static void nothing_after_the_end(size_t threads) {
  larder_error *error = NULL;
  int calls = 0;
  larder_storage *storage = new_storage(NULL, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_request *request = larder_object_store_count(store, NULL, &error);
  larder_request_on_done(request, count, &calls);
  larder_request *freed = larder_object_store_count(store, NULL, &error);
  larder_request_on_done(freed, count, &calls);
  larder_request_free(freed);
  larder_storage_free(storage);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_request_free(request);
  CHECK(calls == 0);
}

/* ---- What is asked for twice, or of the wrong kind ---- */

static void asked_twice(size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_request *request = larder_object_store_count(store, NULL, &error);
  int calls = 0, others = 0;
  larder_request_on_done(request, count, &others);
  larder_request_on_done(request, count, &calls);
  larder_request_wait(request, &error);
  larder_request_wait(request, &error);
  NO_ERROR(error);
  run_all(storage);
  CHECK(calls == 1 && others == 0);
  /* Once more, of one that is done: in the next run. */
  larder_request_on_done(request, count, &calls);
  CHECK(calls == 1);
  run_all(storage);
  run_all(storage);
  CHECK(calls == 2);
  larder_request_on_done(request, count, &calls);
  larder_request_on_done(request, NULL, NULL);
  run_all(storage);
  CHECK(calls == 2);
  CHECK(larder_request_take_key(request) == NULL && larder_request_take_value(request) == NULL);
  CHECK(larder_request_take_records(request) == NULL && larder_request_take_cursor(request) == NULL);
  CHECK(larder_request_take_connection(request) == NULL && larder_request_take_databases(request) == NULL);
  CHECK(larder_request_take_origins(request) == NULL && !larder_request_take_estimate(request, NULL, NULL));
  uint64_t number = 7;
  CHECK(larder_request_take_number(request, &number) && number == 0);
  CHECK(!larder_request_take_number(request, &number) && larder_request_error(request) == NULL);
  larder_request_free(request);

  /* Numbers of no meaning. */
  larder_str scope[] = {utf8("s"), larder_null()};
  CHECK(larder_connection_transaction(connection, scope, 1, (larder_mode)9, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_connection_transaction(connection, scope, 1, LARDER_MODE_VERSION_CHANGE, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_connection_transaction(connection, scope, 1, 0, (larder_durability)3, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_connection_transaction(connection, scope, 2, 0, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_connection_transaction(connection, scope, 0, 0, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_ACCESS);
  CHECK(larder_object_store_open_cursor(store, NULL, (larder_direction)4, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(!larder_transaction_abort_because(transaction, (larder_exception)0, utf8(""), &error));
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_factory_open(factory, utf8("db"), UINT64_MAX, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  /* An error that nobody wants. */
  CHECK(larder_factory_open(factory, utf8("db"), UINT64_MAX, NULL) == NULL);

  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

/* ---- A callback that calls everything again ---- */

struct again {
  larder_storage *storage;
  larder_factory *factory;
  size_t threads;
  int depth;
  int calls;
};

static void everything_again(void *user_data, larder_request *request) {
  struct again *again = user_data;
  larder_error *error = NULL;
  CHECK(again->depth == 0);
  again->depth++;
  again->calls++;
  CHECK(larder_request_is_done(request) && larder_request_error(request) == NULL);
  larder_connection *connection = larder_request_take_connection(request);
  /* The loop does not run inside itself. */
  CHECK(!larder_storage_run(again->storage, 0));
  /* Waiting works, for what needs no callback. */
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *key = number_key(again->calls);
  larder_value *value = json("{\"name\":\"again\"}");
  larder_request *put = larder_object_store_put(store, value, key, &error);
  int calls = again->calls;
  larder_request_on_done(put, count, &again->calls);
  done(put);
  CHECK(again->calls == calls);
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == (uint64_t)again->calls);
  commit(transaction);
  larder_value_free(value);
  larder_key_free(key);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  if (again->threads == 0) {
    /* An upgrade does, and its turn cannot come before this callback has returned. */
    larder_request *other = larder_factory_open(again->factory, utf8("other"), 1, &error);
    larder_request_on_upgrade(other, make_store, NULL, &error);
    NO_ERROR(error);
    CHECK(!larder_request_wait(other, &error));
    EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
    CHECK(!larder_request_is_done(other) && larder_request_error(other) == NULL);
    larder_request_on_done(other, count, &again->calls);
    larder_request_free(other);
  }
  larder_connection_free(connection);
  larder_request_free(request);
  if (again->calls < 3) {
    request = larder_factory_open(again->factory, utf8("db"), 0, &error);
    NO_ERROR(error);
    larder_request_on_done(request, everything_again, again);
  }
  again->depth--;
}

static void count_three(larder_factory *factory) {
  larder_error *error = NULL;
  larder_connection *connection = open_with(factory, "db", 0, NULL, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == 3);
  commit(transaction);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
}

static void called_again(size_t threads) {
  larder_error *error = NULL;
  struct again again = {new_storage(NULL, threads, NULL, NULL), NULL, threads, 0, 0};
  again.factory = new_factory(again.storage);
  larder_connection_free(open_with(again.factory, "db", 1, make_store, NULL));
  larder_request *request = larder_factory_open(again.factory, utf8("db"), 1, &error);
  NO_ERROR(error);
  larder_request_on_done(request, everything_again, &again);
  while (again.calls < 3) {
    larder_storage_run(again.storage, 0);
  }
  run_all(again.storage);
  CHECK(again.calls == 3);
  count_three(again.factory);
  larder_factory_free(again.factory);
  larder_storage_free(again.storage);
}

/* ---- Waiting for what cannot come ---- */

static void waits_that_cannot_end(void) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, 0, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *held = NULL, *later = NULL;
  larder_transaction *holds = begin(connection, LARDER_MODE_READ_WRITE, &held);
  larder_transaction *waits = begin(connection, LARDER_MODE_READ_WRITE, &later);
  larder_request *request = larder_object_store_count(later, NULL, &error);
  CHECK(!larder_request_wait(request, &error));
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  larder_request *deleting = larder_factory_delete_database(factory, utf8("db"), &error);
  CHECK(!larder_request_wait(deleting, &error));
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  /* It is still under way. */
  CHECK(!larder_request_is_done(request));
  larder_object_store_free(held);
  larder_transaction_free(holds);
  CHECK(number_of(request) == 0);
  larder_object_store_free(later);
  larder_transaction_free(waits);
  larder_connection_free(connection);
  CHECK(number_of(deleting) == 1);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

/* ---- The waker ---- */

static void woken(void *user_data) { ++*(int *)user_data; }

static void wakes_are_few(void) {
  larder_error *error = NULL;
  int wakes = 0, calls = 0;
  larder_storage *storage = new_storage(NULL, 0, woken, &wakes);
  larder_factory *factory = new_factory(storage);
  CHECK(wakes == 0);
  larder_request *request = larder_factory_open(factory, utf8("db"), 1, &error);
  larder_request_on_upgrade(request, make_store, NULL, &error);
  larder_request_on_done(request, count, &calls);
  CHECK(wakes == 1);
  run_all(storage);
  CHECK(wakes == 1 && calls == 1);
  uint64_t due = 0;
  CHECK(!larder_storage_next_due(storage, &due));
  larder_connection *connection = larder_request_take_connection(request);
  larder_request_free(request);

  /* A hundred things, and one call; in the middle of a run, none. */
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_request *requests[100];
  for (int i = 0; i < 100; i++) {
    requests[i] = larder_object_store_count(store, NULL, &error);
    larder_request_on_done(requests[i], count, &calls);
  }
  CHECK(wakes == 2);
  CHECK(larder_storage_run(storage, 10) && wakes == 2);
  run_all(storage);
  CHECK(calls == 101 && wakes == 2 && !larder_storage_run(storage, 0));
  for (int i = 0; i < 100; i++) {
    larder_request_free(requests[i]);
  }
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  CHECK(wakes == 3);
  run_all(storage);
  /* The store is to be closed in a while. */
  CHECK(larder_storage_next_due(storage, &due) && due <= 2000);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

/* ---- Many handles ---- */

static void many_handles(size_t threads) {
  enum { MANY = 10000 };
  larder_error *error = NULL;
  larder_storage *storage = new_storage(NULL, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  static larder_key *keys[MANY];
  static larder_request *requests[MANY];
  static larder_object_store *stores[MANY];
  int calls = 0;
  for (int i = 0; i < MANY; i++) {
    char text[64];
    snprintf(text, sizeof text, "{\"name\":\"%d\"}", i % 100);
    larder_value *value = json(text);
    keys[i] = number_key(i);
    requests[i] = larder_object_store_put(store, value, keys[i], &error);
    larder_request_on_done(requests[i], count, &calls);
    stores[i] = larder_transaction_object_store(transaction, utf8("s"), &error);
    larder_value_free(value);
  }
  NO_ERROR(error);
  done(larder_object_store_count(store, NULL, &error));
  /* Half of them go before their callbacks are called. */
  int called = calls;
  for (int i = 0; i < MANY; i += 2) {
    larder_request_free(requests[i]);
  }
  while (threads == 0 ? larder_storage_run(storage, 100) : calls < called) {
  }
  commit(transaction);
  run_all(storage);
  CHECK(calls >= MANY / 2 && calls <= MANY);
  for (int i = MANY - 1; i >= 0; i--) {
    if (i % 2 == 1) {
      larder_request_free(requests[i]);
    }
    larder_object_store_free(stores[i]);
    larder_key_free(keys[i]);
  }
  larder_object_store_free(store);
  larder_transaction_free(transaction);

  transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_request *request = larder_object_store_get_all(store, NULL, 0, &error);
  larder_request_wait(request, &error);
  NO_ERROR(error);
  larder_records *records = larder_request_take_records(request);
  larder_request_free(request);
  CHECK(larder_records_len(records) == MANY);
  for (int i = 0; i < MANY; i++) {
    keys[i] = larder_records_key(records, (size_t)i);
  }
  larder_records_free(records);
  for (int i = 0; i < MANY; i++) {
    larder_key_free(keys[i]);
  }
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_storage_free(storage);
}

int main(int argc, char **argv) {
  (void)argv;
  CHECK(argc == 2);
  for (size_t threads = 0; threads < 3; threads++) {
    freed_in_callbacks(threads);
    freed_while_waited_for(threads);
    stale_handles(threads);
    nothing_after_the_end(threads);
    asked_twice(threads);
    called_again(threads);
    many_handles(threads);
  }
  for (int steps = 0; steps < 8; steps++) {
    freed_before_the_callback(steps);
  }
  waits_that_cannot_end();
  wakes_are_few();
  printf("all as it should be\n");
  return 0;
}
