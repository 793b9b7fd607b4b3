// The notes of notes.c in C++: handles that free themselves, errors as exceptions, callbacks as lambdas, and a loop that is a queue of
// tasks, which sleeps while there is none. The storage has two threads of its own, so that nothing reads or writes files on the loop.

#include <larder.h>

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace larder {

// ---- Handles: each is freed by the function of its name ----

template <auto free> struct Free {
  template <typename T> void operator()(T *handle) const noexcept { free(handle); }
};

template <typename T, auto free> using Handle = std::unique_ptr<T, Free<free>>;

using Blob = Handle<larder_blob, larder_blob_free>;
using Builder = Handle<larder_builder, larder_builder_free>;
using Connection = Handle<larder_connection, larder_connection_free>;
using Cursor = Handle<larder_cursor, larder_cursor_free>;
using Factory = Handle<larder_factory, larder_factory_free>;
using Index = Handle<larder_index, larder_index_free>;
using Key = Handle<larder_key, larder_key_free>;
using KeyRange = Handle<larder_key_range, larder_key_range_free>;
using Names = Handle<larder_names, larder_names_free>;
using ObjectStore = Handle<larder_object_store, larder_object_store_free>;
using Options = Handle<larder_options, larder_options_free>;
using Request = Handle<larder_request, larder_request_free>;
using Storage = Handle<larder_storage, larder_storage_free>;
using Text = Handle<larder_text, larder_text_free>;
using Transaction = Handle<larder_transaction, larder_transaction_free>;
using Value = Handle<larder_value, larder_value_free>;

// ---- Errors ----

class Error : public std::runtime_error {
public:
  explicit Error(const larder_error *error)
      : std::runtime_error(std::string(larder_error_name_text(error)) + ": " + larder_error_message(error)),
        name(larder_error_name(error)) {}

  larder_exception name;
};

// Where a function puts its error: thrown at the end of the statement that calls it.
class OrThrow {
public:
  OrThrow() = default;
  OrThrow(const OrThrow &) = delete;
  OrThrow &operator=(const OrThrow &) = delete;
  operator larder_error **() { return &error; }

  ~OrThrow() noexcept(false) {
    if (error != nullptr) {
      Error thrown(error);
      larder_error_free(error);
      throw thrown;
    }
  }

private:
  larder_error *error = nullptr;
};

// ---- Texts ----

inline larder_str str(std::string_view text) { return larder_utf8_n(text.data() == nullptr ? "" : text.data(), text.size()); }

inline std::string string(const Text &text) { return larder_text_utf8(text.get()); }

// ---- Requests: a lambda that is called once, with the request, which is freed behind it ----

using Then = std::function<void(larder_request *)>;

// No exception may reach the library. What to do with one is the program's business: this one remembers the first.
inline std::exception_ptr first_failure;

template <typename F> void guarded(F &&call) noexcept {
  try {
    call();
  } catch (...) {
    if (!first_failure) {
      first_failure = std::current_exception();
    }
  }
}

inline void then(Request request, Then call) {
  if (!request) {
    return; // It could not be made, and the error is about to be thrown.
  }
  auto *owned = new Then(std::move(call));
  auto call_and_free = [](void *user_data, larder_request *done) {
    std::unique_ptr<Then> call(static_cast<Then *>(user_data));
    Request request(done);
    guarded([&] {
      if (const larder_error *error = larder_request_error(done)) {
        throw Error(error);
      }
      (*call)(done);
    });
  };
  larder_request_on_done(request.release(), call_and_free, owned);
}

} // namespace larder

// ---- The loop ----

// Tasks may be posted from any thread.
class Loop {
public:
  void post(std::function<void()> task) {
    // Told with the lock: whoever waits may be gone as soon as it is given back.
    std::lock_guard<std::mutex> lock(mutex);
    tasks.push(std::move(task));
    has_task.notify_one();
  }

  // Until it is stopped, or something has failed.
  void run() {
    is_stopped = false;
    while (!is_stopped && !larder::first_failure) {
      next()();
    }
    if (larder::first_failure) {
      std::rethrow_exception(larder::first_failure);
    }
  }

