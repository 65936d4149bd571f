/* A tour of the mock cluster with libmongoc: tour URI [CA file].
 *
 * libmongoc 1.x, as distributions ship it. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf (stderr, "line %d: ", __LINE__); \
      fprintf (stderr, __VA_ARGS__); \
      fprintf (stderr, "\n"); \
      exit (1); \
    } \
  } while (0)

/* ok sends a command, written as JSON, which must succeed. */
static void
ok (mongoc_client_t *client, const char *db, const char *json)
{
  bson_error_t error;
  bson_t *command = bson_new_from_json ((const uint8_t *) json, -1, &error);
  CHECK (command, "%s: %s", json, error.message);
  CHECK (mongoc_client_command_simple (client, db, command, NULL, NULL, &error), "%s: %s", json, error.message);
  bson_destroy (command);
}

/* refused wants a command to fail with a code. */
static void
refused (mongoc_client_t *client, const char *db, const char *json, uint32_t code)
{
  bson_error_t error;
  bson_t *command = bson_new_from_json ((const uint8_t *) json, -1, &error);
  CHECK (command, "%s: %s", json, error.message);
  CHECK (!mongoc_client_command_simple (client, db, command, NULL, NULL, &error), "%s is not refused", json);
  CHECK (error.code == code, "%s: code %u, want %u: %s", json, error.code, code, error.message);
  bson_destroy (command);
}

/* count counts what a filter matches, by a cursor in batches of ten. */
static int
count (mongoc_collection_t *of, const bson_t *filter)
{
  const bson_t *doc;
  bson_error_t error;
  bson_t *opts = BCON_NEW ("batchSize", BCON_INT32 (10));
  mongoc_cursor_t *cursor = mongoc_collection_find_with_opts (of, filter, opts, NULL);
  int n = 0;
  while (mongoc_cursor_next (cursor, &doc))
    n++;
  CHECK (!mongoc_cursor_error (cursor, &error), "find: %s", error.message);
  mongoc_cursor_destroy (cursor);
  bson_destroy (opts);
  return n;
}

static void
sharding (mongoc_client_t *client)
{
  ok (client, "admin", "{\"enableSharding\": \"app\"}");
  ok (client, "admin", "{\"shardCollection\": \"app.orders\", \"key\": {\"customer\": 1}}");
  ok (client, "admin", "{\"split\": \"app.orders\", \"middle\": {\"customer\": 100}}");
  ok (client, "admin", "{\"moveRange\": \"app.orders\", \"min\": {\"customer\": 100}, \"toShard\": \"shard1\"}");
}

static void
documents (mongoc_client_t *client)
{
  bson_error_t error;
  bson_t reply;
  bson_t empty = BSON_INITIALIZER;
  mongoc_collection_t *orders = mongoc_client_get_collection (client, "app", "orders");
  mongoc_bulk_operation_t *bulk = mongoc_collection_create_bulk_operation_with_opts (orders, NULL);
  for (int i = 0; i < 300; i++) {
    bson_t *doc = BCON_NEW ("_id", BCON_INT32 (i), "customer", BCON_INT32 (i), "total", BCON_INT32 (i % 7));
    mongoc_bulk_operation_insert (bulk, doc);
    bson_destroy (doc);
  }
  CHECK (mongoc_bulk_operation_execute (bulk, &reply, &error), "bulk insert: %s", error.message);
  bson_destroy (&reply);
  mongoc_bulk_operation_destroy (bulk);

  bson_t *far = BCON_NEW ("customer", "{", "$gte", BCON_INT32 (100), "}");
  CHECK (mongoc_collection_count_documents (orders, far, NULL, NULL, NULL, &error) == 200, "count: %s", error.message);
  CHECK (count (orders, &empty) == 300, "not all documents by a cursor");
  bson_t *zero = BCON_NEW ("total", BCON_INT32 (0));
  bson_t *more = BCON_NEW ("$inc", "{", "total", BCON_INT32 (10), "}");
  CHECK (mongoc_collection_update_many (orders, zero, more, NULL, &reply, &error), "update: %s", error.message);
  bson_iter_t field;
  CHECK (bson_iter_init_find (&field, &reply, "modifiedCount") && bson_iter_int32 (&field) == 43, "updated another number");
  bson_destroy (&reply);
  bson_t *one = BCON_NEW ("_id", BCON_INT32 (1), "customer", BCON_INT32 (1));
  CHECK (!mongoc_collection_insert_one (orders, one, NULL, NULL, &error) && error.code == 11000, "a duplicate is taken");
  CHECK (mongoc_collection_delete_one (orders, one, NULL, NULL, &error), "delete: %s", error.message);
  bson_destroy (far);
  bson_destroy (zero);
  bson_destroy (more);
  bson_destroy (one);
  mongoc_collection_destroy (orders);
}

static void
sessions (mongoc_client_t *client)
{
  bson_error_t error;
  bson_t *opts = bson_new ();
  mongoc_collection_t *orders = mongoc_client_get_collection (client, "app", "orders");
  mongoc_client_session_t *session = mongoc_client_start_session (client, NULL, &error);
  CHECK (session && mongoc_client_session_append (session, opts, &error), "session: %s", error.message);
  bson_t *doc = BCON_NEW ("customer", BCON_INT32 (7000));
  CHECK (mongoc_collection_insert_one (orders, doc, opts, NULL, &error), "insert in a session: %s", error.message);
  CHECK (mongoc_collection_count_documents (orders, doc, opts, NULL, NULL, &error) == 1, "count in a session: %s", error.message);
  CHECK (mongoc_client_session_start_transaction (session, NULL, &error), "transaction: %s", error.message);
  CHECK (!mongoc_collection_insert_one (orders, doc, opts, NULL, &error) && error.code == 263, "a transaction: %s", error.message);
  mongoc_client_session_destroy (session);
  bson_destroy (doc);
  bson_destroy (opts);
  mongoc_collection_destroy (orders);
}

int
main (int argc, char **argv)
{
  CHECK (argc > 1, "usage: tour URI [CA file]");
  mongoc_init ();
  mongoc_client_t *client = mongoc_client_new (argv[1]);
  CHECK (client, "no client of %s", argv[1]);
  mongoc_client_set_error_api (client, MONGOC_ERROR_API_VERSION_2);
#ifdef MONGOC_ENABLE_SSL
  if (argc > 2) {
    mongoc_ssl_opt_t tls = *mongoc_ssl_opt_get_default ();
    tls.ca_file = argv[2];
    mongoc_client_set_ssl_opts (client, &tls);
  }
#endif
  sharding (client);
  documents (client);
  sessions (client);
  refused (client, "admin", "{\"nonsense\": 1}", 59);
  ok (client, "admin", "{\"balancerStop\": 1}");
  ok (client, "admin", "{\"balancerStart\": 1}");
  ok (client, "admin", "{\"balancerCollectionStatus\": \"app.orders\"}");
  mongoc_client_destroy (client);
  mongoc_cleanup ();
  puts ("the tour is over with libmongoc " MONGOC_VERSION_S);
  return 0;
}
