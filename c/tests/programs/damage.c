/* A store that is only read, one that is in use, one that is damaged, and what a host hears of it and does about it. */

#include "support.h"

#define STORE "https_a.example_0.indexeddb.leveldb"

static larder_options *in_folder(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_options *options = larder_options_new(utf8(folder), &error);
  NO_ERROR(error);
  larder_options_set_threads(options, threads);
  return options;
}

static larder_storage *storage_of(larder_options *options) {
  larder_error *error = NULL;
  larder_storage *storage = larder_storage_new(options, &error);
  NO_ERROR(error);
  larder_options_free(options);
  return storage;
}

static void end(larder_storage *storage, larder_factory *factory) {
  larder_error *error = NULL;
  larder_factory_free(factory);
  CHECK(larder_storage_close(storage, &error));
  larder_storage_free(storage);
}

static void write_one(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = storage_of(in_folder(folder, threads));
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_value *value = json("{\"name\":\"one\"}");
  larder_key *key = number_key(1);
  done(larder_object_store_put(store, value, key, &error));
  commit(transaction);
  larder_key_free(key);
  larder_value_free(value);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  end(storage, factory);
}

static void only_read(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_options *options = in_folder(folder, threads);
  larder_options_set_read_only(options, true);
  larder_storage *storage = storage_of(options);
  larder_factory *factory = new_factory(storage);
  larder_connection *connection = open_with(factory, "db", 0, NULL, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == 1);
  larder_str scope[] = {utf8("s")};
  CHECK(larder_connection_transaction(connection, scope, 1, LARDER_MODE_READ_WRITE, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_READ_ONLY);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  fails(larder_factory_open(factory, utf8("db"), 2, &error), LARDER_EXCEPTION_READ_ONLY);
  fails(larder_factory_open(factory, utf8("new"), 0, &error), LARDER_EXCEPTION_READ_ONLY);
  fails(larder_factory_repair(factory, true, &error), LARDER_EXCEPTION_READ_ONLY);
  end(storage, factory);
}

/* Two storages of one program: the second is told which program it is. */
static void in_use(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = storage_of(in_folder(folder, threads)), *other = storage_of(in_folder(folder, threads));
  larder_factory *factory = new_factory(storage), *refused = new_factory(other);
  larder_connection *connection = open_with(factory, "db", 0, NULL, NULL);
  larder_request *opening = larder_factory_open(refused, utf8("db"), 0, &error);
  CHECK(!larder_request_wait(opening, &error));
  CHECK(larder_error_kind(error) == LARDER_KIND_CONFLICT);
  CHECK(strstr(larder_error_message(error), "this program (process ") != NULL);
  EXPECT(error, LARDER_EXCEPTION_UNKNOWN);
  larder_request_free(opening);
  larder_connection_free(connection);
  end(other, refused);
  end(storage, factory);
}

static void abort_upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data, (void)old_version, (void)new_version;
  larder_error *error = NULL;
  CHECK(larder_transaction_abort(transaction, &error));
  larder_transaction_free(transaction);
}

/* The error of an aborted upgrade says so once. */
static void aborted(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = storage_of(in_folder(folder, threads));
  larder_factory *factory = new_factory(storage);
  larder_request *opening = larder_factory_open(factory, utf8("db"), 2, &error);
  larder_request_on_upgrade(opening, abort_upgrade, NULL, &error);
  CHECK(!larder_request_wait(opening, &error));
  CHECK(strcmp(larder_error_message(error), "the transaction was aborted") == 0);
  EXPECT(error, LARDER_EXCEPTION_ABORT);
  larder_request_free(opening);
  end(storage, factory);
}

struct losses {
  int count;
  larder_loss_kind kind;
};

static void note_loss(void *user_data, const larder_loss *loss) {
  struct losses *losses = user_data;
  losses->count++;
  losses->kind = larder_loss_type(loss);
  CHECK(is_text(larder_loss_origin(loss), "https://a.example") && larder_loss_bucket(loss) == 0);
  CHECK(strstr(larder_loss_message(loss), "It can be repaired") != NULL);
  CHECK(larder_error_kind(larder_loss_error(loss)) == LARDER_KIND_CORRUPTION);
}

static void run_until(larder_storage *storage, const int *count, int wanted) {
  while (*count < wanted) {
    larder_storage_run(storage, 0);
  }
}

static void damaged(const char *folder, size_t threads) {
  larder_error *error = NULL;
  char current[4096];
  snprintf(current, sizeof current, "%s/" STORE "/CURRENT", folder);
  FILE *file = fopen(current, "w");
  CHECK(file != NULL && fputs("MANIFEST-999999\n", file) >= 0 && fclose(file) == 0);

  struct losses losses = {0, LARDER_LOSS_KIND_NONE};
  larder_options *options = in_folder(folder, threads);
  larder_options_set_on_loss(options, note_loss, &losses);
  larder_storage *storage = storage_of(options);
  larder_factory *factory = new_factory(storage);
  fails(larder_factory_open(factory, utf8("db"), 0, &error), LARDER_EXCEPTION_UNKNOWN);
  run_until(storage, &losses.count, 1);
  CHECK(losses.count == 1 && losses.kind == LARDER_LOSS_KIND_UNOPENABLE);

  larder_request *repair = larder_factory_repair(factory, true, &error);
  NO_ERROR(error);
  CHECK(larder_request_take_text(repair) == NULL);
  CHECK(larder_request_wait(repair, &error));
  larder_text *text = larder_request_take_text(repair);
  CHECK(text != NULL && strstr(larder_text_utf8(text), "rows were read whole") != NULL);
  CHECK(larder_request_take_text(repair) == NULL);
  larder_text_free(text);
  larder_request_free(repair);

  larder_connection *connection = open_with(factory, "db", 0, NULL, NULL);
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_key *key = number_key(1);
  larder_request *get = larder_object_store_get(store, key, &error);
  CHECK(larder_request_wait(get, &error));
  CHECK(is_json(larder_request_take_value(get), "{\"name\":\"one\"}"));
  larder_request_free(get);
  larder_key_free(key);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
  larder_connection_free(connection);
  CHECK(losses.count == 1);
  end(storage, factory);
}

static void raises(void) {
  larder_error *error = NULL;
  larder_options *options = larder_options_in_memory();
  CHECK(larder_options_set_raise_data_version(options, LARDER_RAISE_DATA_VERSION_NEVER, &error));
  CHECK(!larder_options_set_raise_data_version(options, (larder_raise_data_version)3, &error));
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  larder_options_free(options);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(strchr(larder_version(), '.') != NULL);
  raises();
  for (size_t threads = 0; threads < 3; threads++) {
    char folder[2048];
    snprintf(folder, sizeof folder, "%s-%d", argv[1], (int)threads);
    write_one(folder, threads);
    only_read(folder, threads);
    in_use(folder, threads);
    aborted(folder, threads);
    damaged(folder, threads);
  }
  printf("read, told and repaired\n");
  return 0;
}
