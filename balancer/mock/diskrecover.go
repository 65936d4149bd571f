package mock

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// openDisk goes on with the cluster in a directory, or makes a new one there.
func (c *Cluster) openDisk(cfg Config) error {
	d, err := openDisk(cfg.DBPath)
	if err != nil {
		return err
	}
	if err := c.furnishFrom(d, cfg); err != nil {
		_ = d.db.Close() // nothing has been handed over
		return err
	}
	d.writer = newWriter(d.apply)
	c.disk = d
	c.persist()
	return nil
}

func (c *Cluster) furnishFrom(d *disk, cfg Config) error {
	format, err := d.format()
	if err != nil {
		return fmt.Errorf("dbpath: %w", err)
	}
	if err := checkFormat("dbpath: "+cfg.DBPath, format); err != nil {
		return err
	}
	if format == 0 {
		if cfg.Snapshot != "" {
			err = c.openSnapshot(cfg)
		} else {
			err = c.buildNew(cfg)
		}
		if err != nil {
			return err
		}
		return d.begin(c)
	}
	if cfg.Topology != nil || cfg.Snapshot != "" {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, ErrHoldsCluster)
	}
	err = d.db.View(func(tx *bbolt.Tx) error {
		source := boltSource{tx}
		if err := c.load(source, d.tracker); err != nil {
			return err
		}
		for key, value := range source.each(bucketWrites) {
			c.writes = append(c.writes, KeptWrite{string(key), slices.Clone(value)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	if err := c.adjust(cfg); err != nil {
		return err
	}
	c.rollBack()
	return nil
}

// rollBack ends what was under way when the state was written, as a shard does
// when it starts after a crash (spec 02 §5.5).
func (c *Cluster) rollBack() {
	c.rollBackReshardings()
	for _, id := range c.shardIDs() {
		c.rollBackMigrations(c.shards[id])
	}
}

// rollBackMigrations looks at what range deletions say of migrations. One of a
// range that the shard owns is that of a donor whose migration has not been
// committed: it goes. All others take effect: orphans of a migration that was
// committed, and copies of one that was not.
func (c *Cluster) rollBackMigrations(s *shard) {
	for _, task := range slices.Clone(s.deletions) {
		local := s.colls[task.coll.Namespace]
		coll, ok, err := c.Tracked(task.coll.Namespace)
		if err != nil || !ok || local == nil || !local.uuid.Equal(task.coll.UUID) || !coll.UUID.Equal(task.coll.UUID) || c.ownsSome(s, task) {
			s.removeDeletion(task)
			continue
		}
		task.coll = coll
		for range local.inRange(coll.Pattern, task.min, task.max) {
			task.orphans++
		}
		c.scheduleDeletion(s, task)
	}
}

func (c *Cluster) ownsSome(s *shard, task *rangeDeletion) bool {
	for range c.tables[task.coll.Namespace].Owned(s.id, task.min, task.max) {
		return true
	}
	return false
}

// rollBackReshardings takes off what the catalog shows of operations under way.
// Until their end they have changed nothing else.
func (c *Cluster) rollBackReshardings() {
	operations := c.Config(configReshardings)
	for record := range operations.Scan() {
		operations.Delete(record)
	}
	colls := c.Config(configCollections)
	for record, raw := range colls.Scan() {
		if raw.Lookup("reshardingFields").IsZero() {
			continue
		}
		var doc bson.D
		if err := bson.Unmarshal(raw, &doc); err != nil {
			continue // who reads the entry will say so
		}
		unset(&doc, "reshardingFields")
		unset(&doc, "allowMigrations")
		if changed, err := bson.Marshal(doc); err == nil {
			_ = colls.Update(record, changed) // its _id stays
		}
	}
}

// persist hands what has changed over to be written. The caller holds the lock.
func (c *Cluster) persist() {
	if c.disk != nil {
		c.disk.capture(c, false)
	}
}

// Written hands what has changed over to be written, and gives a function that
// waits until all that the cluster holds now is on disk. The caller holds the
// lock, and waits after giving it back: others may go on meanwhile.
func (c *Cluster) Written() (wait func() error) {
	if c.disk == nil {
		return func() error { return nil }
	}
	c.persist()
	mark := c.disk.writer.mark()
	return func() error { return c.disk.writer.wait(mark) }
}

func (c *Cluster) closeDisk() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disk == nil || c.diskClosed {
		return
	}
	c.diskClosed = true
	c.disk.capture(c, true)
	if err := c.disk.close(); err != nil {
		c.logger.Error("the state of the mock is not all on disk", "dbpath", c.disk.dir, "error", err)
	}
}

// KeepUser keeps a user of the router's with the state; a nil value takes it
// away. The caller holds the lock.
func (c *Cluster) KeepUser(name string, user bson.Raw) {
	if user == nil {
		delete(c.users, name)
		return
	}
	c.users[name] = user
}

// KeptUsers are the users kept with the state.
func (c *Cluster) KeptUsers() map[string][]byte { return c.users }

// KeptWrite is what a router remembers of a session's newest retryable write.
type KeptWrite struct {
	Session string
	Write   bson.Raw
}

// KeepWrite keeps what the router remembers of a session's newest retryable
// write, for as long as the cluster is on disk; nil takes it away. It is
// written together with what the write has changed. The caller holds the lock.
func (c *Cluster) KeepWrite(session string, write bson.Raw) {
	if c.disk != nil {
		c.notes = append(c.notes, entry{bucketWrites, []byte(session), write})
	}
}

// KeepsWrites tells whether KeepWrite does anything.
func (c *Cluster) KeepsWrites() bool { return c.disk != nil }

// TakeWrites gives the retryable writes that were kept, once.
func (c *Cluster) TakeWrites() []KeptWrite {
	taken := c.writes
	c.writes = nil
	return taken
}

// ShardCount is the number of shards. It takes the lock.
func (c *Cluster) ShardCount() int {
	c.Lock()
	defer c.Unlock()
	return len(c.shards)
}
