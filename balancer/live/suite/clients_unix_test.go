//go:build unix

package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// clients write and read all the time, each documents of its own, and remember what
// was acknowledged.
type clients struct {
	t    testing.TB
	rig  *rig
	all  []*client
	stop context.CancelFunc
	done sync.WaitGroup
}

// client is one of them.
type client struct {
	number int
	chance *rand.Rand
	// sent and acknowledged are how often each document was counted up.
	sent, acknowledged map[string]int64
	reads              int
}

// ownDocuments is how many documents a client counts up.
const ownDocuments = 10

// between is how long it takes from one operation to the next, of whichever client:
// commands are to have most of the machine.
const between = 2 * time.Millisecond

// newClients starts as many, which work until they are ended.
func newClients(r *rig, number int, seed uint64) *clients {
	ctx, stop := context.WithCancel(context.Background())
	cs := &clients{t: r.t, rig: r, stop: stop}
	pace := time.NewTicker(between)
	context.AfterFunc(ctx, func() { pace.Reset(time.Millisecond) }) // all see the end soon
	for i := range number {
		c := &client{i, rand.New(rand.NewPCG(seed, uint64(i))), map[string]int64{}, map[string]int64{}, 0}
		cs.all = append(cs.all, c)
		cs.done.Go(func() {
			for ctx.Err() == nil {
				<-pace.C
				if err := c.step(r.orders()); err != nil {
					r.t.Error(err)
					return
				}
			}
		})
	}
	r.t.Cleanup(cs.halt)
	return cs
}

// halt has all of them end.
func (cs *clients) halt() {
	cs.stop()
	cs.done.Wait()
}

// step counts a document up, or reads one. Each stays at its key. The context is
// nobody's: an operation under way is ended by its answer.
func (c *client) step(orders *mongo.Collection) error {
	ctx := context.Background()
	n := c.chance.IntN(ownDocuments)
	id := fmt.Sprintf("client%d-%d", c.number, n)
	which := bson.D{{Key: "_id", Value: id}, {Key: "k", Value: (c.number*37 + n*59) % (chunks * chunkKeys)}}
	if c.chance.IntN(3) == 0 {
		c.reads++
		var found []struct{ N int64 }
		cursor, err := orders.Find(ctx, bson.D{{Key: "_id", Value: id}})
		if err == nil {
			err = cursor.All(ctx, &found)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", id, err)
		}
		counts := make([]int64, len(found))
		for i := range found {
			counts[i] = found[i].N
		}
		return c.compare(id, counts)
	}
	c.sent[id]++
	_, err := orders.UpdateOne(ctx, which, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}},
		options.UpdateOne().SetUpsert(true))
	switch {
	case err == nil:
		c.acknowledged[id]++
	case !mongo.IsNetworkError(err) && !errors.As(err, new(mongo.WriteException)):
		return fmt.Errorf("counting %s up: %w", id, err)
	}
	return nil
}

// compare says what is wrong with the counts that were found for a document.
func (c *client) compare(id string, found []int64) error {
	sent, acknowledged := c.sent[id], c.acknowledged[id]
	switch {
	case len(found) > 1:
		return fmt.Errorf("doubled: %s is there %d times", id, len(found))
	case len(found) == 0 && acknowledged == 0:
		return nil
	case len(found) == 0:
		return fmt.Errorf("lost: %s, of which %d writes were acknowledged", id, acknowledged)
	case found[0] < acknowledged || found[0] > sent:
		return fmt.Errorf("%s is at %d: %d writes were sent, %d acknowledged", id, found[0], sent, acknowledged)
	}
	return nil
}

// end ends all, and compares what is there with what was acknowledged.
func (cs *clients) end() (writes, reads int) {
	cs.t.Helper()
	cs.halt()
	cursor, err := cs.rig.orders().Find(context.Background(), bson.D{},
		options.Find().SetProjection(bson.D{{Key: "pad", Value: 0}}))
	if err != nil {
		cs.t.Fatal(err)
	}
	found, still := map[string][]int64{}, map[int32]int{}
	for cursor.Next(context.Background()) {
		if id, ok := cursor.Current.Lookup("_id").StringValueOK(); ok {
			found[id] = append(found[id], cursor.Current.Lookup("n").AsInt64())
		} else {
			still[cursor.Current.Lookup("_id").Int32()]++
		}
	}
	for id := range int32(chunks * chunkKeys) {
		if still[id] != 1 {
			cs.t.Errorf("document %d is there %d times", id, still[id])
		}
	}
	for _, c := range cs.all {
		reads += c.reads
		for id, n := range c.acknowledged {
			writes += int(n)
			if err := c.compare(id, found[id]); err != nil {
				cs.t.Error(err)
			}
		}
	}
	return writes, reads
}
