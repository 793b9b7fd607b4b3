/* Threads of the host's that use one storage at the same time, each database and all of them one, while another thread runs the loop. */

#include <pthread.h>

#include "support.h"

enum { THREADS = 8, ROUNDS = 25 };

struct loop {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool has_work;
  int left;
  pthread_t thread;
  larder_storage *storage;
  larder_factory *factory;
};

struct worker {
  struct loop *loop;
  int number;
  int calls;
};

static void wake(void *user_data) {
  struct loop *loop = user_data;
  pthread_mutex_lock(&loop->mutex);
  loop->has_work = true;
  pthread_cond_signal(&loop->changed);
  pthread_mutex_unlock(&loop->mutex);
}

/* Callbacks come on the loop's thread, whoever waits where. */
static void upgrade(void *user_data, larder_transaction *transaction, uint64_t old_version, uint64_t new_version) {
  struct worker *worker = user_data;
  CHECK(pthread_equal(pthread_self(), worker->loop->thread));
  make_store(NULL, transaction, old_version, new_version);
}

static void count(void *user_data, larder_request *request) {
  struct worker *worker = user_data;
  CHECK(pthread_equal(pthread_self(), worker->loop->thread) && larder_request_error(request) == NULL);
  larder_request_free(request);
  pthread_mutex_lock(&worker->loop->mutex);
  worker->calls++;
  pthread_mutex_unlock(&worker->loop->mutex);
}

static void put(larder_connection *connection, struct worker *worker, double at) {
  larder_error *error = NULL;
  larder_object_store *store = NULL;
  larder_transaction *transaction = begin(connection, LARDER_MODE_READ_WRITE, &store);
  larder_key *key = number_key(at);
  larder_value *value = json("{\"name\":\"n\"}");
  larder_request *request = larder_object_store_add(store, value, key, &error);
  NO_ERROR(error);
  larder_request_on_done(request, count, worker);
  larder_key_free(key);
  larder_value_free(value);
  commit(transaction);
  larder_object_store_free(store);
  larder_transaction_free(transaction);
}

static void *work(void *argument) {
  struct worker *worker = argument;
  char own[32];
  snprintf(own, sizeof own, "own %d", worker->number);
  larder_connection *alone = open_with(worker->loop->factory, own, 1, upgrade, worker);
  larder_connection *shared = open_with(worker->loop->factory, "shared", 1, upgrade, worker);
  for (int i = 0; i < ROUNDS; i++) {
    put(alone, worker, i);
    put(shared, worker, i * THREADS + worker->number);
  }
  larder_connection_free(alone);
  larder_connection_free(shared);
  pthread_mutex_lock(&worker->loop->mutex);
  worker->loop->left--;
  pthread_cond_signal(&worker->loop->changed);
  pthread_mutex_unlock(&worker->loop->mutex);
  return NULL;
}

static void run_loop(struct loop *loop) {
  bool is_over = false;
  while (!is_over) {
    larder_storage_run(loop->storage, 0);
    pthread_mutex_lock(&loop->mutex);
    while (!loop->has_work && loop->left > 0) {
      pthread_cond_wait(&loop->changed, &loop->mutex);
    }
    loop->has_work = false;
    is_over = loop->left == 0;
    pthread_mutex_unlock(&loop->mutex);
  }
  /* What was due when the last of them ended. */
  larder_storage_run(loop->storage, 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  larder_error *error = NULL;
  struct loop loop = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .left = THREADS};
  loop.thread = pthread_self();
  loop.storage = new_storage(argv[1], 2, wake, &loop);
  loop.factory = new_factory(loop.storage);
  /* From now on the loop is known to be here. */
  larder_storage_run(loop.storage, 0);
  struct worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){&loop, i, 0};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  run_loop(&loop);
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0 && workers[i].calls == 2 * ROUNDS);
  }
  larder_connection *shared = open_with(loop.factory, "shared", 0, NULL, NULL);
  larder_object_store *store = NULL;
  larder_transaction *reading = begin(shared, LARDER_MODE_READ_ONLY, &store);
  CHECK(number_of(larder_object_store_count(store, NULL, &error)) == THREADS * ROUNDS);
  larder_object_store_free(store);
  larder_transaction_free(reading);
  larder_connection_free(shared);
  larder_factory_free(loop.factory);
  CHECK(larder_storage_close(loop.storage, &error));
  larder_storage_free(loop.storage);
  printf("%d threads\n", THREADS);
  return 0;
}
