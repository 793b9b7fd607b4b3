/* What the programs of the tests share. */

#ifndef SUPPORT_H
#define SUPPORT_H

#include <larder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(claim)                                                   \
  do {                                                                 \
    if (!(claim)) {                                                    \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

#define NO_ERROR(error)                                                                            \
  do {                                                                                             \
    if ((error) != NULL) {                                                                         \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, larder_error_name_text(error),        \
              larder_error_message(error));                                                        \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* The error of this name is there; it is freed. */
#define EXPECT(error, exception)                                                                   \
  do {                                                                                             \
    if ((error) == NULL || larder_error_name(error) != (exception)) {                              \
      fprintf(stderr, "%s:%d: not %s but %s: %s\n", __FILE__, __LINE__, #exception,                \
              larder_error_name_text(error), larder_error_message(error));                         \
      exit(1);                                                                                     \
    }                                                                                              \
    larder_error_free(error);                                                                      \
    (error) = NULL;                                                                                \
  } while (0)

static inline larder_str utf8(const char *text) { return larder_utf8(text); }

/* A storage in memory, or in a folder. */
static inline larder_storage *new_storage(const char *folder, size_t threads, larder_wake_callback wake, void *user_data) {
  larder_error *error = NULL;
  larder_options *options = folder == NULL ? larder_options_in_memory() : larder_options_new(utf8(folder), &error);
  NO_ERROR(error);
  larder_options_set_threads(options, threads);
  larder_options_set_waker(options, wake, user_data);
  larder_storage *storage = larder_storage_new(options, &error);
  NO_ERROR(error);
  larder_options_free(options);
  return storage;
}

static inline larder_factory *new_factory(larder_storage *storage) {
  larder_error *error = NULL;
  larder_factory *factory = larder_storage_factory(storage, utf8("https://a.example"), &error);
  NO_ERROR(error);
  return factory;
}

/* Waits for a request that succeeds, and frees it. */
static inline void done(larder_request *request) {
  larder_error *error = NULL;
  CHECK(request != NULL);
  CHECK(larder_request_wait(request, &error) == (error == NULL));
  NO_ERROR(error);
  larder_request_free(request);
}

/* Waits for a request that fails, and frees it. */
#define fails(request, exception) fails_at(request, exception, __LINE__)
static inline void fails_at(larder_request *request, larder_exception exception, int line) {
  larder_error *error = NULL;
  CHECK(request != NULL);
  if (larder_request_wait(request, &error)) {
    fprintf(stderr, "the request of line %d has not failed\n", line);
    exit(1);
  }
  CHECK(larder_error_name(larder_request_error(request)) == larder_error_name(error));
  EXPECT(error, exception);
  larder_request_free(request);
}

/* Waits for a request that comes to a number, and frees it. */
static inline uint64_t number_of(larder_request *request) {
  larder_error *error = NULL;
  uint64_t number = 0;
  CHECK(larder_request_wait(request, &error));
  NO_ERROR(error);
  CHECK(larder_request_take_number(request, &number));
  larder_request_free(request);
  return number;
}

/* Opens a database, upgraded by `upgrade`. */
static inline larder_connection *open_with(larder_factory *factory, const char *name, uint64_t version,
                                           larder_upgrade_callback upgrade, void *user_data) {
  larder_error *error = NULL;
  larder_request *request = larder_factory_open(factory, utf8(name), version, &error);
  NO_ERROR(error);
  larder_request_on_upgrade(request, upgrade, user_data, &error);
  NO_ERROR(error);
  larder_request_wait(request, &error);
  NO_ERROR(error);
  larder_connection *connection = larder_request_take_connection(request);
  CHECK(connection != NULL && larder_request_take_connection(request) == NULL);
  larder_request_free(request);
  return connection;
}

/* An upgrade that makes the object store "s", whose keys are given apart, with an index "i" of "name". */
static inline void make_store(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data, (void)old_version, (void)new_version;
  larder_error *error = NULL;
  larder_object_store *store =
      larder_transaction_create_object_store(transaction, utf8("s"), larder_null(), false, &error);
  NO_ERROR(error);
  larder_index_free(larder_object_store_create_index(store, utf8("i"), utf8("name"), false, false, &error));
  NO_ERROR(error);
  larder_object_store_free(store);
  larder_request_free(larder_transaction_commit(transaction, &error));
  NO_ERROR(error);
  larder_transaction_free(transaction);
}

static inline larder_transaction *begin(larder_connection *connection, larder_mode mode, larder_object_store **store) {
  larder_error *error = NULL;
  larder_str scope[] = {utf8("s")};
  larder_transaction *transaction =
      larder_connection_transaction(connection, scope, 1, mode, LARDER_DURABILITY_DEFAULT, &error);
  NO_ERROR(error);
  *store = larder_transaction_object_store(transaction, scope[0], &error);
  NO_ERROR(error);
  return transaction;
}

static inline void commit(larder_transaction *transaction) {
  larder_error *error = NULL;
  larder_request *request = larder_transaction_commit(transaction, &error);
  NO_ERROR(error);
  done(request);
}

static inline larder_key *number_key(double number) {
  larder_error *error = NULL;
  larder_key *key = larder_key_number(number, &error);
  NO_ERROR(error);
  return key;
}

static inline larder_value *json(const char *text) {
  larder_error *error = NULL;
  larder_value *value = larder_value_from_json(utf8(text), &error);
  NO_ERROR(error);
  return value;
}

/* The text is this; it is freed. */
static inline bool is_text(larder_text *text, const char *expected) {
  bool is_same = text != NULL && strcmp(larder_text_utf8(text), expected) == 0;
  if (!is_same) {
    fprintf(stderr, "%s\n", text == NULL ? "no text" : larder_text_utf8(text));
  }
  larder_text_free(text);
  return is_same;
}

/* The value is this, as JSON; it is freed. */
static inline bool is_json(larder_value *value, const char *expected) {
  larder_error *error = NULL;
  larder_text *text = larder_value_to_json(value, &error);
  NO_ERROR(error);
  larder_value_free(value);
  return is_text(text, expected);
}

#endif
