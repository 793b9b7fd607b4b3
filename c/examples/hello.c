/* The shortest program: it waits for each request. Keeps a record in the folder that is its first argument, and reads it. */

#include <larder.h>
#include <stdio.h>
#include <stdlib.h>

static void upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version);

/* Every function that can fail takes a place for an error, or null. */
static void check(larder_error *error) {
  if (error != NULL) {
    fprintf(stderr, "%s: %s\n", larder_error_name_text(error), larder_error_message(error));
    larder_error_free(error);
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: hello FOLDER\n");
    return 2;
  }
  larder_error *error = NULL;
  larder_options *options = larder_options_new(larder_utf8(argv[1]), &error);
  check(error);
  larder_storage *storage = larder_storage_new(options, &error);
  larder_options_free(options);
  check(error);
  larder_factory *factory = larder_storage_factory(storage, larder_utf8("https://app.example"), &error);
  check(error);

  /* Open: a database that is new, or of a lower version, is upgraded first. */
  larder_request *opening = larder_factory_open(factory, larder_utf8("hello"), 1, &error);
  check(error);
  larder_request_on_upgrade(opening, upgrade, NULL, NULL);
  larder_request_wait(opening, &error);
  check(error);
  larder_connection *connection = larder_request_take_connection(opening);
  larder_request_free(opening);

  /* Write: a transaction is begun over object stores by name, and committed. */
  larder_str scope[] = {larder_utf8("greetings")};
  larder_transaction *writing =
      larder_connection_transaction(connection, scope, 1, LARDER_MODE_READ_WRITE, LARDER_DURABILITY_DEFAULT, &error);
  check(error);
  larder_object_store *greetings = larder_transaction_object_store(writing, scope[0], &error);
  check(error);
  larder_key *key = larder_key_string(larder_utf8("world"), &error);
  check(error);
  larder_value *value = larder_value_from_json(larder_utf8("{\"text\": \"Hello, world!\"}"), &error);
  check(error);
  /* Nobody waits for this request: if it fails, the commit does. */
  larder_request_free(larder_object_store_put(greetings, value, key, &error));
  check(error);
  larder_value_free(value);
  larder_request *commit = larder_transaction_commit(writing, &error);
  check(error);
  larder_request_wait(commit, &error);
  check(error);
  larder_request_free(commit);
  larder_object_store_free(greetings);
  larder_transaction_free(writing);

  /* Read. */
  larder_transaction *reading =
      larder_connection_transaction(connection, scope, 1, LARDER_MODE_READ_ONLY, LARDER_DURABILITY_DEFAULT, &error);
  check(error);
  greetings = larder_transaction_object_store(reading, scope[0], &error);
  check(error);
  larder_request *get = larder_object_store_get(greetings, key, &error);
  check(error);
  larder_request_wait(get, &error);
  check(error);
  value = larder_request_take_value(get);
  larder_text *text = larder_value_text(value, larder_utf8("text"));
  printf("%s\n", larder_text_utf8(text));

  larder_text_free(text);
  larder_value_free(value);
  larder_request_free(get);
  larder_key_free(key);
  larder_object_store_free(greetings);
  larder_transaction_free(reading);
  larder_connection_free(connection);
  larder_factory_free(factory);
  larder_storage_close(storage, &error);
  check(error);
  larder_storage_free(storage);
  return 0;
}

static void upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data, (void)old_version, (void)new_version;
  larder_error *error = NULL;
  larder_object_store_free(
      larder_transaction_create_object_store(transaction, larder_utf8("greetings"), larder_null(), false, &error));
  check(error);
  larder_request_free(larder_transaction_commit(transaction, &error));
  check(error);
  larder_transaction_free(transaction);
}
