"""A tour of the mock cluster with PyMongo: tour.py URI [CA file].

It says what old versions of the driver understand, too (3.11, which opens
with OP_QUERY), as distributions still ship them.
"""
import sys

import pymongo
from pymongo import InsertOne, MongoClient, UpdateOne, WriteConcern
from pymongo.errors import DuplicateKeyError, OperationFailure

uri = sys.argv[1]
tls = {"tlsCAFile": sys.argv[2]} if len(sys.argv) > 2 else {}
client = MongoClient(uri, **tls)
admin, orders = client.admin, client.app.orders


def refused(code, what):
    try:
        what()
    except OperationFailure as e:
        assert e.code == code, (e.code, e)
        return
    raise AssertionError("not refused with %d" % code)


# Sharding first, so that the rest runs on a collection in many places.
assert client.is_mongos
admin.command("enableSharding", "app")
admin.command("shardCollection", "app.orders", key={"customer": 1})
assert [s["_id"] for s in admin.command("listShards")["shards"]] == ["shard0", "shard1", "shard2"]
admin.command("split", "app.orders", middle={"customer": 100})
admin.command("moveRange", "app.orders", min={"customer": 100}, toShard="shard1")

# Documents in and out.
assert len(orders.insert_many([{"customer": i, "total": i % 7} for i in range(300)]).inserted_ids) == 300
assert orders.count_documents({"customer": {"$gte": 100}}) == 200
assert orders.update_one({"customer": 5}, {"$set": {"seen": True}}).modified_count == 1
assert orders.update_many({"total": 0}, {"$inc": {"total": 10}}).modified_count == 43
assert orders.find_one_and_delete({"customer": 299})["total"] == 299 % 7
bulk = orders.bulk_write([InsertOne({"customer": 1000}), UpdateOne({"customer": 1001}, {"$set": {"total": 1}}, upsert=True)])
assert (bulk.inserted_count, bulk.upserted_count) == (1, 1)
orders.insert_one({"_id": 1, "customer": 9999})
try:
    orders.insert_one({"_id": 1, "customer": 9999})
    raise AssertionError("a duplicate is taken")
except DuplicateKeyError:
    pass
orders.with_options(write_concern=WriteConcern(w=0)).insert_one({"customer": 5000})
groups = orders.aggregate([{"$match": {"customer": {"$lt": 299}}}, {"$group": {"_id": "$total"}}, {"$sort": {"_id": 1}}])
assert [g["_id"] for g in groups] == [1, 2, 3, 4, 5, 6, 10]

# Cursors in batches; sessions.
assert len(list(orders.find({}, batch_size=10))) == 303
with client.start_session() as session:
    orders.insert_one({"customer": 7000}, session=session)
    assert orders.count_documents({"customer": 7000}, session=session) == 1
    session.start_transaction()
    refused(263, lambda: orders.insert_one({"customer": 1}, session=session))

# A change stream, and one that goes on behind it.
with orders.watch() as stream:
    orders.insert_one({"customer": 8000})
    orders.delete_one({"customer": 8000})
    first = next(stream)
    assert (first["operationType"], first["fullDocument"]["customer"]) == ("insert", 8000)
with orders.watch(resume_after=first["_id"]) as stream:
    assert next(stream)["operationType"] == "delete"

# What the mock has not is refused, not made up.
refused(59, lambda: admin.command("nonsense"))

# The balancer.
admin.command("balancerStop")
assert admin.command("balancerStatus")["mode"] == "off"
admin.command("balancerStart")
assert admin.command("balancerStatus")["mode"] == "full"
assert admin.command("balancerCollectionStatus", "app.orders")["balancerCompliant"]

client.close()
print("the tour is over with PyMongo " + pymongo.version)
