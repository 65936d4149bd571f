package mock

import (
	"maps"
	"slices"

	"shardsh/balancer/catalog"
)

// DatabaseSize is a database with data, as listDatabases shows it.
type DatabaseSize struct {
	Name    string
	Bytes   int64 // on disk, with the indexes
	ByShard []ShardBytes
}

// ShardBytes is a part of a database on one shard, or on the config server.
type ShardBytes struct {
	Shard catalog.ShardID
	Bytes int64
}

// shardCatalogBytes is what each shard keeps in a config database of its own:
// its copy of the catalog, range deletions, retryable writes. A router does not
// show these collections, but listDatabases counts them.
const shardCatalogBytes = 22 * StorageUnit

// Databases lists the databases that hold data, by name. admin and config are
// always there.
func (st Statistics) Databases() []DatabaseSize {
	sizes := map[string]*DatabaseSize{}
	add := func(name string, id catalog.ShardID, bytes int64) {
		if sizes[name] == nil {
			sizes[name] = &DatabaseSize{Name: name}
		}
		db := sizes[name]
		db.Bytes += bytes
		db.ByShard = append(db.ByShard, ShardBytes{id, bytes})
	}
	for _, name := range []string{"admin", "config"} {
		bytes := int64(0)
		for _, ns := range st.c.config.namespaces(name) {
			for _, part := range st.onConfigServer(ns) {
				bytes += part.Stored() + part.IndexBytes()
			}
		}
		add(name, configShard, bytes)
	}
	for _, id := range st.c.shardIDs() {
		local := map[string]int64{"config": shardCatalogBytes}
		if id == configShard { // the config server, counted already
			delete(local, "config")
		}
		for ns := range st.c.shards[id].colls {
			part, _ := st.onShard(id, ns)
			local[databaseOf(ns)] += part.Stored() + part.IndexBytes()
		}
		for _, name := range slices.Sorted(maps.Keys(local)) {
			add(name, id, local[name])
		}
	}
	var list []DatabaseSize
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		list = append(list, *sizes[name])
	}
	return list
}
