/* Notes with tags, for a program that has a loop: nothing here waits, all that happens is told by callbacks. Works in the folder that
 * is its first argument; each step begins the next. */

#include <larder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all callbacks get as their `user_data`. */
struct app {
  larder_storage *storage;
  larder_factory *factory;
  larder_connection *connection;
  /* Of a second part of the program, which wants the database in another version. */
  larder_connection *newer;
  /* Set by the waker. */
  bool has_work;
  bool is_done;
};

static void opened(void *user_data, larder_request *request);
static void write_notes(struct app *app);
static void written(void *user_data, larder_request *request);
static void list_notes(struct app *app, larder_connection *connection, const char *tag);
static void next_note(void *user_data, larder_request *request);
static void open_newer(struct app *app);
static void opened_newer(void *user_data, larder_request *request);

static void check(larder_error *error) {
  if (error != NULL) {
    fprintf(stderr, "%s: %s\n", larder_error_name_text(error), larder_error_message(error));
    larder_error_free(error);
    exit(1);
  }
}

/* A request lends its error. */
static void check_request(const larder_request *request) {
  const larder_error *error = larder_request_error(request);
  if (error != NULL) {
    fprintf(stderr, "%s: %s\n", larder_error_name_text(error), larder_error_message(error));
    exit(1);
  }
}

/* ---- The loop. A real one would post a message to itself here, or write to a pipe. ---- */

static void wake(void *user_data) {
  struct app *app = user_data;
  app->has_work = true;
}

static void run_loop(struct app *app) {
  while (!app->is_done) {
    if (!app->has_work) {
      fprintf(stderr, "the loop would sleep for ever\n");
      exit(1);
    }
    app->has_work = false;
    /* A few steps at a time leave the loop room for other things. */
    while (larder_storage_run(app->storage, 16)) {
    }
  }
}

/* ---- Opening ---- */

static void upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  (void)user_data;
  printf("upgrade from version %d to %d\n", (int)old_version, (int)new_version);
  larder_error *error = NULL;
  if (old_version < 1) {
    larder_object_store *notes =
        larder_transaction_create_object_store(transaction, larder_utf8("notes"), larder_utf8("id"), true, &error);
    check(error);
    /* An entry for each member of the array "tags". */
    larder_index *by_tag = larder_object_store_create_index(notes, larder_utf8("by tag"), larder_utf8("tags"), false,
                                                            true, &error);
    check(error);
    larder_index_free(by_tag);
    larder_object_store_free(notes);
  }
  if (old_version < 2 && new_version >= 2) {
    larder_object_store *notes = larder_transaction_object_store(transaction, larder_utf8("notes"), &error);
    check(error);
    larder_index *by_title =
        larder_object_store_create_index(notes, larder_utf8("by title"), larder_utf8("title"), false, false, &error);
    check(error);
    larder_index_free(by_title);
    larder_object_store_free(notes);
  }
  larder_request_free(larder_transaction_commit(transaction, &error));
  check(error);
  larder_transaction_free(transaction);
}

/* Somebody wants to upgrade or delete the database, and waits until this connection is closed. */
static void version_change(void *user_data, larder_connection *connection, uint64_t old_version, uint64_t new_version) {
  struct app *app = user_data;
  printf("version %d is wanted in place of %d: closing\n", (int)new_version, (int)old_version);
  larder_connection_free(connection);
  app->connection = NULL;
}

static void open_notes(struct app *app) {
  larder_error *error = NULL;
  larder_request *request = larder_factory_open(app->factory, larder_utf8("notes"), 1, &error);
  check(error);
  larder_request_on_upgrade(request, upgrade, app, NULL);
  larder_request_on_done(request, opened, app);
}

static void opened(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  app->connection = larder_request_take_connection(request);
  larder_request_free(request);
  larder_connection_on_version_change(app->connection, version_change, app);
  write_notes(app);
}

/* ---- Writing ---- */

static larder_value *note(const char *title, const char *tag, const char *other_tag) {
  larder_builder *builder = larder_builder_new();
  larder_builder_begin_object(builder, NULL);
  larder_builder_name(builder, larder_utf8("title"), NULL);
  larder_builder_text(builder, larder_utf8(title), NULL);
  larder_builder_name(builder, larder_utf8("tags"), NULL);
  larder_builder_begin_array(builder, 2, NULL);
  larder_builder_text(builder, larder_utf8(tag), NULL);
  larder_builder_text(builder, larder_utf8(other_tag), NULL);
  larder_builder_end(builder, NULL);
  larder_builder_end(builder, NULL);
  larder_error *error = NULL;
  larder_value *value = larder_builder_value(builder, &error);
  check(error);
  larder_builder_free(builder);
  return value;
}

static larder_transaction *begin(larder_connection *connection, larder_mode mode, larder_object_store **notes) {
  larder_error *error = NULL;
  larder_str scope[] = {larder_utf8("notes")};
  larder_transaction *transaction =
      larder_connection_transaction(connection, scope, 1, mode, LARDER_DURABILITY_STRICT, &error);
  check(error);
  *notes = larder_transaction_object_store(transaction, scope[0], &error);
  check(error);
  return transaction;
}

