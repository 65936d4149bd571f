package testrunner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
)

// inventory is the content of a cluster, by namespace.
type inventory map[string]contents

// contents is the content of a collection: real documents by _id, and the amount of virtual data.
type contents struct {
	ids       map[string]bool
	documents int64
}

// takeInventoryOf lists all data that clients can see. It sends no commands, because nodes may be down.
func takeInventoryOf(c *mock.Cluster) inventory {
	c.Lock()
	defer c.Unlock()
	all := inventory{}
	for _, db := range c.ConfigDB().DatabaseNames() {
		if db == "admin" || db == "config" || db == live.LeaseDatabase {
			continue
		}
		for _, ns := range c.Databases().Namespaces(db) {
			all[ns] = contentsOf(c, ns)
		}
	}
	return all
}

func contentsOf(c *mock.Cluster, ns string) contents {
	h := contents{ids: map[string]bool{}}
	for doc := range c.Documents(ns, nil) {
		h.ids[idOf(doc)] = true
	}
	for _, part := range c.Statistics().Collection(ns) {
		h.documents += part.Docs - part.Orphans
	}
	return h
}

// idOf formats the _id of a document.
func idOf(doc bson.Raw) string { return doc.Lookup("_id").String() }

// lostSince lists the data that has disappeared since.
func (i inventory) lostSince(now inventory) (lost []string) {
	for _, ns := range slices.Sorted(maps.Keys(i)) {
		was, is := i[ns], now[ns]
		if is.ids == nil {
			lost = append(lost, fmt.Sprintf("%s is gone, with %d documents", ns, max(was.documents, int64(len(was.ids)))))
			continue
		}
		gone := 0
		example := ""
		for _, id := range slices.Sorted(maps.Keys(was.ids)) {
			if !is.ids[id] {
				gone++
				example = cmp.Or(example, id)
			}
		}
		if gone > 0 {
			lost = append(lost, fmt.Sprintf("%s has lost %d of %d documents, such as _id %s", ns, gone, len(was.ids), example))
			continue
		}
		if is.documents < was.documents {
			lost = append(lost, fmt.Sprintf("%s has lost %d of %d documents", ns, was.documents-is.documents, was.documents))
		}
	}
	return lost
}

// takeInventory records the cluster's content before a script.
func (t *testCluster) takeInventory() {
	now := takeInventoryOf(t.cluster)
	t.inventoryBefore = &now
}

// recordLosses records the data lost since the last inventory.
func (t *testCluster) recordLosses() {
	now := takeInventoryOf(t.cluster)
	t.lostDocuments = append(t.lostDocuments, t.inventoryBefore.lostSince(now)...)
	t.inventoryBefore = &now
}

// losses lists the data that scripts have lost, including losses after the last script.
func (t *testCluster) losses() []string {
	lost := slices.Clone(t.lostDocuments)
	if t.inventoryBefore != nil {
		lost = append(lost, t.inventoryBefore.lostSince(takeInventoryOf(t.cluster))...)
	}
	return lost
}
