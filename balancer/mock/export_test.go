package mock

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RunNextEvent runs the event that is due next, whenever that is.
func (c *Cluster) RunNextEvent() bool { return c.queue.RunNext() }

// Tasks are the range deletion tasks of a shard: min, max, when, documents.
func (c *Cluster) Tasks(id string) []string {
	tasks := []string{}
	for _, task := range c.shards[catalog.ShardID(id)].deletions {
		when := "now"
		if task.when == deletionDelayed {
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
	c.after(d, func() {
		if err := c.balancer.StepDown(); err != nil {
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
func (c *Cluster) Outcome(req MoveRequest, err error) error { return c.migrations.outcome(req, err) }

// TrackModifications adds to what a donor's migration has tracked.
func (c *Cluster) TrackModifications(donor string, bytes int64) {
	c.shards[catalog.ShardID(donor)].busy.tracked += bytes
}
