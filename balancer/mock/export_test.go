package mock

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RunNextEvent runs the event that is due next, whenever that is.
func (c *Cluster) RunNextEvent() bool { return c.clock.Events().RunNext() }

// Tasks are the range deletion tasks of a shard: min, max, when, documents.
func (c *Cluster) Tasks(id string) []string {
	tasks := []string{}
	for _, task := range c.shards[catalog.ShardID(id)].deletions {
		when := "now"
		if task.timing == deletionDelayed {
			when = "delayed"
		}
		tasks = append(tasks, fmt.Sprintf("%s %s %s %d", shownKey(task.min), shownKey(task.max), when, task.orphans))
	}
	return tasks
}

// HeldDocuments counts the documents on a shard, orphans included.
func (c *Cluster) HeldDocuments(id, ns string) int64 {
	if local := c.shards[catalog.ShardID(id)].colls[ns]; local != nil {
		docs, _ := local.counts()
		return docs
	}
	return 0
}

// StepDownIn lets the config server step down later.
func (c *Cluster) StepDownIn(d time.Duration) {
	c.clock.After(d, func() {
		if err := c.balancer.StepDown(nil); err != nil {
			panic(err)
		}
	})
}

func shownKey(k catalog.Key) string {
	switch v := k.Values()[0]; v.Type {
	case bson.TypeMinKey:
		return "MIN"
	case bson.TypeMaxKey:
		return "MAX"
	default:
		n, _ := v.AsInt64OK()
		return fmt.Sprint(n)
	}
}

// Outcome is what a move by hand reports.
func (c *Cluster) Outcome(req MoveRequest, err error) error {
	return c.migrations.reconcileOutcome(req, err)
}

// TrackModifications adds to what a donor's migration has tracked.
func (c *Cluster) TrackModifications(donor string, bytes int64) {
	c.shards[catalog.ShardID(donor)].migration.modificationBytes += bytes
}

// LoseShard takes a shard out of the cluster, whatever it holds.
func (c *Cluster) LoseShard(id string) {
	c.config.remove(configShards, id)
	delete(c.shards, catalog.ShardID(id))
}

// Event runs f in d as an event of nobody's.
func (c *Cluster) Event(d time.Duration, f func()) { c.clock.After(d, f) }

// CrashUnderWay lets the next step of everything that is under way panic: of
// migrations, reshardings, range deletions.
func (c *Cluster) CrashUnderWay() {
	boom := func() { panic("boom") }
	for m := range c.migrations.active {
		m.after(0, func(*migration) { boom() })
	}
	for _, op := range c.reshardings.active {
		op.after(0, boom)
	}
	for _, s := range c.shards {
		for _, task := range s.deletions {
			broken := *task
			broken.coll.Pattern = catalog.KeyPattern{} // of no fields: nothing can be looked up by it
			c.RangeDeleter().scheduleBatch(0, s, &broken, nil)
		}
	}
}

// Every is what is done again and again.
func (c *Cluster) Every(d time.Duration, f func() bool) { c.clock.Every(d, f) }

// KeepOfLogs makes the logs of the config database short.
func (c *Cluster) KeepOfLogs(bytes, rows int64) {
	c.log.changelogLimitBytes, c.log.actionlogLimitBytes, c.log.placementLimitRows, c.log.neededPlacements = bytes, bytes, rows, 0
}

// MoveCommand is what a donor is sent.
var MoveCommand = moveCommand
