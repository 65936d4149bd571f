"""A tour of start() with PyMongo: tour.py."""
import sys

import pymongo
from pymongo.errors import OperationFailure

import shardsh

with shardsh.start(shards=2, version="7.0", seed=7, parameters={"orphanCleanupDelaySecs": 0}) as cluster:
    client = pymongo.MongoClient(cluster.uri)
    assert client.server_info()["version"].startswith("7.0."), client.server_info()["version"]
    assert len(client.admin.command("listShards")["shards"]) == 2

    # A failure: what does the program under test do when an insert is refused?
    client.admin.command("mockFailNext", "insert", code=50)
    orders = client.shop.orders
    try:
        orders.insert_one({"customer": 1})
        raise AssertionError("not refused")
    except OperationFailure as e:
        assert e.code == 50, e
    orders.insert_one({"customer": 2})
    assert orders.count_documents({}) == 1
    client.close()


def refused(text, **options):
    try:
        shardsh.start(**options)
    except RuntimeError as e:
        assert text in str(e), e
        return
    raise AssertionError("not refused")


refused("takes 1 to 1000 shards", shards=0)
refused("there is no /nowhere/shardsh", binary="/nowhere/shardsh")
if sys.argv[1:] == ["leave"]:
    print("left", shardsh.start().uri)  # which ends with this process
print("the tour is over")
