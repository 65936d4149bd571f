print("a: " + sh.listShards().length + " shards");
