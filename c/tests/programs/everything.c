/* Each part of the interface once, in memory and in a folder, with threads and without. */

#include "support.h"

static void keys(void) {
  larder_error *error = NULL;
  static const uint16_t lone[] = {'a', 0xd800};
  static const uint8_t bytes[] = {0, 255};
  larder_key *number = number_key(1.5);
  larder_key *date = larder_key_date(1e12, &error);
  larder_key *string = larder_key_string(larder_utf16(lone, 2), &error);
  larder_key *binary = larder_key_binary((larder_bytes){bytes, 2}, &error);
  NO_ERROR(error);
  const larder_key *parts[] = {number, date, string, binary};
  larder_key *array = larder_key_array(parts, 4, &error);
  NO_ERROR(error);

  CHECK(larder_key_type(number) == LARDER_KEY_KIND_NUMBER && larder_key_type(date) == LARDER_KEY_KIND_DATE);
  CHECK(larder_key_type(string) == LARDER_KEY_KIND_STRING && larder_key_type(binary) == LARDER_KEY_KIND_BINARY);
  CHECK(larder_key_type(array) == LARDER_KEY_KIND_ARRAY && larder_key_array_len(array) == 4);
  const larder_key *ascending[] = {number, date, string, binary, array};
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 5; k++) {
      CHECK(larder_key_cmp(ascending[i], ascending[k]) == (i > k) - (i < k));
    }
  }
  double found = 0;
  CHECK(larder_key_to_number(date, &found) && found == 1e12 && !larder_key_to_number(string, &found));
  larder_text *text = larder_key_to_text(string);
  size_t len = 0;
  const uint16_t *units = larder_text_utf16(text, &len);
  CHECK(len == 2 && units[1] == 0xd800);
  CHECK(is_text(text, "a\xef\xbf\xbd"));
  /* An empty text goes the same way round: it is not no text. */
  larder_key *empty = larder_key_string(utf8(""), &error);
  text = larder_key_to_text(empty);
  units = larder_text_utf16(text, &len);
  larder_key *again = larder_key_string(larder_utf16(units, len), &error);
  NO_ERROR(error);
  CHECK(len == 0 && larder_key_cmp(again, empty) == 0);
  larder_text_free(text);
  larder_key_free(empty);
  larder_key_free(again);
  larder_bytes read = larder_key_to_bytes(binary);
  CHECK(read.len == 2 && memcmp(read.data, bytes, 2) == 0);
  larder_key *third = larder_key_array_at(array, 2);
  CHECK(larder_key_cmp(third, string) == 0 && larder_key_array_at(array, 4) == NULL);
  larder_key_free(third);
  larder_key *copy = larder_key_copy(array);
  CHECK(larder_key_cmp(copy, array) == 0);
  larder_key_free(copy);

  larder_key_range *range = larder_key_range_bound(number, string, false, true, &error);
  NO_ERROR(error);
  CHECK(larder_key_range_includes(range, number) && larder_key_range_includes(range, date));
  CHECK(!larder_key_range_includes(range, string) && larder_key_range_includes(NULL, array));
  larder_key_range_free(range);
  CHECK(larder_key_range_bound(string, number, false, false, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA);
  CHECK(larder_key_number(0.0 / 0.0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA);
  CHECK(larder_key_string(larder_utf8_n(NULL, 3), &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_key_string(utf8("\xff"), &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);

  larder_key_free(number);
  larder_key_free(date);
  larder_key_free(string);
  larder_key_free(binary);
  larder_key_free(array);
}

static larder_value *built(void) {
  static const uint8_t bytes[] = {1, 2, 3};
  static const uint16_t wide[] = {0x5b57, 0xd800};
  larder_bytes three = {bytes, 3};
  larder_error *error = NULL;
  larder_builder *b = larder_builder_new();
  larder_builder_begin_object(b, &error);
  larder_builder_name(b, utf8("name"), &error);
  larder_builder_text(b, larder_utf16(wide, 1), &error);
  larder_builder_name(b, utf8("lone"), &error);
  larder_builder_text(b, larder_utf16(wide, 2), &error);
  larder_builder_name(b, utf8("inner"), &error);
  larder_builder_begin_object(b, &error);
  larder_builder_name(b, utf8("7"), &error);
  larder_builder_bool(b, true, &error);
  larder_builder_name(b, utf8("none"), &error);
  larder_builder_null(b, &error);
  larder_builder_name(b, utf8("nothing"), &error);
  larder_builder_undefined(b, &error);
  larder_builder_end(b, &error);
  larder_builder_name(b, utf8("bytes"), &error);
  larder_builder_binary(b, three, &error);
  larder_builder_name(b, utf8("when"), &error);
  larder_builder_date(b, 1577836800000.0, &error);
  larder_builder_name(b, utf8("list"), &error);
  larder_builder_begin_array(b, 2, &error);
  larder_builder_begin_map(b, &error);
  larder_builder_number(b, 1, &error);
  larder_builder_text(b, utf8("one"), &error);
  larder_builder_end(b, &error);
  larder_builder_begin_set(b, &error);
  larder_builder_number(b, -0.5, &error);
  larder_builder_end(b, &error);
  larder_builder_end(b, &error);
  larder_builder_name(b, utf8("blob"), &error);
  larder_builder_blob(b, three, utf8("text/plain"), &error);
  larder_builder_name(b, utf8("file"), &error);
  larder_builder_file(b, three, larder_null(), utf8("f.txt"), 1000, &error);
  NO_ERROR(error);
  /* What is open is ended. */
  larder_value *value = larder_builder_value(b, &error);
  NO_ERROR(error);
  larder_builder_free(b);
  return value;
}

static void read_built(larder_value *value) {
  double number = 0;
  bool flag = false;
  CHECK(is_text(larder_value_text(value, utf8("name")), "\xe5\xad\x97"));
  CHECK(is_text(larder_value_text(value, utf8("lone")), "\xe5\xad\x97\xef\xbf\xbd"));
  CHECK(larder_value_bool(value, utf8("inner.7"), &flag) && flag);
  CHECK(!larder_value_bool(value, utf8("inner.none"), &flag) && !larder_value_number(value, utf8("no.thing"), &number));
  CHECK(larder_value_number(value, utf8("when"), &number) && number == 1577836800000.0);
  larder_bytes bytes = larder_value_binary(value, utf8("bytes"));
  CHECK(bytes.len == 3 && bytes.data[2] == 3);
  CHECK(larder_value_binary(value, utf8("name")).data == NULL);
}

static void read_blobs(larder_storage *storage, larder_value *value) {
  CHECK(larder_value_blobs_len(value) == 2 && larder_value_blob(value, 2) == NULL);
  larder_error *error = NULL;
  for (size_t at = 0; at < 2; at++) {
    larder_blob *blob = larder_value_blob(value, at);
    uint64_t size = 0;
    larder_bytes content = {NULL, 0};
    CHECK(larder_blob_size(blob, &size) && size == 3);
    CHECK(is_text(larder_blob_mime_type(blob), at == 0 ? "text/plain" : ""));
    larder_text *name = larder_blob_file_name(blob);
    CHECK(at == 0 ? name == NULL : is_text(name, "f.txt"));
    CHECK(larder_blob_read(blob, &content, &error) && content.len == 3 && content.data[0] == 1);
    NO_ERROR(error);
    larder_request *range = larder_storage_read_blob(storage, blob, 1, 9, &error);
    larder_blob_free(blob);
    CHECK(larder_request_wait(range, &error));
    content = larder_request_bytes(range);
    CHECK(content.len == 2 && content.data[0] == 2);
    larder_request_free(range);
  }
}

static void values(larder_storage *storage, larder_connection *connection) {
  larder_error *error = NULL;
  CHECK(is_json(json("{\"a\": [1, null, \"x\"], \"b\": {\"c\": false}}"), "{\"a\":[1,null,\"x\"],\"b\":{\"c\":false}}"));
  CHECK(larder_value_from_json(utf8("{"), &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_SYNTAX);

  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *key = number_key(1);
  larder_value *value = built();
  read_built(value);
  done(larder_object_store_put(store, value, key, &error));
  larder_value_free(value);
  commit(writing);
  larder_object_store_free(store);
  larder_transaction_free(writing);

  /* What was read can be put again, blobs and all. */
  for (int i = 0; i < 2; i++) {
    writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
    larder_request *get = larder_object_store_get(store, key, &error);
    larder_request_wait(get, &error);
    NO_ERROR(error);
    value = larder_request_take_value(get);
    CHECK(larder_request_take_value(get) == NULL);
    larder_request_free(get);
    read_built(value);
    read_blobs(storage, value);
    done(larder_object_store_put(store, value, key, &error));
    commit(writing);
    larder_object_store_free(store);
    larder_transaction_free(writing);
    larder_value_free(value);
  }
  /* The same bytes are the same value. */
  value = json("[1, \"two\"]");
  CHECK(is_json(larder_value_from_bytes(larder_value_bytes(value)), "[1,\"two\"]"));
  larder_value_free(value);
  writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  value = larder_value_from_bytes((larder_bytes){(const uint8_t *)"no", 2});
  CHECK(larder_object_store_put(store, value, key, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA_CLONE);
  CHECK(larder_value_to_json(value, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_UNKNOWN);
  larder_value_free(value);
  done(larder_object_store_clear(store, &error));
  commit(writing);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  larder_key_free(key);
}

static void change_schema(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data;
  larder_error *error = NULL;
  CHECK(old_version == 1 && new_version == 2 && larder_transaction_mode(transaction) == LARDER_MODE_VERSION_CHANGE);
  larder_str paths[] = {utf8("a"), utf8("b.c")};
  larder_object_store *store = larder_transaction_create_object_store_of_key_paths(transaction, utf8("t"), paths, 2, &error);
  NO_ERROR(error);
  bool is_array = false;
  larder_names *path = larder_object_store_key_path(store, &is_array);
  CHECK(is_array && larder_names_len(path) == 2 && strcmp(larder_text_utf8(larder_names_at(path, 1)), "b.c") == 0);
  larder_names_free(path);
  larder_index *index = larder_object_store_create_index_of_key_paths(store, utf8("x"), paths, 2, true, &error);
  NO_ERROR(error);
  CHECK(larder_index_unique(index) && !larder_index_multi_entry(index));
  CHECK(larder_index_rename(index, utf8("y"), &error) && is_text(larder_index_name(index), "y"));
  path = larder_index_key_path(index, NULL);
  CHECK(larder_names_len(path) == 2 && larder_names_at(path, 2) == NULL);
  larder_names_free(path);
  larder_index_free(index);
  larder_names *names = larder_object_store_index_names(store);
  CHECK(larder_names_len(names) == 1);
  larder_names_free(names);
  CHECK(larder_object_store_delete_index(store, utf8("y"), &error));
  CHECK(!larder_object_store_delete_index(store, utf8("y"), &error));
  EXPECT(error, LARDER_EXCEPTION_NOT_FOUND);
  CHECK(larder_object_store_rename(store, utf8("u"), &error) && is_text(larder_object_store_name(store), "u"));
  larder_object_store_free(store);
  CHECK(larder_transaction_delete_object_store(transaction, utf8("u"), &error));
  CHECK(larder_transaction_create_object_store(transaction, utf8("bad"), utf8("a b"), false, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_SYNTAX);
  CHECK(larder_transaction_create_object_store(transaction, utf8("s"), larder_null(), false, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_CONSTRAINT);
  store = larder_transaction_create_object_store(transaction, utf8("generated"), utf8("id"), true, &error);
  NO_ERROR(error);
  CHECK(larder_object_store_auto_increment(store));
  path = larder_object_store_key_path(store, &is_array);
  CHECK(!is_array && larder_names_len(path) == 1);
  larder_names_free(path);
  /* Requests can be waited for in a callback. */
  larder_value *value = json("{}");
  larder_request *put = larder_object_store_put(store, value, NULL, &error);
  CHECK(larder_request_wait(put, &error));
  NO_ERROR(error);
  larder_key *key = larder_request_take_key(put);
  larder_key *one = number_key(1);
  CHECK(larder_key_cmp(key, one) == 0);
  larder_key_free(key);
  larder_key_free(one);
  larder_request_free(put);
  larder_value_free(value);
  larder_object_store_free(store);
  larder_request_free(larder_transaction_commit(transaction, &error));
  NO_ERROR(error);
  larder_transaction_free(transaction);
}

/* The bytes of an engine whose values are a title and a zero byte. */
static larder_value *foreign(const char *title, size_t indexes) {
  larder_error *error = NULL;
  larder_bytes bytes = {(const uint8_t *)title, strlen(title) + 1};
  larder_foreign *made = larder_foreign_new(utf8("tiny"), 3, bytes, &error);
  larder_key *key = larder_key_string(utf8(title), &error);
  const larder_key *keys[] = {key};
  for (size_t i = 0; i < indexes; i++) {
    CHECK(larder_foreign_add_keys(made, utf8(i == 0 ? "by title" : "later"), keys, 1, &error));
  }
  larder_value *value = larder_foreign_value(made, &error);
  NO_ERROR(error);
  larder_key_free(key);
  larder_foreign_free(made);
  return value;
}

static bool title_of(void *user_data, const larder_key *primary_key, larder_bytes bytes, larder_found_keys *found) {
  larder_error *error = NULL;
  CHECK(larder_key_type(primary_key) == LARDER_KEY_KIND_NUMBER && bytes.data[bytes.len - 1] == 0);
  larder_key *key = larder_key_string(utf8((const char *)bytes.data), &error);
  CHECK(larder_found_keys_add(found, key, &error));
  larder_key_free(key);
  ++*(int *)user_data;
  return *(int *)user_data < 3;
}

struct titles {
  int asked;
  bool is_first;
};

static void make_titles(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)old_version, (void)new_version;
  struct titles *titles = user_data;
  larder_error *error = NULL;
  larder_object_store *store;
  if (titles->is_first) {
    store = larder_transaction_create_object_store(transaction, utf8("s"), utf8("id"), true, &error);
    larder_index_free(larder_object_store_create_index(store, utf8("by title"), utf8("title"), false, false, &error));
  } else {
    store = larder_transaction_object_store(transaction, utf8("s"), &error);
    larder_index_free(larder_object_store_create_index_with_keys(store, utf8("later"), utf8("title"), false, false,
                                                                 title_of, &titles->asked, &error));
  }
  NO_ERROR(error);
  larder_object_store_free(store);
  larder_request_free(larder_transaction_commit(transaction, &error));
  larder_transaction_free(transaction);
}

/* Values of an engine that is not V8, found by the keys that the host gives. */
static void foreign_values(larder_factory *factory) {
  larder_error *error = NULL;
  struct titles titles = {0, true};
  larder_connection *connection = open_with(factory, "foreign", 1, make_titles, &titles);
  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_request *generating = larder_object_store_generate_key(store, &error);
  CHECK(larder_request_wait(generating, &error));
  larder_key *key = larder_request_take_key(generating);
  larder_request_free(generating);
  larder_value *emma = foreign("Emma", 1), *villette = foreign("Villette", 1), *none = foreign("None", 0);
  done(larder_object_store_put(store, emma, key, &error));
  done(larder_object_store_put(store, villette, NULL, &error));
  CHECK(larder_object_store_put(store, none, NULL, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA);
  larder_key_free(key);
  larder_value_free(emma);
  larder_value_free(villette);
  larder_value_free(none);
  commit(writing);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  larder_connection_free(connection);

  titles.is_first = false;
  connection = open_with(factory, "foreign", 2, make_titles, &titles);
  CHECK(titles.asked == 2);
  larder_transaction *reading = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_index *index = larder_object_store_index(store, utf8("later"), &error);
  key = larder_key_string(utf8("Villette"), &error);
  larder_request *get = larder_index_get(index, key, &error);
  CHECK(larder_request_wait(get, &error));
  larder_value *value = larder_request_take_value(get);
  larder_bytes bytes = larder_value_foreign_bytes(value);
  CHECK(bytes.len == 9 && memcmp(bytes.data, "Villette", 9) == 0);
  CHECK(is_text(larder_value_engine(value), "tiny") && larder_value_format(value) == 3);
  larder_request_free(get);

  /* Put as it was read it would be in no index: that is refused, and the entries stay. */
  larder_object_store_free(store);
  larder_transaction_free(reading);
  writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *two = larder_key_number(2, &error);
  CHECK(larder_object_store_put(store, value, two, &error) == NULL);
  CHECK(strstr(larder_error_message(error), "no keys are given for the index") != NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA);
  larder_index_free(index);
  index = larder_object_store_index(store, utf8("later"), &error);
  CHECK(number_of(larder_index_count(index, NULL, &error)) == 2);
  larder_key_free(two);
  larder_value_free(value);
  larder_key_free(key);
  larder_index_free(index);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  larder_connection_free(connection);

  /* One that finds nothing, and says so. */
  larder_request *again = larder_factory_delete_database(factory, utf8("foreign"), &error);
  CHECK(number_of(again) == 2);
  value = json("1");
  CHECK(larder_value_engine(value) == NULL && larder_value_foreign_bytes(value).data == NULL);
  larder_value_free(value);
  larder_foreign *bad = larder_foreign_new(utf8("two words"), 1, (larder_bytes){NULL, 0}, &error);
  CHECK(larder_foreign_value(bad, &error) == NULL);
  CHECK(strstr(larder_error_message(error), "1 to 64 characters of printable ASCII without blanks") != NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  larder_foreign_free(bad);
}

static const char *const RECORDS[] = {"{\"name\":\"b\"}", "{\"name\":\"a\"}", "{\"name\":\"b\"}", "{\"name\":\"c\"}"};

static void fill(larder_connection *connection) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  for (int i = 0; i < 4; i++) {
    larder_key *key = number_key(i);
    larder_value *value = json(RECORDS[i]);
    larder_request_free(larder_object_store_add(store, value, key, &error));
    NO_ERROR(error);
    larder_value_free(value);
    larder_key_free(key);
  }
  commit(writing);
  CHECK(larder_transaction_state(writing) == LARDER_STATE_FINISHED);
  larder_object_store_free(store);
  larder_transaction_free(writing);
}

static void reads(larder_connection *connection) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *reading = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_index *index = larder_object_store_index(store, utf8("i"), &error);
  NO_ERROR(error);
  larder_key *one = number_key(1), *b = larder_key_string(utf8("b"), &error);
  larder_key_range *from_one = larder_key_range_lower_bound(one, false, &error);
  larder_key_range *up_to_b = larder_key_range_upper_bound(b, false, &error);
  NO_ERROR(error);

  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == 4);
  CHECK(number_of(larder_object_store_count(store, from_one, &error)) == 3);
  CHECK(number_of(larder_index_count(index, up_to_b, &error)) == 3);

  larder_request *first = larder_object_store_get_first(store, from_one, &error);
  larder_request *of_index = larder_index_get(index, b, &error);
  larder_request *key_of_index = larder_index_get_key(index, up_to_b, &error);
  larder_request *first_of_index = larder_index_get_first(index, NULL, &error);
  larder_request *key = larder_object_store_get_key(store, from_one, &error);
  larder_request *all = larder_object_store_get_all(store, from_one, 2, &error);
  larder_request *keys_only = larder_object_store_get_all_keys(store, NULL, 0, &error);
  larder_request *all_of_index = larder_index_get_all(index, up_to_b, 0, &error);
  larder_request *keys_of_index = larder_index_get_all_keys(index, NULL, 3, &error);
  NO_ERROR(error);
  CHECK(larder_request_wait(keys_of_index, &error));
  CHECK(larder_request_is_done(first) && is_json(larder_request_take_value(first), RECORDS[1]));
  CHECK(is_json(larder_request_take_value(of_index), RECORDS[0]));
  CHECK(is_json(larder_request_take_value(first_of_index), RECORDS[1]));
  larder_key *found = larder_request_take_key(key_of_index);
  CHECK(larder_key_cmp(found, one) == 0);
  larder_key_free(found);
  found = larder_request_take_key(key);
  CHECK(larder_key_cmp(found, one) == 0);
  larder_key_free(found);
  larder_records *records = larder_request_take_records(all);
  CHECK(larder_records_len(records) == 2 && is_json(larder_records_value(records, 1), RECORDS[2]));
  CHECK(larder_records_value(records, 2) == NULL && larder_records_key(records, 2) == NULL);
  larder_records_free(records);
  records = larder_request_take_records(keys_only);
  CHECK(larder_records_len(records) == 4 && larder_records_value(records, 0) == NULL);
  larder_records_free(records);
  records = larder_request_take_records(all_of_index);
  CHECK(larder_records_len(records) == 3);
  found = larder_records_key(records, 2);
  CHECK(larder_key_cmp(found, b) == 0);
  larder_key_free(found);
  found = larder_records_primary_key(records, 0);
  CHECK(larder_key_cmp(found, one) == 0);
  larder_key_free(found);
  larder_records_free(records);
  records = larder_request_take_records(keys_of_index);
  CHECK(larder_records_len(records) == 3);
  larder_records_free(records);

  larder_request *requests[] = {first,     of_index,     key_of_index,  first_of_index, key,
                                all,       keys_only,    all_of_index,  keys_of_index};
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    larder_request_free(requests[i]);
  }
  larder_key_range_free(from_one);
  larder_key_range_free(up_to_b);
  larder_key_free(one);
  larder_key_free(b);
  larder_index_free(index);
  larder_object_store_free(store);
  larder_transaction_free(reading);
}

/* Waits for a cursor, and frees its request. */
static larder_cursor *cursor_of(larder_request *request) {
  larder_error *error = NULL;
  larder_request_wait(request, &error);
  NO_ERROR(error);
  larder_cursor *cursor = larder_request_take_cursor(request);
  larder_request_free(request);
  return cursor;
}

static double primary_key_of(larder_cursor *cursor) {
  larder_key *key = larder_cursor_primary_key(cursor);
  double number = -1;
  larder_key_to_number(key, &number);
  larder_key_free(key);
  return number;
}

static void cursors(larder_connection *connection) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_index *index = larder_object_store_index(store, utf8("i"), &error);
  /* By name: 1 a, 0 b, 2 b, 3 c. */
  larder_cursor *cursor = cursor_of(larder_index_open_cursor(index, NULL, LARDER_DIRECTION_NEXT, &error));
  CHECK(primary_key_of(cursor) == 1 && is_json(larder_cursor_value(cursor), RECORDS[1]));
  larder_key *b = larder_key_string(utf8("b"), &error), *two = number_key(2);
  larder_cursor *next = cursor_of(larder_cursor_continue(cursor, b, &error));
  CHECK(primary_key_of(next) == 0);
  CHECK(larder_cursor_continue(cursor, NULL, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  CHECK(larder_cursor_continue(next, b, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_DATA);
  larder_cursor_free(cursor);
  cursor = cursor_of(larder_cursor_continue_primary_key(next, b, two, &error));
  CHECK(primary_key_of(cursor) == 2);
  larder_key *key = larder_cursor_key(cursor);
  CHECK(larder_key_cmp(key, b) == 0);
  larder_key_free(key);
  larder_cursor_free(next);
  larder_value *value = json("{\"name\":\"z\"}");
  done(larder_cursor_update(cursor, value, &error));
  larder_value_free(value);
  CHECK(larder_cursor_advance(cursor, 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  next = cursor_of(larder_cursor_advance(cursor, 1, &error));
  CHECK(primary_key_of(next) == 3);
  done(larder_cursor_delete(next, &error));
  larder_cursor_free(cursor);
  cursor = cursor_of(larder_cursor_continue(next, NULL, &error));
  /* The updated one, by its new name, and then the end. */
  CHECK(primary_key_of(cursor) == 2);
  larder_cursor_free(next);
  CHECK(cursor_of(larder_cursor_continue(cursor, NULL, &error)) == NULL);
  larder_cursor_free(cursor);

  cursor = cursor_of(larder_object_store_open_key_cursor(store, NULL, LARDER_DIRECTION_PREV, &error));
  CHECK(primary_key_of(cursor) == 2 && larder_cursor_value(cursor) == NULL);
  larder_cursor_free(cursor);
  cursor = cursor_of(larder_index_open_key_cursor(index, NULL, LARDER_DIRECTION_PREV_UNIQUE, &error));
  CHECK(primary_key_of(cursor) == 2);
  larder_cursor_free(cursor);
  larder_request *by_number = larder_object_store_open_cursor(store, NULL, LARDER_DIRECTION_NEXT_UNIQUE, &error);
  cursor = cursor_of(by_number);
  CHECK(primary_key_of(cursor) == 0);
  larder_cursor_free(cursor);

  larder_key_range *only = larder_key_range_only(two, &error);
  done(larder_object_store_delete_range(store, only, &error));
  done(larder_object_store_delete(store, two, &error));
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == 2);
  larder_key_range_free(only);
  larder_key_free(b);
  larder_key_free(two);
  commit(writing);
  larder_index_free(index);
  larder_object_store_free(store);
  larder_transaction_free(writing);
}

static void failures(larder_connection *connection) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_key *zero = number_key(0);
  larder_value *value = json("{}");
  /* An error that was looked at is handled. */
  larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  fails(larder_object_store_add(store, value, zero, &error), LARDER_EXCEPTION_CONSTRAINT);
  commit(writing);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  /* One that nobody has looked at is not. */
  writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_request *finished = larder_transaction_finished(writing, &error);
  larder_request_free(larder_object_store_add(store, value, zero, &error));
  fails(larder_transaction_commit(writing, &error), LARDER_EXCEPTION_CONSTRAINT);
  fails(finished, LARDER_EXCEPTION_CONSTRAINT);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  /* The host's own reason. */
  writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  finished = larder_transaction_finished(writing, &error);
  done(larder_object_store_clear(store, &error));
  CHECK(larder_transaction_abort_because(writing, LARDER_EXCEPTION_DATA, utf8("enough"), &error));
  CHECK(!larder_transaction_abort(writing, &error));
  EXPECT(error, LARDER_EXCEPTION_INVALID_STATE);
  fails(finished, LARDER_EXCEPTION_DATA);
  larder_object_store_free(store);
  larder_transaction_free(writing);
  /* Freed without a commit. */
  writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
  finished = larder_transaction_finished(writing, &error);
  done(larder_object_store_clear(store, &error));
  larder_object_store_free(store);
  larder_transaction_free(writing);
  fails(finished, LARDER_EXCEPTION_ABORT);

  larder_transaction *reading = begin(connection, LARDER_MODE_READ_ONLY, &store);
  CHECK(larder_object_store_put(store, value, zero, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_READ_ONLY);
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == 2);
  CHECK(larder_transaction_commit_if_idle(reading));
  larder_object_store_free(store);
  larder_transaction_free(reading);
  larder_value_free(value);
  larder_key_free(zero);
}

static void count_close(void *user_data, larder_connection *connection) {
  CHECK(connection != NULL && larder_connection_is_close_pending(connection));
  ++*(int *)user_data;
}

static void origins(larder_storage *storage, larder_factory *factory, bool is_on_disk) {
  larder_error *error = NULL;
  uint64_t usage = 0, quota = 0;
  larder_request *estimate = larder_factory_estimate(factory, &error);
  CHECK(larder_request_wait(estimate, &error));
  CHECK(larder_request_take_estimate(estimate, &usage, &quota) && usage > 0 && quota == UINT64_MAX);
  larder_request_free(estimate);
  CHECK(number_of(larder_factory_persisted(factory, &error)) == 0);
  done(larder_factory_set_persisted(factory, true, &error));
  CHECK(number_of(larder_factory_persisted(factory, &error)) == 1);
  CHECK(number_of(larder_storage_usage(storage, &error)) >= usage);

  /* A quota refuses what would pass it, and a greater one allows it. */
  larder_connection *connection = open_with(factory, "db", 0, NULL, NULL);
  larder_factory_set_quota_bytes(factory, 1);
  for (int i = 0; i < 2; i++) {
    larder_object_store *store = NULL;
    larder_transaction *writing = begin(connection, LARDER_MODE_READ_WRITE, &store);
    larder_value *value = json("{\"name\": \"one more\"}");
    larder_key *key = number_key(100);
    larder_request_free(larder_object_store_put(store, value, key, &error));
    larder_key_free(key);
    larder_value_free(value);
    if (i == 0) {
      fails(larder_transaction_commit(writing, &error), LARDER_EXCEPTION_QUOTA_EXCEEDED);
    } else {
      commit(writing);
    }
    larder_object_store_free(store);
    larder_transaction_free(writing);
    larder_factory_set_quota_bytes(factory, UINT64_MAX);
  }

  larder_request *listing = larder_storage_origins(storage, &error);
  CHECK(larder_request_wait(listing, &error));
  larder_origins *list = larder_request_take_origins(listing);
  CHECK(larder_origins_len(list) == 1 && is_text(larder_origins_origin(list, 0), "https://a.example"));
  larder_origin_info info = larder_origins_info(list, 0);
  CHECK(info.usage_bytes > 0 && info.is_persisted && info.is_in_use && info.bucket == 0);
  CHECK(larder_origins_error(list, 0) == NULL && larder_origins_origin(list, 1) == NULL);
  larder_origins_free(list);
  larder_request_free(listing);

  /* A bucket, and a session in memory, see nothing of it. */
  larder_factory *bucket = larder_storage_bucket(storage, utf8("https://a.example"), 7, &error);
  NO_ERROR(error);
  larder_private_session *session = larder_private_session_new(storage, &error);
  larder_factory *private_factory = larder_private_session_factory(session, utf8("https://a.example"), &error);
  NO_ERROR(error);
  larder_factory *apart[] = {bucket, private_factory};
  for (int i = 0; i < 2; i++) {
    larder_request *databases = larder_factory_databases(apart[i], &error);
    CHECK(larder_request_wait(databases, &error));
    larder_databases *none = larder_request_take_databases(databases);
    CHECK(larder_databases_len(none) == 0);
    larder_databases_free(none);
    larder_request_free(databases);
    larder_connection *other = open_with(apart[i], "db", 5, NULL, NULL);
    CHECK(larder_connection_version(other) == 5 && is_text(larder_connection_name(other), "db"));
    larder_connection_free(other);
  }
  CHECK(number_of(larder_factory_delete_database(bucket, utf8("db"), &error)) == 5);
  done(larder_storage_delete_bucket(storage, utf8("https://a.example"), 7, &error));
  larder_factory_free(private_factory);
  larder_private_session_free(session);
  larder_factory_free(bucket);
  CHECK(larder_storage_bucket(storage, utf8("https://a.example"), 0, &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_TYPE);
  CHECK(larder_storage_factory(storage, utf8("null"), &error) == NULL);
  EXPECT(error, LARDER_EXCEPTION_SECURITY);

  larder_request *databases = larder_factory_databases(factory, &error);
  CHECK(larder_request_wait(databases, &error));
  larder_databases *found = larder_request_take_databases(databases);
  CHECK(larder_databases_len(found) == 1 && larder_databases_version(found, 0) == 2);
  CHECK(is_text(larder_databases_name(found, 0), "db") && larder_databases_name(found, 1) == NULL);
  larder_databases_free(found);
  larder_request_free(databases);

  /* Nothing is evicted that is in use. An origin that is deleted closes its connections, and says so. */
  larder_request *evicting = larder_storage_evict(storage, 0, &error);
  CHECK(larder_request_wait(evicting, &error));
  list = larder_request_take_origins(evicting);
  CHECK(larder_origins_len(list) == 0);
  larder_origins_free(list);
  larder_request_free(evicting);
  int closed = 0;
  larder_connection_on_close(connection, count_close, &closed);
  if (is_on_disk) {
    larder_request *deleting = larder_storage_delete_modified_since(storage, 0, &error);
    CHECK(larder_request_wait(deleting, &error));
    list = larder_request_take_origins(deleting);
    CHECK(larder_origins_len(list) >= 1 && larder_origins_error(list, 0) == NULL);
    larder_origins_free(list);
    larder_request_free(deleting);
  } else {
    done(larder_storage_delete_origin(storage, utf8("https://a.example"), &error));
  }
  while (closed < 1) {
    larder_storage_run(storage, 1);
  }
  larder_connection_free(connection);

  /* A whole origin by force, or one database. */
  connection = open_with(factory, "again", 0, NULL, NULL);
  larder_connection_on_close(connection, count_close, &closed);
  CHECK(larder_factory_force_close(factory, utf8("again"), &error));
  while (closed < 2) {
    larder_storage_run(storage, 1);
  }
  larder_connection_free(connection);
  done(larder_factory_close(factory, &error));
}

static uint64_t allow_all(void *user_data, uint64_t usage_bytes, uint64_t needed_bytes, uint64_t limit_bytes) {
  ++*(int *)user_data;
  CHECK(usage_bytes + needed_bytes > limit_bytes);
  return UINT64_MAX;
}

static void asked_for_quota(size_t threads) {
  larder_error *error = NULL;
  int asked = 0;
  larder_options *options = larder_options_in_memory();
  larder_options_set_threads(options, threads);
  larder_options_set_quota(options, 1, allow_all, &asked);
  larder_options_set_idle_grace(options, UINT64_MAX);
  larder_storage *storage = larder_storage_new(options, &error);
  NO_ERROR(error);
  larder_options_free(options);
  larder_factory *factory = new_factory(storage);
  larder_connection_free(open_with(factory, "db", 1, make_store, NULL));
  CHECK(asked == 1);
  larder_factory_free(factory);
  done(larder_storage_finish(storage, &error));
  CHECK(larder_storage_close(storage, &error));
  larder_storage_free(storage);
}

static void all_of_it(const char *folder, size_t threads) {
  larder_error *error = NULL;
  larder_storage *storage = new_storage(folder, threads, NULL, NULL);
  larder_factory *factory = new_factory(storage);
  larder_connection_free(open_with(factory, "db", 1, make_store, NULL));
  larder_connection *connection = open_with(factory, "db", 2, change_schema, NULL);
  larder_names *names = larder_connection_object_store_names(connection);
  CHECK(larder_names_len(names) == 2 && strcmp(larder_text_utf8(larder_names_at(names, 0)), "generated") == 0);
  larder_names_free(names);
  values(storage, connection);
  foreign_values(factory);
  fill(connection);
  reads(connection);
  cursors(connection);
  failures(connection);
  larder_connection_close(connection);
  larder_connection_free(connection);
  fails(larder_factory_open(factory, utf8("db"), 1, &error), LARDER_EXCEPTION_VERSION);
  origins(storage, factory, folder != NULL);
  larder_factory_free(factory);
  CHECK(larder_storage_close(storage, &error));
  NO_ERROR(error);
  larder_storage_free(storage);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  keys();
  for (size_t threads = 0; threads < 3; threads++) {
    all_of_it(NULL, threads);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s-%d", argv[1], (int)threads);
    all_of_it(folder, threads);
    asked_for_quota(threads);
  }
  printf("all of it\n");
  return 0;
}