  void stop() { is_stopped = true; }

private:
  std::function<void()> next() {
    std::unique_lock<std::mutex> lock(mutex);
    has_task.wait(lock, [this] { return !tasks.empty(); });
    std::function<void()> task = std::move(tasks.front());
    tasks.pop();
    return task;
  }

  std::mutex mutex;
  std::condition_variable has_task;
  std::queue<std::function<void()>> tasks;
  bool is_stopped = false;
};

// ---- The program ----

using namespace larder;

class Notes {
public:
  Notes(Loop &loop, const std::string &folder) : loop(loop) {
    Options options(larder_options_new(str(folder), OrThrow()));
    larder_options_set_threads(options.get(), 2);
    larder_options_set_waker(options.get(), wake, this);
    storage.reset(larder_storage_new(options.get(), OrThrow()));
    factory.reset(larder_storage_factory(storage.get(), str("https://notes.example"), OrThrow()));
  }

  // The first of the two connections, which gives way to the second.
  void open() {
    open_version(1, [this](Connection opened) {
      connection = std::move(opened);
      auto give_way = [](void *user_data, larder_connection *, uint64_t old_version, uint64_t new_version) {
        guarded([&] {
          std::printf("version %d is wanted in place of %d: closing\n", int(new_version), int(old_version));
          static_cast<Notes *>(user_data)->connection.reset();
        });
      };
      larder_connection_on_version_change(connection.get(), give_way, this);
      write();
    });
  }

  void count() {
    open_version(0, [this](Connection opened) {
      connection = std::move(opened);
      ObjectStore store = begin(connection, LARDER_MODE_READ_ONLY).second;
      then(Request(larder_object_store_count(store.get(), nullptr, OrThrow())), [this](larder_request *done) {
        uint64_t count = 0;
        larder_request_take_number(done, &count);
        std::printf("found again: %d notes\n", int(count));
        loop.stop();
      });
    });
  }

  // What has not ended yet fails with this, and its callbacks are called.
  ~Notes() {
    larder_storage_close(storage.get(), nullptr);
    larder_storage_run(storage.get(), 0);
  }

  // As a program ends that wants to know whether everything is on the disk.
  void close() {
    connection.reset();
    newer.reset();
    larder_storage_close(storage.get(), OrThrow());
  }

private:
  // On any thread: the loop runs the storage.
  static void wake(void *user_data) {
    auto *notes = static_cast<Notes *>(user_data);
    notes->loop.post([storage = notes->storage.get()] {
      while (larder_storage_run(storage, 16)) {
      }
    });
  }

  void open_version(uint64_t version, std::function<void(Connection)> opened) {
    Request request(larder_factory_open(factory.get(), str("notes"), version, OrThrow()));
    auto on_upgrade = [](void *, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
      // What throws leaves the transaction without a commit: it is aborted.
      guarded([&] { upgrade(Transaction(transaction), old_version, new_version); });
    };
    larder_request_on_upgrade(request.get(), on_upgrade, nullptr, OrThrow());
    then(std::move(request), [opened = std::move(opened)](larder_request *done) {
      opened(Connection(larder_request_take_connection(done)));
    });
  }

  static void upgrade(Transaction transaction, uint64_t old_version, uint64_t new_version) {
    std::printf("upgrade from version %d to %d\n", int(old_version), int(new_version));
    if (old_version < 1) {
      ObjectStore notes(
          larder_transaction_create_object_store(transaction.get(), str("notes"), str("id"), true, OrThrow()));
      Index(larder_object_store_create_index(notes.get(), str("by tag"), str("tags"), false, true, OrThrow()));
    }
    if (old_version < 2 && new_version >= 2) {
      ObjectStore notes(larder_transaction_object_store(transaction.get(), str("notes"), OrThrow()));
      Index(larder_object_store_create_index(notes.get(), str("by title"), str("title"), false, false, OrThrow()));
    }
    Request(larder_transaction_commit(transaction.get(), OrThrow()));
  }

