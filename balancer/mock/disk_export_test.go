package mock

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
)

// Batch is what one transaction writes.
type Batch []disk.Entry

// Batched lets a test see every batch that a cluster on disk writes, in order.
func (c *Cluster) Batched(see func(Batch)) {
	c.storage.disk.onBatch = func(entries []disk.Entry) { see(entries) }
}

// Stored is a state on disk, in memory.
type Stored map[string]map[string][]byte

// DontSync leaves out what only a machine that loses its power would miss.
func (c *Cluster) DontSync() { c.storage.disk.file.SkipSync() }

// OnDisk is the state in the cluster's file.
func (c *Cluster) OnDisk() (Stored, error) {
	s := Stored{}
	return s, c.storage.disk.file.Read(func(from disk.Source) error {
		for name := range from.Buckets() {
			entries := map[string][]byte{}
			s[name] = entries
			for key, value := range from.Each(name) {
				entries[string(key)] = slices.Clone(value)
			}
		}
		return nil
	})
}

// Intercept lets a test decide how batches are written.
func (c *Cluster) Intercept(around func(write func([]disk.Entry) error) func([]disk.Entry) error) {
	c.storage.disk.file.Intercept(around)
}

// Apply writes a batch.
func (s Stored) Apply(b Batch) {
	for _, e := range b {
		switch {
		case e.Key == nil:
			delete(s, e.Bucket)
		case e.Value == nil:
			delete(s[e.Bucket], string(e.Key))
		default:
			if s[e.Bucket] == nil {
				s[e.Bucket] = map[string][]byte{}
			}
			s[e.Bucket][string(e.Key)] = e.Value
		}
	}
}

func (s Stored) memory() disk.MemorySource {
	all := disk.MemorySource{}
	for bucket, entries := range s {
		for key, value := range entries {
			all[bucket] = append(all[bucket], disk.Entry{Bucket: bucket, Key: []byte(key), Value: value})
		}
	}
	all.Sort()
	return all
}

// Describe is the cluster that the state is of, as it was written.
func (s Stored) Describe() (string, error) {
	c := newCluster(Config{})
	if err := c.storage.load(s.memory(), newChangeCapture(true)); err != nil {
		return "", err
	}
	c.balancer.term-- // loading is an election
	return c.Describe(), nil
}

// Start makes the state's cluster go on, as after a crash.
func (s Stored) Start(seed uint64) (*Cluster, error) {
	c := newCluster(Config{Seed: seed})
	if err := c.storage.load(s.memory(), newChangeCapture(true)); err != nil {
		return nil, err
	}
	newRollback(c).run()
	c.start(0)
	return c, nil
}

// Describe is everything that a cluster keeps, a line each, without the
// numbers that it is kept under.
func (c *Cluster) Describe() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	c.config.pendingLogs.flushAll(c.config.collections, c.config.logger)
	for ns, docs := range c.config.collections {
		describeDocs(add, "config "+ns, &localCollection{docs: docs})
	}
	for id, s := range c.shards {
		s.describe(add, c, fmt.Sprint("shard ", id))
	}
	for address, s := range c.membership.removed {
		s.describe(add, c, fmt.Sprint("removed ", address, " ", s.id))
	}
	for ns, table := range c.config.allTables() {
		add("table %s %s %s %v", ns, table.Pattern(), table.Epoch(), table.Version())
		for chunk := range table.All() {
			add("chunk %s %s", ns, chunkDocument(catalog.Collection{Pattern: table.Pattern()}, chunk))
		}
	}
	for ns, v := range c.collections.views {
		add("view %s %v", ns, v)
	}
	for name, user := range c.storage.users {
		add("user %s %s", name, bson.Raw(user))
	}
	add("parameters %v", c.parameters.Values())
	add("state %v %d %x %v %d", c.ids.LastStamp, c.ids.ObjectIDCount(), c.ids.State().Process, c.membership.hadTwoShards, c.balancer.term)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (s *shard) describe(add func(string, ...any), c *Cluster, name string) {
	add("%s", name)
	for ns, l := range s.colls {
		describeDocs(add, name+" "+ns, l)
		for e := range l.virtual.all() {
			add("%s %s virtual %v", name, ns, e)
		}
	}
	for _, task := range s.deletions {
		if _, ok := c.shards[s.id]; ok && c.shards[s.id] == s {
			add("%s deletion %s %s %s %d", name, task.coll.Namespace, task.min, task.max, task.timing)
		}
	}
}

func describeDocs(add func(string, ...any), name string, l *localCollection) {
	options, _ := bson.Marshal(l.options)
	add("%s %v %s %d documents", name, l.uuid, bson.Raw(options), l.docs.Count())
	for _, spec := range l.docs.Indexes() {
		add("%s index %v", name, spec)
	}
	for record, doc := range l.docs.Scan() {
		add("%s record %d %s", name, record, doc)
	}
}

// Orphans counts what every shard says of its orphans, by shard and namespace.
func (c *Cluster) Orphans() map[string]int64 {
	orphans := map[string]int64{}
	for id, s := range c.shards {
		for ns := range maps.Keys(s.colls) {
			orphans[fmt.Sprint(id, " ", ns)] = s.orphanCount(ns)
		}
	}
	return orphans
}