static void write_notes(struct app *app) {
  static const char *const notes[][3] = {
      {"Water the plants", "home", "weekly"}, {"B\xc3\xbc" "cher zur\xc3\xbc" "ckgeben", "errand", "home"}, {"Call Ada", "phone", "weekly"}};
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *writing = begin(app->connection, LARDER_MODE_READ_WRITE, &store);
  for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
    larder_value *value = note(notes[i][0], notes[i][1], notes[i][2]);
    /* Keys are generated, and stand in the values as "id". */
    larder_request_free(larder_object_store_add(store, value, NULL, &error));
    check(error);
    larder_value_free(value);
  }
  larder_request *commit = larder_transaction_commit(writing, &error);
  check(error);
  larder_request_on_done(commit, written, app);
  larder_object_store_free(store);
  larder_transaction_free(writing);
}

static void written(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  larder_request_free(request);
  list_notes(app, app->connection, "weekly");
}

/* ---- Reading by an index, with a cursor ---- */

static void list_notes(struct app *app, larder_connection *connection, const char *tag) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *reading = begin(connection, LARDER_MODE_READ_ONLY, &store);
  larder_index *by_tag = larder_object_store_index(store, larder_utf8("by tag"), &error);
  check(error);
  larder_key *key = larder_key_string(larder_utf8(tag), &error);
  check(error);
  larder_key_range *range = larder_key_range_only(key, &error);
  check(error);
  larder_request *first = larder_index_open_cursor(by_tag, range, LARDER_DIRECTION_NEXT, &error);
  check(error);
  larder_request_on_done(first, next_note, app);
  larder_key_range_free(range);
  larder_key_free(key);
  larder_index_free(by_tag);
  larder_object_store_free(store);
  /* The request and the cursor keep the transaction until they are freed. */
  larder_transaction_free(reading);
}

static void next_note(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  larder_cursor *cursor = larder_request_take_cursor(request);
  larder_request_free(request);
  if (cursor == NULL) {
    if (app->newer == NULL) {
      open_newer(app);
    } else {
      app->is_done = true;
    }
    return;
  }
  larder_value *value = larder_cursor_value(cursor);
  larder_text *title = larder_value_text(value, larder_utf8("title"));
  double id = 0;
  larder_value_number(value, larder_utf8("id"), &id);
  printf("%g: %s\n", id, larder_text_utf8(title));
  larder_text_free(title);
  larder_value_free(value);

  larder_error *error = NULL;
  larder_request *next = larder_cursor_continue(cursor, NULL, &error);
  check(error);
  larder_request_on_done(next, next_note, app);
  larder_cursor_free(cursor);
}

/* ---- A second connection, which needs a newer version ---- */

static void open_newer(struct app *app) {
  larder_error *error = NULL;
  larder_request *request = larder_factory_open(app->factory, larder_utf8("notes"), 2, &error);
  check(error);
  larder_request_on_upgrade(request, upgrade, app, NULL);
  larder_request_on_done(request, opened_newer, app);
}

static void opened_newer(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  app->newer = larder_request_take_connection(request);
  larder_request_free(request);
  larder_names *names = larder_connection_object_store_names(app->newer);
  printf("version %d, object store \"%s\"\n", (int)larder_connection_version(app->newer),
         larder_text_utf8(larder_names_at(names, 0)));
  larder_names_free(names);
  list_notes(app, app->newer, "home");
}

/* ---- All of it, and once more, to see that it is still there ---- */

static void open_storage(struct app *app, const char *folder) {
  larder_error *error = NULL;
  larder_options *options = larder_options_new(larder_utf8(folder), &error);
  check(error);
  larder_options_set_waker(options, wake, app);
  app->storage = larder_storage_new(options, &error);
  check(error);
  larder_options_free(options);
  app->factory = larder_storage_factory(app->storage, larder_utf8("https://notes.example"), &error);
  check(error);
}

static void close_storage(struct app *app) {
  larder_error *error = NULL;
  larder_connection_free(app->connection);
  larder_connection_free(app->newer);
  larder_factory_free(app->factory);
  larder_storage_close(app->storage, &error);
  check(error);
  larder_storage_free(app->storage);
  memset(app, 0, sizeof *app);
}

static void counted(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  uint64_t count = 0;
  larder_request_take_number(request, &count);
  printf("found again: %d notes\n", (int)count);
  larder_request_free(request);
  app->is_done = true;
}

static void opened_again(void *user_data, larder_request *request) {
  struct app *app = user_data;
  check_request(request);
  app->connection = larder_request_take_connection(request);
  larder_request_free(request);
  larder_object_store *store = NULL;
  larder_transaction *reading = begin(app->connection, LARDER_MODE_READ_ONLY, &store);
  larder_error *error = NULL;
  larder_request *count = larder_object_store_count(store, NULL, &error);
  check(error);
  larder_request_on_done(count, counted, app);
  larder_object_store_free(store);
  larder_transaction_free(reading);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: notes FOLDER\n");
    return 2;
  }
  struct app app = {0};
  open_storage(&app, argv[1]);
  open_notes(&app);
  run_loop(&app);
  close_storage(&app);

  open_storage(&app, argv[1]);
  larder_error *error = NULL;
  /* Version 0: as it is. */
  larder_request *request = larder_factory_open(app.factory, larder_utf8("notes"), 0, &error);
  check(error);
  larder_request_on_done(request, opened_again, &app);
  run_loop(&app);
  close_storage(&app);
  return 0;
}