  static std::pair<Transaction, ObjectStore> begin(const Connection &connection, larder_mode mode) {
    larder_str scope[] = {str("notes")};
    Transaction transaction(larder_connection_transaction(connection.get(), scope, 1, mode, LARDER_DURABILITY_STRICT,
                                                          OrThrow()));
    ObjectStore store(larder_transaction_object_store(transaction.get(), scope[0], OrThrow()));
    return {std::move(transaction), std::move(store)};
  }

  static Value note(std::string_view title, const std::vector<std::string_view> &tags) {
    Builder builder(larder_builder_new());
    larder_builder_begin_object(builder.get(), OrThrow());
    larder_builder_name(builder.get(), str("title"), OrThrow());
    larder_builder_text(builder.get(), str(title), OrThrow());
    larder_builder_name(builder.get(), str("tags"), OrThrow());
    larder_builder_begin_array(builder.get(), uint32_t(tags.size()), OrThrow());
    for (std::string_view tag : tags) {
      larder_builder_text(builder.get(), str(tag), OrThrow());
    }
    larder_builder_end(builder.get(), OrThrow());
    larder_builder_end(builder.get(), OrThrow());
    return Value(larder_builder_value(builder.get(), OrThrow()));
  }

  void write() {
    auto [writing, store] = begin(connection, LARDER_MODE_READ_WRITE);
    const Value notes[] = {note("Water the plants", {"home", "weekly"}),
                           note("B\u00fccher zur\u00fcckgeben", {"errand", "home"}),
                           note("Call Ada", {"phone", "weekly"})};
    for (const Value &value : notes) {
      // Freed at once: if it fails, the commit does.
      Request(larder_object_store_add(store.get(), value.get(), nullptr, OrThrow()));
    }
    then(Request(larder_transaction_commit(writing.get(), OrThrow())),
         [this](larder_request *) { list(connection, "weekly", [this] { open_newer(); }); });
  }

  void open_newer() {
    open_version(2, [this](Connection opened) {
      newer = std::move(opened);
      Names names(larder_connection_object_store_names(newer.get()));
      std::printf("version %d, object store \"%s\"\n", int(larder_connection_version(newer.get())),
                  larder_text_utf8(larder_names_at(names.get(), 0)));
      list(newer, "home", [this] { loop.stop(); });
    });
  }

  static void list(const Connection &connection, std::string_view tag, std::function<void()> listed) {
    auto [reading, store] = begin(connection, LARDER_MODE_READ_ONLY);
    Index by_tag(larder_object_store_index(store.get(), str("by tag"), OrThrow()));
    Key key(larder_key_string(str(tag), OrThrow()));
    KeyRange range(larder_key_range_only(key.get(), OrThrow()));
    print_from(Request(larder_index_open_cursor(by_tag.get(), range.get(), LARDER_DIRECTION_NEXT, OrThrow())),
               std::move(listed));
  }

  static void print_from(Request request, std::function<void()> listed) {
    then(std::move(request), [listed = std::move(listed)](larder_request *done) {
      Cursor cursor(larder_request_take_cursor(done));
      if (!cursor) {
        return listed();
      }
      Value value(larder_cursor_value(cursor.get()));
      Text title(larder_value_text(value.get(), str("title")));
      double id = 0;
      larder_value_number(value.get(), str("id"), &id);
      std::printf("%g: %s\n", id, string(title).c_str());
      print_from(Request(larder_cursor_continue(cursor.get(), nullptr, OrThrow())), listed);
    });
  }

  Loop &loop;
  Storage storage;
  Factory factory;
  Connection connection;
  Connection newer;
};

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: notes FOLDER\n");
    return 2;
  }
  try {
    {
      Loop loop;
      Notes notes(loop, argv[1]);
      notes.open();
      loop.run();
      notes.close();
    }
    Loop loop;
    Notes notes(loop, argv[1]);
    notes.count();
    loop.run();
    notes.close();
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
