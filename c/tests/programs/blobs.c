/* Blobs beside bytes that an engine has serialised, V8 or another, from memory and from a file of the host's. */

#include "support.h"

static larder_value *got(larder_object_store *store, const larder_key *key) {
  larder_error *error = NULL;
  larder_request *get = larder_object_store_get(store, key, &error);
  CHECK(larder_request_wait(get, &error));
  larder_value *value = larder_request_take_value(get);
  larder_request_free(get);
  CHECK(value != NULL);
  return value;
}

/* The blob at this place has this content, and a name if it is a file. */
static void has(const larder_value *value, size_t at, const char *content, const char *name) {
  larder_error *error = NULL;
  larder_blob *blob = larder_value_blob(value, at);
  larder_bytes bytes = {NULL, 0};
  CHECK(larder_blob_read(blob, &bytes, &error));
  CHECK(bytes.len == strlen(content) && memcmp(bytes.data, content, bytes.len) == 0);
  larder_text *text = larder_blob_file_name(blob);
  CHECK(name == NULL ? text == NULL : is_text(text, name));
  larder_blob_free(blob);
}

static void write_file(const char *path, const char *content) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* A value that the library has built, as bytes that came from elsewhere: they refer to a blob and a file. */
static larder_value *bytes_of_two(void) {
  larder_error *error = NULL;
  larder_bytes none = {NULL, 0};
  larder_builder *builder = larder_builder_new();
  larder_builder_begin_array(builder, 2, &error);
  larder_builder_blob(builder, none, larder_null(), &error);
  larder_builder_file(builder, none, larder_null(), utf8("f"), 0, &error);
  larder_builder_end(builder, &error);
  larder_value *built = larder_builder_value(builder, &error);
  NO_ERROR(error);
  larder_value *value = larder_value_from_bytes(larder_value_bytes(built));
  larder_value_free(built);
  larder_builder_free(builder);
  return value;
}

static larder_value *foreign(void) {
  larder_error *error = NULL;
  larder_key *name = larder_key_string(utf8("a"), &error);
  const larder_key *names[] = {name};
  larder_foreign *made = larder_foreign_new(utf8("tiny"), 1, (larder_bytes){NULL, 0}, &error);
  CHECK(larder_foreign_add_keys(made, utf8("i"), names, 1, &error));
  larder_value *value = larder_foreign_value(made, &error);
  NO_ERROR(error);
  larder_foreign_free(made);
  larder_key_free(name);
  return value;
}

static void beside_bytes(larder_storage *storage, larder_connection *connection, const char *path) {
  larder_error *error = NULL;
  write_file(path, "on a disk");
  larder_blob *memory =
      larder_blob_new((larder_bytes){(const uint8_t *)"in memory", 9}, utf8("a/b"), larder_null(), 0, &error);
  larder_blob *file = larder_blob_new_of_path(utf8(path), larder_null(), utf8("n.txt"), 7, &error);
  larder_blob *token = larder_blob_new_handle((larder_bytes){(const uint8_t *)"t", 1}, &error);
  NO_ERROR(error);
  uint64_t size = 0;
  CHECK(larder_blob_size(file, &size) && size == 9 && !larder_blob_size(token, &size));
  CHECK(is_text(larder_blob_mime_type(memory), "a/b"));
  /* Read by the storage before it is stored. */
  larder_request *reading = larder_storage_read_blob(storage, file, 3, 4, &error);
  CHECK(larder_request_wait(reading, &error));
  larder_bytes bytes = larder_request_bytes(reading);
  CHECK(bytes.len == 4 && memcmp(bytes.data, "a di", 4) == 0);
  larder_request_free(reading);

  const larder_blob *two[] = {memory, file}, *three[] = {memory, token, file}, *missing[] = {memory, NULL};
  larder_value *plain = bytes_of_two(), *other = foreign();
  CHECK(larder_value_with_blobs(plain, missing, 2, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  larder_value *first = larder_value_with_blobs(plain, two, 2, &error);
  larder_value *second = larder_value_with_blobs(other, three, 3, &error);
  NO_ERROR(error);
  larder_blob_free(memory);
  larder_blob_free(file);
  larder_blob_free(token);

  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *one = number_key(1), *next = number_key(2);
  done(larder_object_store_put(store, first, one, &error));
  done(larder_object_store_put(store, second, next, &error));
  commit(writing);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  CHECK(remove(path) == 0);
  larder_value_free(plain);
  larder_value_free(other);
  larder_value_free(first);
  larder_value_free(second);

  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_ONLY, &store);
  first = got(store, one);
  second = got(store, next);
  CHECK(larder_value_blobs_len(first) == 2 && larder_value_blobs_len(second) == 3);
  has(first, 0, "in memory", NULL);
  has(first, 1, "on a disk", "n.txt");
  has(second, 1, "on a disk", "n.txt");
  larder_blob *handle = larder_value_blob(second, 2);
  CHECK(larder_blob_mime_type(handle) == NULL && !larder_blob_read(handle, NULL, &error));
  EXPECT(error, LARDER_EXCEPTION_NOT_READABLE);
  larder_blob_free(handle);
  CHECK(is_text(larder_value_engine(second), "tiny"));
  larder_value_free(first);
  larder_value_free(second);
  larder_key_free(one);
  larder_key_free(next);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
}

/* A file that has grown since is not what was put. */
static void changed_meanwhile(larder_connection *connection, const char *path) {
  larder_error *error = NULL;
  CHECK(larder_blob_new_of_path(utf8(path), larder_null(), larder_null(), 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_NOT_READABLE);
  write_file(path, "short");
  larder_blob *blob = larder_blob_new_of_path(utf8(path), larder_null(), larder_null(), 0, &error);
  NO_ERROR(error);
  const larder_blob *blobs[] = {blob, blob};
  larder_value *plain = bytes_of_two();
  larder_value *value = larder_value_with_blobs(plain, blobs, 2, &error);
  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *key = number_key(3);
  done(larder_object_store_put(store, value, key, &error));
  write_file(path, "not so short any more");
  larder_request *commit = larder_transaction_commit(writing, &error);
  CHECK(!larder_request_wait(commit, &error));
  CHECK(strstr(larder_error_message(error), "another size") != NULL);
  larder_error_free(error);
  larder_request_free(commit);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  larder_value_free(plain);
  larder_value_free(value);
  larder_blob_free(blob);
  larder_key_free(key);
  CHECK(remove(path) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  for (size_t threads = 0; threads < 3; threads++) {
    larder_error *error = NULL;
    char folder[2048], path[2100];
    snprintf(folder, sizeof folder, "%s-%d", argv[1], (int)threads);
    snprintf(path, sizeof path, "%s.txt", folder);
    larder_storage *storage = new_storage(folder, threads, NULL, NULL);
    larder_factory *factory = new_factory(storage);
    larder_connection *connection = open_with(factory, "db", 1, make_store, NULL);
    beside_bytes(storage, connection, path);
    changed_meanwhile(connection, path);
    larder_connection_free(connection);
    larder_factory_free(factory);
    CHECK(larder_storage_close(storage, &error));
    larder_storage_free(storage);
  }
  printf("from memory and from files\n");
  return 0;
}
