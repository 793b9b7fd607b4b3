/* Puts and gets as main.rs has them, by way of larder.h: nanoseconds of processor time for each, the median of the rounds. */

#define _POSIX_C_SOURCE 200809L

#include <larder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPERATIONS = 1000, LEN = 1024 };

static larder_error *error;

static void check(bool is_well) {
  if (!is_well || error != NULL) {
    fprintf(stderr, "%s\n", larder_error_message(error));
    exit(1);
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data, (void)old_version, (void)new_version;
  larder_object_store_free(
      larder_transaction_create_object_store(transaction, larder_utf8("s"), larder_null(), false, &error));
  larder_request_free(larder_transaction_commit(transaction, &error));
  larder_transaction_free(transaction);
}

static larder_value *ordinary(const uint8_t *bytes, size_t len) { return larder_value_from_bytes((larder_bytes){bytes, len}); }

static larder_value *foreign(const uint8_t *bytes, size_t len) {
  larder_foreign *made = larder_foreign_new(larder_utf8("engine"), 1, (larder_bytes){bytes, len}, &error);
  larder_value *value = larder_foreign_value(made, &error);
  larder_foreign_free(made);
  return value;
}

typedef larder_value *(*make_value)(const uint8_t *bytes, size_t len);

/* One transaction of puts, or of gets where no values are made. */
static double round_of(larder_connection *connection, make_value make, const uint8_t *bytes, size_t len) {
  larder_str scope[] = {larder_utf8("s")};
  double begun = now();
  larder_transaction *transaction =
      larder_connection_transaction(connection, scope, 1, make != NULL ? LARDER_MODE_READ_WRITE : LARDER_MODE_READ_ONLY,
                                    LARDER_DURABILITY_DEFAULT, &error);
  larder_object_store *store = larder_transaction_object_store(transaction, scope[0], &error);
  check(store != NULL);
  for (int i = 0; i < OPERATIONS; i++) {
    larder_key *key = larder_key_number(i, &error);
    larder_request *request;
    if (make != NULL) {
      larder_value *value = make(bytes, len);
      request = larder_object_store_put(store, value, key, &error);
      larder_value_free(value);
    } else {
      request = larder_object_store_get(store, key, &error);
    }
    check(larder_request_wait(request, &error));
    if (make == NULL) {
      larder_value *value = larder_request_take_value(request);
      check(larder_value_bytes(value).len >= LEN);
      larder_value_free(value);
    }
    larder_request_free(request);
    larder_key_free(key);
  }
  larder_request *commit = larder_transaction_commit(transaction, &error);
  check(larder_request_wait(commit, &error));
  larder_request_free(commit);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  return (now() - begun) / OPERATIONS;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const char *what, larder_connection *connection, int rounds, make_value make, const uint8_t *bytes,
                    size_t len) {
  double *times = malloc((size_t)rounds * sizeof *times);
  for (int i = 0; i < rounds; i++) {
    times[i] = round_of(connection, make, bytes, len);
  }
  qsort(times, (size_t)rounds, sizeof *times, ascending);
  printf("%s, C: %.0f ns\n", what, times[rounds / 2]);
  free(times);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  int rounds = atoi(argv[1]);
  larder_options *options = larder_options_in_memory();
  larder_storage *storage = larder_storage_new(options, &error);
  larder_options_free(options);
  larder_factory *factory = larder_storage_factory(storage, larder_utf8("https://a.example"), &error);
  larder_request *opening = larder_factory_open(factory, larder_utf8("db"), 1, &error);
  larder_request_on_upgrade(opening, upgrade, NULL, &error);
  check(larder_request_wait(opening, &error));
  larder_connection *connection = larder_request_take_connection(opening);
  larder_request_free(opening);

  char text[LEN + 1];
  memset(text, 'x', LEN);
  text[LEN] = 0;
  larder_builder *builder = larder_builder_new();
  larder_builder_text(builder, larder_utf8(text), &error);
  larder_value *value = larder_builder_value(builder, &error);
  larder_builder_free(builder);
  larder_bytes bytes = larder_value_bytes(value);
  measure("put of 1 KiB", connection, rounds, ordinary, bytes.data, bytes.len);
  measure("get of 1 KiB", connection, rounds, NULL, NULL, 0);
  measure("put of another engine's 1 KiB", connection, rounds, foreign, (const uint8_t *)text, LEN);
  larder_value_free(value);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_storage_free(storage);
  return 0;
}
